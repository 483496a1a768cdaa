package upstream

import (
	"context"
	"maps"
	"slices"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// listenState is what the modern servers' subscriptions/listen has to carry, and
// who waits for it. Guarded by Server.mu.
type listenState struct {
	changed chan struct{} // one slot: the set of URIs is another one
	waiters []chan struct{}
	id      uint64          // of the listen that was sent last
	acked   []chan struct{} // closed when that one is acknowledged or has failed

	tasks    map[string]int  // that somebody wants to hear of; see SubscribeTask
	honoured map[string]bool // of those, what the server agreed to tell of
	refused  map[string]bool // of those, what it is asked for no more
}

// ackWait is how long Subscribe waits for a modern server's word that it listens.
const ackWait = 5 * time.Second

// Subscribe asks the server to report changes of a resource, by its primary
// connection, unless somebody has done so before. A connection that is opened later is asked again.
func (s *Server) Subscribe(ctx context.Context, uri string) error {
	c, acked, err := s.subscribe(ctx, uri)
	if err == nil && acked != nil {
		awaitAck(ctx, c, acked)
	}
	return err
}

// subscribe returns what to wait for if the server is a modern one that is asked.
func (s *Server) subscribe(ctx context.Context, uri string) (*conn, <-chan struct{}, error) {
	if err := s.lockSub(ctx); err != nil {
		return nil, nil, err
	}
	defer s.unlockSub()
	if known, err := s.subscribed(uri); known || err != nil {
		c, acked := s.underWay()
		return c, acked, err
	}
	c, err := s.primaryConn(ctx)
	if err == nil && c.opened.Era == wire.Legacy {
		_, err = c.call(ctx, wire.MethodSubscribe, uriParams(uri))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		delete(s.uris, uri)
		return nil, nil, err
	}
	if c.opened.Era == wire.Legacy {
		return nil, nil, nil
	}
	acked := make(chan struct{})
	s.listen.waiters = append(s.listen.waiters, acked)
	s.relisten()
	return c, acked, nil
}

// underWay returns what to wait for while a listen is about to be acknowledged
// that carries what others have subscribed to: until then the server reports nothing.
func (s *Server) underWay() (*conn, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.primary.up
	if c == nil || len(s.listen.waiters)+len(s.listen.acked) == 0 {
		return nil, nil
	}
	acked := make(chan struct{})
	if len(s.listen.waiters) > 0 {
		s.listen.waiters = append(s.listen.waiters, acked)
	} else {
		s.listen.acked = append(s.listen.acked, acked)
	}
	return c, acked
}

// subscribed counts one more for a resource, and reports whether there was one
// before. It comes before the server is asked, so that a connection that is
// opened meanwhile is asked as well.
func (s *Server) subscribed(uri string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uris[uri] == 0 {
		if err := s.fullOfSubscriptions(); err != nil {
			return false, err
		}
	}
	s.uris[uri]++
	s.idleSince = time.Time{}
	return s.uris[uri] > 1, nil
}

// fullOfSubscriptions says that there is no room for one more. mu is held.
func (s *Server) fullOfSubscriptions() error {
	if len(s.uris)+s.elsewhere+len(s.listen.tasks) < s.opt.Limits.Subscriptions {
		return nil
	}
	return durward.Errorf(durward.Unavailable, s.op(), "%d resources and tasks are subscribed to; raise limits.subscriptions", s.opt.Limits.Subscriptions)
}

// awaitAck waits until the server listens. That it takes long is no error: the
// subscription stands, and is repeated on every connection.
func awaitAck(ctx context.Context, c *conn, acked <-chan struct{}) {
	timer := time.NewTimer(ackWait)
	defer timer.Stop()
	select {
	case <-acked:
	case <-c.gone:
	case <-ctx.Done():
	case <-timer.C:
	}
}

// Unsubscribe takes one Subscribe back. The server is told in the background.
func (s *Server) Unsubscribe(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch n := s.uris[uri]; {
	case n > 1:
		s.uris[uri]--
		return
	case n == 0:
		return
	}
	delete(s.uris, uri)
	s.idleSince = time.Time{}
	if s.closed {
		return
	}
	s.relisten()
	s.tasks.Go(func() { s.unsubscribe(s.primary, uri) })
}

// lockSub makes subscriptions one at a time, so that the server sees them in the
// order in which they were made and taken back.
func (s *Server) lockSub(ctx context.Context) error {
	select {
	case s.sub <- struct{}{}:
		return nil
	case <-ctx.Done():
		return durward.Errorf(durward.Timeout, s.op(), "the call ended while other subscriptions of this server were under way")
	case <-s.ctx.Done():
		return durward.Errorf(durward.Unavailable, s.op(), "the gateway is stopping")
	}
}

func (s *Server) unlockSub() { <-s.sub }

// relisten has the listen of a modern server opened anew. mu is held.
func (s *Server) relisten() {
	select {
	case s.listen.changed <- struct{}{}:
	default:
	}
}

// listenLoop keeps one subscriptions/listen open on a modern primary connection
// (2026-07-28, basic/patterns/subscriptions) that carries the list changes the
// server declares and all URIs; it is opened anew when the set changes.
func (c *conn) listenLoop() {
	wait := relistFirst / 2
	var open *pending
	for {
		next := c.openListen(open)
		open = next
		var ended <-chan *exchange.Response
		if open != nil {
			ended = open.answer
		}
		select {
		case <-c.gone:
			c.listenOver()
			return
		case <-c.s.listen.changed:
			pause(c, coalesceFor)
		case r := <-ended:
			c.recycleListen(open)
			open = nil
			c.listenOver()
			if r.Error != nil {
				c.s.leaveOutTasks()
			}
			if !c.listenAgain(r, &wait) {
				return
			}
		}
	}
}

// startListen sends a listen of all that is wanted now, unless that is nothing.
// acked, if not nil, is closed when it is acknowledged or has ended.
func (c *conn) startListen(acked chan struct{}) *pending {
	s := c.s
	s.mu.Lock()
	select {
	case <-s.listen.changed: // what follows sees it
	default:
	}
	if s.primary.up != c { // it was replaced: what has changed is for its successor
		s.relisten()
		s.mu.Unlock()
		return nil
	}
	waiters := s.listen.waiters
	s.listen.waiters = nil
	if acked != nil {
		waiters = append(waiters, acked)
	}
	params := s.listenParams(c)
	if params == nil || c.closed != nil {
		s.mu.Unlock()
		release(waiters)
		return nil
	}
	p := s.enter(c, standing)
	id := p.id
	s.listen.id, s.listen.acked = id, append(s.listen.acked, waiters...)
	s.mu.Unlock()
	call := &exchange.Call{ID: id, Request: s.request(c, wire.MethodListen, params)}
	if wire.Lookup(wire.Get(params, "notifications"), "taskIds").Present() {
		call.Client.Capabilities = []byte(knowsTasks)
	}
	if err := c.wire.Send(call); err != nil {
		s.mu.Lock()
		if c.calls[id] == p {
			c.remove(p)
			c.hand(p, c.notSent(id, err))
		}
		s.mu.Unlock()
	}
	return p
}

func (c *conn) notSent(id uint64, err error) *exchange.Response {
	return &exchange.Response{ID: id, Fault: &exchange.Fault{Kind: uint8(durward.Unavailable), Message: err.Error()}}
}

// listenParams is the filter; nil when there is nothing to listen to. mu is held.
func (s *Server) listenParams(c *conn) []byte {
	var members []wire.Member
	for _, m := range []struct{ capability, filter string }{
		{"tools", "toolsListChanged"}, {"prompts", "promptsListChanged"}, {"resources", "resourcesListChanged"},
	} {
		if c.declares(m.capability, "listChanged") {
			members = append(members, wire.Member{Name: m.filter, Value: []byte("true")})
		}
	}
	if len(s.uris) > 0 {
		members = append(members, wire.Member{Name: "resourceSubscriptions", Value: stringList(slices.Sorted(maps.Keys(s.uris)))})
	}
	if tasks := s.listen.followed(); len(tasks) > 0 {
		members = append(members, wire.Member{Name: "taskIds", Value: stringList(tasks)})
	}
	if len(members) == 0 {
		return nil
	}
	filter := wire.AppendObject(nil, nil, nil, members...)
	return wire.AppendObject(nil, nil, nil, wire.Member{Name: "notifications", Value: filter})
}

// stringList renders strings as a JSON array.
func stringList(all []string) []byte {
	list := []byte{'['}
	for i, s := range all {
		if i > 0 {
			list = append(list, ',')
		}
		list = wire.AppendQuote(list, s)
	}
	return append(list, ']')
}

func (c *conn) recycleListen(p *pending) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.recycle(p)
}

