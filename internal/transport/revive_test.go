package transport_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"durward"
	"durward/internal/exchange"
	"durward/internal/identity"
	"durward/internal/seal"
	"durward/internal/session"
	"durward/internal/transport"
	"durward/internal/wire"
)

// sealer is what the gateway gives the store of sessions.
type sealer struct{ *seal.Ring }

func (s sealer) Seal(bound string, state []byte) string {
	return s.Ring.Seal(seal.Session, bound, state)
}

func (s sealer) Open(bound, token string) ([]byte, error) {
	return s.Ring.Open(seal.Session, bound, token)
}

// processes returns what starts gateways that have the same keys.
func processes(t *testing.T) (start func(tools map[string]tool) *rig) {
	t.Helper()
	ring, err := seal.NewRing(durward.NewSealKey())
	if err != nil {
		t.Fatal(err)
	}
	return func(tools map[string]tool) *rig {
		return newRig(t, tools, func(_ *transport.Options, s *session.Options, _ *identity.Options) { s.Sealer = sealer{ring} })
	}
}

func TestB3_LegacyClientsDoNotNoticeARestart(t *testing.T) {
	start := processes(t)
	r := start(nil)
	id := r.initialize(`{"roots":{"x":1e400}}`)
	before := r.core.last(t).Caller.Session
	if id == string(before) || len(id) > 4<<10 {
		t.Errorf("the id is not sealed: %s", id)
	}
	r.close()

	r = start(nil)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			resp, body := r.send("POST", "/mcp", legacyCall(itoa(i), "echo", ""), "Mcp-Session-Id", id)
			if resp.StatusCode != 200 || code(t, body) != 0 || resp.Header.Get("Mcp-Session-Id") != "" {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
		})
	}
	all.Wait()
	in := r.core.last(t)
	if in.Caller.Session != before || in.Caller.Client.Name != "old" || in.Client.Era != wire.Legacy || in.Client.Revision != "2025-11-25" || string(in.Client.Capabilities) != `{"roots":{"x":1e400}}` {
		t.Errorf("the core saw %+v", in)
	}
	if attached, _ := r.core.sessions(); attached != 1 || r.store.Len() != 1 {
		t.Errorf("attached %d times, %d sessions", attached, r.store.Len())
	}
	for name, headers := range map[string][]string{
		"of another principal": {"Mcp-Session-Id", id, "Authorization", "Bearer " + secret + "-of-another"}, "changed": {"Mcp-Session-Id", id[:len(id)-2] + "AA"},
	} {
		if resp, body := r.send("POST", "/mcp", legacyCall("1", "echo", ""), headers...); resp.StatusCode != 404 || code(t, body) == 0 {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
	}
	if resp, _ := r.send("DELETE", "/mcp", "", "Mcp-Session-Id", id); resp.StatusCode != 204 {
		t.Error(resp.StatusCode)
	}
	resp, body := r.send("POST", "/mcp", legacyCall("1", "echo", ""), "Mcp-Session-Id", id)
	if _, gone := r.core.sessions(); resp.StatusCode != 404 || code(t, body) == 0 || gone != 1 {
		t.Errorf("after DELETE: %d %s, %d detached", resp.StatusCode, body, gone)
	}
}

func TestB11_ARevivedSessionIsToldToListAnew(t *testing.T) {
	start := processes(t)
	r := start(nil)
	id := r.initialize(`{}`)
	s, begin := r.get(id)
	s.close()
	r.close()

	r = start(nil)
	// Its stream was of a process that is gone. Any SDK would give up on an error.
	s, again := r.get(id, "Last-Event-ID", begin)
	if again == begin {
		t.Error("it goes on with the stream of another process:", again)
	}
	for _, want := range []string{wire.NoteToolsChanged, wire.NotePromptsChanged, wire.NoteResourcesChanged} {
		if m := s.message(); m.data != `{"jsonrpc":"2.0","method":"`+want+`"}` {
			t.Error(m)
		}
	}
	r.core.feed(t).Notify(wire.NoteResourceUpdated, []byte(`{"uri":"a"}`))
	m := s.message()
	if !strings.Contains(m.data, `"uri":"a"`) {
		t.Error("told twice:", m)
	}
	s.close()
	waitReaders(t, r, id, 0)
	r.core.feed(t).Notify(wire.NoteResourceUpdated, []byte(`{"uri":"b"}`))
	s, _ = r.get(id, "Last-Event-ID", m.id)
	if m := s.message(); !strings.Contains(m.data, `"uri":"b"`) {
		t.Error(m)
	}
	s.close()
}

func TestARequestThatARestartCutOffIsAnswered(t *testing.T) {
	start := processes(t)
	r := start(map[string]tool{"wait": func(ctx context.Context, _ *exchange.Inbound, out exchange.Stream) exchange.Reply {
		out.Notify(wire.NoteProgress, []byte(`{"progressToken":7,"progress":1}`))
		<-ctx.Done()
		return exchange.Fail(ctx.Err())
	}})
	id := r.initialize(`{}`)
	got := r.broken(id, "wait")
	r.close()

	r = start(nil)
	s, begin := r.get(id, "Last-Event-ID", got.id)
	last := s.message()
	if code(t, last.data) != wire.CodeUnknownOutcome || idOf(t, last.data) != "1" {
		t.Error(last)
	}
	if ev, ok := s.next(); ok {
		t.Error("the stream goes on:", ev)
	}
	// One that takes no error for an answer comes back, and must not do so for ever.
	if resp, _ := r.send("GET", "/mcp", "", "Mcp-Session-Id", id, "Last-Event-ID", last.id); resp.StatusCode != 204 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Error(resp.StatusCode)
	}
	s, _ = r.get(id, "Last-Event-ID", begin)
	if m := s.message(); m != last {
		t.Errorf("again it is %+v", m)
	}
	// Without the id of the request nobody can be answered.
	marks := strings.SplitN(got.id, "_", 5)
	if resp, body := r.send("GET", "/mcp", "", "Mcp-Session-Id", id, "Last-Event-ID", strings.Join(marks[:4], "_")); resp.StatusCode != 400 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

