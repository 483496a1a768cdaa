package stdiobridge_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"durward"
	"durward/internal/stdiobridge"
	"durward/internal/testkit/leftover"
	"durward/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leftover.Awaited(m)) }

// rig is a bridge between a client and services that a test plays. It lives in a
// bubble of synctest: nothing that is waited for takes time.
type rig struct {
	t       *testing.T
	in      *io.PipeWriter
	says    chan string // what goes to in; closed by hangUp
	hangUp  func()
	out     chan string // lines that the client got; closed at the end
	dialed  chan *theirEnd
	ended   chan error
	outRead *io.PipeReader
	cancel  context.CancelFunc

	mu     sync.Mutex // guards all below
	absent bool       // nobody listens
	mute   bool       // says is closed
	tries  int        // how often was dialled
	said   []string
}

// bridged runs a test with a bridge.
func bridged(t *testing.T, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		test(r)
		r.hangUp()
		r.cancel()
		<-r.ended
		for range r.out { // nobody asked
		}
	})
}

func newRig(t *testing.T) *rig {
	t.Helper()
	inRead, in := io.Pipe()
	outRead, out := io.Pipe()
	r := &rig{t: t, in: in, says: make(chan string, 1<<13), out: make(chan string, 1<<14), dialed: make(chan *theirEnd, 1), ended: make(chan error, 1), outRead: outRead}
	b, err := stdiobridge.New(stdiobridge.Options{In: inRead, Out: out, Dial: r.dial, Say: func(text string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.said = append(r.said, text)
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.cancel = cancel
	go func() {
		err := b.Run(ctx)
		out.Close()
		inRead.Close()
		r.ended <- err
	}()
	r.hangUp = sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.mute = true
		close(r.says)
	})
	go func() {
		defer in.Close()
		for line := range r.says {
			_, _ = io.WriteString(in, line) // who does not read it has ended
		}
	}()
	go func() {
		defer close(r.out)
		lines := bufio.NewReaderSize(outRead, 64<<10)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				if line != "" {
					t.Errorf("the client got half a line: %q", line)
				}
				return
			}
			r.out <- line
		}
	}()
	return r
}

var errAbsent = durward.Errorf(durward.Unavailable, "", "nobody listens")

