package policy

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"durward"
)

// Causes of a decision that is not Allow, as the agent may see them.
const (
	causeRule       = "rule"
	causeDefault    = "default"
	causePin        = "pin"
	causeLimit      = "limit"
	causePlugin     = "plugin"
	causeEvaluation = "evaluation"
)

const reasonNothing = "nothing speaks against it"

// rank orders votes for the same action: what is more specific is named first.
type rank uint8

const (
	rankBuiltin rank = iota
	rankDefault
	rankTool
	rankRule
	rankForced // pins, plugins, failures: nothing allows what they stop
)

// vote is one thing that says what should happen.
type vote struct {
	action   durward.Action
	rank     rank
	layer    Layer
	rule     *rule  // nil: a default, or forced
	id       string // of the rule; of a default what questions call it
	reason   string
	cause    string
	retry    time.Duration // with cause limit
	disclose bool
}

// ballot is everything that has a say about one event.
type ballot struct {
	rules  []vote // of rules that matched
	forced []vote // of pins, plugins and failures
	tools  [layers]*toolDefault
	risk   durward.Risk // of the tool
	closed bool         // an address that is not public: only a rule opens it
	result bool         // the response phase: what defaults say was said about the request
	opens  bool         // what the protocol needs before anything is used: defaults of layers are not for that
}

// decide applies the order of layers: all rules that matched vote; the default of a
// tool votes unless a rule of its layer or of a higher one matched; the default of
// a layer votes, about what is used, unless such a rule or such a default of a tool exists; what Durward does
// by itself counts only where nobody else said anything. The most restrictive vote
// wins. asks are the votes that ask, when the winner does.
func (s *Set) decide(b *ballot) (winner vote, asks []vote) {
	votes := append(b.rules[:len(b.rules):len(b.rules)], s.defaultVotes(b)...)
	votes = append(votes, b.forced...)
	winner = votes[0]
	for _, v := range votes[1:] {
		if v.beats(&winner) {
			winner = v
		}
	}
	if winner.action == durward.Ask {
		for _, v := range votes {
			if v.action == durward.Ask {
				asks = append(asks, v)
			}
		}
	}
	return winner, asks
}

// beats reports whether v decides rather than w.
func (v *vote) beats(w *vote) bool {
	return cmp.Or(cmp.Compare(v.action, w.action), cmp.Compare(v.rank, w.rank), cmp.Compare(v.layer, w.layer), strings.Compare(w.id, v.id)) > 0
}

// defaultVotes are the votes of what nobody wrote a rule for.
func (s *Set) defaultVotes(b *ballot) []vote {
	if b.result {
		return []vote{{action: durward.Allow, rank: rankBuiltin, id: "default", cause: causeDefault, reason: reasonNothing}}
	}
	top := -1 // the highest layer that spoke
	for i := range b.rules {
		top = max(top, int(b.rules[i].layer))
	}
	var votes []vote
	named := top
	for l := Builtin; l <= Corp; l++ {
		if t := b.tools[l]; t != nil && int(l) > top {
			votes = append(votes, toolVote(l, t))
			named = max(named, int(l))
		}
	}
	for l := Builtin; l <= Corp; l++ {
		if d := s.defaults[l]; d.set && !b.opens && int(l) > named {
			votes = append(votes, vote{
				action: d.action, rank: rankDefault, layer: l, id: "default", cause: causeDefault,
				reason: "the default of the layer " + l.String(),
			})
		}
	}
	switch {
	case b.closed && len(b.rules) == 0:
		return append(votes, vote{action: durward.Block, rank: rankBuiltin, id: "private-address", cause: causeDefault, reason: "the address is not public, and no rule allows it"})
	case len(votes) > 0 || len(b.rules) > 0:
		return votes
	case b.risk == durward.RiskCritical:
		return []vote{{action: durward.Ask, rank: rankBuiltin, id: "risk-critical", cause: causeDefault, reason: "the tool is of risk critical, and no rule decides about it"}}
	default:
		return []vote{{action: durward.Allow, rank: rankBuiltin, id: "default", cause: causeDefault, reason: reasonNothing}}
	}
}

