package upstream

import (
	"strconv"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// openListen replaces one listen by another. Over HTTP the new one is there before
// the old one is closed, so that nothing is missed in between: what comes while
// both are there is told twice, which does no harm, since notes tell of a state.
// Over pipes the old one is closed first: some servers keep one per connection, and
// one that ends takes what the next registered with it.
func (c *conn) openListen(old *pending) *pending {
	if c.s.opt.Spec.Transport == durward.TransportStdio {
		c.endListen(old)
		return c.startListen(nil)
	}
	acked := make(chan struct{})
	next := c.startListen(acked)
	if next != nil && old != nil {
		c.awaitListen(next, acked)
	}
	c.closeListen(old)
	return next
}

// awaitListen returns when a listen is acknowledged, has ended, or takes too long.
func (c *conn) awaitListen(p *pending, acked <-chan struct{}) {
	timer := time.NewTimer(ackWait)
	defer timer.Stop()
	select {
	case <-acked:
	case r := <-p.answer:
		p.answer <- r // for listenLoop
	case <-c.gone:
	case <-timer.C:
	}
}

// endWait is the longest that a server is given to answer a listen that is
// cancelled. It need not answer; one that did not is not waited for again.
const endWait = 250 * time.Millisecond

// endListen closes a listen and waits until the server is done with it.
func (c *conn) endListen(p *pending) {
	if p == nil {
		return
	}
	c.s.mu.Lock()
	c.missed = true
	waits := !c.silentEnds
	c.s.mu.Unlock()
	if waits {
		c.awaitEnd(p)
	}
	c.closeListen(p)
}

// awaitEnd cancels a listen without forgetting it, so that its answer is told.
func (c *conn) awaitEnd(p *pending) {
	note := &exchange.Notification{Method: wire.NoteCancelled, Params: []byte(`{"requestId":` + strconv.FormatUint(p.id, 10) + `}`)}
	if c.wire.Send(note) != nil {
		return // the link is over
	}
	timer := time.NewTimer(endWait)
	defer timer.Stop()
	select {
	case r := <-p.answer:
		p.answer <- r // for closeListen
	case <-timer.C:
		c.s.mu.Lock()
		c.silentEnds = true
		c.s.mu.Unlock()
	}
}

// closeListen ends a listen that is open or has ended meanwhile.
func (c *conn) closeListen(p *pending) {
	if p == nil {
		return
	}
	s := c.s
	s.mu.Lock()
	open := c.calls[p.id] == p
	if open {
		c.remove(p)
	}
	id := p.id
	s.mu.Unlock()
	if open {
		_ = c.wire.Send(&exchange.Cancel{ID: id, Reason: "the set of subscriptions has changed"}) // a closed link needs no cancel
	} else {
		<-p.answer
	}
	c.recycleListen(p)
}

// catchUp has those lists read anew that may have changed while the server had
// nobody to tell. mu is held.
func (c *conn) catchUp() {
	if !c.missed {
		return
	}
	c.missed = false
	for kind, capability := range map[kinds]string{
		1 << kindTools: "tools", 1 << kindPrompts: "prompts", 1<<kindResources | 1<<kindTemplates: "resources",
	} {
		if c.declares(capability, "listChanged") {
			c.lister.dirty |= kind
		}
	}
	c.lister.nudge()
}
