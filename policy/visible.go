package policy

import (
	"slices"

	"durward"
	"durward/internal/wire"
)

// Visible reports whether something is listed for a caller: false for what Decide
// would block whatever the arguments are. Conditions on what only a call has
// (arguments, labels, its id) count as "may match", and so do limits. call has the method that
// uses what is listed and no params, of a resource template no name either; call.Tool, if it is known, decides about annotations and pins; call.Risk is corrected.
func (e *Engine) Visible(caller *durward.Caller, call *durward.Call) bool {
	st := e.state.Load()
	unsure := call.Tool == nil && hasTool(call.Method)
	pin := e.pinOf(call)
	if pin != "" && held(pin) && !(unsure && pin == PinChanged) {
		return false
	}
	e.correct(call, pin)
	p := st.set.index.plan(keyOfCall(call, false), !unsure)
	closed := p.closed() || st.set.blocksAll()
	switch {
	case !closed && len(p.certain) == 0:
		return true
	case closed && len(p.deciding) == 0 && p.tools == [layers]*toolDefault{}:
		return false
	}
	would := *call
	would.Caller = *caller
	l := listing{e: e, st: st, call: &would, pin: pin, unsure: unsure}
	if !closed { // nothing needs to be opened: only rules that block in any case count
		return !slices.ContainsFunc(p.certain, func(r *rule) bool { return l.judge(r) == verdictYes })
	}
	return l.visible(p)
}

// blocksAll reports whether what no rule is for is blocked.
func (s *Set) blocksAll() bool {
	for l := range s.defaults {
		if s.defaults[l].set && s.defaults[l].action == durward.Block {
			return true
		}
	}
	return false
}

// listing is the question whether something is listed.
type listing struct {
	e      *Engine
	st     *state
	call   *durward.Call
	pin    PinState
	unsure bool // it is not known what the server says of the tool
	act    activation
	made   bool
}

// judge evaluates the condition of a rule with what is known.
func (l *listing) judge(r *rule) verdict {
	now := l.e.opt.Now()
	if r.ended(now) {
		return verdictNo
	}
	v := verdictYes
	if r.when != nil {
		if !l.made {
			l.made = true
			l.act.reset(l.e.eventOf(l.st, l.call, nil, l.pin, now), true)
			if l.call.Method == wire.MethodResourcesRead && l.call.Name == "" {
				l.act.hide(fieldResourceURI) // a template: what is read depends on how it is filled in
			}
			if l.unsure {
				for _, f := range []field{fieldServerRisk, fieldToolRisk, fieldToolAnnotations, fieldToolPinned, fieldToolDrifted, fieldToolSchemaHash} {
					l.act.hide(f)
				}
			}
		}
		v, _ = r.when.judge(&l.act)
	}
	switch {
	case v == verdictFailed:
		return verdictMaybe // nobody is told that there is nothing where something failed
	case r.limit != nil && v == verdictYes:
		return verdictMaybe // only beyond the limit
	default:
		return v
	}
}

// visible reports whether some call could come through: no rule blocks in any case,
// and each default that blocks may be overridden by a rule that does not.
func (l *listing) visible(p *plan) bool {
	certain, possible := -1, -1 // the highest layer that speaks in any case, and one that may speak and not block
	for _, r := range p.deciding {
		v := l.judge(r)
		if v == verdictYes {
			if r.act == actBlock {
				return false
			}
			certain = max(certain, int(r.layer))
		}
		if r.act != actBlock && v >= verdictMaybe {
			possible = max(possible, int(r.layer))
		}
	}
	named := -1
	for layer := range p.tools {
		t := p.tools[layer]
		if t == nil || layer <= certain {
			continue
		}
		named = max(named, layer)
		if t.action == durward.Block && layer > possible {
			return false
		}
	}
	for layer := range l.st.set.defaults {
		d := &l.st.set.defaults[layer]
		if d.set && d.action == durward.Block && layer > certain && layer > possible && layer > named {
			return false
		}
	}
	return true
}
