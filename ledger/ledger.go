package ledger

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"durward"
)

// Ledger writes records. It is safe for concurrent use. Whoever opens one calls Close.
type Ledger struct {
	opt    Options
	bodies *bodies

	kick chan struct{} // wakes the writer
	soon *time.Timer   // does so a little later, for what nobody waits for
	done chan struct{} // closed when the writer has ended
	stop context.CancelFunc

	spaces sync.Pool // *[]byte: for calls that begin

	mu      sync.Mutex // guards all below
	pending *group     // what the next transaction takes
	last    *group     // what the last one took, or takes; nil: there was none
	closed  bool
	ended   bool      // nobody writes any more
	failed  error     // why the store took nothing the last time; nil: it did
	since   time.Time // of failed
	head    Link      // the last committed
	turn    turn      // of those who begin to wait now

	doubtful *Batch // of the writer alone: whether it was committed is not known
	space    []byte // of the writer alone: for the forms of records
}

// group is what one transaction writes, and whom it makes wait.
type group struct {
	records []Record
	bodies  []Body
	taken   chan struct{} // closed when the writer took it: there is room again; nil: nobody waits for that
	over    chan struct{} // closed when it is committed or refused
	err     error         // set before over is closed

	// Guarded by Ledger.mu:
	urgent bool     // somebody waits for it: the writer was woken
	done   bool     // over is closed, or about to be
	left   []Record // what is to follow, because its makers did not wait for it
}

// turn are those who begin to wait at about the same time, and so have waited too long
// at about the same time: a timer for each of them would cost them a microsecond.
type turn struct {
	ends time.Time     // then the next begins
	late chan struct{} // closed when they have waited too long
}

// newGroup returns a group for about so many records.
func newGroup(records int) *group {
	return &group{records: make([]Record, 0, records), over: make(chan struct{})}
}

// Open starts a ledger on a store. Calls that the store holds without an outcome,
// because the process that made them was killed, get the outcome unknown first,
// in one transaction.
func Open(ctx context.Context, opt Options) (*Ledger, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	head, err := opt.Store.Head(ctx)
	if err != nil {
		return nil, err
	}
	run, stop := context.WithCancel(context.Background())
	l := &Ledger{
		opt: opt, bodies: newBodies(opt), pending: newGroup(0), head: head, stop: stop,
		kick: make(chan struct{}, 1), done: make(chan struct{}),
	}
	l.soon = time.AfterFunc(outcomeWait, l.wake)
	if err := l.recover(ctx); err != nil {
		stop()
		l.soon.Stop()
		return nil, err
	}
	go l.write(run)
	return l, nil
}

// Intent records a call before it acts and returns when the record is committed.
// An error, of kind Unavailable, refuses the call: nothing may pass unrecorded. There
// is no outcome for a call that was refused so: if its intent is committed all the
// same, because ctx or the time to wait ended meanwhile, the ledger adds one.
func (l *Ledger) Intent(ctx context.Context, call *durward.Call, d durward.Decision) error {
	intent, body := l.intent(call, d)
	return l.add(ctx, intent, body)
}

// Outcome records how a call ended. It returns at once, unless Options.Full is set.
// While the store takes nothing, outcomes wait for it: there are no more of them
// than calls were under way, because no new one may begin.
func (l *Ledger) Outcome(ctx context.Context, call *durward.Call, o durward.Outcome) {
	outcome, body := l.outcome(call, o)
	g := l.push(outcome, body)
	if g == nil || !l.opt.Full {
		return
	}
	select {
	case <-g.over:
	case <-ctx.Done():
	}
}

// Append records anything else and returns when it is committed.
func (l *Ledger) Append(ctx context.Context, r Record) error { return l.add(ctx, l.normal(r), nil) }

// Flush returns when what was recorded before is committed, or refused; the error is
// then what [Ledger.State] says.
func (l *Ledger) Flush(ctx context.Context) error {
	l.mu.Lock()
	g := l.pending
	if len(g.records) == 0 {
		g = l.last
	} else if !g.urgent {
		g.urgent = true
		l.wake()
	}
	l.mu.Unlock()
	if g == nil {
		return nil
	}
	select {
	case <-g.over:
		return g.err
	case <-ctx.Done():
		return durward.Errorf(durward.Unavailable, "ledger", "the ledger was not waited for any longer: %w", ctx.Err())
	}
}

// State says whether calls are being recorded: nil, or why not and since when.
func (l *Ledger) State() (since time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.since, l.failed
}

// Head returns the last committed link.
func (l *Ledger) Head() Link {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head
}

// Close writes what waits, refuses what comes, and returns when nothing is left
// running. It closes the store. The error says what could not be written.
func (l *Ledger) Close() error {
	l.mu.Lock()
	first := !l.closed
	l.closed = true
	l.mu.Unlock()
	if !first {
		<-l.done
		return nil
	}
	l.stop()
	<-l.done
	l.mu.Lock()
	err := l.failed
	l.mu.Unlock()
	if closing := l.opt.Store.Close(); err == nil {
		err = closing
	}
	return err
}

// Why something was not recorded.
var (
	errClosed = durward.Errorf(durward.Unavailable, "ledger", "the service is stopping")
	errLeft   = durward.Errorf(durward.Unavailable, "ledger", "who asked for it did not wait")
)

