package worker

import (
	"bytes"
	"strconv"
	"sync"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// Kinds of exchange.Anomaly.
const (
	anomalyText       = "stdout-text"        // text on stdout that is no message
	anomalyMalformed  = "malformed"          // a JSON object that is no acceptable message
	anomalyOversized  = "oversized"          // a message over the limit
	anomalyUTF8       = "invalid-utf8"       // bytes that are no UTF-8, or a lone surrogate
	anomalyDuplicate  = "duplicate-member"   // a member name twice in a result
	anomalyUnknown    = "unknown-response"   // a response to nothing
	anomalyRepeated   = "duplicate-response" // a second response
	anomalyNoID       = "response-without-id"
	anomalyProgress   = "unknown-progress"   // progress of no call
	anomalyRequest    = "unexpected-request" // a request of a modern server, or too many
	anomalyHalfLine   = "half-line"          // the stream ended inside a line
	anomalyCancelled  = "unknown-cancel"     // the server cancelled what it never asked
	anomalyMark       = "byte-order-mark"    // one before a message
	maxServerRequests = 64                   // of one server, waiting for the client's answer
)

// How often one kind of anomaly is reported: a flood must cost nothing.
const (
	anomalyEvery = 100 * time.Millisecond
	anomalyBurst = 1000
)

// peer is what every driver needs on the way from the server to the core: one
// order of messages for the sink, anomalies that are counted, and the requests
// of the server that wait for an answer.
type peer struct {
	sink exchange.Sink

	mu      sync.Mutex // serialises sink; guards tallies. No other lock is taken under it but by the sink.
	tallies map[string]*tally

	askMu   sync.Mutex // guards the fields below
	asked   []asked
	lastAsk uint64
}

type tally struct {
	pending int
	detail  string // of the first pending one
	last    time.Time
}

// asked is a request of the server that waits for its answer.
type asked struct {
	id      uint64 // ours
	raw     []byte // the server's
	related uint64
}

func newPeer(sink exchange.Sink) *peer { return &peer{sink: sink, tallies: map[string]*tally{}} }

// emit hands m to the sink, after every message emitted before.
func (p *peer) emit(m exchange.Message) {
	p.mu.Lock()
	p.sink.Receive(m)
	p.mu.Unlock()
}

// exclusively runs f while nobody else can emit; f may emit by send.
func (p *peer) exclusively(f func(send func(exchange.Message))) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p.sink.Receive)
}

// anomaly counts something the server should not have done. The first of a kind
// is reported at once, then at most one report per anomalyEvery or anomalyBurst
// events; flush reports the rest. detail may be any bytes of the server.
func (p *peer) anomaly(kind string, detail []byte) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.tallies[kind]
	if t == nil {
		t = &tally{}
		p.tallies[kind] = t
	}
	if t.pending++; t.pending == 1 {
		t.detail = scrubbed(detail)
	}
	if t.pending >= anomalyBurst || now.Sub(t.last) >= anomalyEvery {
		p.report(kind, t, now)
	}
}

// report needs mu.
func (p *peer) report(kind string, t *tally, now time.Time) {
	p.sink.Receive(&exchange.Anomaly{Kind: kind, Detail: t.detail, Count: t.pending})
	t.pending, t.detail, t.last = 0, "", now
}

// flush reports what was counted and not reported yet.
func (p *peer) flush() {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for kind, t := range p.tallies {
		if t.pending > 0 {
			p.report(kind, t, now)
		}
	}
}

// faults counts what was tolerated inside a message.
func (p *peer) faults(m *wire.Message) {
	if m.Faults.BadUTF8 {
		p.anomaly(anomalyUTF8, []byte(m.Method))
	}
	if m.Faults.Duplicates > 0 {
		p.anomaly(anomalyDuplicate, []byte(m.Method))
	}
}

