package ledger

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"durward"
)

// Pauses between attempts to write to a store that takes nothing.
const (
	retryFirst = 250 * time.Millisecond
	retryMost  = 5 * time.Second
	// outcomeWait is how long records that nobody waits for wait for others: outcomes
	// mostly go with the next intents, which halves the transactions.
	outcomeWait = 5 * time.Millisecond
	// gatherMost bounds how long a transaction waits for those who are about to
	// record something, beside the time for which they run.
	gatherMost = time.Millisecond
	// groupSpace bounds the memory that is kept for the forms of records, in bytes.
	groupSpace = 1 << 20
	// closeWait bounds how long Close tries to write what waits.
	closeWait = 5 * time.Second
	// openedAtOnce bounds the calls that are recovered in one transaction.
	openedAtOnce = 100_000
)

// write is the one goroutine that writes. It takes whatever waits, so that many
// callers share a transaction while one is under way.
func (l *Ledger) write(ctx context.Context) {
	defer close(l.done)
	defer l.soon.Stop()
	pause := retryFirst
	var left *group // what must still be written after a failure
	for {
		if left == nil {
			select {
			case <-l.kick:
			case <-ctx.Done():
				l.finish(nil)
				return
			}
		} else if !sleep(ctx, pause) {
			l.finish(left)
			return
		}
		l.gather()
		g := l.take(left)
		if left = l.commit(ctx, g); left == nil {
			pause = retryFirst
		} else {
			pause = min(2*pause, retryMost)
		}
	}
}

