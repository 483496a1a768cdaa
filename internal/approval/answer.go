package approval

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"durward"
)

// find finds a call that is parked and may be answered; mu is held.
func (d *Desk) find(id string) (*parked, error) {
	var ids []string
	for other, p := range d.calls {
		if p.shown {
			ids = append(ids, other)
		}
	}
	at, err := choose(ids, id, "approval")
	if err == nil {
		p := d.calls[ids[at]]
		if p.taken {
			return nil, durward.Errorf(durward.Conflict, "approval "+p.id, "it was answered just now, or ran out of time")
		}
		return p, nil
	}
	for _, s := range slices.Backward(d.answered) {
		if len(written(id)) >= prefixLeast && strings.HasPrefix(s.ID, written(id)) {
			return nil, durward.Errorf(durward.Conflict, "approval "+s.ID, "it is over: %s by %s", s.Status, s.By)
		}
	}
	return nil, err
}

// choose returns which identifier a person means.
func choose(ids []string, id, what string) (int, error) {
	want, found := written(id), -1
	for i, full := range ids {
		if full == want {
			return i, nil
		}
		if len(want) < prefixLeast || !strings.HasPrefix(full, want) {
			continue
		}
		if found >= 0 {
			return 0, durward.Errorf(durward.Invalid, "", "more than one %s begins with %q; write more of it", what, want)
		}
		found = i
	}
	if found < 0 {
		return 0, durward.Errorf(durward.NotFound, "", "there is no %s %q; it is over, or never was (%d letters of an id are the least)", what, cut(id, 40), prefixLeast)
	}
	return found, nil
}

// Answer answers a question, and returns when that is on record. The first answer
// counts; for any other the error is of kind Conflict. id may be a prefix of at
// least 4 letters that only one has. An error of kind Unavailable says that the
// answer could not be recorded, which denied the call, or that it could not be
// remembered and was for this call only.
func (d *Desk) Answer(ctx context.Context, id string, r Reply) (Step, error) {
	p, g, err := d.accept(id, &r)
	if err != nil {
		return Step{}, err
	}
	s := Step{ID: p.id, Call: p.call.ID, At: d.opt.Now(), Status: Denied, By: r.By, Reason: r.Reason, Scope: r.Scope}
	if r.Approve {
		s.Status = Approved
	}
	if err := d.recordAnswer(ctx, s); err != nil {
		no := Step{ID: s.ID, Call: s.Call, At: s.At, Status: Denied, By: ByService, Reason: reasonUnrecorded}
		d.over(no)
		p.answer <- answerOf(&no)
		return no, err
	}
	if g != nil { // after the record: what is not on record was never granted
		err = d.keep(ctx, g)
	}
	d.over(s)
	p.answer <- answerOf(&s)
	return s, err
}

// accept checks an answer against its question and takes the question, so that no
// other answer counts. Until one is sent its call and decision may be read.
func (d *Desk) accept(id string, r *Reply) (*parked, *Grant, error) {
	if r.By == "" {
		return nil, nil, durward.Errorf(durward.Internal, "approvals", "an answer needs somebody who gives it")
	}
	r.Reason = cut(strings.TrimSpace(r.Reason), reasonMost)
	d.mu.Lock()
	defer d.mu.Unlock()
	p, err := d.find(id)
	if err != nil {
		return nil, nil, err
	}
	if !r.Approve {
		r.Scope = ""
		if r.For != 0 || len(r.Patterns) > 0 {
			return nil, nil, durward.Errorf(durward.Invalid, "approval "+p.id, "a denial is for this call only")
		}
		p.taken = true
		return p, nil, nil
	}
	g, err := d.remember(p, r)
	if err != nil {
		return nil, nil, err
	}
	p.taken = true
	return p, g, nil
}

