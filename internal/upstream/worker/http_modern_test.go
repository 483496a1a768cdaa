package worker_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream/worker"
	"durward/internal/wire"
)

func TestModernCallOverHTTP(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		s := newWebServer(t, modern(func(w http.ResponseWriter, r *seen, _ *http.Request) {
			sendJSON(w, http.StatusOK, resultFor(r, `{"content":[],"n":9007199254740993,"e":1e400,"resultType":"task","z":1,"a":2}`))
		}))
		c := dialWeb(t, via, s.URL+"/mcp?key=1", func(s *exchange.LinkSpec) {
			s.Headers = map[string]string{"Authorization": "Bearer a b$c", "X-Odd": `"q" 'é' %20`, "mcp-name": "forged"}
		})
		o := c.opened()
		if o.Era != wire.Modern || o.Revision != "2026-07-28" || string(o.Info) != `{"name":"w","version":"2"}` || string(o.Capabilities) != `{"tools":{}}` || o.Instructions != "mind the gap" {
			t.Errorf("%+v", o)
		}
		r := c.call(7, wire.MethodToolsCall, `{"name":"web__ä","arguments":{"x":1e400},"_meta":{"k":1,"progressToken":"old"}}`, func(m *exchange.Call) {
			m.Name, m.Progress = []byte(`"ä"`), true
			m.Headers = []exchange.Header{{Name: "Region", Value: "eu west"}, {Name: "x-odd", Value: "ü"}}
		})
		if string(r.Result) != `{"content":[],"n":9007199254740993,"e":1e400,"resultType":"task","z":1,"a":2}` || r.ResultType != "task" || r.Era != wire.Modern {
			t.Errorf("%+v %s", r, r.Result)
		}
		got := s.wait(t, "call", named(wire.MethodToolsCall))
		for name, want := range map[string]string{
			"Mcp-Method": "tools/call", "Mcp-Name": "=?base64?w6Q=?=", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Param-Region": "eu west", "Mcp-Param-X-Odd": "=?base64?w7w=?=",
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer a b$c", "X-Odd": `"q" 'é' %20`, "Mcp-Session-Id": "",
		} {
			if v := got.Header.Get(name); v != want {
				t.Errorf("%s is %q, want %q", name, v, want)
			}
		}
		want := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"ä","arguments":{"x":1e400},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/clientInfo":{"name":"durward","version":"1"},"progressToken":7,"k":1}}}`
		if got.Body != want {
			t.Errorf("body\n%s, want\n%s", got.Body, want)
		}
	})
}

func TestMirroredHeadersAreRebuilt(t *testing.T) {
	s := newWebServer(t, modern(func(w http.ResponseWriter, r *seen, _ *http.Request) { sendJSON(w, http.StatusOK, resultFor(r, `{}`)) }))
	c := dialWeb(t, "direct", s.URL)
	c.opened()
	rename := func(to string) func(*exchange.Call) {
		return func(m *exchange.Call) { m.Name = []byte(wire.Quote(to)) }
	}
	for i, tc := range []struct {
		method, params, want string
		edit                 func(*exchange.Call)
	}{
		{wire.MethodToolsCall, `{"name":"a"}`, "a", func(*exchange.Call) {}},
		{wire.MethodToolsCall, `{"name":"w__a"}`, "a", rename("a")},
		{wire.MethodToolsCall, `{"name":"w__b"}`, "b", rename("b")},
		{wire.MethodPromptsGet, `{"name":"p"}`, "p", func(*exchange.Call) {}},
		{wire.MethodResourcesRead, `{"uri":"durward://w/x"}`, "x:\u0001y", rename("x:\u0001y")},
		{"tasks/get", `{"taskId":" t "}`, " t ", func(*exchange.Call) {}},
		{wire.MethodToolsList, `{"name":"no"}`, "", func(*exchange.Call) {}},
		{wire.MethodComplete, `{"ref":{"type":"ref/prompt","name":"p"}}`, "", func(*exchange.Call) {}},
		{wire.MethodToolsCall, `{"name":"a"}`, "a", func(m *exchange.Call) { m.Headers = []exchange.Header{{Name: "P", Value: "1"}} }},
		{wire.MethodToolsCall, `{"name":"a"}`, "a", func(*exchange.Call) {}}, // no Mcp-Param left over
	} {
		id := uint64(i + 1)
		c.result(id, tc.method, tc.params, tc.edit)
		got := s.wait(t, "call", func(r *seen) bool { return r.ID == fmt.Sprint(id) })
		name, err := wire.DecodeHeaderValue(got.Header.Get("Mcp-Name"))
		if _, sent := got.Header["Mcp-Name"]; err != nil || name != tc.want || sent != (tc.want != "") || got.Header.Get("Mcp-Method") != tc.method {
			t.Errorf("%s %s: Mcp-Name %q, want %q", tc.method, tc.params, got.Header.Get("Mcp-Name"), tc.want)
		}
		if p := got.Header.Get("Mcp-Param-P"); (p == "1") != (i == 8) {
			t.Errorf("call %d: Mcp-Param-P %q", i, p)
		}
	}
}

