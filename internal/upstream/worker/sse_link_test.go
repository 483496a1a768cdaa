package worker_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream/worker"
	"durward/internal/wire"
)

// oldServer is a server of 2024-11-05: everything it says comes on one stream.
// endpoint is what it names; f answers what is POSTed, by say.
func oldServer(t *testing.T, endpoint string, f func(r *seen, say func(string))) *webServer {
	t.Helper()
	return newWebServer(t, oldAnswers(endpoint, f))
}

func oldAnswers(endpoint string, f func(r *seen, say func(string))) func(http.ResponseWriter, *seen, *http.Request) {
	out := make(chan string, 64)
	return func(w http.ResponseWriter, r *seen, raw *http.Request) {
		if r.Method == http.MethodGet {
			startStream(w)
			sendEvent(w, "event: endpoint\ndata: "+strings.ReplaceAll(endpoint, "HOST", raw.Host))
			for data, ok := hear(raw, out); ok && data != ""; data, ok = hear(raw, out) {
				sendEvent(w, "event: message\ndata: "+data)
			}
			return
		}
		if raw.URL.Path != "/messages" || raw.URL.Query().Get("session") != "1" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		if r.Name == wire.MethodInitialize {
			out <- `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}` // too early to matter
			out <- resultFor(r, strings.Replace(initializeResult, "2025-11-25", "2024-11-05", 1))
			return
		}
		f(r, func(s string) { out <- s })
	}
}

func dialSSE(t *testing.T, via, url string, edit ...func(*exchange.LinkSpec)) *webConn {
	t.Helper()
	return dialBy(t, worker.OpenSSE, via, url, edit...)
}

func TestHTTPPlusSSE(t *testing.T) {
	for _, endpoint := range []string{"/messages?session=1", "messages?session=1", "http://HOST/messages?session=1"} {
		both(t, func(t *testing.T, via string) {
			s := oldServer(t, endpoint, func(r *seen, say func(string)) {
				switch r.Name {
				case wire.MethodToolsCall:
					say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + r.ID + `,"progress":1}}`)
					say(`{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"n":1e400}}`)
				case wire.MethodToolsList:
					say(resultFor(r, `{"tools":[]}`))
					say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
				case "": // the answer to sampling
					say(`{"jsonrpc":"2.0","id":1,"result":` + string(r.Result) + `}`)
				}
			})
			c := dialSSE(t, via, s.URL+"/sse", func(s *exchange.LinkSpec) { s.Headers = map[string]string{"X-Key": "k"} })
			if o := c.opened(); o.Era != wire.Legacy || o.Revision != "2024-11-05" {
				t.Errorf("%+v", o)
			}
			c.send(1, wire.MethodToolsCall, `{"name":"a"}`)
			if n := c.note(wire.NoteProgress); n.Related != 1 {
				t.Errorf("related to %d", n.Related)
			}
			q := await(c, "sampling", func(*exchange.ServerRequest) bool { return true })
			if q.Related != 0 || string(q.Params) != `{"n":1e400}` {
				t.Errorf("%+v", q)
			}
			if got := c.result(2, wire.MethodToolsList, ""); got != `{"tools":[]}` {
				t.Error(got)
			}
			c.note(wire.NoteToolsChanged)
			if err := c.link.Send(&exchange.Response{ID: q.ID, Reply: exchange.Reply{Result: []byte(`{"role":"x"}`)}}); err != nil {
				t.Fatal(err)
			}
			if got := string(c.response(1).Result); got != `{"role":"x"}` {
				t.Error(got)
			}
			for _, name := range []string{wire.MethodInitialize, wire.NoteInitialized, wire.MethodToolsCall} {
				if got := s.wait(t, name, named(name)); got.Header.Get("X-Key") != "k" {
					t.Errorf("%s: %v", name, got.Header)
				}
			}
			if s.count(named(wire.MethodDiscover)) != 0 {
				t.Error("a server of 2024-11-05 was probed")
			}
		})
	}
}

func TestEndpointAtAnotherOrigin(t *testing.T) {
	foreign := newWebServer(t, func(w http.ResponseWriter, _ *seen, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	for _, endpoint := range []string{foreign.URL + "/messages", "//example.com/m", "https://HOST/messages", "http://user@example.com/", "http://HOST.example.com/", "::"} {
		s := oldServer(t, endpoint, nil)
		closed := dialSSE(t, "direct", s.URL).end()
		checkFault(t, &closed.Fault, durward.Invalid, false, "endpoint")
	}
	if foreign.count(func(*seen) bool { return true }) != 0 {
		t.Error("a foreign origin was spoken to")
	}
}

func TestOldServerStreamBreaks(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		s := oldServer(t, "/messages?session=1", func(r *seen, say func(string)) {
			if r.Name == wire.MethodToolsCall {
				say("")
			}
		})
		c := dialSSE(t, via, s.URL)
		c.opened()
		c.send(1, wire.MethodToolsCall, `{"name":"a"}`)
		c.fault(1, durward.Unknown, true, "event stream")
		if closed := c.end(); closed.Phase != exchange.PhaseReady {
			t.Errorf("%+v", closed)
		}
	})
}

func TestOldServerCancelAndDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBubbleServer(t, oldAnswers("/messages?session=1", func(*seen, func(string)) {}))
		c := s.dial(t, worker.OpenSSE, "direct")
		c.opened()
		c.send(1, wire.MethodToolsCall, `{"name":"a"}`, func(m *exchange.Call) { m.Deadline = time.Now().Add(50 * time.Millisecond) })
		c.fault(1, durward.Timeout, true)
		c.send(2, wire.MethodToolsCall, `{"name":"a"}`)
		if err := c.link.Send(&exchange.Cancel{ID: 2}); err != nil {
			t.Fatal(err)
		}
		for id := range 2 {
			s.wait(t, "cancelled", func(r *seen) bool {
				return r.Name == wire.NoteCancelled && strings.Contains(r.Body, fmt.Sprintf(`"requestId":%d`, id+1))
			})
		}
	})
}

func TestOldServerRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		kind   durward.Kind
		says   string
	}{
		"401":         {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, durward.Unauthenticated, "servers.web.headers"},
		"405":         {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(405) }, durward.Unavailable, "transport to http"},
		"503":         {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, durward.Unavailable, "503"},
		"a page":      {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, durward.Unavailable, "text/html"},
		"no endpoint": {func(w http.ResponseWriter, _ *http.Request) { startStream(w) }, durward.Unavailable, "stream"},
		"silence": {func(w http.ResponseWriter, raw *http.Request) {
			startStream(w)
			<-raw.Context().Done()
		}, durward.Timeout, "endpoint"},
		"no headers": {func(_ http.ResponseWriter, raw *http.Request) { <-raw.Context().Done() }, durward.Timeout, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newBubbleServer(t, func(w http.ResponseWriter, _ *seen, raw *http.Request) { tc.answer(w, raw) })
				c := s.dial(t, worker.OpenSSE, "direct", func(s *exchange.LinkSpec) {
					if tc.kind == durward.Timeout {
						s.InitTimeout = 80 * time.Millisecond
					}
				})
				closed := c.end()
				checkFault(t, &closed.Fault, tc.kind, false, tc.says)
			})
		})
	}
	c := dialSSE(t, "direct", "http://127.0.0.1:1/", modernEra)
	closed := c.end()
	checkFault(t, &closed.Fault, durward.Invalid, false, "legacy era")
}

func TestOldServerForgetsTheSession(t *testing.T) {
	s := newWebServer(t, nil)
	var posts atomic.Int32
	inner := oldServer(t, "/messages?session=1", func(*seen, func(string)) {})
	s.answer = func(w http.ResponseWriter, r *seen, raw *http.Request) {
		if r.Method == http.MethodPost {
			if posts.Add(1) > 2 {
				w.WriteHeader(http.StatusNotFound)
				return
			}
		}
		inner.answer(w, r, raw)
	}
	c := dialSSE(t, "direct", s.URL)
	c.opened()
	c.send(1, wire.MethodToolsCall, `{"name":"a"}`)
	if f := c.fault(1, durward.Unavailable, false); !f.NoSession {
		t.Errorf("%+v", f)
	}
	if closed := c.end(); !closed.Fault.NoSession {
		t.Errorf("%+v", closed)
	}
}

// An answer that cannot be used fails its call and nothing else.
func TestB8_OldServerSendsTooMuch(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		big := `"` + strings.Repeat("x", 1<<20) + `"`
		s := oldServer(t, "/messages?session=1", func(r *seen, say func(string)) {
			switch name, _ := r.Params.String(r.Params.Name); {
			case name == "id first":
				say(resultFor(r, big))
			case name == "id last":
				say(`{"result":` + big + `,"jsonrpc":"2.0","id":` + r.ID + `}`)
			case name == "malformed":
				say(`{"jsonrpc":"2.0","id":` + r.ID + `,"result":{},"error":{}}`)
			case r.Name == wire.MethodToolsCall:
				say(`{"jsonrpc":"2.0","id":"big","method":"sampling/createMessage","params":{"x":` + big + `}}`)
				say(resultFor(r, `{}`))
			}
		})
		c := dialSSE(t, via, s.URL, func(s *exchange.LinkSpec) { s.MaxMessage = 1 << 20 })
		c.opened()
		for i, tc := range []struct{ name, says string }{{"id first", "limits.message"}, {"id last", "limits.message"}, {"malformed", "no acceptable"}} {
			c.send(uint64(i+1), wire.MethodToolsCall, `{"name":"`+tc.name+`"}`)
			c.fault(uint64(i+1), durward.Unknown, true, tc.says)
		}
		c.result(9, wire.MethodToolsCall, `{"name":"small"}`)
		s.wait(t, "refusal", func(r *seen) bool { return r.ID == `"big"` && r.Kind == wire.Failure })
	})
}