// add puts a record on the way and waits for it.
func (l *Ledger) add(ctx context.Context, r Record, body *Body) error {
	var late <-chan struct{}
	for {
		p, err := l.offer(r, body, true)
		if err != nil {
			return refusal(r, err)
		}
		if late == nil {
			late = p.late
		}
		select {
		case <-p.over:
			if p.group != nil {
				return refusal(r, p.group.err)
			}
		case <-ctx.Done():
			return l.leave(p.group, r, durward.StatusCancelled, refusal(r, errLeft))
		case <-late:
			return l.leave(p.group, r, durward.StatusError, tooLate(r, l.opt.Wait, l.why()))
		}
	}
}

// place is where a record was put, and what who put it there waits for.
type place struct {
	group *group          // nil: there is no room
	over  <-chan struct{} // closed when the group was written or refused, or when there is room
	late  <-chan struct{} // closed when that was waited for too long
}

// turns is how many turns begin while one waits: who waits does so for Options.Wait,
// and at most so much of it longer.
const turns = 8

// late returns what is closed when who begins to wait now has done so for too long.
// mu is held.
func (l *Ledger) late() <-chan struct{} {
	if now := time.Now(); now.After(l.turn.ends) {
		length, late := l.opt.Wait/turns, make(chan struct{})
		l.turn = turn{now.Add(length), late}
		time.AfterFunc(l.opt.Wait+length, func() { close(late) })
	}
	return l.turn.late
}

// leave gives up waiting for a record. One that waits as well is taken back. One that is
// being written is followed by another, which says that nothing came of it.
func (l *Ledger) leave(g *group, r Record, status durward.Status, why error) error {
	if g == nil {
		return why
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if g.done {
		return refusal(r, g.err)
	}
	if g == l.pending {
		g.takeBack(r)
		return why
	}
	if undone := undo(r, status, why); undone != nil {
		g.left = append(g.left, undone)
	}
	return why
}

// takeBack removes a record, and its body unless another record names it.
func (g *group) takeBack(r Record) {
	i := slices.Index(g.records, r)
	if i < 0 {
		return
	}
	g.records = slices.Delete(g.records, i, i+1)
	body := bodyOf(r)
	if body == (Digest{}) || slices.ContainsFunc(g.records, func(r Record) bool { return bodyOf(r) == body }) {
		return
	}
	g.bodies = slices.DeleteFunc(g.bodies, func(b Body) bool { return b.Digest == body })
}

// notMade is the outcome of a call that was refused although its intent is on record.
func notMade(i *Intent, status durward.Status, why error) *Outcome {
	now := micro(time.Now())
	return &Outcome{Call: i.ID, At: now, Duration: max(now.Sub(i.At), 0), Status: status, Error: text(why.Error())}
}

// Of what undo makes.
const (
	byService = "durward"
	noteLate  = "recorded late"
)

// undo is what follows a record of which it was said that it is not there: what it was to
// come before did not happen. nil: it came before nothing.
func undo(r Record, status durward.Status, why error) Record {
	switch r := r.(type) {
	case *Intent:
		return notMade(r, status, why)
	case *Approval:
		if r.Status == "pending" || r.Status == "approved" { // what else there is says no already
			return &Approval{ID: r.ID, Call: r.Call, At: micro(time.Now()), Status: "denied", By: byService, Reason: text(why.Error()), Scope: r.Scope}
		}
	case *Change:
		return &Note{At: micro(time.Now()), What: noteLate, Detail: long(fmt.Sprintf(
			"the change %q of %q by %s is on record, and whoever made it was told that it is not: it was not made, unless it takes rights away", r.What, r.Target, r.Who))}
	}
	return nil
}

// why says in words what keeps the ledger from writing.
func (l *Ledger) why() string {
	if _, err := l.State(); err != nil {
		return bare(err).Error()
	}
	return "more is recorded than the store can take (limits.ledger_queue)"
}

// offer adds a record to the pending group, unless there is no room. What somebody waits
// for is urgent.
func (l *Ledger) offer(r Record, body *Body, urgent bool) (p place, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if urgent {
		p.late = l.late()
	}
	switch {
	case l.closed:
		return p, errClosed
	case l.failed != nil:
		return p, l.failed
	case len(l.pending.records) >= l.opt.Queue:
		if l.pending.taken == nil {
			l.pending.taken = make(chan struct{})
		}
		p.over = l.pending.taken
		return p, nil
	}
	l.put(r, body, urgent)
	p.group, p.over = l.pending, l.pending.over
	return p, nil
}

// push adds a record that must not be refused; nil when nobody writes any more.
func (l *Ledger) push(r Record, body *Body) *group {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return nil
	}
	l.put(r, body, l.opt.Full)
	return l.pending
}

// wake has the writer take what waits.
func (l *Ledger) wake() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// put adds to the pending group and sees to it that the writer takes it: at once if
// somebody waits, else with whatever comes next. mu is held.
func (l *Ledger) put(r Record, body *Body, urgent bool) {
	switch {
	case urgent:
		if !l.pending.urgent {
			l.pending.urgent = true
			l.wake()
		}
	case len(l.pending.records) == 0:
		l.soon.Reset(outcomeWait)
	}
	l.pending.records = append(l.pending.records, r)
	if body != nil {
		l.pending.bodies = append(l.pending.bodies, *body)
	}
}
