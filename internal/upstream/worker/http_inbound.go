package worker

import (
	"strconv"
	"sync"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

var messages = sync.Pool{New: func() any { return new(wire.Message) }}

// hear handles an event that carries a message of the server. related is the call
// on whose stream it came, 0 when it came on none; the answer to that call is
// returned, everything else is handed on. The event's bytes are the link's from now on.
func (l *webLink) hear(ev *sseEvent, related uint64) *exchange.Response {
	if ev.Over {
		return l.heardOversized(ev, related)
	}
	return l.hearMessage(ev.Data, related)
}

func (l *webLink) hearMessage(data []byte, related uint64) *exchange.Response {
	m := messages.Get().(*wire.Message)
	defer func() {
		*m = wire.Message{}
		messages.Put(m)
	}()
	if _, err := parse(data, m); err != nil {
		l.peer.anomaly(anomalyMalformed, []byte(err.Error()))
		if wire.Lookup(data, "method").Present() {
			return nil
		}
		id, ok := parseID(wire.Get(data, "id"))
		return l.spoilt(id, ok, related, "is no acceptable JSON-RPC message ("+scrubbed([]byte(err.Error()))+")")
	}
	l.peer.faults(m)
	switch m.Kind {
	case wire.Request:
		l.heardRequest(m, related)
		return nil
	case wire.Notification:
		return l.heardNote(m, related)
	default:
		return l.heardResponse(m, related)
	}
}

// heardOversized handles a message over the limit, of which only the ends are known.
func (l *webLink) heardOversized(ev *sseEvent, related uint64) *exchange.Response {
	l.peer.anomaly(anomalyOversized, ev.Data)
	limit := strconv.Itoa(l.spec.MaxMessage) + " bytes"
	if wire.Lookup(ev.Data, "method").Present() {
		if id := headID(ev.Data); wire.Valid(id) && l.era == wire.Legacy {
			l.tellOrReport(wire.AppendFailure(nil, id, wire.AppendError(nil, wire.CodeInvalidRequest, "the request is larger than limits.message ("+limit+")", nil)))
		}
		return nil
	}
	id, ok := parseID(headID(ev.Data))
	if !ok {
		id, ok = tailID(ev.Tail)
	}
	return l.spoilt(id, ok, related, "is larger than limits.message ("+limit+") and was dropped")
}

// spoilt answers a call whose answer came and cannot be used.
func (l *webLink) spoilt(id uint64, known bool, related uint64, why string) *exchange.Response {
	if !known {
		return nil // should it have been the answer, the end of its stream tells
	}
	resp := &exchange.Response{ID: id, Fault: l.remote.fault(durward.Unknown, true, "sent an answer that %s%s", why, mayHaveRun)}
	if related != 0 && id == related {
		return resp
	}
	l.answerElsewhere(resp)
	return nil
}

// answerElsewhere answers a call whose answer came on another stream than its own.
func (l *webLink) answerElsewhere(resp *exchange.Response) {
	if c := l.answer(resp.ID, resp); c != nil && !l.oneStream {
		c.cancel(nil) // its own stream has nothing to say any more
	}
}

// heardRequest passes a request of the server on. A modern server gets no answer:
// there is no way for one (2026-07-28, streamable HTTP).
func (l *webLink) heardRequest(m *wire.Message, related uint64) {
	if l.era == wire.Legacy && m.Method != wire.MethodPing {
		l.noteAsked(related)
	}
	body := l.peer.request(m, related, l.era)
	if body == nil || l.era == wire.Modern {
		return
	}
	l.tellOrReport(body)
}

func (l *webLink) tellOrReport(body []byte) {
	if err := l.sendTell(body); err != nil {
		l.peer.anomaly(anomalyRefusedTell, []byte(err.Error()))
	}
}

func (l *webLink) heardNote(m *wire.Message, related uint64) *exchange.Response {
	if m.Method == wire.NoteCancelled {
		return l.heardCancel(m, related)
	}
	id, ok := relation(m, related)
	if ok && id != 0 && id != related {
		inFlight, recent := l.knows(id)
		if recent && !inFlight {
			return nil // it crossed with the answer or the cancellation
		}
		ok = inFlight
	}
	if !ok {
		l.peer.anomaly(anomalyProgress, []byte(m.Method))
		return nil
	}
	l.peer.note(m, id)
	return nil
}

// heardCancel: a legacy server takes back a request of its own; a modern one
// ends a subscription (2026-07-28, subscriptions).
func (l *webLink) heardCancel(m *wire.Message, related uint64) *exchange.Response {
	if l.peer.cancelled(m) {
		return nil
	}
	id, ok := parseID(m.Params.RequestID.Of(m.Params.Raw))
	if l.era == wire.Modern && ok && related != 0 && id == related {
		return &exchange.Response{ID: related, Fault: l.remote.fault(durward.Unavailable, true, "ended the subscription")}
	}
	l.peer.anomaly(anomalyCancelled, m.Params.Raw)
	return nil
}

func (l *webLink) heardResponse(m *wire.Message, related uint64) *exchange.Response {
	id, ok := parseID(m.ID)
	switch {
	case m.ID == nil && related == 0:
		l.peer.anomaly(anomalyNoID, m.Error)
		return nil
	case m.ID == nil, ok && related != 0 && id == related:
		return l.respond(related, m)
	}
	// It came on another stream than it should have.
	inFlight, recent := l.knows(id)
	if ok && inFlight {
		l.answerElsewhere(l.respond(id, m))
		return nil
	}
	if ok && recent {
		return nil // it crossed with a cancellation
	}
	l.peer.anomaly(anomalyUnknown, m.ID)
	return nil
}

// respond makes the link message of a response.
func (l *webLink) respond(id uint64, m *wire.Message) *exchange.Response {
	reply := replyOf(m)
	reply.Era = l.era
	if l.era == wire.Modern && m.Kind == wire.Failure {
		if code, _ := wire.ErrorCode(m.Error); code == wire.CodeHeaderMismatch {
			f := l.remote.fault(durward.Conflict, false, "refuses the mirrored headers, so its tools have changed since they were listed%s", l.remote.quoted(m.Error))
			f.StaleHeaders = true
			return &exchange.Response{ID: id, Fault: f}
		}
	}
	return &exchange.Response{ID: id, Reply: reply}
}
