package worker

import (
	"slices"
	"sync"

	"durward"
)

// table holds the calls that wait for an answer, and remembers those that
// stopped waiting not long ago, to tell a late answer from a forged one.
type table struct {
	mu       sync.Mutex // guards the fields below
	calls    map[uint64]uint64
	waiters  map[uint64]chan answer // of the handshake
	done     ring                   // ids of calls that were answered
	dropped  ring                   // ids of calls that were cancelled
	open     bool                   // calls are accepted
	draining bool                   // no call can be added any more, the last one ends the connection
}

// ring remembers the last ids put into it.
type ring struct {
	ids  [256]uint64
	used int // at most len(ids)
	next int
}

func (r *ring) put(id uint64) {
	r.ids[r.next] = id
	r.next = (r.next + 1) % len(r.ids)
	r.used = min(r.used+1, len(r.ids))
}

func (r *ring) has(id uint64) bool { return slices.Contains(r.ids[:r.used], id) }

type fate uint8

// What an id means to the table.
const (
	unknown fate = iota
	waiting
	answered
	cancelled
)

func newTable() *table {
	return &table{calls: map[uint64]uint64{}, waiters: map[uint64]chan answer{}}
}

// admit begins to accept calls.
func (t *table) admit() {
	t.mu.Lock()
	t.open = !t.draining
	t.mu.Unlock()
}

// check says why a call cannot be added; nil if it can.
func (t *table) check(id uint64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.open {
		return durward.Errorf(durward.Unavailable, "", "the connection to the server is not open")
	}
	if _, ok := t.calls[id]; ok {
		return durward.Errorf(durward.Internal, "", "call id %d is in use on this connection", id)
	}
	return nil
}

// add notes a call whose first byte is at start of the output. False: none is accepted.
func (t *table) add(id, start uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.calls[id]; ok || !t.open {
		return false
	}
	t.calls[id] = start
	return true
}

// end takes a call off the table. The fate is what it was until now; last
// reports that the connection is draining and this was its last call.
func (t *table) end(id uint64, how fate) (was fate, last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.calls[id]; !ok {
		return t.fate(id), false
	}
	delete(t.calls, id)
	t.depart(id, how)
	return waiting, t.draining && len(t.calls) == 0
}

// look returns what an id means.
func (t *table) look(id uint64) fate {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.calls[id]; ok {
		return waiting
	}
	return t.fate(id)
}

// fate needs mu.
func (t *table) fate(id uint64) fate {
	switch {
	case t.dropped.has(id):
		return cancelled
	case t.done.has(id):
		return answered
	default:
		return unknown
	}
}

// depart needs mu.
func (t *table) depart(id uint64, how fate) {
	if how == cancelled {
		t.dropped.put(id)
	} else {
		t.done.put(id)
	}
}

// undelivered takes off all calls of which nothing was written and accepts no
// more. last reports that no call is left.
func (t *table) undelivered(written uint64) (ids []uint64, last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open, t.draining = false, true
	for id, start := range t.calls {
		if start >= written {
			ids = append(ids, id)
			delete(t.calls, id)
			t.depart(id, cancelled)
		}
	}
	slices.Sort(ids)
	return ids, len(t.calls) == 0
}

// leftover is a call that will get no answer.
type leftover struct {
	id        uint64
	delivered bool
}

// drain takes off all calls, in the order of their ids, and accepts no more.
func (t *table) drain(written uint64) []leftover {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = false
	left := make([]leftover, 0, len(t.calls))
	for id, start := range t.calls {
		left = append(left, leftover{id, start < written})
	}
	clear(t.calls)
	slices.SortFunc(left, func(a, b leftover) int {
		if a.id < b.id {
			return -1
		}
		return 1
	})
	return left
}

// expect notes a request of the handshake; its answer goes to the channel.
func (t *table) expect(id uint64) chan answer {
	c := make(chan answer, 1)
	t.mu.Lock()
	t.waiters[id] = c
	t.mu.Unlock()
	return c
}

// resolve answers a request of the handshake. False: there is none of that id.
func (t *table) resolve(id uint64, a answer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.waiters[id]
	if ok {
		c <- a // has room for the one answer there is
		delete(t.waiters, id)
		t.depart(id, cancelled)
	}
	return ok
}

// resolveOnly answers the one request of the handshake that waits, if it is one.
func (t *table) resolveOnly(a answer) {
	t.mu.Lock()
	var only uint64
	n := len(t.waiters)
	for id := range t.waiters {
		only = id
	}
	t.mu.Unlock()
	if n == 1 {
		t.resolve(only, a)
	}
}

// dismiss answers all requests of the handshake with a; late answers to them
// are no surprise.
func (t *table) dismiss(a answer) {
	t.mu.Lock()
	ids := make([]uint64, 0, len(t.waiters))
	for id := range t.waiters {
		ids = append(ids, id)
	}
	t.mu.Unlock()
	for _, id := range ids {
		t.resolve(id, a)
	}
}
