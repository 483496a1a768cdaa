package gateway_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"durward"
	"durward/gateway"
	"durward/internal/testkit/rawclient"
	"durward/internal/wire"
)

// callers notes by which session each tools/call came.
type callers struct {
	mu   sync.Mutex // guards seen
	seen map[string]durward.Caller
}

func (c *callers) Intent(_ context.Context, call *durward.Call, _ durward.Decision) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call.Method == wire.MethodToolsCall {
		c.seen[string(call.Arguments)] = call.Caller
	}
	return nil
}

func (c *callers) Outcome(context.Context, *durward.Call, durward.Outcome) {}

// of returns who made the call with these arguments.
func (c *callers) of(arguments string) durward.Caller {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[arguments]
}

// life is one life of a gateway.
type life struct {
	*callers
	end func()
}

// address is a port that stays ours from one life of a gateway to the next: one that
// is closed in between may be somebody else's by then.
type address struct {
	net.Listener
	lives chan struct{} // has room for the one life that may be
}

func newAddress(t *testing.T) *address {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := &address{Listener: listener, lives: make(chan struct{}, 1)}
	t.Cleanup(func() { listener.Close() })
	return a
}

func (a *address) String() string { return a.Addr().String() }

// lent is the listener of one life: closing it leaves the port open.
type lent struct {
	*address
	over   chan struct{}
	closed sync.Once
}

