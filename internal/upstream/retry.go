package upstream

import (
	"context"
	"errors"
	"path"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// A call is sent a second time only if the first attempt provably did not reach
// the server, or if the operator said that it may be executed twice
// (durward.Server.Retry, durward.ToolRules.Idempotent) and its answer was lost on
// the way. What a server answered is never asked for again, and a deadline that
// passed or a requester that left ends it all.

// maxTries bounds the attempts that provably did not reach the server, and those
// that may have been executed.
const maxTries = 2

// putOffMost is the longest that a call waits because the server wants it to
// (HTTP 429 or 503 with Retry-After). One that wants more is not asked again.
const putOffMost = 60 * time.Second

// errand is one call on its way, with what became of its attempts so far.
type errand struct {
	key      Key
	req      *exchange.Request
	out      exchange.Stream
	deadline time.Time // zero: none

	sent   int       // attempts that the server may have executed
	first  time.Time // when the first of them began
	missed int       // attempts since then that did not reach it
	why    string    // the first of sent has no answer
	until  time.Time // a server that was lost is waited for until then
}

// attempt sends a call once. Without an answer of the server either the error is
// set, or the Fault of the response. No connection means that nothing was sent.
func (s *Server) attempt(ctx context.Context, e *errand) (*conn, *exchange.Response, error) {
	if ctx.Err() != nil {
		return nil, nil, durward.Errorf(durward.Unavailable, s.op(), "the requester left before the call was sent; nothing was executed")
	}
	c, p, err := s.acquire(ctx, e)
	if err != nil {
		return nil, nil, err
	}
	req := e.req
	if e.sent > 0 && req.Progress { // it begins anew, and progress must not go backwards
		silent := *req
		silent.Progress = false
		req = &silent
	}
	begun := time.Now()
	r, err := c.roundTrip(ctx, p, req, e.deadline)
	if err != nil || r.Fault == nil || r.Fault.Delivered {
		if e.sent++; e.sent == 1 {
			e.first = begun
		}
		e.missed = 0
	}
	return c, r, err
}

// unanswered decides what an attempt without an answer comes to; over is false
// when another is to be made, now.
func (s *Server) unanswered(ctx context.Context, e *errand, c *conn, r *exchange.Response, err error) (reply exchange.Reply, over bool) {
	switch {
	case c == nil && s.comesUp(ctx, e, err):
		return exchange.Reply{}, false
	case c == nil && e.sent > 0:
		return exchange.Fail(s.unknown(e, messageOf(err))), true
	case err != nil:
		return exchange.Fail(err), true
	default:
		return s.faulted(ctx, e, c, r.Fault)
	}
}

// comesUp waits a moment for a server that was lost during the call and is not
// connected again; false if it is not to be waited for.
func (s *Server) comesUp(ctx context.Context, e *errand, err error) bool {
	if e.sent == 0 || durward.KindOf(err) != durward.Unavailable {
		return false
	}
	s.mu.Lock()
	refused := s.refusal() != nil
	s.mu.Unlock()
	if refused {
		return false
	}
	e.missed++
	return s.rest(ctx, s.delay(e.missed), earlier(e.deadline, e.until))
}

// faulted is unanswered for a call that a connection took.
func (s *Server) faulted(ctx context.Context, e *errand, c *conn, f *exchange.Fault) (reply exchange.Reply, over bool) {
	if f.StaleHeaders && !f.Delivered && e.sent == 0 {
		return s.stale(ctx, c), true
	}
	switch {
	case f.NoSession:
		s.renew(c)
	case f.RetryAfter > 0: // it is well, and busy
	default:
		s.suspect(c, f)
		c.settleDown(ctx, e, f)
	}
	if s.again(ctx, e, c, f) {
		return exchange.Reply{}, false
	}
	message := f.Message
	if c.over() {
		message = explain(message, c.lastWords())
	}
	return exchange.Fail(s.verdict(e, f, message)), true
}

// again decides whether another attempt is made, and waits for the time for it.
func (s *Server) again(ctx context.Context, e *errand, c *conn, f *exchange.Fault) bool {
	if ctx.Err() != nil {
		return false
	}
	if f.Delivered {
		if e.sent == 1 {
			e.why, e.until = f.Message, time.Now().Add(s.opt.Spec.StartTimeout)
		}
		if !f.Again || e.sent >= maxTries || f.RetryAfter > putOffMost || !s.repeatable(e.req) {
			return false
		}
		switch {
		case f.RetryAfter > 0:
			return s.rest(ctx, f.RetryAfter, e.deadline)
		case c.leaving():
			return true // there will be another connection
		default:
			return s.rest(ctx, s.delay(1), e.deadline) // the server may need a moment
		}
	}
	e.missed++
	switch {
	case !retryable(durward.Kind(f.Kind), f):
		return false
	case e.sent == 0:
		return e.missed < maxTries
	default:
		return s.rest(ctx, s.delay(e.missed), earlier(e.deadline, e.until))
	}
}

// retryable reports whether trying once more can come out differently.
func retryable(kind durward.Kind, f *exchange.Fault) bool {
	return f.NoSession || kind == durward.Unavailable || kind == durward.Unknown || kind == durward.Internal
}

// repeatable reports whether the operator said that a request may be executed
// twice: by its method, which must be one that asks for something, and for tools
// that are named by the server's own name of it.
func (s *Server) repeatable(req *exchange.Request) bool {
	all := s.opt.Spec.Retry == durward.RetryIdempotent
	switch req.Method {
	case wire.MethodToolsCall:
		return all || s.idempotent(req)
	case wire.MethodPromptsGet, wire.MethodResourcesRead, wire.MethodComplete:
		return all
	default:
		return false
	}
}

func (s *Server) idempotent(req *exchange.Request) bool {
	globs := s.opt.Spec.Tools.Idempotent
	if len(globs) == 0 {
		return false
	}
	name, ok := req.Params.String(req.Params.Name)
	if req.Name != nil {
		name, ok = wire.Unquote(req.Name)
	}
	for _, glob := range globs {
		if match, err := path.Match(glob, name); ok && match && err == nil {
			return true
		}
	}
	return false
}

// verdict is what is to be said of a call that gets no answer.
func (s *Server) verdict(e *errand, f *exchange.Fault, message string) error {
	kind := durward.Kind(f.Kind)
	switch {
	case kind == durward.Timeout:
	case !f.Delivered && e.sent > 0:
		return s.unknown(e, message)
	case f.Delivered && e.sent > 1:
		return durward.Errorf(durward.Unknown, s.op(), "the request was sent %d times and may have been executed each time: %s", e.sent, message)
	case f.Delivered && kind != durward.Unauthenticated && kind != durward.Denied:
		return durward.Errorf(durward.Unknown, s.op(), "the request may have been executed: %s", message)
	case kind == durward.Internal || kind == durward.Unknown:
		kind = durward.Unavailable
	}
	return durward.Errorf(kind, s.op(), "%s", message)
}

// unknown is the error of a call whose first attempt may have been executed and
// whose last one was not.
func (s *Server) unknown(e *errand, then string) error {
	return durward.Errorf(durward.Unknown, s.op(), "the request may have been executed: %s; a second attempt did not get to the server: %s", e.why, then)
}

// rest waits; false if that is cut short, or would not be over at the limit (zero: none).
func (s *Server) rest(ctx context.Context, d time.Duration, limit time.Time) bool {
	if !limit.IsZero() && time.Now().Add(d).After(limit) {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	case <-s.ctx.Done():
		return false
	}
}

// earlier of two points in time, of which a zero one never comes.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// settleDown waits a moment for a connection whose calls begin to fail to be out
// of use, because the calls' faults come before Closed: a retry must not pick the
// dying one again, and the error should say how the server ended. Over pipes a call
// is lost with its connection only, so there Closed is sure to follow.
func (c *conn) settleDown(ctx context.Context, e *errand, f *exchange.Fault) {
	if kind := durward.Kind(f.Kind); kind != durward.Unavailable && kind != durward.Unknown && kind != durward.Internal {
		return
	}
	wait := settleFor
	if f.Again && c.s.opt.Spec.Transport == durward.TransportStdio {
		wait = closedFor
		if !e.deadline.IsZero() {
			wait = max(settleFor, min(wait, time.Until(e.deadline)))
		}
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-c.left:
	case <-ctx.Done():
	case <-timer.C:
	}
}

// leaving reports whether no more calls are put on the connection.
func (c *conn) leaving() bool {
	select {
	case <-c.left:
		return true
	default:
		return false
	}
}

func (c *conn) over() bool {
	select {
	case <-c.gone:
		return true
	default:
		return false
	}
}

// lastWords says how the server behind a connection that is over ended (B26).
func (c *conn) lastWords() string {
	return c.s.retire(c, deathGrace)
}

// stale has the tool list read anew because its headers were refused.
func (s *Server) stale(ctx context.Context, c *conn) exchange.Reply {
	if p, err := s.primaryConn(ctx); err == nil {
		c = p
	}
	err := durward.Errorf(durward.Unavailable, s.op(), "the server refused the headers that mirror the arguments; nothing was executed. Its tool list was read anew: call again")
	if refused := c.refresh(ctx, 1<<kindTools); refused != nil {
		err = durward.Errorf(durward.Unavailable, s.op(), "the server refused the headers that mirror the arguments, nothing was executed, and its tool list could not be read anew: %w", refused)
	}
	reply := exchange.Fail(err)
	reply.ResultType = staleHeaders
	return reply
}

// errPutOff marks the error of a call of ours to a server that is well and busy.
var errPutOff = errors.New("the server wants to be asked another time")