func (r *rig) dial(ctx context.Context, _ time.Duration) (io.ReadWriteCloser, error) {
	r.mu.Lock()
	r.tries++
	absent := r.absent
	r.mu.Unlock()
	if absent {
		return nil, errAbsent
	}
	ours, theirs := net.Pipe()
	said := make(chan struct{})
	select {
	case r.dialed <- &theirEnd{theirs, said}:
		return &ourEnd{ours, sync.OnceFunc(func() { close(said) })}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ourEnd is a connection of which one side can be closed alone, at least in name.
type ourEnd struct {
	net.Conn
	sayEnd func()
}

func (o *ourEnd) CloseWrite() error {
	o.sayEnd()
	return nil
}

type theirEnd struct {
	net.Conn
	over chan struct{} // closed when the bridge has closed its side
}

// dials is how often the bridge has dialled.
func (r *rig) dials() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tries
}

func (r *rig) listen(yes bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.absent = !yes
}

// send says lines of the client. It does not wait until they are read.
func (r *rig) send(lines ...string) {
	r.t.Helper()
	for _, line := range lines {
		r.mu.Lock()
		if !r.mute {
			r.says <- line + "\n" // there is always room
		}
		r.mu.Unlock()
	}
}

// got checks the next lines that the client gets, and that there are no more.
func (r *rig) got(lines ...string) {
	r.t.Helper()
	for _, want := range lines {
		synctest.Wait()
		select {
		case line := <-r.out:
			if line = strings.TrimSuffix(line, "\n"); line != want {
				r.t.Fatalf("the client got  %s\nwanted          %s", line, want)
			}
		default:
			r.t.Fatalf("the client got nothing, wanted %s", want)
		}
	}
	synctest.Wait()
	select {
	case line, ok := <-r.out:
		if ok {
			r.t.Fatalf("the client got %s and should have got nothing", line)
		}
	default:
	}
}

// end waits for the bridge to end.
func (r *rig) end() error {
	r.t.Helper()
	err := <-r.ended
	r.ended <- err
	return err
}

// service is one connection as a service sees it.
type service struct {
	t     *testing.T
	conn  *theirEnd
	lines *bufio.Reader
}

// accept waits for a connection.
func (r *rig) accept() *service {
	conn := <-r.dialed
	r.t.Cleanup(func() { conn.Close() })
	return &service{t: r.t, conn: conn, lines: newLines(conn)}
}

func newLines(conn io.Reader) *bufio.Reader { return bufio.NewReaderSize(conn, 64<<10) }

// open accepts a connection and answers what is asked first.
func (r *rig) open() *service {
	r.t.Helper()
	s := r.accept()
	s.answerOwn("ping", `{}`)
	return s
}

// answerOwn answers the next line, which must be a request of the bridge's own,
// and returns its params.
func (s *service) answerOwn(method, result string) string {
	s.t.Helper()
	m := s.own(method)
	s.send(string(wire.AppendResult(nil, m.ID, []byte(result))))
	return string(m.Params.Raw)
}

func (s *service) own(method string) *wire.Message {
	s.t.Helper()
	line := s.next()
	var m wire.Message
	if err := wire.Parse([]byte(line), wire.FromClient, &m); err != nil || m.Method != method || !strings.HasPrefix(string(m.ID), `"durward-`) {
		s.t.Fatalf("the service got %s, wanted a request of the bridge's own: %s", line, method)
	}
	return &m
}

func (s *service) next() string {
	s.t.Helper()
	line, err := s.lines.ReadString('\n')
	if err != nil {
		s.t.Fatalf("the service got %q, %v", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

// got checks the next lines that the service gets, and that there are no more.
func (s *service) got(lines ...string) {
	s.t.Helper()
	for _, want := range lines {
		if line := s.next(); line != want {
			s.t.Fatalf("the service got %s\nwanted          %s", line, want)
		}
	}
	s.quiet()
}

// quiet checks that there is nothing to be read.
func (s *service) quiet() {
	s.t.Helper()
	synctest.Wait()
	_ = s.conn.SetReadDeadline(time.Now().Add(time.Nanosecond))
	if some, err := s.lines.Peek(1); err == nil {
		rest, _ := s.lines.ReadString('\n')
		s.t.Fatalf("the service got %s%s and should have got nothing", some, rest)
	} else if errors.Is(err, io.EOF) {
		s.t.Fatal("the connection ended")
	}
	_ = s.conn.SetReadDeadline(time.Time{})
}

func (s *service) send(lines ...string) {
	s.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(s.conn, line+"\n"); err != nil {
			s.t.Fatal(err)
		}
	}
}

// die ends the connection.
func (s *service) die() { s.conn.Close() }

// Messages.

func request(id, method string) string { return requestWith(id, method, `{"a":1}`) }

func requestWith(id, method, params string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`
}

func notification(method, params string) string {
	if params == "" {
		return `{"jsonrpc":"2.0","method":"` + method + `"}`
	}
	return `{"jsonrpc":"2.0","method":"` + method + `","params":` + params + `}`
}

func result(id, result string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":` + result + `}`
}

func unknown(id, method string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":50402,"message":"the service ended while ` + method +
		` was in flight; it may or may not have been executed: look at what it was to change before you repeat it"}}`
}

var listsChanged = []string{
	notification("notifications/tools/list_changed", ""),
	notification("notifications/prompts/list_changed", ""),
	notification("notifications/resources/list_changed", ""),
}

const (
	hello     = `{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"old","version":"1"}}`
	welcome   = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"durward","version":"1"}}`
	modernKey = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
)

// greeted has a legacy client say hello.
func greeted(r *rig, s *service) {
	r.t.Helper()
	r.send(requestWith("0", "initialize", hello))
	s.got(requestWith("0", "initialize", hello))
	s.send(result("0", welcome))
	r.got(result("0", welcome))
	r.send(notification("notifications/initialized", ""))
	s.got(notification("notifications/initialized", ""))
}

// regreet accepts a connection of a client that was greeted before.
func (r *rig) regreet() *service {
	r.t.Helper()
	s := r.accept()
	if got := s.answerOwn("initialize", welcome); got != hello {
		r.t.Fatalf("the bridge said %s, and the client had said %s", got, hello)
	}
	if line := s.next(); line != notification("notifications/initialized", "") {
		r.t.Fatalf("after initialize came %s", line)
	}
	return s
}