func (a *address) lend() *lent {
	a.lives <- struct{}{}
	return &lent{address: a, over: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *lent) Accept() (net.Conn, error) {
	type accepted struct {
		conn net.Conn
		err  error
	}
	next := make(chan accepted, 1)
	go func() {
		conn, err := l.Listener.Accept()
		next <- accepted{conn, err}
	}()
	select {
	case got := <-next:
		return got.conn, got.err
	case <-l.over:
		// The Accept that is under way must not take a connection of the next life.
		_ = l.Listener.(*net.TCPListener).SetDeadline(time.Unix(1, 0))
		if got := <-next; got.conn != nil {
			got.conn.Close()
		}
		_ = l.Listener.(*net.TCPListener).SetDeadline(time.Time{})
		<-l.lives
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *lent) Close() error {
	l.closed.Do(func() { close(l.over) })
	return nil
}

// live starts a gateway with one server at an address.
func live(t *testing.T, at *address, keys ...durward.SealKey) *life {
	t.Helper()
	seen := &callers{seen: map[string]durward.Caller{}}
	opt := gateway.Options{Servers: []durward.Server{hostileServer("h")}, SealKeys: keys, Recorder: seen}
	opt.Access.NoAuth = true
	g, err := gateway.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	(&running{Gateway: g}).await(t, "h", isReady)
	listener := at.lend()
	server := &http.Server{Handler: g.Handler(), ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	end := sync.OnceFunc(func() {
		if err := g.Close(); err != nil {
			t.Error("close:", err)
		}
		_ = server.Close() // what is left has been answered
		<-served
	})
	t.Cleanup(end)
	return &life{seen, end}
}

// client is one whose connections end with the test.
func client(t *testing.T, url string, modern bool) *rawclient.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &rawclient.Client{URL: url, Modern: modern, HTTP: http.Client{Transport: transport}}
}

// echoes checks that a tool can be called and listed.
func echoes(t *testing.T, c *rawclient.Client, text string) {
	t.Helper()
	if a := call(t, c, "h__echo", `{"text":"`+text+`"}`); a.Text() != text {
		t.Fatalf("%s: %d %s %s", text, a.Status, a.Msg.Error, a.Body)
	}
	if a := do(t, c, wire.MethodToolsList, `{}`); !strings.Contains(string(a.Msg.Result), `"h__echo"`) {
		t.Errorf("%s: %s %s", text, a.Msg.Result, a.Msg.Error)
	}
}

func TestB3_ClientsOfBothErasDoNotNoticeARestart(t *testing.T) {
	key, addr := durward.NewSealKey(), newAddress(t)
	first := live(t, addr, key)
	legacy, modern := client(t, "http://"+addr.String()+"/mcp", false), client(t, "http://"+addr.String()+"/mcp", true)
	if _, err := legacy.Initialize(t.Context(), `{"elicitation":{}}`); err != nil {
		t.Fatal(err)
	}
	echoes(t, legacy, "before")
	echoes(t, modern, "modern before")
	who := first.of(`{"text":"before"}`)
	if string(who.Session) == legacy.Session || who.Client.Name != "raw" {
		t.Errorf("rules and ledger see %+v of %s", who, legacy.Session)
	}
	events := stream(t, legacy, "", "")
	primed, ended, once := make(chan struct{}), make(chan struct{}), sync.Once{}
	go func() {
		defer close(ended)
		for events.scan.Scan() {
			if id, ok := strings.CutPrefix(events.scan.Text(), "id: "); ok {
				events.last = id
				once.Do(func() { close(primed) })
			}
		}
	}()
	await(t, "an event id", primed)
	first.end()
	<-ended // the client knows that its stream broke
	legacy.HTTP.CloseIdleConnections()
	modern.HTTP.CloseIdleConnections()

	second := live(t, addr, key)
	echoes(t, legacy, "after")
	echoes(t, modern, "modern after")
	if now := second.of(`{"text":"after"}`); now.Session != who.Session || now.Client != who.Client || now.Principal != who.Principal {
		t.Errorf("before it was %+v, after %+v", who, now)
	}
	// It takes up its stream where it broke, and is told what may have changed, once.
	events = stream(t, legacy, "", events.last)
	events.expect(wire.NoteToolsChanged, wire.NotePromptsChanged, wire.NoteResourcesChanged)
	// A question reaches it, which it said at initialize that it can answer.
	asking := stream(t, legacy, `{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"h__ask","arguments":{}}}`, "")
	asked := asking.expect(wire.MethodElicit)
	if _, err := legacy.Send(t.Context(), `{"jsonrpc":"2.0","id":`+string(asked.ID)+`,"result":{"action":"decline"}}`, "", ""); err != nil {
		t.Fatal(err)
	}
	asking.expect("")
	// And so do changes.
	if a := call(t, legacy, "h__change", `{"n":1}`); a.Text() != "changed" {
		t.Fatal(a.Msg.Error)
	}
	for listed := false; !listed; {
		if m, ok := events.next(); !ok {
			t.Fatal("the stream ended")
		} else if m.Method == wire.NoteToolsChanged {
			listed = strings.Contains(string(do(t, legacy, wire.MethodToolsList, `{}`).Msg.Result), `"h__extra_0"`)
		}
	}
}

// TestB3_ARestartWithOtherKeys: who cannot go on gets the answer on which clients begin anew.
func TestB3_ARestartWithOtherKeys(t *testing.T) {
	addr := newAddress(t)
	first := live(t, addr, durward.NewSealKey())
	legacy, modern := client(t, "http://"+addr.String()+"/mcp", false), client(t, "http://"+addr.String()+"/mcp", true)
	if _, err := legacy.Initialize(t.Context(), `{}`); err != nil {
		t.Fatal(err)
	}
	first.end()
	legacy.HTTP.CloseIdleConnections()
	live(t, addr) // a key of its own, as without a configuration
	echoes(t, modern, "modern")
	if a := do(t, legacy, wire.MethodToolsList, `{}`); a.Status != http.StatusNotFound || a.Code() != wire.CodeInvalidRequest || string(a.Msg.ID) == "" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	legacy.Session = ""
	if _, err := legacy.Initialize(t.Context(), `{}`); err != nil {
		t.Fatal(err)
	}
	echoes(t, legacy, "anew")
}

// TestB3_ReplicasShareSessions: any replica that has the keys serves a session, at the same time.
func TestB3_ReplicasShareSessions(t *testing.T) {
	key, old := durward.NewSealKey(), durward.NewSealKey()
	addrA, addrB := newAddress(t), newAddress(t)
	a, b := live(t, addrA, old), live(t, addrB, key, old) // the key is being rotated
	c := client(t, "http://"+addrA.String()+"/mcp", false)
	if _, err := c.Initialize(t.Context(), `{}`); err != nil {
		t.Fatal(err)
	}
	other := client(t, "http://"+addrB.String()+"/mcp", false)
	other.Session = c.Session
	for range 3 {
		echoes(t, c, "a")
		echoes(t, other, "b")
	}
	if onA, onB := a.of(`{"text":"a"}`), b.of(`{"text":"b"}`); onA.Session == "" || onA.Session != onB.Session {
		t.Errorf("%+v and %+v", onA, onB)
	}
	// Another route is another session, on every replica.
	stray := client(t, "http://"+addrB.String()+"/servers/h/mcp", false)
	stray.Session = c.Session
	if answer := do(t, stray, wire.MethodToolsList, `{}`); answer.Status != http.StatusNotFound {
		t.Errorf("%d %s", answer.Status, answer.Body)
	}
	// What ended on a replica has ended there, and only there: they share no memory.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, "http://"+addrB.String()+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Mcp-Session-Id", c.Session)
	if answer, err := other.Raw(req); err != nil || answer.Status != http.StatusNoContent {
		t.Fatal(err, answer)
	}
	if answer := do(t, other, wire.MethodToolsList, `{}`); answer.Status != http.StatusNotFound || answer.Code() == 0 {
		t.Errorf("%d %s", answer.Status, answer.Body)
	}
	echoes(t, c, "still")
}