func TestMirroredArgumentBounds(t *testing.T) {
	s := newWebServer(t, modern(func(w http.ResponseWriter, r *seen, _ *http.Request) { sendJSON(w, http.StatusOK, resultFor(r, `{}`)) }))
	c := dialWeb(t, "direct", s.URL)
	c.opened()
	for i, h := range []exchange.Header{{Name: "Big", Value: strings.Repeat("x", 9<<10)}, {Name: "Bad name", Value: "x"}} {
		c.send(uint64(i+1), wire.MethodToolsCall, `{"name":"a"}`, func(m *exchange.Call) { m.Headers = []exchange.Header{h} })
		c.fault(uint64(i+1), durward.Invalid, false, h.Name)
	}
}

func TestB9_ProgressInOrderBeforeResult(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		s := newWebServer(t, modern(func(w http.ResponseWriter, r *seen, _ *http.Request) {
			startStream(w)
			for i := range 1000 {
				if i%100 == 0 {
					sendEvent(w, ": keep-alive")
				}
				sendEvent(w, fmt.Sprintf(`data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, r.ID, i))
			}
			sendEvent(w, "event: message\ndata: "+resultFor(r, `{"ok":true}`))
		}))
		c := dialWeb(t, via, s.URL)
		c.opened()
		if got := c.result(3, wire.MethodToolsCall, `{"name":"a"}`); got != `{"ok":true}` {
			t.Error(got)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		next := 0
		for _, m := range c.got {
			switch m := m.(type) {
			case *exchange.Notification:
				if want := fmt.Sprintf(`{"progressToken":3,"progress":%d}`, next); string(m.Params) != want || m.Related != 3 {
					t.Fatalf("%s of %d, want %s", m.Params, m.Related, want)
				}
				next++
			case *exchange.Response:
				if next != 1000 {
					t.Errorf("the result came after %d of 1000", next)
				}
			}
		}
	})
}

func TestParallelCallsOverHTTP(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		const n = 32
		all := make(chan struct{})
		s := newWebServer(t, modern(func(w http.ResponseWriter, r *seen, raw *http.Request) {
			select {
			case <-all:
			case <-raw.Context().Done():
				return
			}
			sendJSON(w, http.StatusOK, resultFor(r, `{"for":`+r.ID+`}`))
		}))
		c := dialWeb(t, via, s.URL)
		c.opened()
		for i := range uint64(n) {
			c.send(i+1, wire.MethodToolsCall, `{"name":"a"}`)
		}
		for i := range n { // all are at the server at once
			s.wait(t, "call", func(r *seen) bool { return r.ID == fmt.Sprint(i+1) })
		}
		close(all)
		for i := range uint64(n) {
			if got := string(c.response(i + 1).Result); got != fmt.Sprintf(`{"for":%d}`, i+1) {
				t.Error(got)
			}
		}
	})
}

func TestB9_CancelClosesTheModernStream(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		gone, begun := make(chan struct{}), make(chan struct{}, 1)
		s := newWebServer(t, modern(func(w http.ResponseWriter, r *seen, raw *http.Request) {
			if r.ID == "2" {
				sendJSON(w, http.StatusOK, resultFor(r, `{}`))
				return
			}
			startStream(w)
			begun <- struct{}{}
			<-raw.Context().Done()
			close(gone)
		}))
		c := dialWeb(t, via, s.URL)
		c.opened()
		c.send(1, wire.MethodToolsCall, `{"name":"a"}`)
		<-begun
		if err := c.link.Send(&exchange.Cancel{ID: 1}); err != nil {
			t.Fatal(err)
		}
		<-gone // closing the stream is what says it
		c.result(2, wire.MethodToolsCall, `{"name":"b"}`)
		c.link.Close()
		c.end()
		for _, m := range c.got {
			if r, ok := m.(*exchange.Response); ok && r.ID == 1 {
				t.Errorf("a cancelled call is answered: %+v", r.Fault)
			}
		}
		if n := s.count(named(wire.NoteCancelled)); n != 0 {
			t.Errorf("%d notifications/cancelled", n)
		}
	})
}

// B6 and B4 in small: a server that goes away in any phase leaves nothing open and nothing undecided.
func TestB7_ResultOf16MB(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		big := `"` + strings.Repeat("0123456789abcdef", 1<<20) + `"`
		s := newWebServer(t, modern(func(w http.ResponseWriter, r *seen, _ *http.Request) {
			switch name, _ := r.Params.String(r.Params.Name); name {
			case "length":
				w.Header().Set("Content-Length", fmt.Sprint(len(resultFor(r, big))))
				sendJSON(w, http.StatusOK, resultFor(r, big))
			case "chunked":
				w.Header().Set("Content-Type", "application/json")
				w.(http.Flusher).Flush()
				io.WriteString(w, resultFor(r, big))
			default:
				startStream(w)
				sendEvent(w, "data: "+resultFor(r, big))
			}
		}))
		c := dialWeb(t, via, s.URL)
		c.opened()
		for i, name := range []string{"length", "chunked", "stream"} {
			if got := c.result(uint64(i+1), wire.MethodToolsCall, `{"name":"`+name+`"}`); got != big {
				t.Errorf("%s: %d bytes, want %d", name, len(got), len(big))
			}
		}
	})
}

func TestSubscriptionOverHTTP(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		more := make(chan string)
		s := newWebServer(t, modern(func(w http.ResponseWriter, r *seen, raw *http.Request) {
			if r.Name != wire.MethodListen {
				sendJSON(w, http.StatusOK, resultFor(r, `{}`))
				return
			}
			startStream(w)
			sendEvent(w, `data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":`+r.ID+`},"notifications":{"toolsListChanged":true}}}`)
			for text, ok := hear(raw, more); ok; text, ok = hear(raw, more) {
				sendEvent(w, text)
			}
			sendEvent(w, "data: "+resultFor(r, `{"resultType":"complete"}`))
		}))
		c := dialWeb(t, via, s.URL)
		c.opened()
		c.send(4, wire.MethodListen, `{"notifications":{"toolsListChanged":true}}`)
		if n := c.note(wire.NoteAcknowledged); n.Related != 4 {
			t.Errorf("related to %d", n.Related)
		}
		c.result(5, wire.MethodToolsList, "") // beside it
		tell(t, more, `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":4}}}`)
		if n := c.note(wire.NoteToolsChanged); n.Related != 4 {
			t.Errorf("related to %d", n.Related)
		}
		close(more)
		if r := c.response(4); string(r.Result) != `{"resultType":"complete"}` {
			t.Errorf("%+v", r)
		}
	})
}

func TestModernServerMisbehavesOnItsStream(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		s := newWebServer(t, modern(func(w http.ResponseWriter, r *seen, _ *http.Request) {
			startStream(w)
			for _, data := range []string{
				`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`, `no json`, `{"jsonrpc":"2.0","id":77,"result":{}}`,
				`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":77,"progress":1}}`,
				`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}`,
			} {
				sendEvent(w, "data: "+data)
			}
			sendEvent(w, "event: other\ndata: "+resultFor(r, `{"wrong":1}`))
			sendEvent(w, "event: message\ndata: "+resultFor(r, `{"right":1}`))
			sendEvent(w, "event: message\ndata: "+resultFor(r, `{"late":1}`))
		}))
		c := dialWeb(t, via, s.URL)
		c.opened()
		if got := c.result(3, wire.MethodToolsCall, `{"name":"a"}`); got != `{"right":1}` {
			t.Error(got)
		}
		for _, kind := range []string{"unexpected-request", "malformed", "unknown-response", "unknown-progress", "unknown-cancel"} {
			await(c, kind, func(a *exchange.Anomaly) bool { return a.Kind == kind })
		}
	})
}