// request passes a request of the server on to the core as a ServerRequest. When
// it returns an answer, nobody was asked and the answer has to be sent: to ping,
// to a request of a modern server, and to one too many. related is the call on
// whose stream it came, 0 if the transport cannot tell.
func (p *peer) request(m *wire.Message, related uint64, era wire.Era) (answer []byte) {
	switch {
	case m.Method == wire.MethodPing:
		return wire.AppendResult(nil, m.ID, emptyObject)
	case era != wire.Legacy:
		p.anomaly(anomalyRequest, []byte(m.Method))
		return wire.AppendFailure(nil, m.ID, wire.AppendError(nil, wire.CodeMethodNotFound,
			"no requests to the client are taken on this connection", nil))
	}
	id, ok := p.ask(m.ID, related)
	if !ok {
		p.anomaly(anomalyRequest, []byte(m.Method))
		return wire.AppendFailure(nil, m.ID, wire.AppendError(nil, wire.CodeRateLimited,
			"more than "+strconv.Itoa(maxServerRequests)+" requests to the client wait for an answer, the most that limits.server_asks can allow", nil))
	}
	p.emit(&exchange.ServerRequest{ID: id, Related: related, Method: m.Method, Params: bytes.Clone(m.Params.Raw)})
	return nil
}

func (p *peer) ask(raw []byte, related uint64) (uint64, bool) {
	p.askMu.Lock()
	defer p.askMu.Unlock()
	if len(p.asked) >= maxServerRequests {
		return 0, false
	}
	p.lastAsk++
	p.asked = append(p.asked, asked{id: p.lastAsk, raw: bytes.Clone(raw), related: related})
	return p.lastAsk, true
}

// answered takes the request r answers off the table and returns the response
// to send, with the call during which the server had asked. It fails when the
// server does not wait for it, or not any more.
func (p *peer) answered(r *exchange.Response) (response []byte, related uint64, err error) {
	a, ok := p.take(func(a *asked) bool { return a.id == r.ID })
	if !ok {
		return nil, 0, durward.Errorf(durward.Conflict, "", "the server does not wait for an answer to its request %d any more", r.ID)
	}
	switch {
	case r.Fault != nil:
		err := durward.Errorf(durward.Kind(r.Fault.Kind), "", "%s", r.Fault.Message)
		response = wire.AppendFailure(nil, a.raw, wire.ErrorObject(err))
	case r.Error != nil:
		response = wire.AppendFailure(nil, a.raw, r.Error)
	case r.Result != nil:
		response = wire.AppendResult(nil, a.raw, r.Result)
	default:
		response = wire.AppendResult(nil, a.raw, emptyObject)
	}
	return response, a.related, nil
}

// forgetAsked drops the requests the server made during a call that ended.
func (p *peer) forgetAsked(related uint64) {
	for {
		if _, ok := p.take(func(a *asked) bool { return a.related == related }); !ok {
			return
		}
	}
}

func (p *peer) take(match func(*asked) bool) (asked, bool) {
	p.askMu.Lock()
	defer p.askMu.Unlock()
	for i := range p.asked {
		if a := p.asked[i]; match(&a) {
			p.asked = append(p.asked[:i], p.asked[i+1:]...)
			return a, true
		}
	}
	return asked{}, false
}

// relation says which call a notification belongs to: by its progress token, by
// the id of the listen that carries it (modern), else the stream it came on.
// False: it is progress that belongs to no call.
func relation(m *wire.Message, stream uint64) (uint64, bool) {
	if m.Method == wire.NoteProgress {
		return parseID(m.Params.ProgressToken.Of(m.Params.Raw))
	}
	if at := m.Params.InMeta.SubscriptionID; at.Present() {
		if id, ok := parseID(at.Of(m.Params.Raw)); ok {
			return id, true
		}
	}
	return stream, true
}

// cancelled handles notifications/cancelled of the server for a request it made:
// it is passed on with our id of that request. False: there is no such request.
func (p *peer) cancelled(m *wire.Message) bool {
	raw := m.Params.RequestID.Of(m.Params.Raw)
	a, ok := p.take(func(a *asked) bool { return bytes.Equal(a.raw, raw) })
	if !ok {
		return false
	}
	p.emit(cancelNote(a.related, a.id))
	return true
}

func cancelNote(related, id uint64) *exchange.Notification {
	params := append(strconv.AppendUint([]byte(`{"requestId":`), id, 10), '}')
	return &exchange.Notification{Related: related, Method: wire.NoteCancelled, Params: params}
}

// note passes a notification on; its params are copied.
func (p *peer) note(m *wire.Message, related uint64) {
	p.emit(&exchange.Notification{Related: related, Method: m.Method, Params: bytes.Clone(m.Params.Raw)})
}
