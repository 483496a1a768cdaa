package upstream_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/testkit/leftover"
	"durward/internal/upstream"
	"durward/internal/wire"
	"go.uber.org/goleak"
)

// serverMode makes this program a server instead of a test; see realServer.
const serverMode = "UPSTREAM_TEST_SERVER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(serverMode); mode != "" {
		realServer(mode)
		syscall.Exit(0) // with the race detector a return waits for a second
	}
	goleak.VerifyTestMain(leftover.Awaited(m))
}

// world is a scripted Opener: what each opening does is decided by script.
type world struct {
	script func(n int, spec exchange.LinkSpec) act

	mu    sync.Mutex // guards the fields below
	opens []opening
	conns []*fakeConn
}

type opening struct {
	at   time.Time
	spec exchange.LinkSpec
}

// act is what one opening does. The zero value is a legacy server without any capability.
type act struct {
	err    error // Open returns it
	hang   bool  // Open returns, but nothing ever follows
	delay  time.Duration
	closed *exchange.Closed // instead of Opened
	opened *exchange.Opened
	handle func(c *fakeConn, call *exchange.Call) bool // false: the default answers
	refuse func(call *exchange.Call) bool              // Send fails, so the call is not taken
	dies   bool                                        // it closes as soon as it is open
	diag   string
	noStop bool // Stop does not end before its ctx does
}

func (w *world) Open(ctx context.Context, _ durward.Server, spec exchange.LinkSpec, sink exchange.Sink) (upstream.Connection, error) {
	w.mu.Lock()
	n := len(w.opens)
	w.opens = append(w.opens, opening{time.Now(), spec})
	w.mu.Unlock()
	var a act
	if w.script != nil {
		a = w.script(n, spec)
	}
	if a.delay > 0 {
		select {
		case <-time.After(a.delay):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if a.err != nil {
		return nil, a.err
	}
	c := &fakeConn{world: w, n: n, act: a, sink: sink, spec: spec, in: make(chan exchange.Message, 4096), stop: make(chan struct{}), done: make(chan struct{})}
	w.mu.Lock()
	w.conns = append(w.conns, c)
	w.mu.Unlock()
	go c.run()
	return c, nil
}

func (w *world) openings() []opening {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.opens)
}

func (w *world) conn(i int) *fakeConn {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i < 0 {
		i += len(w.conns)
	}
	return w.conns[i]
}

// fakeConn is a scripted connection.
type fakeConn struct {
	world *world
	n     int
	act   act
	sink  exchange.Sink
	spec  exchange.LinkSpec
	in    chan exchange.Message
	stop  chan struct{}
	done  chan struct{}

	emits sync.Mutex // serialises the sink

	mu      sync.Mutex // guards the fields below
	ended   bool
	stopped bool
	killed  bool
	sent    []exchange.Message
}

func (c *fakeConn) run() {
	defer close(c.done)
	if !c.act.hang {
		if c.act.closed != nil {
			c.end(c.act.closed)
		} else {
			opened := c.act.opened
			if opened == nil {
				opened = &exchange.Opened{Era: wire.Legacy, Revision: wire.RevisionLegacy}
			}
			c.emit(opened)
			if c.act.dies {
				c.die()
			}
		}
	}
	for {
		select {
		case m := <-c.in:
			call, ok := m.(*exchange.Call)
			if !ok || c.act.handle != nil && c.act.handle(c, call) {
				continue
			}
			c.standard(call)
		case <-c.stop:
			c.end(&exchange.Closed{Phase: exchange.PhaseStopped, Fault: exchange.Fault{Message: "stopped"}})
			return
		}
	}
}

// standard answers like a server without anything to list.
func (c *fakeConn) standard(call *exchange.Call) {
	switch call.Method {
	case wire.MethodToolsList:
		c.result(call.ID, `{"tools":[]}`)
	case wire.MethodPromptsList:
		c.result(call.ID, `{"prompts":[]}`)
	case wire.MethodResourcesList:
		c.result(call.ID, `{"resources":[]}`)
	case wire.MethodTemplatesList:
		c.result(call.ID, `{"resourceTemplates":[]}`)
	case wire.MethodListen:
		c.emit(&exchange.Notification{Related: call.ID, Method: wire.NoteAcknowledged, Params: []byte(`{}`)})
	default:
		c.result(call.ID, `{"conn":`+fmt.Sprint(c.n)+`}`)
	}
}

func (c *fakeConn) emit(m exchange.Message) {
	c.emits.Lock()
	defer c.emits.Unlock()
	c.sink.Receive(m)
}

func (c *fakeConn) result(id uint64, result string) {
	c.emit(&exchange.Response{ID: id, Reply: exchange.Reply{Result: []byte(result)}})
}

func (c *fakeConn) failure(id uint64, code int, message string) {
	c.emit(&exchange.Response{ID: id, Reply: exchange.Reply{Error: wire.AppendError(nil, code, message, nil)}})
}

func (c *fakeConn) fault(id uint64, f exchange.Fault) {
	c.emit(&exchange.Response{ID: id, Fault: &f})
}

// end closes the connection, once.
func (c *fakeConn) end(m *exchange.Closed) {
	c.mu.Lock()
	was := c.ended
	c.ended = true
	c.mu.Unlock()
	if !was {
		c.emit(m)
	}
}

// die is the death of a server that was ready.
func (c *fakeConn) die() {
	c.end(&exchange.Closed{Phase: exchange.PhaseReady, Fault: exchange.Fault{Kind: uint8(durward.Unavailable), Message: "the server ended"}})
}

func (c *fakeConn) Send(m exchange.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return durward.Errorf(durward.Unavailable, "", "the connection is closed")
	}
	if call, ok := m.(*exchange.Call); ok && c.act.refuse != nil && c.act.refuse(call) {
		return durward.Errorf(durward.Unavailable, "", "the server does not read its input")
	}
	c.sent = append(c.sent, m)
	select {
	case c.in <- m:
		return nil
	default:
		return durward.Errorf(durward.Unavailable, "", "the queue is full")
	}
}

