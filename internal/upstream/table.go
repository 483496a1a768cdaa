package upstream

import (
	"time"

	"durward/internal/exchange"
	"durward/internal/wire"
)

// pendingKind says who waits for an answer.
type pendingKind uint8

const (
	caller   pendingKind = iota // somebody at Do
	internal                    // this package
	standing                    // a listen, which is meant to stay open
	telling                     // nobody but who waits for levels.telling
)

// pending is a call that is on the table of a connection. Whoever takes it off
// the table, under Server.mu, is the only one to send on answer. Its fields are
// set before it is on the table and read under mu. They are used again and
// again, per server, so that a call costs no channel and no timer.
type pending struct {
	id     uint64
	kind   pendingKind
	key    Key
	out    exchange.Stream // nil unless kind is caller
	level  string          // least severe log message wanted; "" = none asked for
	legacy bool            // the requester is of the legacy era
	tool   bool            // it is a tools/call

	capabilities []byte // of the requester, raw

	asks  int           // requests of the server that wait for this requester
	since time.Time     // there are any
	past  time.Duration // there were any before that

	answer chan *exchange.Response // one slot
	timer  *time.Timer             // stopped while it is not on the table; nil before its first use
}

// maxFree bounds how many are kept for the next calls.
const maxFree = 256

// enter puts a call on the table of c, which is not over. mu is held.
func (s *Server) enter(c *conn, kind pendingKind) *pending {
	var p *pending
	if n := len(s.free); n > 0 {
		p = s.free[n-1]
		s.free = s.free[:n-1]
	} else {
		p = &pending{answer: make(chan *exchange.Response, 1)}
	}
	s.nextID++
	p.id, p.kind = s.nextID, kind
	c.calls[p.id] = p
	if kind == internal {
		c.busy++
	}
	return p
}

// ours takes over what of a caller's call matters while it is on the table. mu is held.
func (p *pending) ours(e *errand) {
	p.key, p.out, p.level, p.capabilities = e.key, e.out, e.req.LogLevel, e.req.Client.Capabilities
	p.legacy, p.tool = e.req.Client.Era != wire.Modern, awaitsTool(e.req.Method)
}

// note counts a caller's call, once its fields are set. mu is held.
func (c *conn) note(p *pending) {
	c.busy++
	if p.tool {
		c.tools++
	}
	switch {
	case c.user == "" && !c.mixed:
		c.user = p.key.Principal
	case c.user != p.key.Principal:
		c.mixed = true
	}
}

// remove takes a call off the table. mu is held.
func (c *conn) remove(p *pending) {
	delete(c.calls, p.id)
	if p.kind == caller || p.kind == internal {
		c.busy--
	}
	if p.tool {
		c.tools--
	}
	if p.asks > 0 {
		c.dropAsks(p.id)
	}
	if c.drained != nil && c.busy == 0 {
		close(c.drained)
		c.drained = nil
	}
}

// asking notes that the requester is asked one thing more. mu is held.
func (p *pending) asking() {
	if p.asks++; p.asks == 1 {
		p.since = time.Now()
	}
}

// asked notes that it is asked one thing less. mu is held.
func (p *pending) asked() {
	if p.asks--; p.asks == 0 {
		p.past += time.Since(p.since)
	}
}

// waited is how long the server waited for the requester until now. mu is held.
func (p *pending) waited() time.Duration {
	if p.asks > 0 {
		return p.past + time.Since(p.since)
	}
	return p.past
}

// recycle keeps p for another call. mu is held; p is on no table and its slot is empty.
func (s *Server) recycle(p *pending) {
	if p.timer != nil {
		p.timer.Stop()
	}
	*p = pending{answer: p.answer, timer: p.timer}
	if len(s.free) < maxFree {
		s.free = append(s.free, p)
	}
}

// alarm fires after d. Since Go 1.23 a stopped or reset timer delivers nothing stale.
func (p *pending) alarm(d time.Duration) <-chan time.Time {
	if p.timer == nil {
		p.timer = time.NewTimer(d)
	} else {
		p.timer.Reset(d)
	}
	return p.timer.C
}
