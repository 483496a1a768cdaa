package ledger

import (
	"time"

	"durward"
)

// Matched records rules that matched a call and what plugins did with it. It returns
// at once; what is given before the call's intent is committed with it. When twice as
// many records wait as may (limits.ledger_queue), which are those of calls that are
// refused, they are dropped.
func (l *Ledger) Matched(call *durward.Call, matches []durward.Match) {
	if l.Queued() >= 2*l.opt.Queue {
		return
	}
	now := micro(time.Now())
	for _, m := range matches {
		l.push(l.normal(&Decision{
			Call: call.ID, At: now, Stage: m.Stage, Layer: m.Layer, Rule: m.Rule, Action: m.Action, Effective: m.Effective,
			Detection: m.Detection, Detail: m.Detail,
		}), nil)
	}
}
