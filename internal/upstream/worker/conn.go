package worker

import (
	"context"
	"io"
	"sync"
	"sync/atomic"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// The ids of the handshake's requests. They are numbers because some servers
// take nothing else, far from those the core counts up from 1, and not above
// what a server with 32 bits holds.
const (
	idDiscover   = 1<<31 - 2
	idInitialize = 1<<31 - 1
)

// overhead is a generous guess at what a request has besides its params, in bytes.
const overhead = 1 << 10

// conn is a connection to a server over two byte streams. Three goroutines
// belong to it: one reads and ends the connection, one writes (see pump), and
// one does the handshake. The reader waits for the other two before it sends
// Closed, the last thing that happens.
type conn struct {
	spec  exchange.LinkSpec
	peer  *peer
	pump  *pump
	table *table
	out   io.ReadCloser
	lines *lines       // of the reader
	msg   wire.Message // of the reader: the message at hand
	hangs sync.Once    // closes out
	quit  context.CancelFunc
	shook chan struct{} // closed when the handshake's goroutine ended

	dialect  atomic.Pointer[dialect] // nil until the connection is ready
	stopping atomic.Bool             // Close was called
	refusal  *exchange.Closed        // why the handshake failed; read after shook
}

var _ exchange.Link = (*conn)(nil)

func openConn(spec exchange.LinkSpec, in io.WriteCloser, out io.ReadCloser, sink exchange.Sink) *conn {
	spec = withDefaults(spec)
	ctx, quit := context.WithCancel(context.Background())
	c := &conn{
		spec: spec, peer: newPeer(sink), table: newTable(), out: out,
		lines: newLines(out, spec.MaxMessage), quit: quit, shook: make(chan struct{}),
	}
	c.pump = newPump(in, spec.MaxMessage, c.writeFailed)
	go c.open(ctx)
	go c.read()
	return c
}

// open does the handshake.
func (c *conn) open(ctx context.Context) {
	defer close(c.shook)
	h := &handshake{spec: c.spec, via: c, silenceIsLegacy: true}
	opened, closed := h.run(ctx)
	if closed != nil {
		c.refusal = closed
		c.hangUp(durward.Errorf(durward.Kind(closed.Fault.Kind), "", "%s", closed.Fault.Message))
		return
	}
	c.table.dismiss(answer{err: errEnded})
	// Nothing the server sends once it is told that we are ready may overtake Opened.
	c.peer.exclusively(func(send func(exchange.Message)) {
		if opened.Era == wire.Legacy {
			_ = c.line(overhead, func(dst []byte) []byte { return appendNote(dst, wire.NoteInitialized, nil) })
		}
		c.dialect.Store(newDialect(opened.Era, opened.Revision, c.spec.ClientInfo))
		c.table.admit()
		send(opened)
	})
}

// begin sends a request of the handshake (trip).
func (c *conn) begin(_ context.Context, o opening) <-chan answer {
	id, text := uint64(idInitialize), []byte("2147483647")
	if o.method == wire.MethodDiscover {
		id, text = idDiscover, []byte("2147483646")
	}
	reply := c.table.expect(id)
	err := c.line(len(o.params)+overhead, func(dst []byte) []byte { return wire.AppendRequest(dst, text, o.method, o.params) })
	if err != nil {
		c.table.resolve(id, answer{err: errEnded}) // the pipe is broken: the server has ended
	}
	return reply
}

// line hands one message to the pump.
func (c *conn) line(size int, build func(dst []byte) []byte) error {
	return c.pump.put(size, func(dst []byte, _ uint64) ([]byte, bool) { return append(build(dst), '\n'), true })
}

// Send hands m to the server; see [exchange.Link]. It never blocks. Errors are
// Unavailable: not open, closed, or the queue is full because the server does not
// read (bound: twice limits.message, at least 64 MiB); Invalid: the message is over
// limits.message; Conflict: nobody waits for this answer.
func (c *conn) Send(m exchange.Message) error {
	d := c.dialect.Load()
	if d == nil {
		return durward.Errorf(durward.Unavailable, "", "the connection to the server is not open yet")
	}
	switch m := m.(type) {
	case *exchange.Call:
		return c.sendCall(d, m)
	case *exchange.Cancel:
		return c.sendCancel(m)
	case *exchange.Notification:
		return c.line(len(m.Params)+overhead, func(dst []byte) []byte { return appendNote(dst, m.Method, m.Params) })
	case *exchange.Response:
		response, _, err := c.peer.answered(m)
		if err != nil {
			return err
		}
		return c.line(len(response)+overhead, func(dst []byte) []byte { return append(dst, response...) })
	default:
		return durward.Errorf(durward.Internal, "", "a %T does not go to a server", m)
	}
}

func (c *conn) sendCall(d *dialect, m *exchange.Call) error {
	size := len(m.Params.Raw) + len(m.Name) + len(m.Client.Capabilities) + len(d.info) + overhead
	if size > c.spec.MaxMessage+overhead {
		return tooLarge(size-overhead, c.spec.MaxMessage)
	}
	if err := c.table.check(m.ID); err != nil {
		return err
	}
	added := false
	err := c.pump.put(size, func(dst []byte, start uint64) ([]byte, bool) {
		if added = c.table.add(m.ID, start); !added {
			return nil, false
		}
		return append(d.appendCall(dst, m.ID, &m.Request), '\n'), true
	})
	if err == nil || !added {
		return err
	}
	if was, _ := c.table.end(m.ID, cancelled); was != waiting {
		return nil // the end of the connection answered it already
	}
	return err
}

// sendCancel forgets the call; that the server stops is a wish.
func (c *conn) sendCancel(m *exchange.Cancel) error {
	was, last := c.table.end(m.ID, cancelled)
	if was != waiting {
		return nil // answered meanwhile
	}
	if last {
		c.hangUp(nil)
		return nil
	}
	return c.line(len(m.Reason)+overhead, func(dst []byte) []byte { return appendCancel(dst, m.ID, m.Reason) })
}

// Close closes the server's input. The connection ends, and Closed is sent, once
// the server closed its output or whoever owns the process killed it. Calls under
// way may still be answered until then.
func (c *conn) Close() {
	if c.stopping.Swap(true) {
		return
	}
	c.quit()
	c.pump.shut(durward.Errorf(durward.Unavailable, "", "the connection to the server was closed"))
}

// hangUp ends the connection from our side; err is for those who still send.
func (c *conn) hangUp(err error) {
	if err != nil {
		c.pump.shut(err)
	}
	c.hangs.Do(func() { c.out.Close() })
}

// writeFailed is called by the pump's goroutine. What did not go out at all is
// given back; the rest may still be answered, and then the connection ends.
func (c *conn) writeFailed(written uint64) {
	if c.stopping.Load() {
		return
	}
	c.table.dismiss(answer{err: errEnded})
	ids, last := c.table.undelivered(written)
	for _, id := range ids {
		f := fault(durward.Unavailable, false, "the server stopped to read its input before it got the request")
		c.peer.emit(&exchange.Response{ID: id, Fault: &f})
	}
	if last {
		c.hangUp(nil)
	}
}

// finish ends the connection after the reader saw err.
func (c *conn) finish(err error) {
	c.table.dismiss(answer{err: errEnded})
	written := c.pump.stop(durward.Errorf(durward.Unavailable, "", "the connection to the server is closed"))
	c.table.dismiss(answer{err: errEnded}) // one that begin added meanwhile
	<-c.shook
	c.quit()
	c.hangUp(nil)
	closed := c.verdict(err)
	for _, left := range c.table.drain(written) {
		c.peer.emit(&exchange.Response{ID: left.id, Fault: lost(left.delivered, closed)})
	}
	c.peer.flush()
	c.peer.emit(closed)
}

// lost is why a call that was under way when the connection ended has no answer.
func lost(delivered bool, closed *exchange.Closed) *exchange.Fault {
	why := closed.Fault.Message
	f := fault(durward.Unavailable, false, why+"; the request did not reach it")
	if delivered {
		f = fault(durward.Unknown, true, why+"; it may or may not have executed the request")
	}
	f.Again = closed.Phase == exchange.PhaseReady // it was not us who ended it
	return &f
}

func (c *conn) verdict(err error) *exchange.Closed {
	switch {
	case c.stopping.Load():
		return &exchange.Closed{Phase: exchange.PhaseStopped, Fault: fault(durward.Unavailable, false, "the connection to the server was closed")}
	case c.refusal != nil:
		return c.refusal
	default:
		return &exchange.Closed{Phase: exchange.PhaseReady, Fault: fault(durward.Unavailable, false, endReason(err))}
	}
}
