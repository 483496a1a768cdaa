package transport_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/identity"
	"durward/internal/session"
	"durward/internal/transport"
	"durward/internal/wire"
)

func TestCloseEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaiter()
		finishing := make(chan struct{})
		r := newRig(t, map[string]tool{"wait": w.call, "short": func(ctx context.Context, _ *exchange.Inbound, _ exchange.Stream) exchange.Reply {
			close(finishing)
			select {
			case <-time.After(time.Second):
				return result(`{"in":"time"}`)
			case <-ctx.Done():
				return exchange.Fail(ctx.Err())
			}
		}}, func(o *transport.Options, _ *session.Options, _ *identity.Options) { o.Grace = 3 * time.Second })
		id := r.initialize(`{}`)
		get, _ := r.get(id)
		listen := r.stream(r.request(context.Background(), "POST", "/mcp", modernBody(`1`, wire.MethodListen, ``), "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", wire.MethodListen))
		listen.message()
		short, long := make(chan string, 1), make(chan string, 1)
		go func() { _, body := r.callTool("2", "short"); short <- body }()
		go func() {
			_, body := r.send("POST", "/mcp", legacyCall("3", "wait", ""), "Mcp-Session-Id", id)
			long <- body
		}()
		<-finishing
		<-w.entered
		ended := make(chan string, 1)
		go func() { ended <- listen.message().data }()
		go func() {
			if _, ok := get.next(); ok {
				t.Error("GET stream goes on")
			}
		}()
		began := time.Now()
		if err := r.edge.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("closed after %s", took)
		}
		if m := <-ended; !strings.Contains(m, `"resultType":"complete"`) {
			t.Error(m)
		}
		if body := <-short; !strings.Contains(body, `"in":"time"`) {
			t.Error(body)
		}
		if body := <-long; code(t, body) != wire.CodeUnknownOutcome {
			t.Error(body)
		}
		if resp, _ := r.callTool("4", "echo"); resp.StatusCode != http.StatusServiceUnavailable {
			t.Error(resp.StatusCode)
		}
		over, cancel := context.WithCancel(context.Background())
		cancel()
		_ = r.store.Run(over) // the sessions end; their clients must not be told that they are unknown
		for _, method := range []string{"GET", "DELETE"} {
			if resp, _ := r.send(method, "/mcp", "", "Mcp-Session-Id", id); resp.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("%s: %d", method, resp.StatusCode)
			}
		}
		r.close()
	})
}

// A client whose call is cut off because the service ends is told so, on its stream
// as in a body; it did not cancel anything.
func TestCloseAnswersLegacyCallsThatStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaiter()
		r := newRig(t, map[string]tool{"wait": w.call}, nil)
		defer r.close()
		id := r.initialize(`{}`)
		s := r.stream(r.request(context.Background(), "POST", "/mcp", legacyCall("1", "wait", ""), "Mcp-Session-Id", id))
		closed := make(chan error, 1)
		go func() { closed <- r.edge.Close() }()
		if m := s.message(); code(t, m.data) != wire.CodeUnknownOutcome {
			t.Error(m)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// late makes requests enter their session only when they may.
type late struct {
	transport.Sessions
	entering, may chan struct{}
}

func (l *late) Find(id string, caller durward.Caller, route durward.Route) (transport.Session, error) {
	found, err := l.Sessions.Find(id, caller, route)
	return &lateSession{found, l}, err
}

type lateSession struct {
	transport.Session
	of *late
}

func (s *lateSession) Enter(ctx context.Context, id []byte) (inner context.Context, turn <-chan struct{}, err error) {
	close(s.of.entering)
	<-s.of.may
	return s.Session.Enter(ctx, id)
}

func TestCloseEndsACallThatHasNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaiter()
		l := &late{entering: make(chan struct{}), may: make(chan struct{})}
		r := newRig(t, map[string]tool{"wait": w.call}, nil)
		defer r.close()
		l.Sessions = transport.SessionsOf(r.store)
		gate, err := identity.New(identity.Options{Tokens: []identity.Token{{Principal: "local", Secret: secret}}})
		if err != nil {
			t.Fatal(err)
		}
		edge, err := transport.New(transport.Options{Core: r.core, Auth: gate, Sessions: l, Grace: -1})
		if err != nil {
			t.Fatal(err)
		}
		id := r.initialize(`{}`)
		answer := make(chan *httptest.ResponseRecorder, 1)
		go func() {
			w := httptest.NewRecorder()
			edge.ServeHTTP(w, r.request(context.Background(), "POST", "/mcp", legacyCall("1", "wait", ""), "Mcp-Session-Id", id))
			answer <- w
		}()
		<-l.entering
		closed := make(chan error, 1)
		go func() { closed <- edge.Close() }()
		synctest.Wait() // it was cancelled
		close(l.may)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if body := (<-answer).Body.String(); code(t, body) != wire.CodeUnknownOutcome {
			t.Error(body)
		}
	})
}

func TestIdleSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, nil)
		defer r.close()
		ctx, cancel := context.WithCancel(context.Background())
		ran := make(chan struct{})
		go func() { defer close(ran); _ = r.store.Run(ctx) }()
		idle, used, open := r.initialize(`{}`), r.initialize(`{}`), r.initialize(`{}`)
		get, _ := r.get(open)
		ping := func(id string) int {
			resp, _ := r.send("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Mcp-Session-Id", id)
			return resp.StatusCode
		}
		for range 4 {
			for range 80 {
				if ev, ok := get.next(); !ok || !ev.comment {
					t.Fatal(ev)
				}
			}
			if ping(used) != 200 {
				t.Fatal("the session in use ended")
			}
		}
		if ping(idle) != 404 || ping(open) != 200 {
			t.Errorf("idle %d, open %d", ping(idle), ping(open))
		}
		synctest.Wait() // a session cannot be found before it is detached
		if _, gone := r.core.sessions(); gone != 1 {
			t.Errorf("%d detached", gone)
		}
		get.close()
		cancel()
		<-ran
	})
}
