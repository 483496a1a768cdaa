package transport_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"durward/internal/exchange"
	"durward/internal/exchange/outbox"
	"durward/internal/identity"
	"durward/internal/session"
	"durward/internal/transport"
	"durward/internal/wire"
)

// conversation is a tool whose call does what a test says, step by step.
type conversation struct {
	steps chan func(out exchange.Stream)
}

func newConversation() *conversation {
	return &conversation{make(chan func(out exchange.Stream))}
}

func (c *conversation) call(_ context.Context, _ *exchange.Inbound, out exchange.Stream) exchange.Reply {
	for step := range c.steps {
		step(out)
	}
	return result(`{"ended":true}`)
}

// do returns when the step is done.
func (c *conversation) do(f func(out exchange.Stream)) {
	done := make(chan struct{})
	c.steps <- func(out exchange.Stream) { f(out); close(done) }
	<-done
}

func (c *conversation) progress(n int) {
	c.do(func(out exchange.Stream) {
		out.Notify(wire.NoteProgress, fmt.Appendf(nil, `{"progressToken":7,"progress":%d}`, n))
	})
}

const withProgress = `,"_meta":{"progressToken":1}`

// A client that loses its connection again and again gets every message once, in
// order, whenever it comes back.
func TestResumingAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConversation()
		r := newRig(t, map[string]tool{"talk": c.call}, nil)
		defer r.close()
		id := r.initialize(`{}`)
		body := legacyCall(`"a b"`, "talk", withProgress)
		resp := r.stream(r.request(context.Background(), "POST", "/mcp", body, "Mcp-Session-Id", id))
		var seen []string
		last := ""
		take := func(s *events, n int) {
			for range n {
				m := s.message()
				seen = append(seen, m.data)
				last = m.id
			}
		}
		c.progress(1)
		take(resp, 1)
		resp.close()
		synctest.Wait()
		c.progress(2) // nobody is connected
		c.progress(3)
		s, begin := r.get(id, "Last-Event-ID", last)
		if begin != last {
			t.Errorf("it goes on at %s, not at %s", begin, last)
		}
		take(s, 1)
		s.close() // 3 was on its way and is not known to have arrived
		synctest.Wait()
		c.progress(4)
		s, _ = r.get(id, "Last-Event-ID", last)
		take(s, 2)
		// The old connection is still open for all that we know, when the next takes over.
		next, _ := r.get(id, "Last-Event-ID", last)
		synctest.Wait()
		c.progress(5)
		close(c.steps)
		take(next, 2)
		if ev, ok := s.next(); ok {
			t.Errorf("sent on two connections: %+v", ev)
		}
		if ev, ok := next.next(); ok {
			t.Errorf("after the answer: %+v", ev)
		}
		for i, got := range seen[:5] {
			if want := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":%d}}`, i+1); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		if seen[5] != `{"jsonrpc":"2.0","id":"a b","result":{"ended":true}}` {
			t.Error(seen[5])
		}
	})
}

// A client that lost its connection before any message came, but had been told
// where its stream begins, misses nothing. The TypeScript SDK forgets the place
// when it resumes, so each connection begins with it.
func TestNothingIsLostThatWasOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, nil)
		defer r.close()
		id := r.initialize(`{}`)
		s, begin := r.get(id)
		feed := r.core.feed(t)
		feed.Notify(wire.NoteToolsChanged, nil)
		synctest.Wait() // it was handed to the connection
		s.close()
		synctest.Wait()
		feed.Notify(wire.NoteResourceUpdated, []byte(`{"uri":"a"}`))
		for range 2 { // lost again
			s, begin = r.get(id, "Last-Event-ID", begin)
			for _, want := range []string{"tools/list_changed", `"uri":"a"`} {
				if m := s.message(); !strings.Contains(m.data, want) {
					t.Errorf("%s: %s", want, m.data)
				}
			}
			s.close()
			synctest.Wait()
		}
		// What was handed over on one stream does not come on another.
		s, _ = r.get(id)
		feed.Notify(wire.NoteResourceUpdated, []byte(`{"uri":"b"}`))
		if m := s.message(); !strings.Contains(m.data, `"uri":"b"`) {
			t.Error(m)
		}
		s.close()
	})
}