// gather lets those who are about to record something do it first, so that it goes
// with the same transaction. When all processors are busy there are many of them.
func (l *Ledger) gather() {
	last, end := -1, time.Now().Add(gatherMost)
	for n := l.Queued(); n != last && time.Now().Before(end); n = l.Queued() {
		last = n
		runtime.Gosched()
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// take begins a new pending group and returns the old one, behind what is left
// of one before.
func (l *Ledger) take(left *group) *group {
	l.mu.Lock()
	g := l.pending
	l.pending, l.last = newGroup(len(g.records)), g
	l.mu.Unlock()
	if g.taken != nil {
		close(g.taken)
	}
	if left != nil {
		g.records = append(left.records, g.records...)
		g.bodies = append(left.bodies, g.bodies...)
	}
	return g
}

// commit writes a group. When the store takes nothing, those who wait are told,
// and what may not be lost is returned.
func (l *Ledger) commit(ctx context.Context, g *group) (left *group) {
	ctx = context.WithoutCancel(ctx)
	since, failed := l.State()
	if failed != nil {
		if err := l.settle(ctx, g); err != nil {
			return l.refuse(g, err)
		}
		// It also finds out whether the store takes something when nothing else waits.
		g.records = append(g.records, &Note{At: micro(time.Now()), What: "gap", Detail: long(
			"nothing could be recorded, and calls were refused, since " + since.UTC().Format(time.RFC3339) + ": " + bare(failed).Error())})
	}
	if len(g.records) == 0 {
		l.mu.Lock()
		g.done = true
		l.mu.Unlock()
		close(g.over)
		return nil
	}
	batch := &Batch{Records: g.records, Bodies: l.bodies.fresh(g.bodies)}
	batch.Link, l.space = l.head.next(time.Now(), g.records, l.space[:0])
	batch.forms = l.space
	err := l.opt.Store.Write(ctx, batch)
	if batch.forms != nil { // else the store may use the batch at this moment
		batch.forms = nil
	}
	if cap(l.space) > groupSpace {
		l.space = nil
	}
	if err != nil && !l.wasCommitted(ctx, batch) {
		return l.refuse(g, err)
	}
	l.committed(batch, g)
	return nil
}

// committed tells everybody that a batch was.
func (l *Ledger) committed(b *Batch, g *group) {
	l.bodies.stored(b.Bodies)
	l.mu.Lock()
	recovered := l.failed != nil
	l.head, l.failed = b.Link, nil
	g.done = true
	for _, r := range g.left {
		l.put(r, nil, false)
	}
	l.mu.Unlock()
	if recovered {
		l.opt.Log.Info("the ledger can be written again")
	}
	close(g.over)
	l.opt.Committed(b.Link, b.Records)
}

// wasCommitted looks whether a write that failed was committed after all: the error may
// have come when all was done. The store's own word decides. When it says nothing
// the failure stands, and it is asked again before anything else is written.
func (l *Ledger) wasCommitted(ctx context.Context, b *Batch) bool {
	head, err := l.opt.Store.Head(ctx)
	if err != nil {
		l.doubtful = b
		return false
	}
	return head == b.Link
}

// settle finds out what became of a batch of which that was not known. If it was
// committed, what is in it must not be written again, and the calls that were refused
// get their outcomes: they were not made.
func (l *Ledger) settle(ctx context.Context, g *group) error {
	b := l.doubtful
	if b == nil {
		return nil
	}
	head, err := l.opt.Store.Head(ctx)
	if err != nil {
		return err
	}
	if l.doubtful = nil; head != b.Link {
		return nil
	}
	written, ended := make(map[Record]bool, len(b.Records)), map[durward.CallID]bool{}
	for _, r := range b.Records {
		written[r] = true
		if o, ok := r.(*Outcome); ok { // it may wait without its body, see bounded
			ended[o.Call] = true
		}
	}
	g.records = slices.DeleteFunc(g.records, func(r Record) bool {
		o, ok := r.(*Outcome)
		return written[r] || ok && ended[o.Call]
	})
	why := errors.New("the ledger could not say whether the call was recorded, so it was not made")
	for _, r := range b.Records {
		if undone := undo(r, durward.StatusError, why); undone != nil {
			g.records = append(g.records, undone)
		}
	}
	l.mu.Lock()
	l.head = b.Link
	l.mu.Unlock()
	l.opt.Committed(b.Link, b.Records)
	return nil
}

// refuse tells those who wait that nothing was recorded, and keeps what may not be lost.
func (l *Ledger) refuse(g *group, err error) (left *group) {
	left = newGroup(0)
	for _, r := range g.records {
		if stays(r) {
			left.records = append(left.records, r)
		}
	}
	left.bodies = l.bodies.bounded(g.bodies, left.records)
	g.err = err
	l.mu.Lock()
	first := l.failed == nil
	if first {
		l.since = time.Now()
	}
	if first || !l.ended { // at the end what kept it from writing is the reason, not that it ends
		l.failed = err
	}
	g.done = true
	l.mu.Unlock()
	if first {
		l.opt.Log.Error("the ledger cannot be written; calls are refused until it can", "error", err)
	}
	close(g.over)
	// An empty group is kept too: the next attempt finds out that the fault is over.
	return left
}

// stays reports whether a record waits for a store that takes nothing: those of which
// nobody is told that they are not there, see undo, and outcomes.
func stays(r Record) bool {
	switch r := r.(type) {
	case *Outcome:
		return true
	case *Approval:
		return r.Status == "denied" && r.By == byService
	case *Note:
		return r.What == noteLate
	default:
		return false
	}
}

// finish writes what waits when the ledger is closed.
func (l *Ledger) finish(left *group) {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	for pause := retryFirst; ; pause = min(2*pause, retryMost) {
		left = l.commit(ctx, l.take(left))
		for left == nil {
			if l.end() {
				return
			}
			left = l.commit(ctx, l.take(nil))
		}
		if len(left.records) == 0 && l.end() || !sleep(ctx, pause) {
			break
		}
	}
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
	if left = l.refuse(l.take(left), errClosed); len(left.records) == 0 {
		return
	}
	l.opt.Log.Error("outcomes of calls could not be written; they are unknown when the ledger is opened again", "calls", len(left.records))
}

// end ends the ledger unless something waits.
func (l *Ledger) end() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = len(l.pending.records) == 0
	return l.ended
}

// writeNow commits records while the writer does not run.
func (l *Ledger) writeNow(ctx context.Context, records []Record) error {
	b := &Batch{Records: records, Link: l.head.Next(time.Now(), records)}
	if err := l.opt.Store.Write(ctx, b); err != nil {
		return err
	}
	l.head = b.Link
	l.opt.Committed(b.Link, b.Records)
	return nil
}
