package policy

import (
	"context"
	"slices"
	"time"

	"durward"
)

// RulePins is what the record calls the rule by which a call of something that pins
// hold was blocked, in the layer builtin. Its effect is the state of the pin, its detail
// the hash of the definition.
const RulePins = "pins"

// Replay decides anew about a call that was made before, as Decide does but for what
// is known of the tool: call.Risk counts as it stands, and no pin is asked for. The time is that of Options.Now.
func (e *Engine) Replay(ctx context.Context, call *durward.Call) durward.Decision {
	st := e.state.Load()
	r := run{e: e, st: st, call: call, now: e.opt.Now()}
	r.plan = st.set.index.plan(keyOfCall(call, false), call.Tool != nil || !hasTool(call.Method))
	return r.request(ctx)
}

// LooksAt returns the names of the fields that the rules look at whose index takes a
// call, or its result, sorted; and whether there are such rules.
func (e *Engine) LooksAt(call *durward.Call, response bool) (fields []string, any bool) {
	p := e.state.Load().set.index.plan(keyOfCall(call, response), call.Tool != nil || !hasTool(call.Method))
	for _, list := range [][]*rule{p.preprocess, p.rewrites, p.deciding, p.post} {
		for _, r := range list {
			any = true
			fields = append(fields, r.fields()...)
		}
	}
	slices.Sort(fields)
	return slices.Compact(fields), any
}

// RuleLooksAt is LooksAt of one rule; nothing where there is none.
func (e *Engine) RuleLooksAt(layer, id string) []string {
	if r := e.state.Load().set.find(layer, id); r != nil {
		return r.fields()
	}
	return nil
}

// Fields returns the names of the fields that the conditions of the set look at,
// sorted.
func (s *Set) Fields() []string {
	var fields []string
	for _, r := range s.rules {
		fields = append(fields, r.fields()...)
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// fields are the names of what the condition and the values of the rule look at.
func (r *rule) fields() (names []string) {
	table := fieldTable()
	add := func(used *[numFields]bool) {
		for f, is := range used {
			if is {
				names = append(names, table[f].name)
			}
		}
	}
	if r.when != nil {
		add(&r.when.fields)
	}
	for i := range r.sets {
		if v := r.sets[i].value; v != nil {
			add(&v.fields)
		}
	}
	return names
}

// Longest is the longest time of any limit of the set, 0 without one.
func (s *Set) Longest() (per time.Duration) {
	for _, r := range s.rules {
		if r.limit != nil {
			per = max(per, r.limit.per)
		}
	}
	return per
}