func TestStreamsOfOlderRevisionsBeginWithoutAnEmptyEvent(t *testing.T) {
	r := newRig(t, nil, nil)
	resp, _ := r.send("POST", "/mcp", initializeLine)
	id := resp.Header.Get("Mcp-Session-Id")
	r.core.feed(t).Notify(wire.NoteToolsChanged, nil)
	s := r.stream(r.request(context.Background(), "GET", "/mcp", "", "Mcp-Session-Id", id))
	if ev, _ := s.next(); ev.retry == "" || ev.id != "" {
		t.Errorf("%+v", ev)
	}
	if ev, _ := s.next(); ev.id == "" || !strings.Contains(ev.data, "tools/list_changed") {
		t.Errorf("%+v", ev)
	}
	s.close()
}

// Of the stream of no request the client gets what is left, and is told to list
// anew, since it cannot know what it missed.
func TestMissedChangesAreMadeUpFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, func(_ *transport.Options, s *session.Options, _ *identity.Options) {
			s.Kept = outbox.Limits{Events: 4, Bytes: 1 << 20}
		})
		defer r.close()
		id := r.initialize(`{}`)
		s, begin := r.get(id)
		s.close()
		synctest.Wait()
		feed := r.core.feed(t)
		feed.Notify(wire.NoteToolsChanged, nil)
		for i := range 6 {
			feed.Notify(wire.NoteResourceUpdated, fmt.Appendf(nil, `{"uri":"%d"}`, i))
		}
		s, _ = r.get(id, "Last-Event-ID", begin)
		for _, want := range []string{`"uri":"2"`, `"uri":"3"`, `"uri":"4"`, `"uri":"5"`, "tools/list_changed", "prompts/list_changed", "resources/list_changed"} {
			if m := s.message(); !strings.Contains(m.data, want) {
				t.Errorf("%s: %s", want, m.data)
			}
		}
		s.close()
	})
}

func TestAnAnswerThatIsNoLongerKeptIsSaidToBe(t *testing.T) {
	long := result(`"` + strings.Repeat("x", 2<<20) + `"`)
	tests := []struct {
		name   string
		answer exchange.Reply
		wait   time.Duration
		lost   bool
	}{
		{"in time", result(`{}`), time.Minute, false},
		{"too late", result(`{}`), 10 * time.Minute, true},
		{"lost on its way, and too long to keep", long, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				proceed := make(chan struct{})
				r := newRig(t, map[string]tool{"slow": func(_ context.Context, _ *exchange.Inbound, out exchange.Stream) exchange.Reply {
					out.Notify(wire.NoteProgress, []byte(`{"progressToken":7,"progress":1}`))
					<-proceed
					return tt.answer
				}}, nil)
				defer r.close()
				ctx, cancel := context.WithCancel(context.Background())
				var ran = make(chan struct{})
				go func() { defer close(ran); _ = r.store.Run(ctx) }()
				defer func() { cancel(); <-ran }()
				id := r.initialize(`{}`)
				s := r.stream(r.request(context.Background(), "POST", "/mcp", legacyCall("1", "slow", withProgress), "Mcp-Session-Id", id))
				got := s.message()
				close(proceed)
				synctest.Wait() // the answer, or its beginning, is on its way
				s.close()
				time.Sleep(tt.wait)
				synctest.Wait()
				s, _ = r.get(id, "Last-Event-ID", got.id)
				m := s.message()
				if idOf(t, m.data) != "1" || tt.lost != (code(t, m.data) == wire.CodeUnknownOutcome) || tt.lost && !strings.Contains(m.data, "limits.resume") {
					t.Error(m)
				}
				if resp, _ := r.send("GET", "/mcp", "", "Mcp-Session-Id", id, "Last-Event-ID", m.id); resp.StatusCode != 204 {
					t.Error(resp.StatusCode)
				}
			})
		})
	}
}