func TestEventIDsAreOfOneSession(t *testing.T) {
	r := newRig(t, map[string]tool{"note": func(_ context.Context, _ *exchange.Inbound, out exchange.Stream) exchange.Reply {
		out.Notify("notifications/vendor", nil)
		return result(`{}`)
	}}, nil)
	one, other := r.initialize(`{}`), r.initialize(`{}`)
	for _, id := range []string{one, other} {
		s := r.stream(r.request(context.Background(), "POST", "/mcp", legacyCall("7", "note", ""), "Mcp-Session-Id", id))
		first := s.message()
		s.close()
		get, begin := r.get(id)
		get.close()
		for _, last := range []string{first.id, begin} {
			for _, session := range []string{one, other} {
				resp := r.do(r.request(context.Background(), "GET", "/mcp", "", "Mcp-Session-Id", session, "Last-Event-ID", last))
				resp.Body.Close()
				if (resp.StatusCode == 200) != (session == id) || session != id && resp.StatusCode != 400 {
					t.Errorf("%s of %s for %s: %d", last, id, session, resp.StatusCode)
				}
			}
		}
	}
	s, begin := r.get(one)
	s.close()
	for _, bad := range []string{"x", "1_0", moved(begin, 99), strings.Replace(begin, "_0.", "_5.", 1), strings.Replace(begin, "_0.", "_0.9", 1), begin + "\x00"} {
		req := r.request(context.Background(), "GET", "/mcp", "", "Mcp-Session-Id", one)
		req.Header["Last-Event-Id"] = []string{strings.ReplaceAll(bad, "\x00", "_")}
		resp := r.do(req)
		if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusBadRequest || code(t, string(body)) != wire.CodeInvalidRequest {
			t.Errorf("%s: %d %s", bad, resp.StatusCode, body)
		}
	}
	if resp := r.do(withHeader(r.request(context.Background(), "GET", "/mcp", "", "Mcp-Session-Id", one), "Last-Event-Id", begin, begin)); resp.StatusCode != 400 {
		t.Errorf("two of them: %d", resp.StatusCode)
	}
}

func withHeader(r *http.Request, name string, values ...string) *http.Request {
	r.Header[name] = values
	return r
}

// swapped is a server at one address whose edge is exchanged: a restart.
type swapped struct {
	now atomic.Pointer[transport.Edge]
}

func (s *swapped) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.now.Load().ServeHTTP(w, r) }

// TestB3_PeerGoSDKDoesNotNoticeARestart: that client ends its session for good on
// any error in answer to its coming back.
func TestB3_PeerGoSDKDoesNotNoticeARestart(t *testing.T) {
	start := processes(t)
	wait := func(ctx context.Context, _ *exchange.Inbound, out exchange.Stream) exchange.Reply {
		out.Notify(wire.NoteProgress, []byte(`{"progressToken":7,"progress":1}`))
		<-ctx.Done()
		return exchange.Fail(ctx.Err())
	}
	first := start(map[string]tool{"wait": wait})
	var at swapped
	at.now.Store(first.edge)
	server := httptest.NewServer(&at)
	defer server.Close()
	defer first.close() // the call that was cut off still runs there
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	changed, progressed := make(chan struct{}, 10), make(chan struct{}, 10)
	client := mcp.NewClient(&mcp.Implementation{Name: "peer", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { progressed <- struct{}{} },
	})
	peer, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: server.URL + "/mcp", HTTPClient: &http.Client{Transport: withToken{base}}}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	cut := make(chan error, 1)
	go func() {
		_, err := peer.CallTool(ctx, &mcp.CallToolParams{Name: "wait", Meta: mcp.Meta{"progressToken": "p"}})
		cut <- err
	}()
	within(t, "progress", progressed)
	for found, err := first.store.Find(peer.ID(), durward.Caller{Principal: "local"}, durward.Route{}); err != nil || found.Box(0).Readers() == 0; {
		time.Sleep(time.Millisecond) // polls a state that comes by itself
	}
	at.now.Store(start(nil).edge)
	server.CloseClientConnections() // it crashed
	base.CloseIdleConnections()     // as the client would have done before long; a call on one of them would be lost
	if _, err := peer.CallTool(ctx, &mcp.CallToolParams{Name: "echo"}); err != nil {
		t.Error("after the restart:", err)
	}
	within(t, "the list change", changed)
	if err := <-cut; err == nil || !strings.Contains(err.Error(), "not known") {
		t.Error("the call that was cut off:", err)
	}
	if _, err := peer.ListTools(ctx, nil); err != nil {
		t.Error("it ended its session:", err)
	}
}
