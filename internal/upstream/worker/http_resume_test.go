package worker_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"durward/internal/exchange"
	"durward/internal/upstream/worker"
	"durward/internal/wire"
)

// script is what a server says on one stream: events with the ids STREAM/1,
// STREAM/2, …; it breaks off behind some of them, once each.
type script struct {
	stream string
	events []string
	breaks map[int]string // behind this event; the value is said before the break, without its blank line
	broken [32]atomic.Bool
}

// play sends what comes after the event lastID.
func (s *script) play(w http.ResponseWriter, lastID string) {
	from := 0
	if lastID != "" {
		if _, err := fmt.Sscanf(lastID, s.stream+"/%d", &from); err != nil {
			panic(err)
		}
	}
	startStream(w)
	for i := from; i < len(s.events); i++ {
		sendEvent(w, fmt.Sprintf("id: %s/%d\nretry: 20\ndata: %s", s.stream, i+1, s.events[i]))
		if tail, here := s.breaks[i+1]; here && !s.broken[i].Swap(true) {
			io.WriteString(w, tail)
			conn := hijacked(w)
			if strings.HasPrefix(tail, "id") {
				reset(conn)
			}
			conn.Close()
			return
		}
	}
}

func progressEvent(call string, n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, call, n)
}

// story lists what a connection brought of one call or of none, in order.
func story(c *webConn, id uint64) (told []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.got {
		switch m := m.(type) {
		case *exchange.Notification:
			if m.Related == id {
				told = append(told, m.Method+string(m.Params))
			}
		case *exchange.ServerRequest:
			if m.Related == id {
				told = append(told, m.Method)
			}
		case *exchange.Response:
			if m.ID == id {
				told = append(told, "answer"+string(m.Result))
			}
		}
	}
	return told
}

// B9: what is said before, at and after breaks of the stream arrives once each, in
// order, and the answer once and last.
func TestB9_ABrokenStreamGoesOnWhereItWas(t *testing.T) {
	for name, breaks := range map[string]map[int]string{
		"never":                       {},
		"between events":              {2: ""},
		"before the answer":           {4: ""},
		"again and again":             {1: "", 2: "", 3: "", 4: ""},
		"within an event":             {2: "id: call/3\ndata: " + progressEvent("1", 3) + "\n"},
		"within a line":               {3: "id: call/4\nda"},
		"within the answer, twice":    {4: "id: call/5\ndata: {\"jsonrpc\"", 3: "id"},
		"behind a comment, and early": {1: ": still here\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, via string) {
				play := &script{stream: "call", breaks: breaks, events: []string{
					progressEvent("1", 1), progressEvent("1", 2), progressEvent("1", 3), progressEvent("1", 4), `{"jsonrpc":"2.0","id":1,"result":{"done":true}}`,
				}}
				s := newWebServer(t, legacy(func(w http.ResponseWriter, r *seen, _ *http.Request) {
					if lastID := r.Header.Get("Last-Event-Id"); r.Method == http.MethodPost || lastID != "" {
						play.play(w, lastID)
						return
					}
					w.WriteHeader(http.StatusMethodNotAllowed)
				}))
				c := dialWeb(t, via, s.URL)
				c.opened()
				if got := c.result(1, wire.MethodToolsCall, `{"name":"a"}`, withProgress); got != `{"done":true}` {
					t.Error(got)
				}
				c.link.Close()
				c.end()
				var want []string
				for n := range 4 {
					want = append(want, wire.NoteProgress+fmt.Sprintf(`{"progressToken":1,"progress":%d}`, n+1))
				}
				want = append(want, `answer{"done":true}`)
				if got := story(c, 1); strings.Join(got, "\n") != strings.Join(want, "\n") {
					t.Errorf("arrived\n%s", strings.Join(got, "\n"))
				}
				if n := s.count(named(wire.MethodToolsCall)); n != 1 {
					t.Errorf("the call was sent %d times", n)
				}
			})
		})
	}
}

// B11: so does the stream for what the server says by itself.
func TestB11_TheServersOwnStreamGoesOnWhereItWas(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		note := func(n int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:%d"}}`, n)
		}
		play := &script{stream: "own", breaks: map[int]string{1: "", 2: "id: own/3\ndata: " + note(2) + "\n", 4: ""}, events: []string{
			note(1), `{"jsonrpc":"2.0","id":7,"method":"roots/list"}`, note(2), note(3), note(4),
		}}
		s := newWebServer(t, legacy(func(w http.ResponseWriter, r *seen, raw *http.Request) {
			if r.Method != http.MethodGet {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			play.play(w, r.Header.Get("Last-Event-Id"))
			if raw.Context().Err() == nil && play.broken[3].Load() && r.Header.Get("Last-Event-Id") == "own/4" {
				<-raw.Context().Done()
			}
		}))
		c := dialWeb(t, via, s.URL)
		c.opened()
		await(c, "the last", func(n *exchange.Notification) bool { return string(n.Params) == `{"uri":"a:4"}` })
		want := []string{
			wire.NoteResourceUpdated + `{"uri":"a:1"}`, wire.MethodRootsList,
			wire.NoteResourceUpdated + `{"uri":"a:2"}`, wire.NoteResourceUpdated + `{"uri":"a:3"}`, wire.NoteResourceUpdated + `{"uri":"a:4"}`,
		}
		if got := story(c, 0); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("arrived\n%s", strings.Join(got, "\n"))
		}
	})
}

