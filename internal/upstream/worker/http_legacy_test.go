package worker_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream/worker"
	"durward/internal/wire"
)

// In a bubble, where nobody is too late to say good-bye.
func TestLegacySessionOverHTTP(t *testing.T) {
	bothInBubble(t, func(t *testing.T, via string) {
		s := newBubbleServer(t, noStream(legacy(func(w http.ResponseWriter, r *seen, _ *http.Request) {
			sendJSON(w, http.StatusOK, resultFor(r, `{"tools":[]}`))
		})))
		c := s.dial(t, worker.OpenHTTP, via)
		if o := c.opened(); o.Era != wire.Legacy || o.Revision != "2025-11-25" || o.Instructions != "mind the gap" {
			t.Errorf("%+v", o)
		}
		r := c.call(1, wire.MethodToolsList, `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`)
		if string(r.Result) != `{"tools":[]}` || r.Era != wire.Legacy {
			t.Errorf("%+v", r)
		}
		s.wait(t, "GET", verb(http.MethodGet)) // calls may go before it
		c.link.Close()
		c.end()
		if hello := s.wait(t, "initialize", named(wire.MethodInitialize)); !strings.Contains(hello.Body, `"capabilities":{"elicitation":{},"sampling":{}}`) || hello.Header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s %v", hello.Body, hello.Header)
		}
		for what, f := range map[string]func(*seen) bool{
			"initialized": named(wire.NoteInitialized), "list": named(wire.MethodToolsList), "GET": verb(http.MethodGet), "DELETE": verb(http.MethodDelete),
		} {
			got := s.wait(t, what, f)
			if got.Header.Get("Mcp-Session-Id") != "s1" || got.Header.Get("Mcp-Protocol-Version") != "2025-11-25" || got.Header.Get("Mcp-Method") != "" {
				t.Errorf("%s: %v", what, got.Header)
			}
		}
		if got := s.wait(t, "list", named(wire.MethodToolsList)); got.Body != `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}` {
			t.Error(got.Body)
		}
		if n := s.count(verb(http.MethodGet)); n != 1 {
			t.Errorf("%d GETs at a server that offers no stream", n)
		}
	})
}

func TestServerWithoutSession(t *testing.T) {
	s := newWebServer(t, func(w http.ResponseWriter, r *seen, raw *http.Request) {
		switch {
		case r.Name == wire.MethodInitialize:
			sendJSON(w, 200, resultFor(r, initializeResult))
		case r.ID == "2":
			w.WriteHeader(http.StatusNotFound)
		default:
			noStream(legacy(func(w http.ResponseWriter, r *seen, _ *http.Request) { sendJSON(w, 200, resultFor(r, `{}`)) }))(w, r, raw)
		}
	})
	c := dialWeb(t, "direct", s.URL)
	c.opened()
	c.send(2, wire.MethodToolsList, "")
	if f := c.fault(2, durward.Unavailable, false); f.NoSession {
		t.Error("a session was lost that never was")
	}
	c.result(3, wire.MethodToolsList, "")
	c.link.Close()
	c.end()
	if s.count(verb(http.MethodDelete)) != 0 {
		t.Error("DELETE without a session")
	}
}

func TestIllegalSessionID(t *testing.T) {
	for _, id := range []string{"a b", "ä", strings.Repeat("x", 9<<10)} {
		s := newWebServer(t, func(w http.ResponseWriter, r *seen, _ *http.Request) {
			w.Header().Set("Mcp-Session-Id", id)
			sendJSON(w, 200, resultFor(r, initializeResult))
		})
		closed := dialWeb(t, "direct", s.URL, legacyEra).end()
		checkFault(t, &closed.Fault, durward.Invalid, false, "Mcp-Session-Id")
	}
}