func TestDeadlineOverHTTP(t *testing.T) {
	bothInBubble(t, func(t *testing.T, via string) {
		s := newBubbleServer(t, modern(func(_ http.ResponseWriter, _ *seen, raw *http.Request) { <-raw.Context().Done() }))
		c := s.dial(t, worker.OpenHTTP, via)
		c.opened()
		c.send(1, wire.MethodToolsCall, `{"name":"a"}`, func(m *exchange.Call) { m.Deadline = time.Now().Add(50 * time.Millisecond) })
		c.fault(1, durward.Timeout, true, "tools/call")
	})
}

func TestCloseAnswersWhatIsInFlight(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		begun := make(chan struct{}, 1)
		s := newWebServer(t, modern(func(_ http.ResponseWriter, _ *seen, raw *http.Request) {
			begun <- struct{}{}
			<-raw.Context().Done()
		}))
		c := dialWeb(t, via, s.URL)
		c.opened()
		c.send(1, wire.MethodToolsCall, `{"name":"a"}`)
		<-begun
		c.link.Close()
		if closed := c.end(); closed.Phase != exchange.PhaseStopped {
			t.Errorf("%+v", closed)
		}
		c.fault(1, durward.Unknown, true)
		if err := c.link.Send(&exchange.Call{ID: 2}); err == nil {
			t.Error("a call after Closed is accepted")
		}
	})
}

func TestConnectionIsReused(t *testing.T) {
	var conns sync.Map
	s := newWebServer(t, modern(func(w http.ResponseWriter, r *seen, raw *http.Request) {
		conns.Store(raw.RemoteAddr, true)
		if strings.Contains(r.Body, "stream") {
			startStream(w)
			sendEvent(w, "data: "+resultFor(r, `{}`))
			return
		}
		sendJSON(w, http.StatusOK, resultFor(r, `{}`))
	}))
	c := dialWeb(t, "direct", s.URL)
	c.opened()
	for i := range uint64(20) {
		c.result(i+1, wire.MethodToolsCall, `{"name":"`+[]string{"json", "stream"}[i%2]+`"}`)
	}
	n := 0
	conns.Range(func(any, any) bool { n++; return true })
	if n > 10 { // a stream may still be read to its end when the next call begins
		t.Errorf("20 calls in a row took %d connections", n)
	}
}
