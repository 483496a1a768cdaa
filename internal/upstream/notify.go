package upstream

import (
	"time"

	"durward/internal/exchange"
	"durward/internal/wire"
)

// notified takes a notification of the server to where it belongs.
func (c *conn) notified(n *exchange.Notification) {
	switch n.Method {
	case wire.NoteToolsChanged:
		c.changed(1 << kindTools)
	case wire.NotePromptsChanged:
		c.changed(1 << kindPrompts)
	case wire.NoteResourcesChanged:
		c.changed(1<<kindResources | 1<<kindTemplates)
	case wire.NoteAcknowledged:
		c.acknowledged(n)
	case wire.NoteCancelled:
		c.withdrawn(n.Params)
	case wire.NoteMessage:
		c.logged(n)
	case wire.NoteElicitComplete:
		c.visited(n)
	case wire.NoteResourceUpdated, wire.NoteTasks, wire.NoteTasksStatus:
		// The call during which a task is told of need not be its owner's.
		c.pass(nil, n)
	default:
		c.related(n)
	}
}

// related passes on what belongs to a call, and the rest to the Observer. It is
// called in the order of arrival, so progress is there before the result.
func (c *conn) related(n *exchange.Notification) {
	c.s.mu.Lock()
	c.heard()
	var out exchange.Stream
	if p := c.calls[n.Related]; p != nil {
		out = p.out
	}
	if out == nil && n.Method == wire.NoteProgress {
		c.s.tally("unknown-progress", 1)
		c.s.mu.Unlock()
		return
	}
	c.s.mu.Unlock()
	c.deliver(out, n)
}

// pass notes the sign of life and passes n on.
func (c *conn) pass(out exchange.Stream, n *exchange.Notification) {
	c.s.mu.Lock()
	c.heard()
	c.s.mu.Unlock()
	c.deliver(out, n)
}

func (c *conn) deliver(out exchange.Stream, n *exchange.Notification) {
	if out != nil {
		out.Notify(n.Method, n.Params)
		return
	}
	c.s.opt.Observer.Notification(c.s.name, *n)
}

// logged passes a log message to the call it belongs to, if that wants it. One
// that says nothing about its call goes to the newest call of the principal whose
// calls are the only ones in flight; if there are others, it could be about
// somebody else's data, and is dropped.
func (c *conn) logged(n *exchange.Notification) {
	s := c.s
	s.mu.Lock()
	c.heard()
	p := c.calls[n.Related]
	if n.Related == 0 {
		p = c.attribute(false)
	}
	if p == nil || p.out == nil {
		s.tally("unattributed-log", 1)
		s.mu.Unlock()
		return
	}
	out := p.out
	if !wanted(p, n.Params) {
		out = nil
	}
	s.mu.Unlock()
	if out != nil {
		out.Notify(n.Method, n.Params)
	}
}

// attribute returns the newest call that something without any relation can
// belong to: all calls in flight are of one principal, and with sameRequester of
// one session and client, and no call of anybody else was given up a moment ago,
// which the server may still be working at. Otherwise nil. mu is held.
func (c *conn) attribute(sameRequester bool) *pending {
	var newest *pending
	for _, p := range c.calls {
		if p.out == nil {
			continue
		}
		if newest != nil && !p.key.same(newest.key, sameRequester) {
			return nil
		}
		if newest == nil || p.id > newest.id {
			newest = p
		}
	}
	if newest == nil || c.ghost.contradicts(newest.key, sameRequester) {
		return nil
	}
	return newest
}

func (k Key) same(other Key, sameRequester bool) bool {
	return k.Principal == other.Principal && (!sameRequester || k == other)
}

// ghost remembers whose calls were given up: the server may go on with them and
// ask or log on their behalf. Guarded by Server.mu.
type ghost struct {
	until      time.Time
	key        Key
	principals bool // of more than one principal
	requesters bool // of more than one session or client
}

// haunt notes a call that was given up. mu is held.
func (c *conn) haunt(k Key) {
	g := &c.ghost
	now := time.Now()
	if now.After(g.until) {
		*g = ghost{key: k}
	}
	g.principals = g.principals || g.key.Principal != k.Principal
	g.requesters = g.requesters || g.key != k
	g.until = now.Add(ghostFor)
}

func (g *ghost) contradicts(k Key, sameRequester bool) bool {
	if time.Now().After(g.until) {
		return false
	}
	return g.principals || sameRequester && g.requesters || !g.key.same(k, sameRequester)
}

// RootsChanged tells legacy servers that the roots of a client changed.
func (s *Server) RootsChanged() {
	s.mu.Lock()
	var conns []*conn
	for _, l := range s.links {
		if l.up != nil && l.up.opened.Era == wire.Legacy {
			conns = append(conns, l.up)
		}
	}
	s.mu.Unlock()
	for _, c := range conns {
		_ = c.wire.Send(&exchange.Notification{Method: wire.NoteRootsChanged}) // one that is over needs none
	}
}
