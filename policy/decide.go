package policy

import (
	"context"
	"slices"
	"strings"
	"time"

	"durward"
	"durward/internal/wire"
)

// The stages of a match.
const (
	stagePreprocess  = "preprocess"
	stageRequest     = "request"
	stageRewrite     = "rewrite"
	stageResponse    = "response"
	stagePostprocess = "postprocess"
)

// What came of a match that did not have its way.
const (
	effectBelow     = "below limit"
	effectOverruled = "overruled"
	effectFailed    = "could not be evaluated"
	effectNothing   = "nothing to change"
)

// run is one decision in the making. It belongs to one goroutine.
type run struct {
	e     *Engine
	st    *state
	plan  *plan
	call  *durward.Call // ours when owned: its params may be replaced
	now   time.Time
	pin   PinState
	dry   bool              // nothing is counted, marked or run
	first *durward.Decision // what was decided before the call waited; nil: it is new

	ev       *Event // made when a rule needs it
	told     bool   // ev was not made from the call, but the call from it
	act      activation
	owned    bool
	result   []byte // in the response phase
	score    float64
	scored   bool
	changed  []byte
	recorded []byte
	given    []byte // the params as they came, once they were replaced
	unseen   bool   // what must not be kept of the params is not known, because something failed
	matches  []durward.Match
	changes  []durward.Change
	ballot   ballot
	pending  []pending
	trace    func(r *rule, v verdict, err error) // for Explain; nil: nobody wants to know
}

// pending is a limit that the call is below of, so far.
type pending struct {
	rule  *rule
	match int // its place among the matches
}

// Decide decides a call before anything is done: plugins, rewriting, rules, limits,
// pins, in this order. It corrects call.Risk, and counts the call if it is allowed.
// There is no error: what cannot be decided is blocked.
func (e *Engine) Decide(ctx context.Context, call *durward.Call) (durward.Decision, error) {
	st, pin := e.state.Load(), e.pinOf(call)
	e.correct(call, pin)
	plan := st.set.index.plan(keyOfCall(call, false), call.Tool != nil || !hasTool(call.Method))
	now := e.opt.Now()
	if st.plugins == nil && plan.idle() && !st.set.speaks && (pin == "" || !held(pin)) && call.Risk != durward.RiskCritical {
		e.called(call, now)
		return durward.Decision{Action: durward.Allow, Layer: Builtin.String(), Reason: reasonNothing}, nil
	}
	r := run{e: e, st: st, plan: plan, call: call, now: now, pin: pin}
	return r.request(ctx), nil
}

// request is the request phase.
func (r *run) request(ctx context.Context) durward.Decision {
	r.runPlugins(ctx, nil)
	r.runRules(ctx, r.plan.preprocess)
	r.rewrite(r.plan.rewrites)
	r.hold()
	r.ballot.tools, r.ballot.risk, r.ballot.opens = r.plan.tools, r.call.Risk, opens(r.call.Method)
	if r.ev != nil && r.ev.Type == EventHTTP {
		r.ballot.closed = r.ev.HTTP.IP != "" && !r.ev.HTTP.Public
	}
	r.collect(stageRequest)
	d := r.conclude()
	if !r.dry {
		r.heard(&d)
	}
	return d
}

// heard notes that something was heard of the session, and has its labels recorded
// from time to time.
func (r *run) heard(d *durward.Decision) {
	var c *conversation
	if d.Action == durward.Allow {
		c = r.e.called(r.call, r.now)
	} else {
		c = r.e.sessions.find(sessionKey(&r.call.Caller), r.now)
	}
	if c == nil {
		return
	}
	c.used.Store(r.now.UnixNano()) // also of a call that is refused: who goes on asking stays marked
	if labels := c.tell(false, r.now); labels != "" {
		d.Matches = append(d.Matches, labelsMatch(stageRequest, labels))
	}
}

// RuleLabels is what the record calls the rule by which a session got its labels, in
// the layer builtin. The detail of such a match is all labels that the session has then.
const RuleLabels = "session.labels"

func labelsMatch(stage, labels string) durward.Match {
	return durward.Match{Stage: stage, Layer: Builtin.String(), Rule: RuleLabels, Action: "label", Effective: "label", Detection: "info", Detail: labels}
}

