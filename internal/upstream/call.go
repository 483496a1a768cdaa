package upstream

import (
	"context"
	"errors"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// staleHeaders marks a Reply of Do; see [StaleHeaders]. No server can send it:
// it stands in a field that is otherwise filled from results only.
const staleHeaders = "\x00stale-headers"

// StaleHeaders reports whether r says that the server refused the mirrored
// headers of the request (-32020) and executed nothing. The tool list has been
// read anew and the Observer has it: compute the headers again and call Do once
// more. The Reply is a presentable error if that is not done.
func StaleHeaders(r exchange.Reply) bool { return r.Error != nil && r.ResultType == staleHeaders }

// Do makes a call and returns the answer of the server, or an error of ours
// (durward.Unavailable: nothing was executed; durward.Unknown: it may have been;
// durward.Timeout: the deadline passed; durward.Unauthenticated: the server
// refuses our credentials). What the server says during the call goes to out,
// which must not be nil. The call ends with ctx or at its deadline, whichever is
// first: req.Deadline, or the one configured for its method, which does not run
// while the requester is asked something. The bytes of req must not change any
// more. Attempts of the Reply is how often the server may have executed the
// request: more than once only if the operator said that it may (retry.go).
func (s *Server) Do(ctx context.Context, key Key, req *exchange.Request, out exchange.Stream) exchange.Reply {
	e := errand{key: key, req: req, out: out, deadline: s.deadline(req)}
	if err := s.admit(ctx, e.deadline); err != nil {
		return exchange.Fail(err)
	}
	defer s.leave()
	for {
		c, r, err := s.attempt(ctx, &e)
		if err == nil && r.Fault == nil {
			r.Reply.Era, r.Reply.Revision, r.Reply.ID = c.opened.Era, c.opened.Revision, r.ID
			r.Reply.Attempts, r.Reply.Dispatched = e.sent, e.first
			return r.Reply
		}
		if reply, over := s.unanswered(ctx, &e, c, r, err); over {
			reply.Attempts, reply.Dispatched = e.sent, e.first
			return reply
		}
	}
}

// deadline is the earlier of the requester's and the configured one.
func (s *Server) deadline(req *exchange.Request) time.Time {
	limit := s.opt.Spec.Timeout
	if awaitsTool(req.Method) {
		limit = s.opt.Spec.CallTimeout
	}
	if limit <= 0 {
		return req.Deadline
	}
	if own := time.Now().Add(limit); req.Deadline.IsZero() || own.Before(req.Deadline) {
		return own
	}
	return req.Deadline
}

// acquire puts a call on the table of a connection, waiting for one if necessary.
func (s *Server) acquire(ctx context.Context, e *errand) (*conn, *pending, error) {
	const rounds = 5 // the other era, a restart, a connection that died at once, and the log level
	base := false
	var told *conn
	var last error
	for range rounds {
		s.mu.Lock()
		l, a, err := s.find(e.key, &e.req.Client, base)
		if err == nil && a == nil {
			c := l.up
			if c != told && c.mute(e.req.LogLevel) {
				s.mu.Unlock()
				if err := c.awaitLevel(ctx, e); err != nil {
					return nil, nil, err
				}
				told = c
				continue
			}
			l.idleSince = time.Time{}
			p := s.enter(c, caller)
			p.ours(e)
			c.note(p)
			s.mu.Unlock()
			return c, p, nil
		}
		s.mu.Unlock()
		if a != nil {
			err = s.await(ctx, a, e.deadline)
		}
		switch {
		case err == nil || errors.As(err, new(errAborted)):
			last = err
		case l != nil && l.key.era != wire.EraUnknown && ctx.Err() == nil:
			base = true // the server's own era serves as well: the edges translate
		default:
			return nil, nil, err
		}
	}
	if last == nil {
		last = durward.Errorf(durward.Unavailable, s.op(), "the connection is lost again as soon as it is opened; see its status")
	}
	return nil, nil, last
}

// find returns the link of a request, with an attempt to wait for unless it is up. mu is held.
func (s *Server) find(key Key, client *exchange.Client, base bool) (*link, *attempt, error) {
	if err := s.refusal(); err != nil {
		return nil, nil, err
	}
	l, err := s.route(key, client, base)
	if err != nil || l.up != nil {
		return l, nil, err
	}
	a, err := s.demand(l)
	return l, a, err
}

// await waits for an attempt: at most for the start time-out, and a moment more
// for the reason of an attempt that takes all of it.
func (s *Server) await(ctx context.Context, a *attempt, deadline time.Time) error {
	limit := time.Now().Add(s.opt.Spec.StartTimeout + 3*deathGrace)
	if !deadline.IsZero() && deadline.Before(limit) {
		limit = deadline
	}
	timer := time.NewTimer(time.Until(limit))
	defer timer.Stop()
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		return durward.Errorf(durward.Unavailable, s.op(), "the call ended while the server was still connecting; nothing was executed")
	case <-timer.C:
		st := s.Status()
		return durward.Errorf(durward.Unavailable, s.op(), "the server is still connecting and the call cannot wait longer; nothing was executed (%s)", orStarting(st.Reason))
	}
}

