package policy

import (
	"context"

	"durward"
)

// Reconsider decides anew about a call that has waited for a person since first was
// decided: by the rules, pins, labels and times of now. Nothing is counted, and no
// plugin runs again: call has what plugins and rules made of it. A limit says what it
// said first, since the call itself may count towards it by now.
func (e *Engine) Reconsider(ctx context.Context, call *durward.Call, first *durward.Decision) durward.Decision {
	st, pin, own := e.state.Load(), e.pinOf(call), *call
	e.correct(&own, pin)
	plan := st.set.index.plan(keyOfCall(&own, false), own.Tool != nil || !hasTool(own.Method))
	r := run{e: e, st: st, plan: plan, call: &own, now: e.opt.Now(), pin: pin, dry: true, first: first}
	return r.request(ctx)
}

// limitAgain has a rule with a limit vote if it did so when the call came. match is
// the place of the rule among the matches.
func (r *run) limitAgain(rl *rule, match int) {
	for i := range r.first.Matches {
		m := &r.first.Matches[i]
		if m.Rule == rl.src.ID && m.Layer == rl.layer.String() && m.Stage == stageRequest && m.Effective != effectBelow {
			r.ballot.rules = append(r.ballot.rules, ruleVote(rl))
			return
		}
	}
	r.matches[match].Effective = effectBelow
}
