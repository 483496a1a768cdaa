package policy

import (
	"context"
	"slices"
	"strings"
	"time"

	"durward"
	"durward/internal/wire"
)

// Explanation says what is decided for an event, and what came of every rule.
type Explanation struct {
	Digest   string // of the set
	Decision durward.Decision
	Risk     durward.Risk // of the tool
	Pin      PinState     // empty: not known
	Rules    []RuleOutcome
}

// RuleOutcome is what came of one rule.
type RuleOutcome struct {
	Layer   Layer
	ID      string
	Pos     Pos
	Stage   string // preprocess, request, rewrite, response, postprocess
	Action  string
	Indexed bool // its index takes the event; otherwise its condition was not looked at
	Matched bool
	Decides bool
	Why     string // why it matched or not
}

// Explain says what would be decided for an event, and why, with every rule of the
// set. Nothing comes of it: nothing is counted, no plugin runs, no session is marked. Limits
// are looked at as they stand. What the event does not say of pins and session is absent.
func (e *Engine) Explain(ctx context.Context, ev *Event) Explanation {
	st := e.state.Load()
	r := e.dryRun(st, ev)
	pinned := r.ev.Type == EventMCP && r.ev.Server.Name != "" && e.opt.Pins != nil && r.ev.Tool.SchemaHash != ""
	if pinned {
		r.pin = e.pinOf(r.call)
		r.ev.Tool.Pinned, r.ev.Tool.Drifted = r.pin == PinAccepted, r.pin == PinChanged
		if ev.Tool.Risk == durward.RiskUnset {
			e.correct(r.call, r.pin) // what was accepted is believed
			r.ev.Tool.Risk = r.call.Risk
		}
	}
	why := make(map[*rule]RuleOutcome)
	r.trace = func(rl *rule, v verdict, err error) {
		if before := why[rl]; !before.Matched { // rewriting makes rules that matched once not match again
			why[rl] = outcomeOf(rl, v, err)
		}
	}
	x := Explanation{Digest: st.set.digest, Risk: r.call.Risk, Pin: r.pin}
	if r.ev.Response {
		x.Decision = r.response(ctx)
	} else {
		x.Decision = r.request(ctx)
	}
	k := keyOf(r.ev)
	for _, rl := range st.set.rules {
		out, ok := why[rl]
		if !ok {
			out = RuleOutcome{Why: rl.whyNot(k)}
		}
		out.Layer, out.ID, out.Pos, out.Action, out.Stage = rl.layer, rl.src.ID, rl.src.Pos, rl.act.String(), rl.stage()
		out.Decides = x.Decision.Rule == rl.src.ID && x.Decision.Layer == rl.layer.String()
		for i := range x.Decision.Matches {
			m := &x.Decision.Matches[i]
			if m.Rule == rl.src.ID && m.Layer == rl.layer.String() && m.Effective != m.Action {
				out.Why += "; " + m.Effective
			}
		}
		x.Rules = append(x.Rules, out)
	}
	return x
}

// DecideEvent decides about an event that is no call: a connection or an operation
// of the host tools. It counts towards limits as Decide does.
func (e *Engine) DecideEvent(ctx context.Context, ev *Event) durward.Decision {
	r := e.dryRun(e.state.Load(), ev)
	r.dry = false
	return r.request(ctx)
}

// Try decides about an event, or about its result, as the gate would about a call:
// plugins run, and limits and labels count. It is for engines that are made for it.
func (e *Engine) Try(ctx context.Context, ev *Event) durward.Decision {
	r := e.dryRun(e.state.Load(), ev)
	r.dry = false
	if r.ev.Response {
		return r.response(ctx)
	}
	return r.request(ctx)
}

// dryRun prepares a decision about an event of which nothing comes.
func (e *Engine) dryRun(st *state, ev *Event) *run {
	now := e.opt.Now()
	own := *ev
	if own.Type == "" {
		own.Type = EventMCP
	}
	if own.Now.IsZero() {
		own.Now = now
	}
	if own.Time.IsZero() {
		own.Time = own.Now
	}
	if own.Caller.Groups == nil {
		own.Caller.Groups = st.set.groups[own.Caller.Principal]
	}
	r := &run{e: e, st: st, call: own.call(), now: own.Now, dry: true, ev: &own, told: true, score: own.Score, scored: own.Scored}
	if own.Response {
		if own.Result == nil {
			own.Result = []byte("{}")
		}
		r.result = own.Result
	}
	e.correct(r.call, "")
	if own.Tool.Pinned {
		e.correct(r.call, PinAccepted)
	}
	if own.Tool.Risk != durward.RiskUnset {
		r.call.Risk = own.Tool.Risk
	}
	own.Tool.Risk = r.call.Risk
	if own.Tool.Drifted {
		r.pin = PinChanged
	}
	r.plan = st.set.index.plan(keyOf(&own), false)
	r.act.reset(&own, false)
	return r
}