func orStarting(reason string) string {
	if reason == "" {
		return "it is starting"
	}
	return reason
}

// primaryConn returns the primary connection, waiting for it if necessary.
func (s *Server) primaryConn(ctx context.Context) (*conn, error) {
	for range 3 {
		s.mu.Lock()
		err := s.refusal()
		c := s.primary.up
		var a *attempt
		if err == nil && c == nil {
			a, err = s.demand(s.primary)
		}
		s.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if c != nil {
			return c, nil
		}
		if err := s.await(ctx, a, time.Time{}); err != nil && !errors.As(err, new(errAborted)) {
			return nil, err
		}
	}
	return nil, durward.Errorf(durward.Unavailable, s.op(), "the connection is lost again as soon as it is opened; see its status")
}

// roundTrip sends a call that is on the table and waits for its answer. The
// error is ours: the requester left, or time ran out.
func (c *conn) roundTrip(ctx context.Context, p *pending, req *exchange.Request, deadline time.Time) (*exchange.Response, error) {
	m := &exchange.Call{ID: p.id, Request: *req}
	m.Deadline = deadline
	if err := c.wire.Send(m); err != nil {
		return c.unsent(p, err), nil
	}
	var expired <-chan time.Time
	if !deadline.IsZero() {
		expired = p.alarm(time.Until(deadline))
	}
	var r *exchange.Response
	var err error
	for wait := true; wait; {
		wait = false
		select {
		case r = <-p.answer:
		case <-ctx.Done():
			r, err = c.giveUp(p, ctx.Err())
		case <-expired:
			if left := c.unused(p, deadline, req.Deadline); left > 0 {
				expired, wait = p.alarm(left), true
				continue
			}
			r, err = c.giveUp(p, context.DeadlineExceeded)
		}
	}
	c.s.mu.Lock()
	c.s.recycle(p)
	c.s.mu.Unlock()
	return r, err
}

// askedMost bounds by how much questions to the requester can put off the
// deadline of a call, in all.
const askedMost = time.Hour

// unused returns how much of the time of a call is left at its deadline: the time
// during which its requester was asked something is not the server's. A deadline
// of the requester's own stays as it is.
func (c *conn) unused(p *pending, deadline, own time.Time) time.Duration {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.calls[p.id] != p {
		return 0 // it was answered at this moment
	}
	deadline = deadline.Add(min(p.waited(), askedMost))
	left := time.Until(earlier(own, deadline))
	if left > 0 && p.asks > 0 {
		left = max(left, 100*time.Millisecond) // it grows until the answer comes
	}
	return left
}

