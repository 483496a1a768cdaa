package ledger

import (
	"context"
	"time"

	"durward"
)

// Pauses between attempts to write to a store that takes nothing.
const (
	retryFirst = 250 * time.Millisecond
	retryMost  = 5 * time.Second
	// closeWait bounds how long Close tries to write what waits.
	closeWait = 5 * time.Second
	// openedAtOnce bounds the calls that are recovered in one transaction.
	openedAtOnce = 100_000
)

// write is the one goroutine that writes. It takes whatever waits, so that many
// callers share a transaction while one is under way.
func (l *Ledger) write(ctx context.Context) {
	defer close(l.done)
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
		g := l.take(left)
		if left = l.commit(ctx, g); left == nil {
			pause = retryFirst
		} else {
			pause = min(2*pause, retryMost)
		}
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
	l.pending = newGroup()
	l.mu.Unlock()
	close(g.taken)
	if left != nil {
		g.records = append(left.records, g.records...)
		g.bodies = append(left.bodies, g.bodies...)
		g.must += left.must
	}
	return g
}

// commit writes a group. When the store takes nothing, those who wait are told,
// and what may not be lost is returned.
func (l *Ledger) commit(ctx context.Context, g *group) (left *group) {
	if len(g.records) == 0 {
		return nil
	}
	batch := &Batch{Records: g.records, Bodies: l.bodies.fresh(g.bodies), Link: l.head.Next(time.Now(), g.records)}
	err := l.opt.Store.Write(context.WithoutCancel(ctx), batch)
	if err != nil {
		err = l.doubt(ctx, batch, err)
	}
	if err != nil {
		return l.refuse(g, err)
	}
	l.bodies.stored(batch.Bodies)
	l.mu.Lock()
	recovered := l.failed != nil
	l.head, l.failed = batch.Link, nil
	l.mu.Unlock()
	if recovered {
		l.opt.Log.Info("the ledger can be written again")
	}
	close(g.over)
	l.opt.Committed(batch.Link, batch.Records)
	return nil
}

// doubt looks whether a write that failed was committed after all: the error may
// have come when all was done. The store's own word decides; without one the
// failure stands.
func (l *Ledger) doubt(ctx context.Context, b *Batch, err error) error {
	head, unread := l.opt.Store.Head(context.WithoutCancel(ctx))
	if unread == nil && head == b.Link {
		return nil
	}
	return err
}

// refuse tells those who wait that nothing was recorded, and keeps what may not be lost.
func (l *Ledger) refuse(g *group, err error) (left *group) {
	l.mu.Lock()
	first := l.failed == nil
	if l.failed = err; first {
		l.since = time.Now()
	}
	l.mu.Unlock()
	if first {
		l.opt.Log.Error("the ledger cannot be written; calls are refused until it can", "error", err)
	}
	g.err = durward.Errorf(durward.Unavailable, "ledger", "the call cannot be recorded, so it was not made: %w", err)
	left = newGroup()
	for _, r := range g.records {
		if r.Kind() == KindOutcome {
			left.records = append(left.records, r)
		}
	}
	left.must = len(left.records)
	left.bodies = l.bodies.bounded(g.bodies, left.records)
	close(g.over)
	// An empty group is kept too: the next attempt finds out that the fault is over.
	return left
}

// finish writes what waits when the ledger is closed.
func (l *Ledger) finish(left *group) {
	until := time.Now().Add(closeWait)
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	for pause := retryFirst; ; pause = min(2*pause, retryMost) {
		if left = l.commit(ctx, l.take(left)); left == nil || !sleep(ctx, pause) {
			return
		}
	}
}

// recover gives calls that a killed process left open the outcome unknown.
func (l *Ledger) recover(ctx context.Context) error {
	now := time.Now().UTC().Truncate(time.Microsecond)
	recovered := 0
	for {
		open, err := l.opt.Store.Open(ctx, openedAtOnce)
		if err != nil {
			return err
		}
		if len(open) == 0 {
			break
		}
		recovered += len(open)
		records := make([]Record, 0, len(open)+1)
		for _, id := range open {
			records = append(records, &Outcome{
				Call: id, At: now, Status: durward.StatusUnknown,
				Error: "the gateway ended before the answer came; the call may or may not have been executed",
			})
		}
		if err := l.writeNow(ctx, append(records, &Note{At: now, What: "recovered", Detail: plural(len(open), "call", "calls") + " left open by a process that was killed"})); err != nil {
			return err
		}
	}
	if recovered > 0 {
		l.opt.Log.Warn("calls that were under way when the gateway ended have an unknown outcome", "calls", recovered)
	}
	return nil
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