// hold votes for what pins say.
func (r *run) hold() {
	if r.pin == "" || !held(r.pin) {
		return
	}
	reason := "nobody accepted this definition"
	switch r.pin {
	case PinChanged:
		reason = "the definition was changed since it was accepted or seen first"
	case PinRejected:
		reason = "this definition was rejected"
	}
	hash := ""
	if r.call.Tool != nil {
		hash = r.call.Tool.Hash
	}
	r.matches = append(r.matches, durward.Match{
		Stage: stageRequest, Layer: Builtin.String(), Rule: RulePins, Action: durward.Block.String(), Effective: r.pin, Detection: "medium", Detail: hash,
	})
	r.force(vote{action: durward.Block, cause: causePin, reason: reason + "; see durward pins diff " + r.call.Server})
}

func (r *run) force(v vote) {
	v.rank = rankForced
	r.ballot.forced = append(r.ballot.forced, v)
}

// fail votes for a block because something could not be evaluated. What should have
// looked for what must not be kept, or replaced it, may be what failed: then nothing is.
func (r *run) fail(rl *rule, stage string, err error) {
	r.unseen = r.unseen || stage != stageRequest
	v := vote{action: durward.Block, cause: causeEvaluation, reason: err.Error()}
	if rl != nil {
		v.rule, v.layer, v.id, v.disclose = rl, rl.layer, rl.src.ID, rl.src.Disclose == "id"
		r.match(rl, stage, effectFailed)
	}
	r.force(v)
}

// event returns the event, which is made when it is needed first.
func (r *run) event() *Event {
	if r.ev == nil {
		r.ev = r.e.eventOf(r.st, r.call, r.result, r.pin, r.now)
		r.ev.Score, r.ev.Scored = r.score, r.scored
		r.act.reset(r.ev, false)
	}
	return r.ev
}

// anew has the event made again, because what it is of was changed.
func (r *run) anew() {
	if r.ev == nil {
		return
	}
	if r.result != nil {
		r.ev.Result, r.ev.Score, r.ev.Scored = r.result, r.score, r.scored
	} else {
		r.ev.Args = r.call.Arguments
	}
	r.act.reset(r.ev, false)
}

// matched reports whether a rule matches. A failure is a vote for a block.
func (r *run) matched(rl *rule, stage string) bool {
	if rl.ended(r.now) {
		r.tell(rl, verdictNo, errEnded)
		return false
	}
	if rl.when == nil {
		r.tell(rl, verdictYes, nil)
		return true
	}
	if r.ev == nil && rl.when.needs()&needSession != 0 && !r.known() {
		r.fail(rl, stage, durward.Errorf(durward.Unavailable, "policy", "nothing is known of the session, because too many others were marked (limits.policy_sessions); try again later"))
		return false
	}
	r.event()
	v, err := rl.when.judge(&r.act)
	r.tell(rl, v, err)
	if v == verdictFailed {
		r.fail(rl, stage, err)
	}
	return v == verdictYes
}

var errEnded = durward.Errorf(durward.Conflict, "", "its time is over") // a constant

func (r *run) tell(rl *rule, v verdict, err error) {
	if r.trace != nil {
		r.trace(rl, v, err)
	}
}

// known reports whether the session has room among those that are known, so that
// the absence of labels means something.
func (r *run) known() bool {
	return r.dry && r.first == nil || r.e.sessions.get(sessionKey(&r.call.Caller), r.now) != nil
}

// match notes a rule that matched.
func (r *run) match(rl *rule, stage, effective string) int {
	if !r.dry {
		r.st.hits[rl.order].Add(1)
	}
	r.matches = append(r.matches, durward.Match{
		Stage: stage, Layer: rl.layer.String(), Rule: rl.src.ID, Action: rl.act.String(), Effective: effective,
		Detection: rl.detection(), Detail: rl.src.Reason,
	})
	return len(r.matches) - 1
}

// collect gathers the votes of the rules.
func (r *run) collect(stage string) {
	for _, rl := range r.plan.deciding {
		if !r.matched(rl, stage) {
			continue
		}
		at := r.match(rl, stage, rl.act.String())
		if rl.limit == nil {
			r.ballot.rules = append(r.ballot.rules, ruleVote(rl))
			continue
		}
		if r.first != nil {
			r.limitAgain(rl, at)
			continue
		}
		by := countedOf(r.call)
		if over, retry := r.st.limiters[rl.order].over(rl.limit.key(by), rl.limit.amount(by), r.now); over {
			r.overLimit(rl, retry)
			continue
		}
		r.matches[at].Effective = effectBelow
		r.pending = append(r.pending, pending{rl, at})
	}
}

func (r *run) overLimit(rl *rule, retry time.Duration) {
	v := ruleVote(rl)
	v.retry = retry
	if l := r.st.limiters[rl.order]; l.full(rl.limit.key(countedOf(r.call))) {
		v.reason += "; nothing was counted, because all counters are in use (limits.policy_counters), so the limit counts as reached"
	}
	r.ballot.rules = append(r.ballot.rules, v)
}

