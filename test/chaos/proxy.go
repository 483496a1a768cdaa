package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"durward/test/chaos/fault"
	"durward/test/harness"
)

// proxy stands between the gateway and one HTTP server, and breaks connections.
// It sees whole requests, so that it can say which call a fault struck.
type proxy struct {
	server string
	book   *book
	dice   *dice
	rate   atomic.Int64 // faults in 10,000 exchanges
	addr   string       // where it listens
	to     atomic.Pointer[string]

	wg sync.WaitGroup // of connections

	mu       sync.Mutex // guards the fields below
	listener net.Listener
	conns    map[net.Conn]bool
	closed   bool
}

func newProxy(server string, b *book, d *dice) (*proxy, error) {
	addr, err := harness.FreeAddr() // where it can listen again
	if err != nil {
		return nil, err
	}
	p := &proxy{server: server, book: b, dice: d, addr: addr, conns: map[net.Conn]bool{}}
	return p, p.listen()
}

// listen listens at the address it had before, if it had one.
func (p *proxy) listen() error {
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.addr, p.listener = l.Addr().String(), l
	p.wg.Go(func() { p.accept(l) })
	return nil
}

func (p *proxy) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		if !p.keep(conn) {
			return
		}
		p.wg.Go(func() {
			p.serve(conn.(*net.TCPConn))
			p.drop(conn)
		})
	}
}

// keep notes a connection; false if there are to be none any more.
func (p *proxy) keep(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = conn.Close()
		return false
	}
	p.conns[conn] = true
	return true
}

func (p *proxy) drop(conn net.Conn) {
	_ = conn.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, conn)
}

