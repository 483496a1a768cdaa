package worker_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"

	"durward/internal/exchange"
)

// bothInBubble is both in bubbles of time, where a deadline passes when all have
// done what they can, and not while one of them waits for a processor. The servers
// are those of newBubbleServer.
func bothInBubble(t *testing.T, f func(t *testing.T, via string)) {
	t.Helper()
	both(t, func(t *testing.T, via string) {
		synctest.Test(t, func(t *testing.T) { f(t, via) })
	})
}

// memory is a listener whose connections are pipes in memory.
type memory struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Accept implements net.Listener.
func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (m *memory) Close() error {
	m.once.Do(func() { close(m.closed) })
	return nil
}

// Addr implements net.Listener. Nobody but dial leads there.
func (m *memory) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (m *memory) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case m.conns <- far:
		return near, nil
	case <-m.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// bubbleServer is a webServer that is reached inside of a bubble.
type bubbleServer struct {
	*webServer
	rt http.RoundTripper
}

func newBubbleServer(t *testing.T, answer func(w http.ResponseWriter, r *seen, raw *http.Request)) *bubbleServer {
	t.Helper()
	at := &memory{conns: make(chan net.Conn), closed: make(chan struct{})}
	s := &webServer{answer: answer}
	s.more = sync.NewCond(&s.mu)
	s.Server = &httptest.Server{Listener: at, Config: &http.Server{Handler: s}}
	s.Start()
	t.Cleanup(s.Close)
	rt := &http.Transport{DisableCompression: true, DialContext: at.dial}
	t.Cleanup(rt.CloseIdleConnections)
	return &bubbleServer{s, rt}
}

// dial opens a connection to s.
func (s *bubbleServer) dial(t *testing.T, open func(exchange.LinkSpec, http.RoundTripper, exchange.Sink) exchange.Link, via string, edit ...func(*exchange.LinkSpec)) *webConn {
	t.Helper()
	return dialBy(t, func(spec exchange.LinkSpec, _ http.RoundTripper, sink exchange.Sink) exchange.Link {
		return open(spec, s.rt, sink)
	}, via, s.URL, edit...)
}
