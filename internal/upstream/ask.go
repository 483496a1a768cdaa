package upstream

import (
	"context"
	"strconv"
	"strings"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// asking is a request of the server that a requester is asked to answer. Guarded by Server.mu.
type asking struct {
	request *exchange.ServerRequest
	call    uint64
	key     Key // whom it was put to
	cancel  context.CancelFunc
}

// asked takes a request of a legacy server: sampling, elicitation or roots. It is
// put to the requester of the call it belongs to. One that does not say which
// call that is, as over stdio, is put to somebody only if all calls in flight
// are of one requester; otherwise the server gets an error. A request for roots
// while nobody calls is answered with none: nobody is there, so nobody grants
// any, and a server that insists on an answer can start.
func (c *conn) asked(r *exchange.ServerRequest) {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	c.heard()
	s.isolate(c, r)
	if s.closed || c.closed != nil {
		return
	}
	p := c.calls[r.Related]
	if r.Related == 0 {
		p = c.requester(r)
	}
	switch {
	case strings.HasPrefix(r.Method, "tasks/") && !c.mayAskOfTasks():
		s.tally("undeclared-request", 1)
		c.answerAsync(r.ID, refusal(wire.CodeMethodNotFound, "the client has no tasks for this server"))
	case p != nil && p.out != nil && c.asksOf(p.key) < s.opt.Limits.Asks:
		c.put(p, r)
	case p != nil && p.out != nil:
		s.tally("too-many-requests", 1)
		c.answerAsync(r.ID, refusal(wire.CodeRateLimited, strconv.Itoa(s.opt.Limits.Asks)+" requests of this server wait for an answer of this client (limits.server_asks)"))
	case r.Method == wire.MethodRootsList && c.idle():
		c.answerAsync(r.ID, exchange.Reply{Result: []byte(`{"roots":[]}`)})
	default:
		s.tally("unattributed-request", 1)
		c.answerAsync(r.ID, refusal(wire.CodeInternal, "the gateway cannot tell which of its clients this request is for; send it during the call it belongs to"))
	}
}

// requester returns the call that a request without any relation belongs to, as
// far as that can be told (see attribute). Of several calls of one requester it
// is the newest that declared what is asked for; if none did, the newest, whose
// edge says what is missing. mu is held.
func (c *conn) requester(r *exchange.ServerRequest) *pending {
	newest := c.attribute(true)
	if newest == nil {
		return nil
	}
	var able *pending
	for _, p := range c.calls {
		if p.out != nil && (able == nil || p.id > able.id) && exchange.Missing(p.capabilities, r.Method, r.Params) == "" {
			able = p
		}
	}
	if able == nil {
		return newest
	}
	return able
}

// asksOf counts what one principal is asked: one that does not answer must not
// keep the server from asking others. mu is held.
func (c *conn) asksOf(k Key) (n int) {
	for _, a := range c.asks {
		if a.key.Principal == k.Principal {
			n++
		}
	}
	return n
}

// idle reports whether no requester has a call in flight. mu is held.
func (c *conn) idle() bool {
	for _, p := range c.calls {
		if p.out != nil {
			return false
		}
	}
	return true
}

// put asks the requester of p in the background. mu is held.
func (c *conn) put(p *pending, r *exchange.ServerRequest) {
	s := c.s
	ctx, cancel := context.WithCancel(s.ctx)
	a := &asking{request: r, call: p.id, key: p.key, cancel: cancel}
	c.asks[r.ID] = a
	p.asking()
	c.visits.note(p, r)
	out := p.out
	s.tasks.Go(func() {
		defer cancel()
		reply := out.Ask(ctx, r.Method, r.Params)
		if c.settleAsk(r.ID, a) {
			c.answer(r.ID, reply)
		}
	})
}

// settleAsk takes a request off the table; false if it is not wanted any more.
func (c *conn) settleAsk(id uint64, a *asking) bool {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.asks[id] != a {
		return false
	}
	delete(c.asks, id)
	if p := c.calls[a.call]; p != nil {
		p.asked()
	}
	return true
}

// dropAsks withdraws what was asked during a call that is over: its requester can
// not be reached by it any more. What did not say for which call it was is put to
// another call of the same requester, which it may have been for all along;
// otherwise the server gets an error. mu is held.
func (c *conn) dropAsks(call uint64) {
	for id, a := range c.asks {
		if a.call != call {
			continue
		}
		delete(c.asks, id)
		a.cancel()
		if p := c.another(a); p != nil {
			c.put(p, a.request)
			continue
		}
		c.answerAsync(id, refusal(wire.CodeInternal, "the call during which this was asked has ended"))
	}
}

// another returns the newest other call that a question can have been for. mu is held.
func (c *conn) another(a *asking) (newest *pending) {
	if a.request.Related != 0 || c.closed != nil || c.s.closed {
		return nil
	}
	for _, p := range c.calls {
		if p.out != nil && p.id != a.call && p.key.same(a.key, true) && (newest == nil || p.id > newest.id) &&
			exchange.Missing(p.capabilities, a.request.Method, a.request.Params) == "" {
			newest = p
		}
	}
	return newest
}

// withdrawn handles the server's cancellation of a request it made.
func (c *conn) withdrawn(params []byte) {
	id, _ := strconv.ParseUint(string(wire.Get(params, "requestId")), 10, 64)
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.heard()
	a := c.asks[id]
	if a == nil {
		return
	}
	delete(c.asks, id)
	if p := c.calls[a.call]; p != nil {
		p.asked()
	}
	a.cancel()
}

// answerAsync answers from a goroutine of its own: Receive must not call back
// into the connection. mu is held.
func (c *conn) answerAsync(id uint64, reply exchange.Reply) {
	if c.s.closed || c.closed != nil {
		return
	}
	c.s.tasks.Go(func() { c.answer(id, reply) })
}

func (c *conn) answer(id uint64, reply exchange.Reply) {
	<-c.attached
	if c.wire != nil {
		_ = c.wire.Send(&exchange.Response{ID: id, Reply: reply}) // a closed link needs no answer
	}
}

func refusal(code int, message string) exchange.Reply {
	return exchange.Reply{Error: wire.AppendError(nil, code, message, nil)}
}

// isolate gives every principal a legacy connection of its own from now on, once a
// shared legacy server turns out to ask without saying for whom: over stdio it
// cannot say, and over HTTP some ask on the stream that belongs to no call. The
// shared connection goes on for one principal: the one whose call is in flight,
// else the only one that ever called, else the next that comes. mu is held.
func (s *Server) isolate(c *conn, r *exchange.ServerRequest) {
	if s.instances != durward.InstancesShared || r.Related != 0 || !c.legacy() {
		return
	}
	s.instances, s.switched = durward.InstancesPrincipal, true
	s.tally("switched-to-instances-principal", 1)
	l := c.link
	var newest *pending
	for _, p := range c.calls {
		if p.out != nil && (newest == nil || p.id > newest.id) {
			newest = p
		}
	}
	switch {
	case newest != nil:
		l.claimed, l.owner = true, newest.key.Principal
	case c.user != "" && !c.mixed:
		l.claimed, l.owner = true, c.user
	}
}

// legacy is false while the handshake is not done. mu is held.
func (c *conn) legacy() bool { return c.opened != nil && c.opened.Era == wire.Legacy }