// The question of a server is not lost with the connection on which it was asked.
func TestB10_AQuestionIsAskedAgainOnTheResumedStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, map[string]tool{"ask": asker(wire.MethodElicit, `{"message":"who","requestedSchema":{}}`)}, nil)
		defer r.close()
		id := r.initialize(`{"elicitation":{}}`)
		s := r.stream(r.request(context.Background(), "POST", "/mcp", legacyCall("1", "ask", ""), "Mcp-Session-Id", id))
		s.next()
		prime, _ := s.next()
		synctest.Wait()
		s.close()
		synctest.Wait()
		s, _ = r.get(id, "Last-Event-ID", prime.id)
		asked := s.message().data
		if !strings.Contains(asked, `"method":"elicitation/create"`) {
			t.Error(asked)
		}
		r.send("POST", "/mcp", `{"jsonrpc":"2.0","id":`+idOf(t, asked)+`,"result":{"action":"decline"}}`, "Mcp-Session-Id", id)
		if m := s.message().data; m != `{"jsonrpc":"2.0","id":1,"result":{"answer":{"action":"decline"}}}` {
			t.Error(m)
		}
	})
}

// What is kept of a call goes to who may ask for it, and to nobody else.
func TestStreamsOfOthersCannotBeResumed(t *testing.T) {
	proceed := make(chan struct{})
	r := newRig(t, map[string]tool{"slow": func(_ context.Context, _ *exchange.Inbound, out exchange.Stream) exchange.Reply {
		out.Notify(wire.NoteProgress, []byte(`{"progressToken":7,"progress":1}`))
		<-proceed
		return result(`{}`)
	}}, nil)
	id := r.initialize(`{}`)
	got := r.broken(id, "slow")
	close(proceed)
	for _, headers := range [][]string{
		{"Mcp-Session-Id", id, "Authorization", "Bearer " + secret + "-of-another"},
		{"Mcp-Session-Id", r.initialize(`{}`)},
		{"Mcp-Session-Id", r.initialize(`{}`, "Authorization", "Bearer "+secret+"-of-another"), "Authorization", "Bearer " + secret + "-of-another"},
	} {
		resp, body := r.send("GET", "/mcp", "", append(headers, "Last-Event-ID", got.id)...)
		if resp.StatusCode != 404 && resp.StatusCode != 400 || strings.Contains(body, "progress") {
			t.Errorf("%d %s", resp.StatusCode, body)
		}
	}
	if resp, _ := r.send("GET", "/servers/x/mcp", "", "Mcp-Session-Id", id, "Last-Event-ID", got.id); resp.StatusCode != 404 {
		t.Errorf("by another route: %d", resp.StatusCode)
	}
}

func TestB18_LongLegacyCallsAreKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaiter()
		r := newRig(t, map[string]tool{"wait": w.call}, nil)
		defer r.close()
		id := r.initialize(`{}`)
		alive := func(s *events) {
			for began := time.Now(); time.Since(began) < 20*time.Minute; {
				before := time.Now()
				if ev, ok := s.next(); !ok || !ev.comment {
					t.Fatalf("after %s: %+v %v", time.Since(began), ev, ok)
				}
				if silent := time.Since(before); silent > 20*time.Second {
					t.Fatalf("silent for %s", silent)
				}
			}
		}
		s := r.stream(r.request(context.Background(), "POST", "/mcp", legacyCall("1", "wait", ""), "Mcp-Session-Id", id))
		s.next()
		prime, _ := s.next()
		alive(s)
		s.close()
		synctest.Wait()
		s, _ = r.get(id, "Last-Event-ID", prime.id) // the resumed one as well
		alive(s)
		close(w.proceed)
		if m := s.message(); m.data != `{"jsonrpc":"2.0","id":1,"result":{"late":true}}` || w.stopped.Load() {
			t.Error(m)
		}
	})
}
