package hold

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// phase is where a call is.
type phase uint8

const (
	inTurn  phase = iota // a request of the client waits for it
	between              // nobody waits, and a timer runs
	over                 // forgotten: nobody will ever ask for it again
)

// farewell is how long a turn whose client left waits for the reply of the call
// that is cancelled for it. A call replies to that at once; one that does not
// must not keep the turn.
const farewell = 100 * time.Millisecond

// patience is how many quiet times a turn waits for more questions at most.
const patience = 10

// maxRefused bounds the list of capabilities: a server can invent modes.
const maxRefused = 16

// call is one upstream call and what it waits for.
type call struct {
	table  *Table
	owner  Owner
	cancel context.CancelCauseFunc
	wake   chan struct{} // capacity 1: says the turn that it should look again

	mu           sync.Mutex // guards everything below; taken before Table.mu
	phase        phase
	out          exchange.Stream // of the turn; nil otherwise
	capabilities []byte          // of the last request
	counted      bool            // against the owner's cap
	id           string
	round        int // of the last turn with questions
	life         *time.Timer
	questions    int         // asked so far
	open         []*question // without an answer, in the order they were asked; in a turn also those it will refuse
	first, last  time.Time   // when the oldest and the newest open question of this turn came
	urgent       bool        // no answer came: ask again at once
	refused      []string

	finished bool // reply or panicked is set
	reply    exchange.Reply
	panicked *raised
}

// raised is what the call panicked with.
type raised struct{ value any }

// run is the goroutine of the call.
func (c *call) run(ctx context.Context, do Call) {
	defer c.table.leave()
	defer c.cancel(nil)
	var reply exchange.Reply
	returned := false
	defer func() {
		var p *raised
		if value := recover(); value != nil {
			p = &raised{value}
		} else if !returned { // runtime.Goexit
			reply = exchange.Fail(durward.Errorf(durward.Internal, "", "the call ended without a reply"))
		}
		c.finish(reply, p)
	}()
	reply = do(ctx, c)
	returned = true
}

// finish notes the outcome of the call.
func (c *call) finish(reply exchange.Reply, p *raised) {
	c.mu.Lock()
	c.finished, c.reply, c.panicked = true, reply, p
	c.failOpen(func(q *question) error {
		return durward.Errorf(durward.Conflict, "", "the call that needed %s is answered already", q.Method)
	})
	if c.phase == over {
		c.release()
	}
	c.mu.Unlock()
	c.signal()
}

func (c *call) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// release ends the counting of a call that is over and finished. mu is held.
func (c *call) release() {
	if c.counted {
		c.counted = false
		c.table.release(c.owner)
	}
}

// wait waits for the end of the turn.
func (c *call) wait(ctx context.Context) (Turn, error) {
	var timer *time.Timer
	var quiet <-chan time.Time
	for {
		turn, due, done := c.look()
		switch {
		case done:
			return turn, nil
		case due == 0:
			quiet = nil
		case timer == nil:
			timer = time.NewTimer(due)
			defer timer.Stop() //nolint:gocritic // once: there is one timer
			quiet = timer.C
		default:
			timer.Reset(due)
			quiet = timer.C
		}
		select {
		case <-c.wake:
		case <-quiet:
		case <-ctx.Done():
			return c.left(durward.Errorf(durward.Timeout, "", "the request ended before the call did: %w", context.Cause(ctx)))
		case <-c.table.closing:
			return c.left(errClosed())
		}
	}
}

// look returns the turn if it is done, else in how long it will be unless
// something happens (0: something has to happen).
func (c *call) look() (turn Turn, due time.Duration, done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.finished {
		return c.final(), 0, true
	}
	if len(c.open) == 0 {
		return Turn{}, 0, false
	}
	if !c.urgent {
		until := c.last.Add(c.table.opt.Quiet)
		if most := c.first.Add(patience * c.table.opt.Quiet); most.Before(until) {
			until = most
		}
		if due = time.Until(until); due > 0 {
			return Turn{}, due, false
		}
	}
	if c.open = slices.DeleteFunc(c.open, c.refuse); len(c.open) == 0 {
		c.urgent = false
		return Turn{}, 0, false
	}
	turn, done = c.cut()
	return turn, 0, done
}