// conclude counts the votes, and then the call towards its limits: if one of them
// was reached meanwhile, the votes are counted again with it.
func (r *run) conclude() durward.Decision {
	for {
		winner, asks := r.st.set.decide(&r.ballot)
		late := r.reserve(winner.action)
		if late < 0 {
			return r.decision(&winner, asks)
		}
		p := r.pending[late]
		r.pending = slices.Delete(r.pending, late, late+1)
		r.matches[p.match].Effective = p.rule.act.String()
	}
}

// reserve uses up what the call needs of its limits, all or nothing. It returns the
// one that was reached, whose rule then votes; negative: none was.
func (r *run) reserve(outcome durward.Action) int {
	if r.dry || len(r.pending) == 0 || outcome == durward.Block {
		return -1
	}
	by := countedOf(r.call)
	var taken []*rule
	for i, p := range r.pending {
		if (p.rule.limit.unit == unitApprovals) != (outcome == durward.Ask) {
			continue // calls and bytes count when the call goes on, approvals when they are asked for
		}
		ok, retry := r.st.limiters[p.rule.order].take(p.rule.limit.key(by), p.rule.limit.amount(by), r.now)
		if ok {
			taken = append(taken, p.rule)
			continue
		}
		for _, rl := range taken {
			r.st.limiters[rl.order].giveBack(rl.limit.key(by), rl.limit.amount(by))
		}
		r.overLimit(p.rule, retry)
		return i
	}
	return -1
}

// decision is what is enforced and recorded.
func (r *run) decision(w *vote, asks []vote) durward.Decision {
	d := durward.Decision{
		Action: w.action, Layer: w.layer.String(), Reason: w.reason,
		Changed: r.changed, Recorded: r.recorded, Matches: r.matches,
	}
	if r.unseen && r.result == nil {
		d.Recorded = r.withheld() // of a result nothing is written down, since it is refused
	}
	if w.rule != nil {
		d.Rule = w.id
	}
	if w.action != durward.Allow {
		d.Cause, d.Disclose = w.cause, w.disclose
		if w.cause == causeLimit {
			d.RetryAfter = w.retry
		}
	}
	if w.action == durward.Ask {
		d.Question = r.st.set.question(asks, &r.call.Caller, r.changes)
	}
	for i := range d.Matches {
		m := &d.Matches[i]
		if (m.Stage == stageRequest || m.Stage == stageResponse) && m.Effective == m.Action && m.Action != w.action.String() {
			m.Effective = effectOverruled
		}
	}
	return d
}

// withheld is what is written down in place of params; nil if there are none.
func (r *run) withheld() []byte {
	switch {
	case r.given != nil:
		return wire.Withheld(r.given)
	case r.call.Params != nil && !r.owned:
		return wire.Withheld(r.call.Params)
	default:
		return nil
	}
}

// runRules runs the plugins that rules name.
func (r *run) runRules(ctx context.Context, rules []*rule) {
	var asked []*rule
	stage := r.pluginStage()
	for _, rl := range rules {
		if r.matched(rl, stage) {
			r.match(rl, stage, rl.act.String())
			asked = append(asked, rl)
		}
	}
	if len(asked) > 0 {
		r.runPlugins(ctx, asked)
	}
}

func (r *run) pluginStage() string {
	if r.result != nil {
		return stagePostprocess
	}
	return stagePreprocess
}

// runPlugins runs the plugins that run on every event (nil), or those that rules name.
func (r *run) runPlugins(ctx context.Context, asked []*rule) {
	if r.st.plugins == nil || r.dry {
		if len(asked) > 0 && !r.dry {
			r.unseen = true
			r.force(vote{action: durward.Block, rule: asked[0], layer: asked[0].layer, id: asked[0].src.ID, cause: causeEvaluation, reason: "no plugin can run here"})
		}
		return
	}
	var names []string
	for _, rl := range asked {
		if !slices.Contains(names, rl.src.Plugin) {
			names = append(names, rl.src.Plugin)
		}
	}
	kept := r.recorded
	d, labels, err := r.runOn(ctx, r.call, r.result, names)
	r.plugged(&d, asked)
	if err == nil && kept != nil && d.Changed != nil {
		err = r.keepOut(ctx, kept, names)
	}
	r.unseen = r.unseen || err != nil || d.Cause == causeEvaluation
	if err == nil && len(labels) > 0 {
		var tell string
		if tell, err = r.e.marked(&r.call.Caller, labels, r.now); tell != "" {
			r.matches = append(r.matches, labelsMatch(r.pluginStage(), tell))
		}
	}
	if err != nil {
		r.fail(nil, stageRequest, durward.Errorf(durward.KindOf(err), "plugin", "a plugin failed: %w", err))
	}
	switch {
	case len(labels) == 0:
	case r.told: // what else it says is known from nowhere else
		r.ev.Session.Labels = append(slices.Clip(r.ev.Session.Labels), labels...)
		r.act.reset(r.ev, false)
	default:
		r.ev = nil // session.labels changed
	}
}