func toolVote(l Layer, t *toolDefault) vote {
	return vote{
		action: t.action, rank: rankTool, layer: l, id: "tool:" + t.server + "/" + t.glob.text, cause: causeDefault,
		reason: "the default of the tool in the layer " + l.String(),
	}
}

// ruleVote is the vote of a rule that matched.
func ruleVote(r *rule) vote {
	v := vote{action: durward.Action(r.act), rank: rankRule, layer: r.layer, rule: r, id: r.src.ID, reason: r.src.Reason, cause: causeRule, disclose: r.src.Disclose == "id"}
	if v.reason == "" {
		v.reason = "the rule " + r.name()
	}
	if r.limit != nil {
		v.cause = causeLimit
	}
	return v
}

// defaultAskTimeout is how long an answer is waited for where nobody says.
const defaultAskTimeout = 5 * time.Minute

// question puts together what a person is asked from everything that asks: the
// shortest wait, the narrowest memory, and the ways that all of them permit. Who
// holds the approver credential may always answer.
func (s *Set) question(asks []vote, caller *durward.Caller, changes []durward.Change) *durward.Question {
	slices.SortStableFunc(asks, func(a, b vote) int {
		return cmp.Or(cmp.Compare(b.layer, a.layer), cmp.Compare(b.rank, a.rank), strings.Compare(a.id, b.id))
	})
	q := &durward.Question{Remember: durward.ScopeGrant, Changes: changes}
	client := caller.Entrance != entranceSandbox
	var texts []string
	for i := range asks {
		v := &asks[i]
		q.Rules = append(q.Rules, v.layer.String()+"/"+v.id)
		if !slices.Contains(texts, v.reason) {
			texts = append(texts, v.reason)
		}
		ask := v.askSpec()
		if timeout := cmp.Or(ask.Timeout, s.Approvals().Timeout); q.Timeout == 0 || timeout < q.Timeout {
			q.Timeout = timeout
		}
		if scope := cmp.Or(durward.Scope(ask.Remember), durward.ScopeCall); scopeOrder(scope) < scopeOrder(q.Remember) {
			q.Remember = scope
		}
		client = client && slices.Contains(ask.Via, durward.ViaClient)
		q.Via = narrow(q.Via, ask.Via)
	}
	if len(q.Via) == 0 {
		q.Via = []string{durward.ViaConsole, durward.ViaCLI}
	}
	if client {
		q.Via = append(q.Via, durward.ViaClient)
	}
	q.Text = strings.Join(texts, "; ")
	return q
}

// entranceSandbox is the door of agents in sandboxes, who are never asked themselves.
const entranceSandbox durward.Entrance = "sandbox"

// askSpec is how a vote that asks wants it done. Answers to defaults may be
// remembered, except where the corp layer set them.
func (v *vote) askSpec() AskSpec {
	switch {
	case v.rule != nil && v.rule.act == actAsk:
		return v.rule.src.Ask
	case v.layer == Corp:
		return AskSpec{}
	default:
		return AskSpec{Remember: string(durward.ScopeGrant)}
	}
}

// narrow keeps of the ways with the approver credential those that both permit.
func narrow(have, more []string) []string {
	if len(more) == 0 {
		more = []string{durward.ViaConsole, durward.ViaCLI}
	}
	var out []string
	for _, via := range []string{durward.ViaConsole, durward.ViaCLI} {
		if slices.Contains(more, via) && (have == nil || slices.Contains(have, via)) {
			out = append(out, via)
		}
	}
	if out == nil {
		out = []string{}
	}
	return out
}

func scopeOrder(s durward.Scope) int {
	return slices.Index([]durward.Scope{durward.ScopeCall, durward.ScopeSession, durward.ScopeGrant}, s)
}