func TestB10_RequestOfTheServerOnTheCallsStream(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		answers := make(chan *seen, 2)
		s := newWebServer(t, noStream(legacy(func(w http.ResponseWriter, r *seen, raw *http.Request) {
			if r.Kind != wire.Request {
				w.WriteHeader(http.StatusAccepted)
				answers <- r
				return
			}
			startStream(w)
			sendEvent(w, `data: {"jsonrpc":"2.0","id":"p","method":"ping"}`)
			if a, ok := hear(raw, answers); ok && a.Body != `{"jsonrpc":"2.0","id":"p","result":{}}` {
				t.Errorf("ping: %s", a.Body)
			}
			sendEvent(w, `data: {"jsonrpc":"2.0","id":9007199254740993,"method":"elicitation/create","params":{"message":"?","n":1e400}}`)
			if a, ok := hear(raw, answers); ok {
				sendEvent(w, "data: "+resultFor(r, string(a.Result)))
			}
		})))
		c := dialWeb(t, via, s.URL)
		c.opened()
		c.send(5, wire.MethodToolsCall, `{"name":"a"}`)
		q := await(c, "elicitation", func(*exchange.ServerRequest) bool { return true })
		if q.Related != 5 || q.Method != wire.MethodElicit || string(q.Params) != `{"message":"?","n":1e400}` {
			t.Errorf("%+v %s", q, q.Params)
		}
		if err := c.link.Send(&exchange.Response{ID: q.ID, Reply: exchange.Reply{Result: []byte(`{"action":"accept","n":1e400}`)}}); err != nil {
			t.Fatal(err)
		}
		if got := string(c.response(5).Result); got != `{"action":"accept","n":1e400}` {
			t.Error(got)
		}
		posted := s.wait(t, "answer", func(r *seen) bool { return r.Kind == wire.Result && r.ID != `"p"` })
		if posted.ID != "9007199254740993" || posted.Header.Get("Mcp-Session-Id") != "s1" {
			t.Errorf("%s %v", posted.Body, posted.Header)
		}
	})
}