// runOn runs plugins on a call or a result.
func (r *run) runOn(ctx context.Context, call *durward.Call, result []byte, names []string) (d durward.Decision, labels []string, err error) {
	if result == nil {
		return r.st.plugins.Preprocess(ctx, call, names)
	}
	d, labels, score, err := r.st.plugins.Postprocess(ctx, call, result, names)
	if score >= 0 {
		r.score, r.scored = max(r.score, score), true
	}
	return d, labels, err
}

// keepOut has plugins change what is to be written down as well, where an earlier
// one made that another text than what goes on: neither's findings are to be kept.
func (r *run) keepOut(ctx context.Context, kept []byte, names []string) error {
	call, result := *r.call, r.result
	if result != nil {
		result = kept
	} else {
		call.Params, call.Arguments = kept, wire.Get(kept, "arguments")
	}
	d, _, err := r.runOn(ctx, &call, result, names)
	switch {
	case d.Recorded != nil:
		r.recorded = d.Recorded
	case d.Changed != nil:
		r.recorded = d.Changed
	default:
		r.recorded = kept
	}
	return err
}

// plugged takes over what plugins did.
func (r *run) plugged(d *durward.Decision, asked []*rule) {
	for _, m := range d.Matches {
		m.Layer = Builtin.String()
		for _, rl := range asked {
			if m.Rule == "plugin:"+rl.src.Plugin {
				m.Layer, m.Rule, m.Detection = rl.layer.String(), rl.src.ID, heavier(m.Detection, rl.detection())
				break
			}
		}
		r.matches = append(r.matches, m)
	}
	if d.Action != durward.Allow && (d.Action == durward.Block || r.result == nil) {
		r.force(r.pluginVote(d, asked))
	}
	if d.Recorded != nil {
		r.recorded = d.Recorded
	}
	if d.Changed != nil {
		r.replace(d.Changed)
	}
}

// pluginVote is the vote of a plugin that wants the event stopped; of the rule that
// ran it, if one did.
func (r *run) pluginVote(d *durward.Decision, asked []*rule) vote {
	v := vote{action: d.Action, cause: causePlugin, reason: d.Reason}
	if d.Cause == causeEvaluation {
		v.cause = causeEvaluation
	}
	if v.reason == "" {
		v.reason = "a plugin refused it"
	}
	if len(asked) > 0 {
		v.rule, v.layer, v.id, v.disclose = asked[0], asked[0].layer, asked[0].src.ID, asked[0].src.Disclose == "id"
		for _, rl := range asked {
			if slices.ContainsFunc(d.Matches, func(m durward.Match) bool { return m.Rule == "plugin:"+rl.src.Plugin && m.Action == "block" }) {
				v.rule, v.layer, v.id, v.disclose = rl, rl.layer, rl.src.ID, rl.src.Disclose == "id"
				break
			}
		}
	}
	return v
}

// replace puts other params, or another result, in place of those there are.
func (r *run) replace(with []byte) {
	r.changed = with
	if r.result != nil {
		r.result = with
	} else {
		if !r.owned {
			ours := *r.call
			r.given, r.call, r.owned = r.call.Params, &ours, true
		}
		r.call.Params = with
		r.call.Arguments = wire.Get(with, "arguments")
	}
	r.anew()
}

func heavier(a, b string) string {
	if slices.Index(detections(), b) > slices.Index(detections(), a) {
		return b
	}
	return a
}

// find returns the rule of a layer, nil if there is none.
func (s *Set) find(layer, id string) *rule {
	at, ok := slices.BinarySearchFunc(s.rules, [2]string{layer, id}, func(r *rule, want [2]string) int {
		if l, err := ParseLayer(want[0]); err != nil || l != r.layer {
			return int(r.layer) - int(l)
		}
		return strings.Compare(r.src.ID, want[1])
	})
	if !ok {
		return nil
	}
	return s.rules[at]
}
