package gateway

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"durward"
	"durward/internal/catalog"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// reconsider looks once more at a call that a person approved after it had waited. What
// was approved is this call of this definition under these rules: if one of them is
// another one by now the call is not made, and what stopped it is on record.
func (g *Gateway) reconsider(ctx context.Context, p *passage, d *durward.Decision) (reply exchange.Reply, refused bool) {
	if cause, why := g.redefined(p); why != "" {
		return g.overtaken(p, &durward.Decision{Action: durward.Block, Layer: "builtin", Cause: cause, Reason: why}), true
	}
	r, ok := g.decider.(Reconsiderer)
	if !ok {
		return exchange.Reply{}, false
	}
	now := r.Reconsider(ctx, &p.call, d)
	switch {
	case now.Action == durward.Block:
		return g.overtaken(p, &now), true
	case now.Changed != nil && !bytes.Equal(now.Changed, p.call.Params):
		return g.overtaken(p, changedSince(&now, "rules rewrite it in another way since it was asked about")), true
	case now.Action == durward.Ask && !asksNoMore(&now, d):
		return g.overtaken(p, changedSince(&now, "other rules ask about it since it was asked about")), true
	default:
		return exchange.Reply{}, false
	}
}

func changedSince(now *durward.Decision, reason string) *durward.Decision {
	return &durward.Decision{Action: durward.Block, Rule: now.Rule, Layer: now.Layer, Disclose: now.Disclose, Cause: causeChanged, Reason: reason}
}

// asksNoMore reports whether what asks now was asked about.
func asksNoMore(now, before *durward.Decision) bool {
	if now.Question == nil || before.Question == nil {
		return false
	}
	return !slices.ContainsFunc(now.Question.Rules, func(rule string) bool { return !slices.Contains(before.Question.Rules, rule) })
}

// overtaken refuses a call whose approval came too late.
func (g *Gateway) overtaken(p *passage, now *durward.Decision) exchange.Reply {
	p.refused, p.approval = durward.StatusRefused, ""
	g.matched(&p.call, []durward.Match{{
		Stage: "request", Layer: now.Layer, Rule: cmp.Or(now.Rule, now.Cause), Action: durward.Block.String(), Effective: durward.Block.String(),
		Detail: "after it was approved: " + now.Reason,
	}})
	return g.refuse(p, now)
}

// redefined says why what a request is for is not what it was when it came; "" if it is.
func (g *Gateway) redefined(p *passage) (cause, why string) {
	then := p.to.entry
	if then == nil || then.Hash == "" { // resources come and go, and are not pinned
		return "", ""
	}
	now := g.offeredNow(p)
	switch {
	case now == nil:
		return causeChanged, "its server does not offer it any more"
	case now.Held != "":
		return causePin, "it is held: " + now.Held + "; see: durward pins diff " + now.Server
	case now.Hash != then.Hash || now.Server != then.Server:
		return causePin, "it is defined in another way than when it was asked about; see: durward pins diff " + now.Server
	default:
		return "", ""
	}
}

// offeredNow returns what is offered now by the name that a request used; nil: nothing.
func (g *Gateway) offeredNow(p *passage) *catalog.Entry {
	view, err := g.view(p)
	if err != nil {
		return nil
	}
	var e *catalog.Entry
	switch p.in.Method {
	case wire.MethodToolsCall:
		e, _ = view.Tool(p.to.entry.Offered)
	case wire.MethodPromptsGet:
		e, _ = view.Prompt(p.to.entry.Offered)
	case wire.MethodResourcesRead, wire.MethodSubscribe:
		to, err := view.Resource(p.call.FullName)
		if err != nil {
			return nil
		}
		e = to.Entry
	default:
		e = p.to.entry // of what else is asked about nothing is pinned
	}
	return e
}
