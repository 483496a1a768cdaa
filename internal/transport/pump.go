package transport

import (
	"context"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"durward/internal/exchange/outbox"
)

// pump writes the messages of one box to one HTTP response, as server-sent
// events. run is called by one goroutine, which alone uses the response.
type pump struct {
	edge   *Edge
	w      http.ResponseWriter
	ctx    context.Context // of the connection
	reader *outbox.Reader
	beats  chan struct{} // capacity 1: time for a sign of life

	// Of a stream that a client can come back to: what stands before and after the
	// number of an event in its id.
	before, after string
	prime         bool // begin with an id, so that the client can come back before there is any event
	resumed       bool // the client has come back

	control *http.ResponseController
	last    atomic.Int64 // Unix nanoseconds of the last write
	space   []byte
}

// retryAfter is what a client that lost its stream should wait, in milliseconds.
const retryAfter = "retry: 3000\n\n"

// resumable says that the client can come back to the stream, at whose beginning
// it is. Clients of older revisions take an event without data for a message.
func (p *pump) resumable(session Session, at place) {
	p.before, p.after = at.parts()
	p.prime = session.Client().Revision >= "2025-11-25"
}

// run ends when the box is done, the reader lost messages, or the client is gone.
func (p *pump) run() {
	defer p.reader.Close()
	p.control = http.NewResponseController(p.w)
	if p.resumed && p.reader.Over() {
		p.nothingLeft()
		return
	}
	if !p.open() {
		return
	}
	var events []outbox.Event
	for {
		var state outbox.State
		events, state = p.reader.Next(events[:0])
		if !p.write(events) || state == outbox.Lost {
			p.disconnect()
			return
		}
		if state == outbox.Done {
			return
		}
		clear(events)
		select {
		case <-p.reader.Wake():
		case <-p.beats:
			if !p.flush([]byte(": keep-alive\n\n")) {
				return
			}
		case <-p.ctx.Done():
			return
		}
	}
}

// disconnect shows a client that its stream is dead, while the request may still
// be under way. Where the connection carries others' requests too (HTTP/2) the
// client learns it when the handler returns.
func (p *pump) disconnect() {
	if conn, _, err := p.control.Hijack(); err == nil {
		conn.Close() // nobody is there to tell
	}
}

// nothingLeft answers a client that has seen all of a stream that is complete. An
// empty stream would make one come back for ever that does not take an error for
// an answer; 204 tells it not to (WHATWG HTML, "server-sent events", reconnection).
func (p *pump) nothingLeft() {
	p.w.Header()["Content-Type"] = eventType
	p.w.WriteHeader(http.StatusNoContent)
}

// open sends the head of the response at once, so that the client knows that it was heard.
func (p *pump) open() bool {
	h := p.w.Header()
	h["Content-Type"] = eventType
	h["Cache-Control"] = noCache
	h["X-Accel-Buffering"] = noBuffer
	p.w.WriteHeader(http.StatusOK)
	begin := p.space[:0]
	if p.before != "" {
		begin = append(begin, retryAfter...)
	}
	if p.prime {
		begin = append(p.appendID(begin, p.reader.At()), "data: \n\n"...)
	}
	return p.flush(begin)
}

// appendID appends the id line of an event, which is what Last-Event-ID will bring back.
func (p *pump) appendID(dst []byte, seq uint64) []byte {
	dst = append(append(dst, "id: "...), p.before...)
	dst = strconv.AppendUint(dst, seq, 10)
	return append(append(dst, p.after...), '\n')
}

const maxSpace = 64 << 10

// write sends events; small ones together, long ones without a copy.
func (p *pump) write(events []outbox.Event) bool {
	if len(events) == 0 {
		return true
	}
	space := p.space[:0]
	for _, e := range events {
		space = append(space, "event: message\n"...)
		if p.before != "" {
			space = p.appendID(space, e.Seq)
		}
		space = append(space, "data: "...)
		if len(space)+len(e.Data) <= maxSpace {
			space = append(append(space, e.Data...), "\n\n"...)
			continue
		}
		if !p.put(space) || !p.put(e.Data) {
			return false
		}
		space = append(space[:0], "\n\n"...)
	}
	p.space = space
	return p.flush(space)
}

// flush writes data and sees that it leaves. Then the deadline is lifted: HTTP/2
// would end the stream by it, however idle.
func (p *pump) flush(data []byte) bool {
	ok := p.put(data) && p.control.Flush() == nil
	_ = p.control.SetWriteDeadline(time.Time{}) // as in writeParts
	return ok
}

// put writes data in parts, each of which the client must take in time.
func (p *pump) put(data []byte) bool {
	err := writeParts(p.w, p.control, data, p.edge.opts.Stall)
	p.last.Store(time.Now().UnixNano())
	return err == nil
}

// beat asks for a sign of life if there was none for long enough.
func (p *pump) beat(now time.Time) {
	if last := p.last.Load(); last == 0 || now.UnixNano()-last < int64(p.edge.opts.KeepAlive) {
		return
	}
	select {
	case p.beats <- struct{}{}:
	default:
	}
}

// part is how much a client must take within the stall time.
const part = 256 << 10

// writeParts writes data with a deadline for each part, so that a client that
// does not read is told from one that reads slowly.
func writeParts(w http.ResponseWriter, control *http.ResponseController, data []byte, stall time.Duration) error {
	for {
		now := data[:min(len(data), part)]
		_ = control.SetWriteDeadline(time.Now().Add(stall)) // not every writer has deadlines; those that have a client do
		if _, err := w.Write(now); err != nil {
			return err
		}
		if data = data[len(now):]; len(data) == 0 {
			return nil
		}
	}
}
