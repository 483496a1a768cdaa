package ledger

import (
	"context"
	"time"

	"durward"
)

// recover closes what a killed process left open: questions to people are denied, the
// calls that waited for them too, and all other calls get the outcome unknown.
func (l *Ledger) recover(ctx context.Context) error {
	now := time.Now().UTC().Truncate(time.Microsecond)
	parked, err := l.unanswered(ctx, now)
	if err != nil {
		return err
	}
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
			records = append(records, leftOpen(id, now, parked[id]))
		}
		if err := l.writeNow(ctx, append(records, &Note{At: now, What: "recovered", Detail: plural(len(open), "call", "calls") + " left open by a process that was killed"})); err != nil {
			return err
		}
	}
	if recovered > 0 {
		l.opt.Log.Warn("calls that were under way when the gateway ended have an outcome now", "calls", recovered, "denied", len(parked))
	}
	return nil
}

// leftOpen is the outcome of a call whose process was killed. One that waited for a
// person was not made.
func leftOpen(id durward.CallID, now time.Time, parked bool) *Outcome {
	if parked {
		return &Outcome{Call: id, At: now, Status: durward.StatusDenied, Error: "the gateway ended before anybody answered; the call was not made"}
	}
	return &Outcome{
		Call: id, At: now, Status: durward.StatusUnknown,
		Error: "the gateway ended before the answer came; the call may or may not have been executed",
	}
}

// unanswered denies the questions that nobody can answer any more and returns their
// calls.
func (l *Ledger) unanswered(ctx context.Context, now time.Time) (map[durward.CallID]bool, error) {
	parked := map[durward.CallID]bool{}
	for {
		questions, err := l.opt.Store.Unanswered(ctx, openedAtOnce)
		if err != nil || len(questions) == 0 {
			return parked, err
		}
		records := make([]Record, 0, len(questions))
		for _, q := range questions {
			parked[q.Call] = true
			records = append(records, &Approval{
				ID: q.ID, Call: q.Call, At: now, Status: "denied", By: byService, Reason: "the gateway ended before anybody answered", Scope: q.Scope,
			})
		}
		if err := l.writeNow(ctx, records); err != nil {
			return nil, err
		}
	}
}