// call makes the call that an event could be of.
func (ev *Event) call() *durward.Call {
	c := &durward.Call{
		ID: durward.CallID(ev.ID), Method: ev.Method, Received: ev.Time, RequestID: ev.Request, Server: ev.Server.Name,
		Transport: durward.Transport(ev.Server.Transport), Arguments: ev.Args,
		Caller: durward.Caller{
			Principal: ev.Caller.Principal, Entrance: durward.Entrance(ev.Caller.Entrance), Session: durward.SessionID(ev.Session.ID),
			Process: ev.Caller.Process, Client: durward.ClientInfo{Name: ev.Caller.ClientName, Version: ev.Caller.ClientVersion},
		},
	}
	var members []wire.Member
	switch {
	case ev.Tool.Name != "":
		c.Name, c.FullName = ev.Tool.Name, ev.Tool.FullName
		c.Tool = &durward.Tool{Annotations: ev.Tool.Annotations, Hash: ev.Tool.SchemaHash, Floor: ev.Server.Risk}
		members = append(members, wire.Member{Name: "name", Value: wire.AppendQuote(nil, c.Name)})
	case ev.Prompt != "":
		c.Name, c.FullName = ev.Prompt, ev.Prompt
		members = append(members, wire.Member{Name: "name", Value: wire.AppendQuote(nil, c.Name)})
	case ev.Resource != "":
		c.Name, c.FullName = ev.Resource, ev.Resource
		members = append(members, wire.Member{Name: "uri", Value: wire.AppendQuote(nil, c.Name)})
	}
	if ev.Args != nil {
		members = append(members, wire.Member{Name: "arguments", Value: ev.Args})
	}
	if members != nil {
		c.Params = wire.AppendObject(nil, nil, nil, members...)
	}
	return c
}

func outcomeOf(r *rule, v verdict, err error) RuleOutcome {
	out := RuleOutcome{Indexed: true, Matched: v == verdictYes}
	switch {
	case err != nil && v == verdictNo:
		out.Why = err.Error()
	case v == verdictYes && r.when == nil:
		out.Why = "it has no condition"
	case v == verdictYes:
		out.Why = "its condition is true"
	case v == verdictNo:
		out.Why = "its condition is false"
	case v == verdictAbsent:
		out.Why = "its condition touches what is absent: " + err.Error()
	default:
		out.Why = "its condition could not be evaluated, which blocks: " + err.Error()
	}
	return out
}

// whyNot says what of its index does not take an event.
func (r *rule) whyNot(k planKey) string {
	switch {
	case r.response && !k.response:
		return "it is for results"
	case !r.response && k.response:
		return "it is for requests"
	case len(r.methods) > 0 && !slices.Contains(r.methods, k.method):
		return "it is for " + strings.Join(r.methods, ", ")
	case !matchAny(r.servers, k.server):
		return "it is for other servers: " + strings.Join(r.src.Servers, ", ")
	case !matchAny(r.tools, k.tool):
		return "it is for other tools: " + strings.Join(r.src.Tools, ", ")
	case r.act == actRewrite:
		return "there are no arguments to rewrite"
	default:
		return "it was not reached, because something before it failed"
	}
}

// stage is where the rule acts.
func (r *rule) stage() string {
	switch {
	case r.act == actPreprocess:
		return stagePreprocess
	case r.act == actPostprocess:
		return stagePostprocess
	case r.act == actRewrite:
		return stageRewrite
	case r.response:
		return stageResponse
	default:
		return stageRequest
	}
}

// RuleInfo is one rule of a set.
type RuleInfo struct {
	Layer Layer
	Rule  Rule // as written, with its place
	Stage string
	Limit string // in words: 30 calls per 1m by principal+tool; empty: none
	Hits  int64  // how often it matched since it is there; only from an engine
}

// Rules lists the rules in the order of (layer, id).
func (s *Set) Rules() []RuleInfo {
	out := make([]RuleInfo, 0, len(s.rules))
	for _, r := range s.rules {
		info := RuleInfo{Layer: r.layer, Rule: r.src, Stage: r.stage()}
		if r.limit != nil {
			info.Limit = r.limit.String()
		}
		out = append(out, info)
	}
	return out
}

// Rules lists the rules that decide now, with how often each matched.
func (e *Engine) Rules() []RuleInfo {
	st := e.state.Load()
	out := st.set.Rules()
	for i := range out {
		out[i].Hits = st.hits[i].Load()
	}
	return out
}

// Digest identifies what decides now.
func (e *Engine) Digest() string { return e.state.Load().set.digest }

// String renders "30 calls per 1m by principal+tool".
func (l *limit) String() string {
	n := itoa(int(l.n)) + " " + [...]string{"calls", "bytes", "approvals"}[l.unit]
	if size := Bytes(l.n).String(); l.unit == unitBytes {
		if n = size; size[len(size)-1] <= '9' {
			n += " bytes"
		}
	}
	return n + " per " + shortDuration(l.per) + " by " + strings.Join(l.by, "+")
}

// shortDuration renders 1m0s as 1m, and 24h as 1d.
func shortDuration(d time.Duration) string {
	const day = 24 * time.Hour
	if d%day == 0 {
		return itoa(int(d/day)) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