// A modern server's streams are not taken up: there is no such thing.
func TestAModernStreamIsNotTakenUp(t *testing.T) {
	s := newWebServer(t, modern(func(w http.ResponseWriter, r *seen, _ *http.Request) {
		startStream(w)
		sendEvent(w, "id: call/1\nretry: 1\ndata: "+progressEvent(r.ID, 1))
	}))
	c := dialWeb(t, "direct", s.URL)
	c.opened()
	c.send(1, wire.MethodToolsCall, `{"name":"a"}`, withProgress)
	if f := c.response(1).Fault; f == nil || !f.Delivered || !f.Again {
		t.Errorf("%+v", f)
	}
	if n := s.count(verb(http.MethodGet)); n != 0 {
		t.Errorf("%d GETs", n)
	}
}

// The deadline of a call during which its requester is asked is the core's
// matter: the connection does not know how long the answer took.
func TestAQuestionSuspendsTheDeadlineOfItsCall(t *testing.T) {
	bothInBubble(t, func(t *testing.T, via string) {
		answered := make(chan struct{})
		s := newBubbleServer(t, noStream(legacy(func(w http.ResponseWriter, r *seen, raw *http.Request) {
			if r.Kind == wire.Result {
				w.WriteHeader(http.StatusAccepted)
				close(answered)
				return
			}
			startStream(w)
			if name, _ := r.Params.String(r.Params.Name); name == "asks" {
				sendEvent(w, `data: {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"?"}}`)
				select {
				case <-answered:
					sendEvent(w, "data: "+resultFor(r, `{}`))
					return
				case <-raw.Context().Done():
				}
			}
			<-raw.Context().Done() // silent until it is given up
		})))
		c := s.dial(t, worker.OpenHTTP, via)
		c.opened()
		deadline := time.Now().Add(100 * time.Millisecond)
		soon := func(m *exchange.Call) { m.Deadline = deadline }
		c.send(1, wire.MethodToolsCall, `{"name":"asks"}`, soon)
		q := await(c, "elicitation", func(*exchange.ServerRequest) bool { return true })
		c.send(2, wire.MethodToolsCall, `{"name":"silent"}`, soon)
		if f := c.response(2).Fault; f == nil || f.Again {
			t.Errorf("a call whose time is over is offered for another attempt: %+v", f)
		}
		// The other one ended at the deadline of this one.
		if err := c.link.Send(&exchange.Response{ID: q.ID, Reply: exchange.Reply{Result: []byte(`{"action":"accept"}`)}}); err != nil {
			t.Fatal(err)
		}
		if r := c.response(1); r.Fault != nil {
			t.Errorf("%+v", r.Fault)
		}
	})
}

// What a modern server asks for comes back whole, its state included.
func TestInputRequiredIsRelayedWhole(t *testing.T) {
	const result = `{"resultType":"input_required","inputRequests":{"b":{"method":"elicitation/create","params":{"n":1e400}},"a":{"method":"roots/list"}},` +
		`"requestState":"opaque \u0022é","x":9007199254740993,"_meta":{"k":1}}`
	both(t, func(t *testing.T, via string) {
		s := newWebServer(t, modern(func(w http.ResponseWriter, r *seen, _ *http.Request) {
			if r.Name == wire.MethodPromptsGet {
				startStream(w)
				sendEvent(w, "data: "+resultFor(r, result))
				return
			}
			sendJSON(w, http.StatusOK, resultFor(r, result))
		}))
		c := dialWeb(t, via, s.URL)
		c.opened()
		for i, method := range []string{wire.MethodToolsCall, wire.MethodPromptsGet} {
			r := c.call(uint64(i+1), method, `{"name":"a","inputResponses":{"a":{"roots":[]}},"requestState":"earlier"}`)
			if string(r.Result) != result || r.ResultType != "input_required" || r.Era != wire.Modern {
				t.Errorf("%s: %+v %s", method, r, r.Result)
			}
		}
		got := s.wait(t, "call", named(wire.MethodToolsCall)).Body
		if !strings.Contains(got, `"inputResponses":{"a":{"roots":[]}},"requestState":"earlier"`) {
			t.Errorf("sent %s", got)
		}
	})
}