// close ends everything and waits for it.
func (p *proxy) close() {
	p.mu.Lock()
	p.closed = true
	_ = p.listener.Close()
	for conn := range p.conns {
		_ = conn.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

// refuse accepts no connection for a while.
func (p *proxy) refuse(ctx context.Context, d time.Duration) error {
	p.struck(fault.Refuse, "")
	p.mu.Lock()
	_ = p.listener.Close()
	p.mu.Unlock()
	sleep(ctx, d)
	// Somebody's outgoing connection may sit on the port for a moment.
	for try := 0; ; try++ {
		err := p.listen()
		if err == nil || try > 200 {
			return err
		}
		time.Sleep(25 * time.Millisecond)
	}
}

func (p *proxy) struck(kind, call string) {
	p.book.fault(injected{kind: kind, server: p.server, call: call})
}

// reset ends a connection with RST.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	_ = conn.Close()
}

// link is one connection through the proxy.
type link struct {
	*proxy
	near, far *net.TCPConn // to the gateway, to the server

	mu   sync.Mutex // guards plan
	plan plan
}

// plan is what is to happen to the answer of the exchange that goes on.
type plan struct {
	kind, call string
	sent       int // bytes of the answer that were passed on
	head       []byte
}

func (p *proxy) draw() string {
	if p.dice.n(10_000) >= int(p.rate.Load()) {
		return ""
	}
	return pick(p.dice, fault.OfConnections())
}

func (p *proxy) serve(near *net.TCPConn) {
	kind := p.draw()
	if kind == fault.ResetOpen {
		p.struck(kind, "")
		reset(near)
		return
	}
	conn, err := net.Dial("tcp", *p.to.Load())
	if err != nil || !p.keep(conn) {
		reset(near)
		return
	}
	defer p.drop(conn)
	l := &link{proxy: p, near: near, far: conn.(*net.TCPConn)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.answers()
		_ = l.near.Close()
	}()
	l.requests()
	_ = l.far.Close()
	<-done
}

// requests passes requests on until the connection ends.
func (l *link) requests() {
	in := &reader{conn: l.near}
	for {
		kind := l.draw()
		if kind == fault.HalfIdle && in.used {
			l.struck(kind, "")
			_ = l.near.CloseWrite()
		}
		if in.fill() != nil {
			return
		}
		request, err := in.request()
		if err != nil {
			return
		}
		if kind == fault.ResetIdle {
			l.struck(kind, string(callID.Find(request)))
			reset(l.near)
			return
		}
		if !l.pass(kind, request) {
			return
		}
	}
}

// callID is how the ids of calls look in a request.
var callID = regexp.MustCompile(`call-[0-9]{6,}`)

// pass passes one request on; false if the connection is over.
func (l *link) pass(kind string, request []byte) bool {
	call := string(callID.Find(request))
	switch kind {
	case fault.ResetMid:
		l.struck(kind, call)
		_, _ = l.far.Write(request[:l.dice.n(len(request))])
		reset(l.far)
		reset(l.near)
		return false
	case fault.Delay:
		l.struck(kind, call)
		time.Sleep(time.Duration(20+l.dice.n(400)) * time.Millisecond)
	}
	l.mu.Lock()
	l.plan = plan{kind: kind, call: call}
	l.mu.Unlock()
	if _, err := l.far.Write(request); err != nil {
		return false
	}
	if kind == fault.HalfClose {
		l.struck(kind, call)
		_ = l.near.CloseWrite()
	}
	return true
}

// answers passes answers back until the connection ends.
func (l *link) answers() {
	buf := make([]byte, 32<<10)
	for {
		n, err := l.far.Read(buf)
		if n > 0 && !l.back(buf[:n]) {
			return
		}
		if err != nil {
			return
		}
	}
}

// back passes a piece of an answer back; false if the connection is over.
func (l *link) back(data []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	cut := l.plan.cut(data, l.dice)
	if cut < 0 {
		l.plan.sent += len(data)
		_, err := l.near.Write(data)
		return err == nil
	}
	l.struck(l.plan.kind, l.plan.call)
	_, _ = l.near.Write(data[:cut])
	if l.plan.kind == fault.EndBody {
		_ = l.near.CloseWrite()
		_ = l.far.Close()
		return false
	}
	// What was written before a reset may be lost with it; give it a moment.
	time.Sleep(time.Millisecond)
	reset(l.near)
	reset(l.far)
	return false
}

// cut returns how much of a piece of the answer is passed on before the fault
// strikes, -1 if it does not strike in it.
func (p *plan) cut(data []byte, d *dice) int {
	switch p.kind {
	case fault.ResetAnswer:
		return 0
	case fault.CutHead:
		if p.sent == 0 {
			return 1 + d.n(min(len(data), 30)-1)
		}
	case fault.CutBody, fault.EndBody:
		from := 0
		if p.head != nil || p.sent == 0 {
			p.head = append(p.head, data...)
			end := bytes.Index(p.head, []byte("\r\n\r\n"))
			if end < 0 {
				return -1
			}
			from = end + 4 - p.sent
			p.head = nil
		}
		if rest := len(data) - from; rest > 0 {
			return from + d.n(rest)
		}
	}
	return -1
}

// reader reads HTTP requests as bytes.
type reader struct {
	conn net.Conn
	have []byte
	used bool // a request was read before
}

// fill waits for the first byte of the next request.
func (r *reader) fill() error {
	for len(r.have) == 0 {
		if err := r.read(); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) read() error {
	buf := make([]byte, 16<<10)
	n, err := r.conn.Read(buf)
	r.have = append(r.have, buf[:n]...)
	if n > 0 {
		return nil
	}
	return err
}

// contentLength finds the length of a request's body.
var contentLength = regexp.MustCompile(`(?i)\r\ncontent-length: *([0-9]+)\r\n`)

var errChunked = errors.New("a request without a length")

// request returns one whole request, head and body.
func (r *reader) request() ([]byte, error) {
	r.used = true
	for {
		if end := bytes.Index(r.have, []byte("\r\n\r\n")); end >= 0 {
			return r.body(end + 4)
		}
		if err := r.read(); err != nil {
			return nil, err
		}
	}
}

func (r *reader) body(size int) ([]byte, error) {
	head := r.have[:size]
	if m := contentLength.FindSubmatch(head); m != nil {
		n, err := strconv.Atoi(string(m[1]))
		if err != nil {
			return nil, err
		}
		size += n
	} else if bytes.HasPrefix(head, []byte("POST")) {
		return nil, errChunked
	}
	for len(r.have) < size {
		if err := r.read(); err != nil {
			return nil, err
		}
	}
	request := bytes.Clone(r.have[:size])
	r.have = r.have[size:]
	return request, nil
}