func (c *fakeConn) Close() {}

func (c *fakeConn) Stop(ctx context.Context) error {
	c.mu.Lock()
	was := c.stopped
	c.stopped = true
	c.killed = c.killed || ctx.Err() != nil
	c.mu.Unlock()
	if c.act.noStop {
		<-ctx.Done()
	}
	if !was {
		close(c.stop)
	}
	<-c.done
	return nil
}

func (c *fakeConn) Diagnose() string { return c.act.diag }
func (c *fakeConn) Confined() string { return "test" }

// lives lets time pass; false if the connection was stopped meanwhile.
func (c *fakeConn) lives(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-c.stop:
		return false
	}
}

func (c *fakeConn) isStopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopped
}

// of returns what was sent of one type.
func sentTo[T exchange.Message](c *fakeConn) (out []T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.sent {
		if m, ok := m.(T); ok {
			out = append(out, m)
		}
	}
	return out
}

func callsTo(c *fakeConn, method string) (out []*exchange.Call) {
	for _, m := range sentTo[*exchange.Call](c) {
		if m.Method == method {
			out = append(out, m)
		}
	}
	return out
}

// watcher is an Observer that remembers.
type watcher struct {
	mu       sync.Mutex // guards the fields below
	states   []durward.ServerStatus
	listings []*upstream.Listing
	notes    []exchange.Notification
	server   *upstream.Server // asked back from within, to show that this is allowed
}

func (w *watcher) Catalog(_ string, l *upstream.Listing) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listings = append(w.listings, l)
}

func (w *watcher) State(_ string, st durward.ServerStatus) {
	w.mu.Lock()
	w.states = append(w.states, st)
	server := w.server
	w.mu.Unlock()
	if server != nil {
		server.Status()
	}
}

func (w *watcher) Notification(_ string, n exchange.Notification) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, n)
}

func (w *watcher) stateNames() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	for _, st := range w.states {
		if n := string(st.State); len(names) == 0 || names[len(names)-1] != n {
			names = append(names, n)
		}
	}
	return strings.Join(names, " ")
}

func (w *watcher) last() *upstream.Listing {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.listings) == 0 {
		return nil
	}
	return w.listings[len(w.listings)-1]
}

func (w *watcher) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.listings)
}

// stream is a requester that remembers what it was told.
type stream struct {
	mu    sync.Mutex // guards notes
	notes []string
	ask   func(ctx context.Context, method string) exchange.Reply
}

func (s *stream) Notify(method string, params []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, method+string(params))
}

func (s *stream) Ask(ctx context.Context, method string, _ []byte) exchange.Reply {
	if s.ask == nil {
		return exchange.Reply{Error: wire.AppendError(nil, wire.CodeMethodNotFound, "nobody asks me", nil)}
	}
	return s.ask(ctx, method)
}

