package transport

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"durward/internal/exchange"
	"durward/internal/exchange/outbox"
	"durward/internal/wire"
)

// phase is how far the answer to an HTTP request has come.
type phase uint8

const (
	reading   phase = iota // the message is not read yet
	waiting                // the core is at work and nothing has been sent
	streaming              // a stream of events was begun
	answered
)

// call is one POST: the message, and the exchange.Stream back to who sent it.
// It is not reused, since the core may still hold it when the answer is out.
type call struct {
	edge  *Edge
	w     http.ResponseWriter
	r     *http.Request
	entry entry
	msg   wire.Message
	in    exchange.Inbound
	got   atomic.Int64 // bytes of the body read

	takes   forms
	session Session
	rules   noteRules

	mu      sync.Mutex // guards everything below
	phase   phase
	aborted bool
	stop    context.CancelFunc // ends the request
	seen    int64              // value of got when it last changed, for beat
	seenAt  time.Time
	box     *outbox.Box // of the stream, once begun
	number  uint64      // of box in its session
	pump    *pump
	pumped  chan struct{} // closed when pump has ended
	over    chan struct{} // closed when answered; nil while nobody waits for that
	length  [1]string     // Content-Length, in place
}

// begin says that the core is about to be called; stop ends the request.
func (c *call) begin(stop context.CancelFunc, session Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.phase, c.stop, c.session = waiting, stop, session
	if c.aborted {
		stop()
	}
}

// cancel ends the request, in whatever phase it is.
func (c *call) cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.aborted = true
	if c.stop != nil {
		c.stop()
	} else if c.phase == reading {
		c.abortRead()
	}
}

func (c *call) wasCancelled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.aborted
}

// abortRead makes a Read of the body that waits for the client fail. A writer
// without deadlines has no client that could make us wait.
func (c *call) abortRead() {
	_ = http.NewResponseController(c.w).SetReadDeadline(time.Unix(1, 0))
}

// beat gives up on a body that does not come, begins a stream when the answer
// is late, and keeps one alive that is silent.
func (c *call) beat(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.phase {
	case reading:
		if got := c.got.Load(); c.seenAt.IsZero() || got != c.seen {
			c.seen, c.seenAt = got, now
		} else if now.Sub(c.seenAt) >= c.edge.opts.Stall {
			c.abortRead()
		}
	case waiting:
		if now.Sub(c.in.Received) >= c.edge.opts.KeepAlive {
			c.stream()
		}
	case streaming:
		c.pump.beat(now)
	}
}

// stream begins the stream of events if the client takes one; c.mu is held.
func (c *call) stream() bool {
	if c.phase != waiting || !c.takes.events {
		return c.phase == streaming
	}
	p := &pump{edge: c.edge, w: c.w, ctx: c.r.Context(), beats: make(chan struct{}, 1)}
	if c.session != nil {
		c.number, c.box = c.session.NewBox()
		p.resumable(c.session, c.edge.placeOf(c.session, c.number, c.msg.ID))
	} else {
		c.box = outbox.New(outbox.Options{Pending: c.edge.opts.Limits.Queue})
	}
	p.reader, _ = c.box.Read(0)
	c.pump, c.pumped, c.phase = p, make(chan struct{}), streaming
	go func() { // finish waits for it
		defer close(c.pumped)
		p.run()
	}()
	return true
}

// finish sends the answer, as one body or as the last event, and returns when
// the client has it or is gone. Without wanted it gets none where that is possible.
func (c *call) finish(reply exchange.Reply, wanted bool) {
	c.mu.Lock()
	if !c.takes.json || c.takes.eventsFirst && reply.Error == nil { // an error has its status in the head
		c.stream()
	}
	box := c.box
	c.phase = answered
	if c.over != nil {
		close(c.over)
	}
	c.mu.Unlock()
	if box == nil {
		c.write(reply)
		return
	}
	if !wanted {
		box.Finish(nil, nil)
	} else {
		box.Finish(message(c.msg.ID, reply), c.tooLongToKeep())
	}
	<-c.pumped
	if c.session != nil {
		c.session.Retire(c.number)
	}
}

// message renders an answer as one line.
func message(id []byte, reply exchange.Reply) []byte {
	var data []byte
	if reply.Error != nil {
		data = wire.AppendFailure(make([]byte, 0, len(id)+len(reply.Error)+48), id, reply.Error)
	} else {
		data = wire.AppendResult(make([]byte, 0, len(id)+len(reply.Result)+48), id, reply.Result)
	}
	return oneLine(data)
}

// tooLongToKeep is what a client gets that comes back for an answer which was not kept.
func (c *call) tooLongToKeep() []byte {
	if c.session == nil {
		return nil
	}
	failure := wire.AppendError(nil, wire.CodeUnknownOutcome,
		"the request was executed, but its answer was longer than what is kept for a client that lost its connection (limits.resume)", nil)
	return wire.AppendFailure(nil, c.msg.ID, failure)
}

// oneLine puts spaces in place of line breaks, which stand between tokens only.
// Lines and events both need it, and it changes no value.
func oneLine(data []byte) []byte {
	for _, br := range [...]byte{'\n', '\r'} {
		for at := bytes.IndexByte(data, br); at >= 0; {
			data[at] = ' '
			next := bytes.IndexByte(data[at:], br)
			if next < 0 {
				break
			}
			at += next
		}
	}
	return data
}

// abandon ends a stream that was begun and will not be finished: the core panicked.
func (c *call) abandon() {
	c.mu.Lock()
	box, begun := c.box, c.phase == streaming
	c.phase = answered
	c.mu.Unlock()
	if begun {
		box.Drop()
		<-c.pumped
		if c.session != nil {
			c.session.Retire(c.number)
		}
	}
}

// accepted answers a message that gets no answer.
func (c *call) accepted() { c.w.WriteHeader(http.StatusAccepted) }
