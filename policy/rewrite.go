package policy

import (
	"bytes"
	"strings"

	"durward"
	"durward/internal/wire"
)

// maxPasses is how often rules are evaluated again on what they rewrote. Rules that
// are not done after that go round in circles, and nothing sensible can be decided.
const maxPasses = 8

// rewrite applies the rules that rewrite, in the order of (layer, id), each to what
// the ones before it left, until none changes anything any more.
func (r *run) rewrite(rules []*rule) {
	if len(rules) == 0 || r.result == nil && r.call.Method != wire.MethodToolsCall && r.call.Method != wire.MethodPromptsGet {
		return
	}
	noted := make(map[*rule]int) // the match of each rule that matched
	for range maxPasses {
		changed := false
		for _, rl := range rules {
			did, ok := r.apply(rl, noted)
			if !ok {
				return
			}
			changed = changed || did
		}
		if !changed {
			return
		}
	}
	r.fail(nil, "", durward.Errorf(durward.Invalid, "rewrite", "the rules that rewrite change each other's values without end (%s)", namesOf(rules)))
}

// apply applies one rule. ok is false when it could not be, which blocks.
func (r *run) apply(rl *rule, noted map[*rule]int) (changed, ok bool) {
	forced := len(r.ballot.forced)
	if !r.matched(rl, stageRewrite) {
		return false, len(r.ballot.forced) == forced
	}
	at, seen := noted[rl]
	if !seen {
		at = r.match(rl, stageRewrite, effectNothing)
		noted[rl] = at
	}
	for i := range rl.sets {
		did, err := r.set(rl, &rl.sets[i])
		if err != nil {
			r.matches[at].Effective = effectFailed
			r.unseen = true
			r.force(vote{action: durward.Block, rule: rl, layer: rl.layer, id: rl.src.ID, cause: causeEvaluation, reason: err.Error(), disclose: rl.src.Disclose == "id"})
			return changed, false
		}
		changed = changed || did
	}
	if changed {
		r.matches[at].Effective = rl.act.String()
	}
	return changed, true
}

// set applies one setting.
func (r *run) set(rl *rule, s *setting) (changed bool, err error) {
	var value []byte
	if s.value != nil {
		r.event()
		if value, err = s.value.eval(&r.act); err != nil {
			if isAbsent(err) {
				return false, nil // absent is absent: there is nothing to set
			}
			return false, err
		}
	}
	doc := r.document()
	old := s.at.get(doc)
	if bytes.Equal(old, value) && (old == nil) == (value == nil) {
		return false, nil
	}
	next, err := s.at.set(doc, value)
	if err != nil {
		return false, err
	}
	if bytes.Equal(next, doc) {
		return false, nil
	}
	r.changes = append(r.changes, durward.Change{Path: s.at.String(), Rule: rl.name(), Old: old, New: value})
	if r.recorded != nil {
		// What a plugin wanted kept out of the record was found in what is replaced now.
		if kept, err := s.at.set(r.documentIn(r.recorded), value); err == nil {
			r.recorded = r.within(r.recorded, kept)
		}
	}
	r.replace(r.within(r.whole(), next))
	return true, nil
}

// whole is what a decision replaces: the params, or the result.
func (r *run) whole() []byte {
	if r.result != nil {
		return r.result
	}
	if r.call.Params == nil {
		return []byte("{}")
	}
	return r.call.Params
}

// document is what pointers of rules point into: the arguments, or the result.
func (r *run) document() []byte { return r.documentIn(r.whole()) }

func (r *run) documentIn(whole []byte) []byte {
	if r.result != nil {
		return whole
	}
	if args := wire.Get(whole, "arguments"); args != nil {
		return args
	}
	return []byte("{}")
}

// within puts a document back into what it is a part of.
func (r *run) within(whole, doc []byte) []byte {
	if r.result != nil {
		return doc
	}
	if at := wire.Lookup(whole, "arguments"); at.Present() {
		return wire.Splice(make([]byte, 0, len(whole)+len(doc)), whole, wire.Edit{At: at, With: doc})
	}
	return appendMember(whole, "arguments", doc)
}

func namesOf(rules []*rule) string {
	var names []string
	for _, rl := range rules[:min(len(rules), 5)] {
		names = append(names, rl.name())
	}
	return strings.Join(names, ", ")
}