func (s *stream) heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notes)
}

// rig is a server under test with all around it.
type rig struct {
	*upstream.Server
	world *world
	watch *watcher
}

func stdio() durward.Server { return durward.Server{Name: "fake", Command: "fake"} }
func overHTTP() durward.Server {
	return durward.Server{Name: "fake", URL: "http://fake.invalid/mcp", Transport: durward.TransportHTTP}
}

// inBubble runs f with fake time, and checks at the end that nothing is left.
func inBubble(t *testing.T, f func(t *testing.T)) { t.Helper(); synctest.Test(t, f) }

func newRig(t *testing.T, spec durward.Server, w *world, opts ...func(*upstream.Options)) *rig {
	t.Helper()
	watch := &watcher{}
	opt := upstream.Options{Spec: spec, Opener: w, Observer: watch}
	for _, o := range opts {
		o(&opt)
	}
	s, err := upstream.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	watch.mu.Lock()
	watch.server = s
	watch.mu.Unlock()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		for _, c := range w.conns {
			if !c.isStopped() {
				t.Errorf("connection %d was not stopped", c.n)
			}
		}
	})
	return &rig{s, w, watch}
}

func start(t *testing.T, spec durward.Server, w *world, opts ...func(*upstream.Options)) *rig {
	t.Helper()
	r := newRig(t, spec, w, opts...)
	r.Start()
	synctest.Wait()
	return r
}

func alice() upstream.Key { return upstream.Key{Principal: "alice", Session: "a1"} }
func bob() upstream.Key   { return upstream.Key{Principal: "bob", Session: "b1"} }

func tool() *exchange.Request {
	return &exchange.Request{Method: wire.MethodToolsCall, Client: exchange.Client{Era: wire.Legacy}}
}

func modernTool() *exchange.Request {
	return &exchange.Request{Method: wire.MethodToolsCall, Client: exchange.Client{Era: wire.Modern}}
}

func (r *rig) call(key upstream.Key) exchange.Reply {
	return r.Do(context.Background(), key, tool(), &stream{})
}

// going starts a call and returns a way to wait for its reply.
func (r *rig) going(ctx context.Context, key upstream.Key, req *exchange.Request, out exchange.Stream) <-chan exchange.Reply {
	done := make(chan exchange.Reply, 1)
	go func() { done <- r.Do(ctx, key, req, out) }()
	return done
}

func code(r exchange.Reply) int { n, _ := wire.ErrorCode(r.Error); return n }

func wantOK(t *testing.T, r exchange.Reply) {
	t.Helper()
	if r.Error != nil {
		t.Fatalf("failed: %s", r.Error)
	}
}

func wantCode(t *testing.T, r exchange.Reply, want int, words ...string) {
	t.Helper()
	if code(r) != want {
		t.Fatalf("got %s%s, want code %d", r.Result, r.Error, want)
	}
	for _, word := range words {
		if !strings.Contains(string(r.Error), word) {
			t.Errorf("the error does not say %q: %s", word, r.Error)
		}
	}
}

func (r *rig) wantState(t *testing.T, want durward.ServerState, words ...string) durward.ServerStatus {
	t.Helper()
	st := r.Status()
	if st.State != want {
		t.Fatalf("state %s (%s), want %s", st.State, st.Reason, want)
	}
	for _, word := range words {
		if !strings.Contains(st.Reason, word) {
			t.Errorf("the reason does not say %q: %s", word, st.Reason)
		}
	}
	return st
}

func modernOpened(capabilities string) *exchange.Opened {
	return &exchange.Opened{Era: wire.Modern, Revision: wire.RevisionModern, Capabilities: []byte(capabilities), LegacyToo: true}
}

func legacyOpened(capabilities string) *exchange.Opened {
	return &exchange.Opened{Era: wire.Legacy, Revision: wire.RevisionLegacy, Capabilities: []byte(capabilities)}
}

// always makes each opening do the same.
func always(a act) func(int, exchange.LinkSpec) act {
	return func(int, exchange.LinkSpec) act { return a }
}

func exited() error {
	return durward.Errorf(durward.Unavailable, "launch fake", "the command was not found")
}

// wait lets time pass and everything settle.
func wait(d time.Duration) { time.Sleep(d); synctest.Wait() }

func contains(s, word string) bool { return strings.Contains(s, word) }
