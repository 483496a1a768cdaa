package worker_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"durward"
	"durward/internal/exchange"
	"durward/internal/exchange/pipe"
	"durward/internal/testkit/leftover"
	"durward/internal/upstream/worker"
	"durward/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leftover.Awaited(m)) }

// patience bounds how long a test waits for what must come; it is no measure of anything.
const patience = time.Minute

// both runs a test of a link on a connection in this process, and on one behind
// package pipe, as it is when the worker is a process of its own.
func both(t *testing.T, f func(t *testing.T, via string)) {
	t.Helper()
	for _, via := range []string{"direct", "pipe"} {
		t.Run(via, func(t *testing.T) { f(t, via) })
	}
}

// opener opens a link to the streams of a server.
type opener func(exchange.LinkSpec, exchange.Sink) exchange.Link

// openVia opens a link directly or through a pipe. What the far end of the pipe
// returns is checked when the test ends.
func openVia(t *testing.T, via string, spec exchange.LinkSpec, sink exchange.Sink, open opener) exchange.Link {
	t.Helper()
	if via == "direct" {
		return open(spec, sink)
	}
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- pipe.Serve(far, open) }()
	t.Cleanup(func() {
		if err := <-served; err != nil {
			t.Errorf("the far end: %v", err)
		}
	})
	return pipe.Dial(near, spec, sink)
}

// recorder is a sink that keeps what it got. Anomalies are counted apart, since
// when they are reported depends on time.
type recorder struct {
	mu        sync.Mutex // guards the fields below
	more      sync.Cond  // with mu: any of them changed
	got       []exchange.Message
	read      int
	anomalies map[string]int
	detail    map[string]string
	closed    bool
	busy      bool
	misuse    string
	reports   int // messages about anomalies
}

func newRecorder() *recorder {
	r := &recorder{anomalies: map[string]int{}, detail: map[string]string{}}
	r.more.L = &r.mu
	return r
}

// Receive notes m, and a breach of the contract of a Sink.
func (r *recorder) Receive(m exchange.Message) {
	r.mu.Lock()
	if r.busy {
		r.misuse = "two goroutines at a time"
	}
	if r.closed {
		r.misuse = "a message after Closed: " + show(m)
	}
	r.busy = true
	r.mu.Unlock()

	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy = false
	if a, ok := m.(*exchange.Anomaly); ok {
		r.reports++
		r.anomalies[a.Kind] += a.Count
		if r.detail[a.Kind] == "" {
			r.detail[a.Kind] = a.Detail
		}
	} else {
		r.got = append(r.got, m)
	}
	_, r.closed = m.(*exchange.Closed)
	r.more.Broadcast()
}

// next waits for the next message that is no anomaly.
func (r *recorder) next(t testing.TB) exchange.Message {
	t.Helper()
	r.wait(t, func() bool { return r.read < len(r.got) })
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.got[r.read]
	r.read++
	return m
}

// wait waits until what is true; it is evaluated under mu.
func (r *recorder) wait(t testing.TB, what func() bool) {
	t.Helper()
	late := false
	timer := time.AfterFunc(patience, func() {
		r.mu.Lock()
		late = true
		r.mu.Unlock()
		r.more.Broadcast()
	})
	defer timer.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for !what() {
		if late {
			t.Fatalf("waited in vain; got so far:\n%s", showAll(r.got))
		}
		r.more.Wait()
	}
	if r.misuse != "" {
		t.Fatalf("misuse of the sink: %s", r.misuse)
	}
}

// want waits for the next message and compares it as show renders it.
func (r *recorder) want(t testing.TB, want string) {
	t.Helper()
	if got := show(r.next(t)); got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
}

// count waits for Closed and returns how often an anomaly of the kind was reported.
func (r *recorder) count(t testing.TB, kind string) int {
	t.Helper()
	r.wait(t, func() bool { return r.closed })
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.anomalies[kind]
}

func showAll(all []exchange.Message) string {
	var b strings.Builder
	for _, m := range all {
		b.WriteString(show(m) + "\n")
	}
	return b.String()
}

// show renders a message on one line.
func show(m exchange.Message) string {
	switch m := m.(type) {
	case *exchange.Opened:
		return fmt.Sprintf("opened %s %s info=%s capabilities=%s instructions=%q", m.Era, m.Revision, m.Info, m.Capabilities, m.Instructions)
	case *exchange.Response:
		return showResponse(m)
	case *exchange.Notification:
		return fmt.Sprintf("note %d %s %s", m.Related, m.Method, m.Params)
	case *exchange.ServerRequest:
		return fmt.Sprintf("request %d during %d %s %s", m.ID, m.Related, m.Method, m.Params)
	case *exchange.Closed:
		phase := [...]string{"handshake", "ready", "stopped"}[m.Phase]
		s := fmt.Sprintf("closed %s %s", phase, durward.Kind(m.Fault.Kind))
		if m.EraRefused != wire.EraUnknown {
			s += " refused=" + m.EraRefused.String()
		}
		if m.RetryLegacy {
			s += " retry=legacy"
		}
		return s
	default:
		return fmt.Sprintf("%T %+v", m, m)
	}
}

func showResponse(m *exchange.Response) string {
	switch {
	case m.Fault != nil:
		return fmt.Sprintf("fault %d %s delivered=%t", m.ID, durward.Kind(m.Fault.Kind), m.Fault.Delivered)
	case m.Error != nil:
		return fmt.Sprintf("error %d %s %s", m.ID, m.Era, m.Error)
	default:
		s := fmt.Sprintf("result %d %s %s", m.ID, m.Era, m.Result)
		if m.ResultType != "" {
			s += " type=" + m.ResultType
		}
		if m.IsError {
			s += " isError"
		}
		return s
	}
}