// acknowledged lets those go on who wait for the listen.
func (c *conn) acknowledged(n *exchange.Notification) {
	c.s.mu.Lock()
	c.heard()
	var acked []chan struct{}
	if n.Related == 0 || n.Related == c.s.listen.id {
		acked, c.s.listen.acked = c.s.listen.acked, nil
		c.s.listen.honour(wire.Get(wire.Get(n.Params, "notifications"), "taskIds"))
		c.catchUp()
	}
	c.s.mu.Unlock()
	release(acked)
}

func (c *conn) listenOver() {
	c.s.mu.Lock()
	c.missed = true
	acked := c.s.listen.acked
	c.s.listen.acked = nil
	c.s.mu.Unlock()
	release(acked)
}

func release(waiters []chan struct{}) {
	for _, w := range waiters {
		close(w)
	}
}

// listenAgain waits before a listen that ended is opened anew; false when the
// connection is over. A server that refuses it is asked again when the set
// changes, or after a while that doubles.
func (c *conn) listenAgain(r *exchange.Response, wait *time.Duration) bool {
	after := time.Second // it ended in order
	if r.Error != nil || r.Fault != nil {
		c.s.count("listen-ended", 1)
		*wait = min(relistMost, 2**wait)
		after = *wait
	}
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-c.gone:
		return false
	case <-c.s.listen.changed:
		pause(c, coalesceFor)
	case <-timer.C:
	}
	return true
}
