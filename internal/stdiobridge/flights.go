package stdiobridge

import (
	"cmp"
	"slices"
	"strconv"

	"durward/internal/wire"
)

const (
	// flightsMost bounds the requests in flight: what runs and what waits under the
	// highest value that limits.in_flight can have, so that it is the service which
	// refuses, and names the key.
	flightsMost = 2 * 100_000
	// keepMost bounds the bytes of requests in flight that are kept to be sent again.
	keepMost = 8 << 20
	// triesMost bounds how often a request is sent again that changes nothing: it
	// may be what ends the service.
	triesMost = 3
)

// flights are the requests that the client has no answer to. Those it cancelled
// are not among them. Bridge.mu guards it.
type flights struct {
	byID map[string]*entry
	last uint64 // seq
	kept int    // bytes
}

// add notes a request that is about to be handed over. An error is the answer.
func (f *flights) add(e *entry) error {
	e.key = string(e.id)
	if _, there := f.byID[e.key]; there {
		return &wire.CodeError{Code: wire.CodeInvalidRequest, Message: "a request with id " + e.key + " is in flight; every request needs an id of its own"}
	}
	if len(f.byID) >= flightsMost {
		return &wire.CodeError{Code: wire.CodeUnavailable, Message: strconv.Itoa(flightsMost) + " requests are in flight, which is the bound; wait for answers"}
	}
	f.last++
	e.seq = f.last
	f.byID[e.key] = e
	return nil
}

// hand notes that the service may have read a request. It is kept if it may be
// sent again, or if its answer changes what has to be said on a new connection.
func (f *flights) hand(e *entry) {
	if f.byID[e.key] != e {
		return // answered already
	}
	e.handed = true
	if again(e.method) && f.kept+len(e.line) <= keepMost {
		e.kept = len(e.line)
		f.kept += e.kept
		return
	}
	e.line, e.id = nil, nil
}

// remove forgets a request.
func (f *flights) remove(e *entry) {
	if f.byID[e.key] == e {
		delete(f.byID, e.key)
		f.kept -= e.kept
		e.kept = 0
	}
}

// clear forgets all, and returns those that were handed over, in their order.
func (f *flights) clear() []*entry {
	var all []*entry
	for _, e := range f.byID {
		f.remove(e)
		if e.handed {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b *entry) int { return cmp.Compare(a.seq, b.seq) })
	return all
}

// again reports whether a request may be sent a second time although the first
// may have been executed: it changes nothing by protocol, or nothing but the state
// of the connection that broke.
func again(method string) bool {
	switch method {
	case wire.MethodToolsList, wire.MethodPromptsList, wire.MethodResourcesList, wire.MethodTemplatesList,
		wire.MethodPing, wire.MethodDiscover, wire.MethodInitialize,
		wire.MethodSetLevel, wire.MethodSubscribe, wire.MethodUnsubscribe, wire.MethodListen:
		return true
	default:
		return false
	}
}

// settle says what became of everything that was on a connection which broke, and
// puts what is to be sent again in front of the queue.
func (b *Bridge) settle(l *link) error {
	b.mu.Lock()
	first, last := b.judge()
	b.load += len(first)
	for _, e := range first {
		b.weight += len(e.line)
	}
	b.queue = append(append(first, l.unsent...), b.queue...)
	last = append(last, b.asks.cancel()...)
	lost := b.session.greeted && b.session.hello == nil
	b.mu.Unlock()
	b.out.send(last...)
	if lost {
		return errForgotten
	}
	return nil
}

// judge takes what was handed over and not answered: what is to be sent again, and
// answers for the rest. b.mu is held.
func (b *Bridge) judge() (resend []*entry, answers [][]byte) {
	for _, e := range b.flights.clear() {
		e.handed = false
		switch {
		case e.method == wire.MethodListen && b.ended:
			// Its client hears of the end by the end of everything.
		case !again(e.method):
			answers = append(answers, failure(e, wire.CodeUnknownOutcome, "the service ended while "+e.method+
				" was in flight; it may or may not have been executed: look at what it was to change before you repeat it"))
		case e.line == nil || e.tries >= triesMost:
			answers = append(answers, failure(e, wire.CodeUnavailable, "the service ended while "+e.method+
				" was in flight; it changed nothing: send it again"))
		default:
			e.tries++
			e.renewed, e.held = true, nil
			resend = append(resend, e)
			if e.method == wire.MethodInitialize && b.session.initialized && !b.session.greeted {
				resend = append(resend, readEntry([]byte(initializedLine)))
			}
		}
	}
	return resend, answers
}

// refuseQueue answers all requests that were never handed over.
func (b *Bridge) refuseQueue() {
	b.mu.Lock()
	var answers [][]byte
	for _, e := range b.queue {
		b.took(len(e.line))
		if e.kind == wire.Request {
			e.key = string(e.id)
			answers = append(answers, failure(e, wire.CodeUnavailable, "the service could not be reached any more; nothing was executed"))
		}
	}
	b.queue = nil
	b.mu.Unlock()
	b.out.send(answers...)
}

func failure(e *entry, code int, message string) []byte {
	return wire.AppendFailure(nil, []byte(e.key), wire.AppendError(nil, code, message, nil))
}
