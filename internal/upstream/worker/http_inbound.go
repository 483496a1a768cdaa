package worker

import (
	"sync"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

//nolint:gochecknoglobals // a pool has no state that anyone can observe
var messages = sync.Pool{New: func() any { return new(wire.Message) }}

// hear handles one message of the server. related is the call on whose stream it
// came, 0 when it came on none; the answer to that call is returned, everything
// else is handed on. The bytes are the link's from now on.
func (l *webLink) hear(data []byte, related uint64) *exchange.Response {
	m := messages.Get().(*wire.Message)
	defer func() {
		*m = wire.Message{}
		messages.Put(m)
	}()
	if _, err := parse(data, m); err != nil {
		l.peer.anomaly(anomalyMalformed, []byte(err.Error()))
		return nil
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

// heardRequest passes a request of the server on. A modern server gets no answer:
// there is no way for one (2026-07-28, streamable HTTP).
func (l *webLink) heardRequest(m *wire.Message, related uint64) {
	body := l.peer.request(m, related, l.era)
	if body == nil || l.era == wire.Modern {
		return
	}
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
		if c := l.answer(id, l.respond(id, m)); c != nil && !l.oneStream {
			c.cancel() // its own stream has nothing to say any more
		}
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