// server is the other end of a connection over pipes of the system, as a test plays it.
type server struct {
	stdin  *os.File // what the server reads
	stdout *os.File // what it writes
	lines  *bufio.Reader
	seen   []string // lines that were read and not compared yet
	link   exchange.Link
	sink   *recorder
}

// startServer opens a link to a server played by the test. The server ends when
// the test does.
func startServer(t testing.TB, via string, spec exchange.LinkSpec) *server {
	t.Helper()
	stdin, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{stdin: stdin, stdout: stdout, lines: bufio.NewReaderSize(stdin, 1<<20), sink: newRecorder()}
	open := func(spec exchange.LinkSpec, sink exchange.Sink) exchange.Link {
		return worker.OpenStdio(spec, in, out, sink)
	}
	if tt, ok := t.(*testing.T); ok {
		s.link = openVia(tt, via, spec, s.sink, open)
	} else {
		s.link = open(spec, s.sink)
	}
	t.Cleanup(func() {
		stdin.Close()
		stdout.Close()
		s.sink.count(t, "") // waits for Closed
	})
	return s
}

// reads waits for a line and compares it.
func (s *server) reads(t testing.TB, want string) {
	t.Helper()
	if got := s.line(t); got != want {
		t.Fatalf("the server read\n%s\nwant\n%s", got, want)
	}
}

func (s *server) line(t testing.TB) string {
	t.Helper()
	if len(s.seen) > 0 {
		first := s.seen[0]
		s.seen = s.seen[1:]
		return first
	}
	return s.fresh(t)
}

func (s *server) fresh(t testing.TB) string {
	t.Helper()
	if err := s.stdin.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	got, err := s.lines.ReadString('\n')
	if err != nil {
		t.Fatalf("the server read %q: %v", got, err)
	}
	return strings.TrimSuffix(got, "\n")
}

func (s *server) writes(t testing.TB, text string) {
	t.Helper()
	if _, err := io.WriteString(s.stdout, text); err != nil {
		t.Fatal(err)
	}
}

const (
	helloLine = `{"jsonrpc":"2.0","id":2147483647,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"gate","version":"1"}}}`
	probeLine = `{"jsonrpc":"2.0","id":2147483646,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"gate","version":"1"}}}}`
	readyLine = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	helloBack = `{"jsonrpc":"2.0","id":2147483647,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s"}}}` + "\n"
	probeBack = `{"jsonrpc":"2.0","id":2147483646,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}}}` + "\n"
)

func specFor(era wire.Era) exchange.LinkSpec {
	return exchange.LinkSpec{Server: "s", Era: era, ClientInfo: []byte(`{"name":"gate","version":"1"}`)}
}

// ready starts a server and does the handshake.
func ready(t testing.TB, via string, spec exchange.LinkSpec) *server {
	t.Helper()
	s := startServer(t, via, spec)
	if spec.Era == wire.Modern {
		s.reads(t, probeLine)
		s.writes(t, probeBack)
		s.sink.want(t, `opened modern 2026-07-28 info={"name":"s"} capabilities={"tools":{}} instructions=""`)
		return s
	}
	s.reads(t, helloLine)
	s.writes(t, helloBack)
	s.sink.want(t, `opened legacy 2025-11-25 info={"name":"s"} capabilities={"tools":{}} instructions=""`)
	s.reads(t, readyLine)
	return s
}

// call makes a call of method with params.
func call(t testing.TB, id uint64, method, params string) *exchange.Call {
	t.Helper()
	c := &exchange.Call{ID: id, Request: exchange.Request{Method: method}}
	if params != "" {
		if err := wire.ParseParams([]byte(params), &c.Params); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (s *server) sends(t testing.TB, m exchange.Message) {
	t.Helper()
	if err := s.link.Send(m); err != nil {
		t.Fatal(err)
	}
}

// Silent on the probe and on initialize: perhaps the probe was too much for it. In a
// bubble, where nobody is late for the one and then finds the other over as well.
func TestSilentTwice(t *testing.T) {
	bothInBubble(t, func(t *testing.T, via string) {
		stdin, in := io.Pipe()
		out, stdout := io.Pipe()
		var reader sync.WaitGroup
		reader.Go(func() { _, _ = io.Copy(io.Discard, stdin) })
		defer reader.Wait()
		defer stdout.Close()
		spec, sink := specFor(wire.EraUnknown), newRecorder()
		spec.ProbeTimeout, spec.InitTimeout = 10*time.Millisecond, 40*time.Millisecond
		openVia(t, via, spec, sink, func(spec exchange.LinkSpec, sink exchange.Sink) exchange.Link {
			return worker.OpenStdio(spec, in, out, sink)
		})
		sink.want(t, "closed handshake timeout retry=legacy")
	})
}

func TestRoundTrip(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		s := ready(t, via, specFor(wire.Legacy))
		s.sends(t, call(t, 7, "tools/call", `{"name":"echo","arguments":{"n":9007199254740993}}`))
		s.reads(t, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"n":9007199254740993}}}`)
		s.writes(t, `{"jsonrpc":"2.0","id":7,"result":{"content":[],"x":1e400}}`+"\n")
		s.sink.want(t, `result 7 legacy {"content":[],"x":1e400}`)
		s.link.Close()
		if _, err := s.lines.ReadString('\n'); err != io.EOF {
			t.Fatalf("stdin is not closed: %v", err)
		}
		s.stdout.Close()
		s.sink.want(t, "closed stopped unavailable")
		if err := s.link.Send(call(t, 8, "ping", "")); durward.KindOf(err) != durward.Unavailable {
			t.Fatalf("a closed link took a call: %v", err)
		}
	})
}
