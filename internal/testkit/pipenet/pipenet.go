// Package pipenet is a network in memory, for servers and clients that a test runs
// in a bubble of time (testing/synctest): a goroutine that waits for a connection of
// the system counts as busy there, so that time would stand still.
package pipenet

import (
	"context"
	"net"
	"sync"
)

// Listener is a net.Listener whose connections are pairs of net.Pipe, made by Dial.
type Listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

var _ net.Listener = (*Listener)(nil)

// Listen returns an open Listener.
func Listen() *Listener {
	return &Listener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept returns the next connection that is dialled; net.ErrClosed after Close.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends the listener; connections stay.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr is an address that looks like one, for URLs. Only Dial leads to it.
func (l *Listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// Dial connects to l, whatever the address: it is for http.Transport.DialContext. It
// fails with net.ErrClosed after Close, and when ctx ends.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
