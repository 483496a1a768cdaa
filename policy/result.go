package policy

import (
	"context"

	"durward"
)

// DecideResult decides whether the caller may have a result, and in which form:
// plugins, then postprocess rules, rewriting, rules. It never asks; nothing but a rule,
// a plugin or a failure withholds a result. There is no error: what cannot be
// decided is withheld.
func (e *Engine) DecideResult(ctx context.Context, call *durward.Call, result []byte) (durward.Decision, error) {
	st := e.state.Load()
	if result == nil {
		result = []byte("{}") // nil is the request phase
	}
	keep := call.Tool != nil || !hasTool(call.Method)
	r := run{e: e, st: st, call: call, result: result, now: e.opt.Now(), pin: e.pinOf(call)}
	r.plan = st.set.index.plan(keyOfCall(call, true), keep)
	d := r.response(ctx)
	r.countBytes(st.set.index.plan(keyOfCall(call, false), keep).bytes, int64(len(result)))
	return d, nil
}

// response is the response phase.
func (r *run) response(ctx context.Context) durward.Decision {
	r.runPlugins(ctx, nil)
	r.runRules(ctx, r.plan.post)
	r.rewrite(r.plan.rewrites)
	r.collect(stageResponse)
	r.ballot.result = true
	return r.conclude()
}

// countBytes counts what came back towards the limits on bytes that hold for the
// call. What came is counted, whatever of it goes on.
func (r *run) countBytes(rules []*rule, n int64) {
	if len(rules) == 0 || r.dry {
		return
	}
	by := countedOf(r.call)
	forced := len(r.ballot.forced)
	for _, rl := range rules {
		if r.matched(rl, stageRequest) || len(r.ballot.forced) > forced { // doubt counts
			r.st.limiters[rl.order].count(rl.limit.key(by), n, r.now)
		}
	}
}