// unsent turns a refusal of Send into a fault. When the connection ended at the
// same moment, its word about the call is overruled: it was not delivered.
func (c *conn) unsent(p *pending, err error) *exchange.Response {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.calls[p.id] == p {
		c.remove(p)
	} else {
		<-p.answer
	}
	c.s.recycle(p)
	kind := durward.KindOf(err)
	if kind == durward.Internal || kind == durward.Unknown {
		kind = durward.Unavailable
	}
	return &exchange.Response{ID: p.id, Fault: &exchange.Fault{Kind: uint8(kind), Message: err.Error()}}
}

// giveUp ends the wait for a call: the server is told that nobody wants the
// answer any more, unless it came at the same moment.
func (c *conn) giveUp(p *pending, cause error) (*exchange.Response, error) {
	s := c.s
	s.mu.Lock()
	if c.calls[p.id] != p {
		s.mu.Unlock()
		return <-p.answer, nil
	}
	c.remove(p)
	c.health.abandoned = true
	c.haunt(p.key)
	s.mu.Unlock()
	reason := "the requester is gone"
	if errors.Is(cause, context.DeadlineExceeded) {
		reason = "the deadline has passed"
	}
	_ = c.wire.Send(&exchange.Cancel{ID: p.id, Reason: reason}) // a closed link needs no cancel
	if errors.Is(cause, context.DeadlineExceeded) {
		return nil, durward.Errorf(durward.Timeout, s.op(), "no answer before the deadline; the request was sent and may have been executed (servers.%s.call_timeout for tools, servers.%s.timeout for the rest)", s.name, s.name)
	}
	return nil, durward.Errorf(durward.Unknown, s.op(), "cancelled by the requester; the request was sent and may have been executed")
}

// call makes a call of our own and returns the result of it. The error has
// durward's kinds; one the server answered with is a *wire.CodeError.
func (c *conn) call(ctx context.Context, method string, params []byte) (exchange.Reply, error) {
	return c.callWithin(ctx, method, params, time.Now().Add(c.s.opt.Spec.Timeout))
}

func (c *conn) callWithin(ctx context.Context, method string, params []byte, deadline time.Time) (exchange.Reply, error) {
	s := c.s
	s.mu.Lock()
	if c.closed != nil {
		defer s.mu.Unlock()
		return exchange.Reply{}, durward.Errorf(durward.Unavailable, s.op(), "the connection ended: %s", c.closed.Fault.Message)
	}
	p := s.enter(c, internal)
	s.mu.Unlock()
	req := s.request(c, method, params)
	r, err := c.roundTrip(ctx, p, &req, deadline)
	switch {
	case err != nil:
		return exchange.Reply{}, err
	case r.Fault != nil:
		err := durward.Errorf(durward.Kind(r.Fault.Kind), s.op(), "%s", r.Fault.Message)
		if r.Fault.RetryAfter > 0 {
			err.Err = errPutOff
		}
		return exchange.Reply{}, err
	case r.Error != nil:
		return exchange.Reply{}, codeError(r.Error)
	}
	return r.Reply, nil
}

// request is one of our own.
func (s *Server) request(c *conn, method string, params []byte) exchange.Request {
	req := exchange.Request{Method: method, Client: exchange.Client{
		Era: c.opened.Era, Revision: c.opened.Revision, Info: s.opt.ClientInfo, Capabilities: []byte("{}"),
	}}
	if params != nil {
		_ = wire.ParseParams(params, &req.Params) // ours are well-formed
		req.Params.Raw = params
	}
	return req
}

// isCode reports whether the server answered with a JSON-RPC error.
func isCode(err error) bool { return errors.As(err, new(*wire.CodeError)) }

func codeError(raw []byte) error {
	code, _ := wire.ErrorCode(raw)
	message, _ := wire.Unquote(wire.Get(raw, "message"))
	if len(message) > 500 {
		message = message[:500] + "…"
	}
	return &wire.CodeError{Code: code, Message: message}
}
