package worker

import (
	"context"
	"errors"
	"net/http"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// call implements carrier: one POST, whose response is the answer or a stream
// that ends with it.
func (s *streamable) call(ctx context.Context, c *webCall) *exchange.Response {
	header, err := s.headers.call(c.request)
	if err != nil {
		f := faultOf(err, false)
		return &exchange.Response{ID: c.id, Fault: &f}
	}
	size := len(c.request.Params.Raw) + len(c.request.Client.Capabilities) + len(s.link.spec.ClientInfo) + 512
	body := s.dialect.appendCall(make([]byte, 0, size), c.id, c.request)
	resp, f := s.remote.do(ctx, http.MethodPost, withTrace(header, c.request.Trace), body)
	if f != nil {
		return s.link.failed(ctx, c, f)
	}
	if resp.StatusCode/100 == 2 && isStream(resp.Header) {
		return s.follow(ctx, c, resp)
	}
	answered := s.whole(ctx, c, resp)
	_ = resp.Body.Close() // read to its end, or of no use
	return answered
}

// failed makes the answer to a call of a fault, which it corrects when the true
// cause lies on our side. A legacy server is told that nobody waits any more if
// time ran out.
func (l *webLink) failed(ctx context.Context, c *webCall, f *exchange.Fault) *exchange.Response {
	switch {
	case l.life.Err() != nil && !f.NoSession:
		f = l.cutOff(f.Delivered)
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		f = l.remote.fault(durward.Timeout, f.Delivered, "did not answer %q before the call's deadline", c.request.Method)
		if f.Delivered {
			_ = l.tellCancelled(c.id, "the deadline passed") // a courtesy
		}
	}
	return &exchange.Response{ID: c.id, Fault: f}
}

// cutOff is the fault of a call that was in flight when the connection ended.
func (l *webLink) cutOff(delivered bool) *exchange.Fault {
	l.mu.Lock()
	why, again := "it is closing", false
	if l.closed != nil {
		why, again = l.closed.Fault.Message, l.closed.Phase == exchange.PhaseReady
	}
	l.mu.Unlock()
	kind := durward.Unavailable
	if delivered {
		kind = durward.Unknown
	}
	f := fault(kind, delivered, "the connection ended before the answer came: "+why)
	f.Again = again
	return &f
}

// whole reads a response that is no stream. A JSON-RPC message is the answer
// whatever the status is; B16: only without one the status says what happened.
func (s *streamable) whole(ctx context.Context, c *webCall, resp *http.Response) *exchange.Response {
	code := resp.StatusCode
	if code == http.StatusUnauthorized || code == http.StatusForbidden {
		return s.link.failed(ctx, c, s.remote.statusFault(resp, s.remote.readFailure(resp)))
	}
	body, err := s.wholeBody(resp)
	if err != nil {
		return s.link.failed(ctx, c, s.remote.unfinished(err))
	}
	answered := s.message(c, body)
	gone := code == http.StatusNotFound && s.session != ""
	switch {
	case answered != nil && (!gone || isUnknownMethod(answered)):
		return answered
	case gone:
		return s.link.failed(ctx, c, s.link.sessionLost())
	case code == http.StatusBadRequest && s.link.era == wire.Legacy && !isCoreMethod(c.request.Method):
		return s.unknownMethod(c, body)
	default:
		return s.link.failed(ctx, c, s.remote.statusFault(resp, body))
	}
}

// message returns the answer a body holds, nil if it is none to this call.
func (s *streamable) message(c *webCall, body []byte) *exchange.Response {
	m := messages.Get().(*wire.Message)
	defer func() {
		*m = wire.Message{}
		messages.Put(m)
	}()
	if _, err := parse(body, m); err != nil {
		return nil
	}
	id, ok := parseID(m.ID)
	switch {
	case m.Kind != wire.Result && m.Kind != wire.Failure:
		s.link.peer.anomaly(anomalyMalformed, []byte("a "+m.Method+" instead of a response"))
		return nil
	case m.ID != nil && (!ok || id != c.id):
		s.link.peer.anomaly(anomalyUnknown, m.ID)
		return nil
	}
	s.link.peer.faults(m)
	return s.link.respond(c.id, m)
}

// unfinished says that a response ended before its answer did.
func (r *remote) unfinished(err error) *exchange.Fault {
	var own *durward.Error
	if errors.As(err, &own) {
		return r.fault(durward.Unknown, true, "sent an answer that is not taken: %v"+mayHaveRun, own)
	}
	return again(r.fault(durward.Unknown, true, "broke off before its answer was complete (%v)"+mayHaveRun, err))
}

// again marks the fault of a call that was lost on its way.
func again(f *exchange.Fault) *exchange.Fault {
	f.Again = true
	return f
}

func isUnknownMethod(r *exchange.Response) bool {
	code, ok := wire.ErrorCode(r.Error)
	return ok && code == wire.CodeMethodNotFound
}

// unknownMethod is the answer of a legacy server that refuses a method outside of
// the protocol with 400 and a text, as some do: a refusal and no outage.
func (s *streamable) unknownMethod(c *webCall, body []byte) *exchange.Response {
	failure := wire.AppendError(nil, wire.CodeMethodNotFound, "the server refuses the method (HTTP 400)"+s.remote.quoted(body), nil)
	return &exchange.Response{ID: c.id, Reply: exchange.Reply{Error: failure, Era: s.link.era}}
}

// isCoreMethod reports whether every server of the legacy revisions knows the method.
func isCoreMethod(method string) bool {
	switch method {
	case wire.MethodPing, wire.MethodToolsList, wire.MethodToolsCall, wire.MethodPromptsList, wire.MethodPromptsGet,
		wire.MethodResourcesList, wire.MethodTemplatesList, wire.MethodResourcesRead, wire.MethodSubscribe, wire.MethodUnsubscribe,
		wire.MethodComplete, wire.MethodSetLevel:
		return true
	default:
		return false
	}
}
