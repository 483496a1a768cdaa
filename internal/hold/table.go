package hold

import (
	"context"
	"crypto/rand"
	"sync"
	"sync/atomic"

	"durward"
	"durward/internal/exchange"
)

// Table holds calls. Its methods may be called from any goroutine. Close ends it.
type Table struct {
	opt Options

	// running counts the goroutines of the table; shut is added once it is closed.
	// A call that is never asked touches nothing else that is shared.
	running atomic.Int64
	closing chan struct{} // closed when the table is to end
	idle    chan struct{} // closed when it is closed and the last goroutine ended

	mu     sync.Mutex       // guards everything below; taken after call.mu
	byID   map[string]*call // those that had a turn with questions and are not forgotten
	counts map[Owner]int    // calls per owner that count; no zeros
	closed bool
}

const shut = 1 << 62

// New returns an empty table.
func New(opt Options) *Table {
	return &Table{
		opt: opt.withDefaults(), closing: make(chan struct{}), idle: make(chan struct{}),
		byID: make(map[string]*call), counts: make(map[Owner]int),
	}
}

// Begin runs do and returns the first turn of the call. The server may ask for
// what capabilities, the client's raw ClientCapabilities, admit; what they do not
// is refused when the turn ends, or at once between turns. Out takes the
// notifications of this turn.
//
// When ctx ends the call is cancelled, and what it replies to that is returned,
// or an error of kind Timeout if it does not at once. Further errors:
// Unavailable when the table is closed. A panic in do is one of Begin, or of the
// Resume during which it happens or which comes next.
func (t *Table) Begin(ctx context.Context, owner Owner, capabilities []byte, out exchange.Stream, do Call) (Turn, error) {
	if !t.enter() {
		return Turn{}, errClosed()
	}
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	c := &call{table: t, owner: owner, cancel: cancel, wake: make(chan struct{}, 1), out: out, capabilities: capabilities}
	go c.run(inner, do)
	return c.wait(ctx)
}

// Resume brings the answers to the questions of a turn, by key, and returns the
// next one. answers is asked for each key once or not at all; what it returns is
// the raw result, nil for none. A question without an answer is asked again; so
// is one whose answer is no JSON object. Capabilities and out replace those of
// the request before; an open question that the capabilities do not admit any
// more is refused.
//
// Errors: [ErrLost]; else as Begin.
func (t *Table) Resume(ctx context.Context, owner Owner, id string, round int, capabilities []byte, answers func(key string) []byte, out exchange.Stream) (Turn, error) {
	t.mu.Lock()
	c := t.byID[id]
	t.mu.Unlock()
	if c == nil || c.owner != owner {
		return Turn{}, ErrLost
	}
	keys, ok := c.keys(round)
	if !ok {
		return Turn{}, ErrLost
	}
	// Asked before the turn is taken and without a lock: it is not our code.
	given := make(map[string][]byte, len(keys))
	for _, key := range keys {
		if answer := answers(key); isObject(answer) {
			given[key] = answer
		}
	}
	if !c.resume(round, capabilities, given, out) {
		return Turn{}, ErrLost
	}
	return c.wait(ctx)
}

// Len returns how many calls can be resumed or are in a turn that was.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.byID)
}

// Close ends all calls, fails what they asked, and waits until the last Call has
// returned. It returns nil.
func (t *Table) Close() error {
	t.mu.Lock()
	first := !t.closed
	t.closed = true
	calls := make([]*call, 0, len(t.byID))
	for _, c := range t.byID {
		calls = append(calls, c)
	}
	t.mu.Unlock()
	if first {
		close(t.closing) // those in a turn end their call themselves
		if t.running.Add(shut) == shut {
			close(t.idle)
		}
	}
	for _, c := range calls {
		c.end(errClosed())
	}
	<-t.idle
	return nil
}

func errClosed() error {
	return durward.Errorf(durward.Unavailable, "", "the gateway is stopping; call again when it is back")
}

// enter counts a goroutine, which must call leave; false when the table is closed.
func (t *Table) enter() bool {
	for {
		n := t.running.Load()
		if n >= shut {
			return false
		}
		if t.running.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (t *Table) leave() {
	if t.running.Add(-1) == shut { // which happens once: nothing enters after shut
		close(t.idle)
	}
}

// admit counts a call of owner; false if as many are held as may be.
func (t *Table) admit(owner Owner) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts[owner] >= t.opt.Most {
		return false
	}
	t.counts[owner]++
	return true
}

// release takes back what admit counted.
func (t *Table) release(owner Owner) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts[owner]--; t.counts[owner] == 0 {
		delete(t.counts, owner)
	}
}

// keep makes c known, the first time under a fresh id; false when the table is
// closed. c.mu is held, so that Close finds the call where this leaves it.
func (t *Table) keep(c *call) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	if c.id == "" {
		c.id = rand.Text() // at least 128 bits
	}
	t.byID[c.id] = c
	return true
}

func (t *Table) forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byID, id)
}