// final takes the outcome of the call. mu is held.
func (c *call) final() Turn {
	c.retire()
	if c.panicked != nil {
		panic(c.panicked.value) // look's defer unlocks
	}
	return Turn{Reply: c.reply, Refused: c.refused}
}

// retire makes the call one that nobody can ask for. mu is held.
func (c *call) retire() {
	if c.phase == over {
		return
	}
	c.phase, c.out = over, nil
	if c.life != nil {
		c.life.Stop()
	}
	if c.id != "" {
		c.table.forget(c.id)
	}
	if c.finished {
		c.release()
	}
}

// cut ends the turn with the open questions; false if the table is closed, which
// ends the turn too. mu is held.
func (c *call) cut() (Turn, bool) {
	if !c.table.keep(c) {
		return Turn{}, false
	}
	c.round++
	c.phase, c.out = between, nil
	c.capabilities = bytes.Clone(c.capabilities) // they outlive the request now
	turn := Turn{ID: c.id, Round: c.round, Questions: make([]Question, len(c.open)), Refused: c.refused}
	for i, q := range c.open {
		q.sent = true
		turn.Questions[i] = q.Question
	}
	round := c.round
	c.life = time.AfterFunc(c.table.opt.Life, func() { c.expire(round) })
	return turn, true
}

// expire ends a call whose client did not come back.
func (c *call) expire(round int) {
	if !c.table.enter() {
		return // Close ends the call
	}
	defer c.table.leave()
	err := durward.Errorf(durward.Timeout, "", "the client brought no input within %s (limits.hold_life)", c.table.opt.Life)
	c.mu.Lock()
	if c.phase != between || c.round != round { // it came at the last moment
		c.mu.Unlock()
		return
	}
	c.drop(err)
	c.mu.Unlock()
	c.cancel(err)
}

// end ends a call between turns. One in a turn is left to that.
func (c *call) end(err error) {
	c.mu.Lock()
	if c.phase != between {
		c.mu.Unlock()
		return
	}
	c.drop(err)
	c.mu.Unlock()
	c.cancel(err)
}

// drop retires the call and fails its open questions. mu is held.
func (c *call) drop(err error) {
	c.retire()
	c.failOpen(func(*question) error { return err })
}

// left ends the call of a turn that cannot go on. The call's reply is taken if it
// comes at once.
func (c *call) left(err error) (Turn, error) {
	c.mu.Lock()
	c.drop(err)
	c.mu.Unlock()
	c.cancel(err)
	timer := time.NewTimer(farewell)
	defer timer.Stop()
	for {
		if turn, done := c.outcome(); done {
			return turn, nil
		}
		select {
		case <-c.wake:
		case <-timer.C:
			return Turn{}, err
		}
	}
}

// outcome returns the final turn if there is one.
func (c *call) outcome() (Turn, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.finished {
		return Turn{}, false
	}
	return c.final(), true
}

// keys lists the questions that were sent with a round and have no answer; false
// if the call is not at it.
func (c *call) keys(round int) ([]string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase != between || c.round != round {
		return nil, false
	}
	list := make([]string, 0, len(c.open))
	for _, q := range c.open {
		if q.sent {
			list = append(list, q.Key)
		}
	}
	return list, true
}

// resume begins a turn with the answers that were given; false if the call is
// not at that round.
func (c *call) resume(round int, capabilities []byte, given map[string][]byte, out exchange.Stream) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase != between || c.round != round {
		return false
	}
	c.life.Stop()
	c.phase, c.out, c.capabilities = inTurn, out, capabilities
	kept, settled := c.open[:0], false
	for _, q := range c.open {
		switch answer, ok := given[q.Key]; {
		case ok:
			q.answer <- exchange.Reply{Result: bytes.Clone(answer)} // it outlives the request
			settled = true
		case c.refuse(q):
			settled = true
		default:
			kept = append(kept, q)
		}
	}
	clear(c.open[len(kept):])
	c.open = kept
	c.urgent = !settled && len(kept) > 0
	c.first = time.Now()
	c.last = c.first
	return true
}

// refuse answers a question that the client did not declare to take. mu is held.
func (c *call) refuse(q *question) bool {
	missing := exchange.Missing(c.capabilities, q.Method, q.Params)
	if missing == "" {
		return false
	}
	c.note(missing)
	q.answer <- exchange.Fail(exchange.NotDeclared(missing))
	return true
}

func isObject(raw []byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == '{' && wire.Valid(raw)
}