func TestB11_TheServersOwnStream(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		says := make(chan string)
		s := newWebServer(t, legacy(func(w http.ResponseWriter, r *seen, raw *http.Request) {
			if r.Method != http.MethodGet {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			startStream(w)
			sendEvent(w, "retry: 30")
			for text, ok := hear(raw, says); ok && text != ""; text, ok = hear(raw, says) {
				sendEvent(w, text)
			} // at "" the stream breaks
		}))
		c := dialWeb(t, via, s.URL)
		c.opened()
		tell(t, says, `id: e1`+"\n"+`data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		if n := c.note(wire.NoteToolsChanged); n.Related != 0 {
			t.Errorf("related to %d", n.Related)
		}
		tell(t, says, "")
		tell(t, says, `data: {"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`)
		c.note(wire.NotePromptsChanged)
		again := s.wait(t, "second GET", func(r *seen) bool { return r.Method == http.MethodGet && r.Header.Get("Last-Event-Id") != "" })
		if again.Header.Get("Last-Event-Id") != "e1" || again.Header.Get("Accept") != "text/event-stream" {
			t.Errorf("%v", again.Header)
		}
		tell(t, says, `data: {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}`)
		q := await(c, "sampling", func(*exchange.ServerRequest) bool { return true })
		if q.Related != 0 {
			t.Errorf("related to %d", q.Related)
		}
		tell(t, says, `data: {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		if n := c.note(wire.NoteCancelled); string(n.Params) != fmt.Sprintf(`{"requestId":%d}`, q.ID) {
			t.Errorf("%s", n.Params)
		}
		if err := c.link.Send(&exchange.Notification{Method: wire.NoteRootsChanged}); err != nil {
			t.Fatal(err)
		}
		s.wait(t, "roots", named(wire.NoteRootsChanged))
	})
}

// The server may end the stream of a call and let the client ask for the rest (SEP-1699).
func TestB9_CallIsTakenUpAgain(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		var failed atomic.Bool
		s := newWebServer(t, legacy(func(w http.ResponseWriter, r *seen, _ *http.Request) {
			switch from := r.Header.Get("Last-Event-Id"); {
			case r.Method == http.MethodPost:
				startStream(w)
				sendEvent(w, "id: call/0\nretry: 25\ndata:")
			case from == "":
				w.WriteHeader(http.StatusMethodNotAllowed)
			case from == "call/0":
				startStream(w)
				sendEvent(w, "id: call/1\n"+`data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`)
				sendEvent(w, "id: call/2\n"+`data: {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`)
			case from == "call/2":
				if !failed.Swap(true) { // the first attempt
					w.WriteHeader(http.StatusBadGateway)
					return
				}
				startStream(w)
				sendEvent(w, "id: call/3\n"+`data: {"jsonrpc":"2.0","id":1,"result":{"done":true}}`)
			}
		}))
		c := dialWeb(t, via, s.URL)
		c.opened()
		if got := c.result(1, wire.MethodToolsCall, `{"name":"a"}`); got != `{"done":true}` {
			t.Error(got)
		}
		if n := c.note(wire.NoteProgress); n.Related != 1 {
			t.Errorf("related to %d", n.Related)
		}
		if q := await(c, "elicitation", func(*exchange.ServerRequest) bool { return true }); q.Related != 1 {
			t.Errorf("related to %d", q.Related)
		}
		if n := s.count(named(wire.MethodToolsCall)); n != 1 {
			t.Errorf("the call was sent %d times", n)
		}
	})
}

func TestCallThatCannotBeTakenUpAgain(t *testing.T) {
	bothInBubble(t, func(t *testing.T, via string) {
		s := newBubbleServer(t, legacy(func(w http.ResponseWriter, r *seen, raw *http.Request) {
			name, _ := r.Params.String(r.Params.Name)
			switch {
			case r.Method == http.MethodGet && r.Header.Get("Last-Event-Id") == "resume":
				w.WriteHeader(http.StatusServiceUnavailable)
			case r.Method == http.MethodGet:
				w.WriteHeader(http.StatusMethodNotAllowed)
			case name == "close": // as the conformance server does without an event store
				startStream(w)
				sendEvent(w, "event: close\nretry: 10\ndata: ")
			case name == "refused":
				startStream(w)
				sendEvent(w, "id: other\nretry: 1\ndata:")
			default:
				startStream(w)
				sendEvent(w, "id: resume\nretry: 1\ndata:")
			}
		}))
		c := s.dial(t, worker.OpenHTTP, via)
		c.opened()
		c.send(1, wire.MethodToolsCall, `{"name":"close"}`)
		c.fault(1, durward.Unknown, true)
		c.send(2, wire.MethodToolsCall, `{"name":"refused"}`)
		c.fault(2, durward.Unknown, true, "405")
		c.send(3, wire.MethodToolsCall, `{"name":"down"}`)
		c.fault(3, durward.Unknown, true, "5 attempts")
		if n := s.count(func(r *seen) bool { return r.Header.Get("Last-Event-Id") == "resume" }); n != 5 {
			t.Errorf("%d attempts", n)
		}
		c.send(4, wire.MethodToolsCall, `{"name":"down"}`, func(m *exchange.Call) { m.Deadline = time.Now().Add(100 * time.Millisecond) })
		c.fault(4, durward.Timeout, true)
		s.wait(t, "cancelled", func(r *seen) bool { return r.Name == wire.NoteCancelled && strings.Contains(r.Body, `"requestId":4`) })
	})
}

func TestB4_SessionLost(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		begun := make(chan struct{}, 1)
		s := newWebServer(t, noStream(legacy(func(w http.ResponseWriter, r *seen, raw *http.Request) {
			if name, _ := r.Params.String(r.Params.Name); name == "slow" {
				begun <- struct{}{}
				<-raw.Context().Done()
				return
			}
			sendJSON(w, http.StatusNotFound, errorFor(r, `{"code":-32001,"message":"Session not found"}`))
		})))
		c := dialWeb(t, via, s.URL)
		c.opened()
		c.send(1, wire.MethodToolsCall, `{"name":"slow"}`)
		<-begun
		c.send(2, wire.MethodToolsCall, `{"name":"a"}`)
		if f := c.fault(2, durward.Unavailable, false); !f.NoSession {
			t.Errorf("%+v", f)
		}
		if f := c.fault(1, durward.Unknown, true); f.NoSession {
			t.Error("a call that may have run is offered for another try")
		}
		if closed := c.end(); closed.Phase != exchange.PhaseReady || !closed.Fault.NoSession {
			t.Errorf("%+v", closed)
		}
		if s.count(verb(http.MethodDelete)) != 0 {
			t.Error("DELETE of a session that is gone")
		}
	})
}

func TestB4_SessionLostOnTheServersStream(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		s := newWebServer(t, legacy(func(w http.ResponseWriter, r *seen, _ *http.Request) {
			if r.Header.Get("Last-Event-Id") != "" {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			startStream(w)
			sendEvent(w, "id: 1\nretry: 1\ndata:")
		}))
		c := dialWeb(t, via, s.URL)
		c.opened()
		if closed := c.end(); closed.Phase != exchange.PhaseReady || !closed.Fault.NoSession {
			t.Errorf("%+v", closed)
		}
	})
}

func TestLegacyUnknownMethod(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		s := newWebServer(t, noStream(legacy(func(w http.ResponseWriter, r *seen, _ *http.Request) {
			switch r.Name {
			case "vendor/other": // 404 that is the answer and no lost session
				sendJSON(w, http.StatusNotFound, errorFor(r, `{"code":-32601,"message":"x"}`))
			default:
				http.Error(w, `JSON RPC not handled: "`+r.Name+`" unsupported`, http.StatusBadRequest)
			}
		})))
		c := dialWeb(t, via, s.URL)
		c.opened()
		for i, method := range []string{"vendor/thing", "vendor/other"} {
			r := c.call(uint64(i+1), method, "")
			if code, _ := wire.ErrorCode(r.Error); code != wire.CodeMethodNotFound {
				t.Errorf("%s: %+v %s", method, r.Fault, r.Error)
			}
		}
		c.send(3, wire.MethodToolsList, "")
		c.fault(3, durward.Invalid, false, "not handled")
	})
}

func TestB9_CancelIsToldToALegacyServer(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		begun := make(chan struct{}, 1)
		s := newWebServer(t, noStream(legacy(func(w http.ResponseWriter, _ *seen, raw *http.Request) {
			startStream(w)
			begun <- struct{}{}
			<-raw.Context().Done()
		})))
		c := dialWeb(t, via, s.URL)
		c.opened()
		c.send(6, wire.MethodToolsCall, `{"name":"a"}`)
		<-begun
		if err := c.link.Send(&exchange.Cancel{ID: 6, Reason: `no "more"`}); err != nil {
			t.Fatal(err)
		}
		got := s.wait(t, "cancelled", named(wire.NoteCancelled))
		if got.Body != `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6,"reason":"no \"more\""}}` || got.Header.Get("Mcp-Session-Id") != "s1" {
			t.Errorf("%s %v", got.Body, got.Header)
		}
	})
}

// An answer may come on the stream of another call, or on the server's own.
func TestAnswerOnAnotherStream(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		first := make(chan struct{})
		s := newWebServer(t, noStream(legacy(func(w http.ResponseWriter, r *seen, raw *http.Request) {
			startStream(w)
			if r.ID == "1" {
				close(first)
				<-raw.Context().Done() // it is let go once it is answered
				return
			}
			sendEvent(w, `data: {"jsonrpc":"2.0","id":1,"result":{"for":1}}`)
			sendEvent(w, `data: {"jsonrpc":"2.0","id":2,"result":{"for":2}}`)
		})))
		c := dialWeb(t, via, s.URL)
		c.opened()
		c.send(1, wire.MethodToolsCall, `{"name":"a"}`)
		<-first
		c.send(2, wire.MethodToolsCall, `{"name":"b"}`)
		for id := range uint64(2) {
			if got := string(c.response(id + 1).Result); got != fmt.Sprintf(`{"for":%d}`, id+1) {
				t.Error(got)
			}
		}
	})
}

func TestRefusedAnswerIsReported(t *testing.T) {
	s := newWebServer(t, noStream(legacy(func(w http.ResponseWriter, r *seen, raw *http.Request) {
		if r.Name == wire.NoteRootsChanged {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})))
	c := dialWeb(t, "direct", s.URL)
	c.opened()
	if err := c.link.Send(&exchange.Notification{Method: wire.NoteRootsChanged}); err != nil {
		t.Fatal(err)
	}
	await(c, "message-refused", func(a *exchange.Anomaly) bool {
		return a.Kind == "message-refused" && strings.Contains(a.Detail, "500")
	})
}
