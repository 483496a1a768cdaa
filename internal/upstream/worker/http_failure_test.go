package worker_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream/worker"
	"durward/internal/wire"
)

func TestServerGoesAwayInEachPhase(t *testing.T) {
	cut := func(w http.ResponseWriter, text string) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		io.WriteString(conn, text)
		conn.Close()
	}
	both(t, func(t *testing.T, via string) {
		s := newWebServer(t, modern(func(w http.ResponseWriter, r *seen, _ *http.Request) {
			switch name, _ := r.Params.String(r.Params.Name); name {
			case "before headers":
				cut(w, "")
			case "within headers":
				cut(w, "HTTP/1.1 200 OK\r\nContent-Ty")
			case "after headers":
				cut(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n")
			case "within body":
				cut(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"+resultFor(r, `{"a":"`))
			case "within chunk":
				cut(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n{")
			case "no event":
				cut(w, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: hello\n\n")
			case "within event":
				cut(w, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nid: 1\ndata: "+resultFor(r, `{}`)+"\n")
			case "orderly end":
				startStream(w)
			default:
				panic(name)
			}
		}))
		c := dialWeb(t, via, s.URL)
		c.opened()
		for i, phase := range []string{"before headers", "within headers", "after headers", "within body", "within chunk", "no event", "within event", "orderly end"} {
			c.send(uint64(i+1), wire.MethodToolsCall, `{"name":"`+phase+`"}`)
			c.fault(uint64(i+1), durward.Unknown, true, "may have been executed")
		}
		if n := s.count(named(wire.MethodToolsCall)); n != 8 {
			t.Errorf("8 calls were sent %d times", n)
		}
	})
}

func TestNothingWasDelivered(t *testing.T) {
	bothInBubble(t, func(t *testing.T, via string) {
		s := newBubbleServer(t, func(w http.ResponseWriter, r *seen, raw *http.Request) {
			w.Header().Set("Connection", "close")
			modern(nil)(w, r, raw)
		})
		c := s.dial(t, worker.OpenHTTP, via)
		c.opened()
		s.Listener.Close() // in memory: the port of another one might be somebody else's by now
		c.send(1, wire.MethodToolsCall, `{"name":"a"}`)
		c.fault(1, durward.Unavailable, false, "servers.web.url")
	})
}

func TestRedirects(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		foreign := newWebServer(t, func(w http.ResponseWriter, r *seen, _ *http.Request) { sendJSON(w, http.StatusOK, resultFor(r, `{}`)) })
		s := newWebServer(t, modern(func(w http.ResponseWriter, r *seen, raw *http.Request) {
			to := func(status int, where string) {
				w.Header().Set("Location", where)
				w.WriteHeader(status)
			}
			name, _ := r.Params.String(r.Params.Name)
			switch {
			case raw.URL.Path == "/final":
				sendJSON(w, http.StatusOK, resultFor(r, `{"at":"final"}`))
			case name == "same":
				to(http.StatusTemporaryRedirect, "/final")
			case name == "permanent":
				to(http.StatusPermanentRedirect, "http://"+raw.Host+"/final")
			case name == "foreign":
				to(http.StatusTemporaryRedirect, foreign.URL+"/x?secret=1")
			case name == "scheme":
				to(http.StatusTemporaryRedirect, "https://"+raw.Host+"/final")
			case name == "found":
				to(http.StatusFound, "/final")
			case name == "loop":
				to(http.StatusTemporaryRedirect, "/mcp")
			default:
				to(http.StatusTemporaryRedirect, "")
			}
		}))
		c := dialWeb(t, via, s.URL+"/mcp")
		c.opened()
		for i, name := range []string{"same", "permanent"} {
			if got := c.result(uint64(i+1), wire.MethodToolsCall, `{"name":"`+name+`"}`); got != `{"at":"final"}` {
				t.Error(got)
			}
		}
		for i, tc := range []struct {
			name string
			kind durward.Kind
			says string
		}{
			{"foreign", durward.Invalid, foreign.URL + "/x, which"}, {"scheme", durward.Invalid, "https://"}, {"found", durward.Invalid, "302"},
			{"loop", durward.Invalid, "more than 3"}, {"nowhere", durward.Invalid, "Location"},
		} {
			c.send(uint64(i+10), wire.MethodToolsCall, `{"name":"`+tc.name+`"}`)
			c.fault(uint64(i+10), tc.kind, false, tc.says, "servers.web.url")
		}
		if n := foreign.count(func(*seen) bool { return true }); n != 0 {
			t.Errorf("a foreign origin got %d requests", n)
		}
		if n := s.count(func(r *seen) bool { return r.ID == "13" }); n != 4 {
			t.Errorf("the loop was walked %d times", n)
		}
	})
}

func zipped(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	z.Close()
	return b.Bytes()
}

func TestGzip(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		s := newWebServer(t, modern(func(w http.ResponseWriter, r *seen, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "application/json")
			switch name, _ := r.Params.String(r.Params.Name); name {
			case "json":
				w.Write(zipped(resultFor(r, `{"ok":1}`)))
			case "stream":
				w.Header().Set("Content-Type", "text/event-stream")
				z := gzip.NewWriter(w)
				fmt.Fprintf(z, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":1}}\n\n", r.ID)
				z.Flush()
				w.(http.Flusher).Flush()
				fmt.Fprintf(z, "data: %s\n\n", resultFor(r, `{"ok":2}`))
				z.Close()
			case "bomb":
				w.Write(zipped(resultFor(r, `"`+strings.Repeat("x", 8<<20)+`"`)))
			case "broken":
				w.Write([]byte("no gzip at all"))
			case "error":
				w.WriteHeader(http.StatusBadGateway)
				w.Write(zipped("the <b>proxy</b> is tired"))
			case "brotli":
				w.Header().Set("Content-Encoding", "br")
				w.Write([]byte("x"))
			}
		}))
		c := dialWeb(t, via, s.URL, func(s *exchange.LinkSpec) { s.MaxMessage = 1 << 20 })
		c.opened()
		if got := c.result(1, wire.MethodToolsCall, `{"name":"json"}`); got != `{"ok":1}` {
			t.Error(got)
		}
		if got := c.result(2, wire.MethodToolsCall, `{"name":"stream"}`); got != `{"ok":2}` {
			t.Error(got)
		}
		c.note(wire.NoteProgress)
		for i, tc := range []struct{ name, says string }{{"bomb", "1048576"}, {"broken", "gzip"}, {"error", "the <b>proxy</b> is tired"}, {"brotli", "br"}} {
			c.send(uint64(i+3), wire.MethodToolsCall, `{"name":"`+tc.name+`"}`)
			c.fault(uint64(i+3), durward.Unknown, true, tc.says)
		}
		if got := s.wait(t, "call", named(wire.MethodToolsCall)).Header.Get("Accept-Encoding"); got != "gzip" {
			t.Errorf("Accept-Encoding %q", got)
		}
	})
}

func TestB8_ResultOverTheCap(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		big := `"` + strings.Repeat("x", 1<<20) + `"`
		s := newWebServer(t, modern(func(w http.ResponseWriter, r *seen, _ *http.Request) {
			switch name, _ := r.Params.String(r.Params.Name); name {
			case "length":
				w.Header().Set("Content-Length", fmt.Sprint(len(resultFor(r, big))))
				sendJSON(w, http.StatusOK, resultFor(r, big))
			case "chunked":
				w.Header().Set("Content-Type", "application/json")
				w.(http.Flusher).Flush()
				io.WriteString(w, resultFor(r, big))
			case "stream":
				startStream(w)
				sendEvent(w, "data: "+resultFor(r, big))
			default:
				sendJSON(w, http.StatusOK, resultFor(r, `{}`))
			}
		}))
		c := dialWeb(t, via, s.URL, func(s *exchange.LinkSpec) { s.MaxMessage = 1 << 20 })
		c.opened()
		for i, name := range []string{"length", "chunked", "stream"} {
			c.send(uint64(i+1), wire.MethodToolsCall, `{"name":"`+name+`"}`)
			c.fault(uint64(i+1), durward.Unknown, true, "1048576", "limits.message")
		}
		c.result(9, wire.MethodToolsCall, `{"name":"small"}`)
	})
}

func TestB16_WhatStatusesMean(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		type answer struct {
			status int
			header string // name: value
			body   string // with %s for a JSON-RPC error of this request
		}
		answers := map[string]answer{}
		s := newWebServer(t, modern(func(w http.ResponseWriter, r *seen, _ *http.Request) {
			name, _ := r.Params.String(r.Params.Name)
			a := answers[name]
			if k, v, ok := strings.Cut(a.header, ": "); ok {
				w.Header().Set(k, v)
			}
			if strings.Contains(a.body, "%s") {
				sendJSON(w, a.status, fmt.Sprintf(a.body, r.ID))
				return
			}
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(a.status)
			io.WriteString(w, a.body)
		}))
		const rpc = `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"db down","data":{"n":1e400}}}`
		cases := []struct {
			name string
			answer
			kind durward.Kind // 0 (Internal): the JSON-RPC error is relayed
			says string
		}{
			{"401", answer{401, `WWW-Authenticate: Bearer resource_metadata="x"`, "no"}, durward.Unauthenticated, `resource_metadata="x"`},
			{"401 with an error", answer{401, "", rpc}, durward.Unauthenticated, "servers.web.headers"},
			{"403", answer{403, "", "not you"}, durward.Unauthenticated, "not you"},
			{"404", answer{404, "", "nothing here"}, durward.Unavailable, "servers.web.url"},
			{"405", answer{405, "", ""}, durward.Unavailable, "405"},
			{"400", answer{400, "", "what?"}, durward.Invalid, "what?"},
			{"413", answer{413, "", ""}, durward.Invalid, "large"},
			{"429", answer{429, "Retry-After: 7", ""}, durward.Unavailable, "after 7"},
			{"503 with a time", answer{503, "Retry-After: 7", ""}, durward.Unavailable, "after 7"},
			{"503", answer{503, "", "<h1>down</h1>"}, durward.Unknown, "<h1>down</h1>"},
			{"502", answer{502, "", ""}, durward.Unknown, "502 Bad Gateway"},
			{"504", answer{504, "", ""}, durward.Unknown, "504"},
			{"500", answer{500, "", ""}, durward.Unknown, "500"},
			{"500 with an error", answer{500, "", rpc}, 0, ""},
			{"503 with an error", answer{503, "", rpc}, 0, ""},
			{"400 with an error", answer{400, "", rpc}, 0, ""},
			{"404 with an error", answer{404, "", rpc}, 0, ""},
			{"200 with an error", answer{200, "", rpc}, 0, ""},
			{"200 with a page", answer{200, "", "<html>log in</html>"}, durward.Unknown, "text/html"},
			{"202", answer{202, "", ""}, durward.Unknown, "202"},
			{"echo of a secret", answer{500, "", "token sesame-open-1234 is " + strings.Repeat("y", 150) + "sesame-open-1234"}, durward.Unknown, "[redacted]"},
			{"control characters", answer{500, "", "a\x1b[31m\nb\x00"}, durward.Unknown, "a?[31m?b?"},
		}
		for _, tc := range cases {
			answers[tc.name] = tc.answer
		}
		c := dialWeb(t, via, s.URL, func(s *exchange.LinkSpec) { s.Headers = map[string]string{"Authorization": "Bearer sesame-open-1234"} })
		c.opened()
		for i, tc := range cases {
			id := uint64(i + 1)
			r := c.call(id, wire.MethodToolsCall, `{"name":"`+tc.name+`"}`)
			if tc.kind == durward.Internal {
				if string(r.Error) != `{"code":-32603,"message":"db down","data":{"n":1e400}}` {
					t.Errorf("%s: %+v %s", tc.name, r.Fault, r.Error)
				}
				continue
			}
			taken := !strings.Contains("404 405 400 413", tc.name)
			f := c.fault(id, tc.kind, taken, tc.says)
			if strings.Contains(f.Message, "sesame") {
				t.Errorf("%s: a secret shows: %s", tc.name, f.Message)
			}
		}
	})
}

func TestHeaderMismatchMeansStaleHeaders(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		s := newWebServer(t, modern(func(w http.ResponseWriter, r *seen, _ *http.Request) {
			failure := errorFor(r, `{"code":-32020,"message":"Mcp-Param-A is missing"}`)
			if r.ID == "1" {
				sendJSON(w, http.StatusBadRequest, failure)
				return
			}
			startStream(w)
			sendEvent(w, "data: "+failure)
		}))
		c := dialWeb(t, via, s.URL)
		c.opened()
		for id := range uint64(2) {
			c.send(id+1, wire.MethodToolsCall, `{"name":"a"}`)
			if f := c.fault(id+1, durward.Conflict, false, "Mcp-Param-A"); !f.StaleHeaders {
				t.Errorf("%+v", f)
			}
		}
	})
}

func TestForeignMessagesInABody(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		bodies := []string{
			`{"jsonrpc":"2.0","id":999,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`, `[]`, `{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, ``, `{`,
		}
		s := newWebServer(t, modern(func(w http.ResponseWriter, r *seen, _ *http.Request) {
			var at int
			fmt.Sscan(r.ID, &at)
			sendJSON(w, http.StatusOK, bodies[at-1])
		}))
		c := dialWeb(t, via, s.URL)
		c.opened()
		for i := range bodies {
			c.send(uint64(i+1), wire.MethodToolsCall, `{"name":"a"}`)
			c.fault(uint64(i+1), durward.Unknown, true)
		}
		await(c, "unknown-response", func(a *exchange.Anomaly) bool { return a.Kind == "unknown-response" })
	})
}

func TestErrorWithoutIDAnswersItsPost(t *testing.T) {
	s := newWebServer(t, modern(func(w http.ResponseWriter, r *seen, _ *http.Request) {
		sendJSON(w, http.StatusBadRequest, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`)
	}))
	c := dialWeb(t, "direct", s.URL)
	c.opened()
	if r := c.call(1, wire.MethodToolsCall, `{"name":"a"}`); string(r.Error) != `{"code":-32700,"message":"x"}` {
		t.Errorf("%+v", r)
	}
}

func TestB28_HeadersThatCannotBeSent(t *testing.T) {
	for name, edit := range map[string]func(*exchange.LinkSpec){
		"line break":    func(s *exchange.LinkSpec) { s.Headers = map[string]string{"X-A": "a\r\nX-B: b"} },
		"name":          func(s *exchange.LinkSpec) { s.Headers = map[string]string{"X A": "a"} },
		"too long":      func(s *exchange.LinkSpec) { s.Headers = map[string]string{"X-A": strings.Repeat("a", 9<<10)} },
		"relative":      func(s *exchange.LinkSpec) { s.URL = "/mcp" },
		"other scheme":  func(s *exchange.LinkSpec) { s.URL = "file:///etc/passwd" },
		"no URL at all": func(s *exchange.LinkSpec) { s.URL = "http://a b/" },
	} {
		t.Run(name, func(t *testing.T) {
			for _, open := range []openFunc{worker.OpenHTTP, worker.OpenSSE} {
				c := dialBy(t, open, "direct", "http://127.0.0.1:1/", edit)
				closed := c.end()
				checkFault(t, &closed.Fault, durward.Invalid, false, "servers.web.")
				if closed.Phase != exchange.PhaseHandshake {
					t.Errorf("%+v", closed)
				}
			}
		})
	}
}