// remember makes the grant of an approval; nil for one that is for the call only.
// mu is held.
func (d *Desk) remember(p *parked, r *Reply) (*Grant, error) {
	op := "approval " + p.id
	if r.Scope == "" {
		r.Scope = durward.ScopeCall
	}
	if r.For != 0 && r.Scope != durward.ScopeGrant {
		return nil, durward.Errorf(durward.Invalid, op, "only a grant has a time for which it holds")
	}
	if r.Scope == durward.ScopeCall {
		if len(r.Patterns) > 0 {
			return nil, durward.Errorf(durward.Invalid, op, "patterns widen what is remembered, and an answer for this call only is not")
		}
		return nil, nil //nolint:nilnil // nothing is remembered, and that is no error
	}
	if err := d.permits(p, r); err != nil {
		return nil, err
	}
	arguments := p.arguments()
	patterns, err := patternsOf(r.Patterns, arguments)
	if err != nil {
		return nil, err
	}
	g := &Grant{
		ID: p.id, Binding: bindingOf(p.call, &p.question.Question, arguments), Patterns: patterns, Scope: r.Scope,
		Created: d.opt.Now(), By: r.By, Reason: r.Reason,
		Preview: cut(string(d.redacted(bytes.Clone(p.presentable()))), previewMost), // redacted as a whole: a cut could hide a secret from it
	}
	if len(patterns) > 0 {
		rest, _ := without(arguments, patterns) // they match: patternsOf looked
		g.Arguments = digest(rest)
	}
	if r.Scope == durward.ScopeSession {
		g.Session = p.call.Caller.Session
	} else {
		g.Expires = g.Created.Add(r.For)
	}
	return g, nil
}

// permits reports whether a question may be answered with a scope; mu is held.
func (d *Desk) permits(p *parked, r *Reply) error {
	op := "approval " + p.id
	switch {
	case r.Scope != durward.ScopeSession && r.Scope != durward.ScopeGrant:
		return durward.Errorf(durward.Invalid, op, "an answer is for call, session or grant, not for %q", cut(string(r.Scope), 40))
	case p.question.Remember == durward.ScopeCall,
		p.question.Remember == durward.ScopeSession && r.Scope == durward.ScopeGrant:
		return durward.Errorf(durward.Denied, op, "the rules that ask permit an answer for %s at most (ask.remember)", p.question.Remember)
	case p.call.Method == "tools/call" && pinOf(p.call) == "":
		return durward.Errorf(durward.Denied, op, "the definition of the tool is not known, so that an answer can be for this call only")
	case r.Scope == durward.ScopeSession && p.call.Caller.Session == "":
		return durward.Errorf(durward.Invalid, op, "the client has no session; answer for this call, or with a grant")
	case r.Scope == durward.ScopeSession:
		if d.grants.count(func(g *Grant) bool { return g.Session == p.call.Caller.Session }) >= d.opt.Grants {
			return durward.Errorf(durward.Unavailable, op, "the session has %d answers that hold for it already (limits.grants)", d.opt.Grants)
		}
		return nil
	case d.opt.Store == nil:
		return durward.Errorf(durward.Unavailable, op, "grants are not kept here; answer for this call, or for the session")
	case d.grants.count(func(g *Grant) bool { return g.Scope == durward.ScopeGrant && g.Principal == p.call.Caller.Principal }) >= d.opt.Grants:
		return durward.Errorf(durward.Unavailable, op, "%s has %d grants already (limits.grants); revoke some: durward grants list", p.call.Caller.Principal, d.opt.Grants)
	}
	if r.For == 0 {
		r.For = GrantFor
	}
	if r.For < GrantLeast || r.For > GrantMost {
		return durward.Errorf(durward.Invalid, op, "a grant holds for 1 minute to 366 days, not for %s", r.For)
	}
	return nil
}

// keep brings a grant into force.
func (d *Desk) keep(ctx context.Context, g *Grant) error {
	if g.Scope == durward.ScopeGrant {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWait)
		defer cancel()
		if err := d.opt.Store.AddGrant(ctx, g); err != nil {
			d.opt.Log.Error("an approval cannot be remembered; it is for the one call only", "approval", g.ID, "error", err)
			return durward.Errorf(durward.Unavailable, "approval "+g.ID, "the call was approved, but that cannot be remembered: %w", err)
		}
	}
	d.mu.Lock()
	d.grants.add(g)
	now := d.opt.Now()
	old := d.grants.remove(func(g *Grant) bool { return g.Scope == durward.ScopeGrant && !now.Before(g.Expires) })
	d.mu.Unlock()
	for _, g := range old {
		if err := d.opt.Store.RemoveGrant(ctx, g.ID); err != nil {
			d.opt.Log.Warn("a grant that ran out stays in the store until the service starts anew", "grant", g.ID, "error", err)
		}
	}
	return nil
}
