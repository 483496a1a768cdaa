package daemon

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"

	"durward"
	"durward/client"
	"durward/gateway"
	"durward/internal/approval"
	"durward/internal/control"
	"durward/internal/secret"
	"durward/internal/yamlx"
	"durward/ledger"
)

var _ gateway.Approver = (*approval.Desk)(nil)

// openDesk opens the desk where people answer, with the approver credential and the
// notices. The ledger and what decides calls are open.
func (s *Service) openDesk(ctx context.Context) error {
	tokens, err := apiTokens(s.config, control.Approve)
	if err != nil {
		return err
	}
	s.generated = append(s.generated, secret.New(tokens[0].Secret)) // concealed when the gateway starts
	s.approver = sha256.Sum256([]byte(tokens[0].Secret))
	n, err := newNotices(noticesOptions{Settings: s.asking, Redact: s.withoutSecrets, Version: s.opt.Version, Log: s.log})
	if err != nil {
		return err
	}
	s.later(n.close)
	limits := s.config.Approvals
	s.desk, err = approval.New(ctx, approval.Options{
		Store: s.judge.store, Record: s.recordStep, Most: limits.Most, Life: limits.Life, Grants: limits.Grants,
		Present: n.reach, Notify: n.tell, Redact: s.withoutSecrets, Log: s.log,
	})
	if err != nil {
		return err
	}
	s.later(s.desk.Close)
	if s.ledger != nil {
		s.ledger.ended = func(id durward.SessionID) {
			s.desk.SessionEnded(id)
			s.judge.engine.Forget(id)
		}
	}
	return nil
}

// asking are the settings of how people are asked, as they are now.
func (s *Service) asking() noticesSettings {
	a := s.judge.engine.Set().Approvals()
	return noticesSettings{Attended: a.Attended, Desktop: a.Desktop, Webhook: a.Webhook}
}

// recordStep writes down how far a question is, and returns when that is committed.
func (s *Service) recordStep(ctx context.Context, step approval.Step) error {
	if s.ledger == nil {
		return nil
	}
	return s.ledger.Append(ctx, &ledger.Approval{
		ID: step.ID, Call: step.Call, At: step.At.UTC().Truncate(time.Microsecond), Status: string(step.Status), By: step.By,
		Reason: string(s.withoutSecrets([]byte(step.Reason))), Scope: string(step.Scope),
	})
}

// ownerScope is what who speaks on the unix socket may do. The owner of the service
// may operate it; to answer takes the approver credential, which stands in for all
// else: who grants does not ask.
func (s *Service) ownerScope(r *http.Request) control.Scope {
	const scheme = "bearer "
	headers := r.Header["Authorization"]
	if len(headers) != 1 || len(headers[0]) <= len(scheme) || !strings.EqualFold(headers[0][:len(scheme)], scheme) {
		return control.Operate
	}
	got := sha256.Sum256([]byte(strings.TrimSpace(headers[0][len(scheme):])))
	if subtle.ConstantTimeCompare(got[:], s.approver[:]) == 1 {
		return control.Approve
	}
	return control.Operate
}

// approvals are the questions to people, for the service API.
type approvals Service

var _ control.Approvals = (*approvals)(nil)

// List implements control.Approvals.
func (a *approvals) List() ([]client.Approval, error) {
	out := []client.Approval{}
	for _, q := range a.desk.List() {
		out = append(out, *asked(&q))
	}
	return out, nil
}

// Show implements control.Approvals.
func (a *approvals) Show(id string) (*client.ApprovalDetail, error) {
	d, err := a.desk.Get(id)
	if err != nil {
		return nil, err
	}
	return detailed(d), nil
}

// Answer implements control.Approvals.
func (a *approvals) Answer(ctx context.Context, by durward.Caller, id string, in client.ApprovalAnswer) (*client.ApprovalRecord, error) {
	r := approval.Reply{Approve: in.Approve, Scope: in.Scope, Patterns: in.Patterns, Reason: in.Reason, By: answerer(&by)}
	if in.For != "" {
		d, ok := yamlx.ParseDuration(in.For)
		if !ok || d <= 0 {
			return nil, durward.Errorf(durward.Invalid, "", "for must be a time such as 12h or 30d, is %q", in.For)
		}
		if r.For = d; r.Scope == "" {
			r.Scope = durward.ScopeGrant
		}
	}
	step, err := a.desk.Answer(ctx, id, r)
	if err != nil {
		return nil, err
	}
	return stepped(&step), nil
}

// answerer names who answers, for the record.
func answerer(by *durward.Caller) string { return who(by) + " with the approver credential" }

// Watch implements control.Approvals.
func (a *approvals) Watch(f func(client.ApprovalEvent)) (stop func(), err error) {
	return a.desk.Watch(func(e approval.Event) {
		out := client.ApprovalEvent{Type: client.ApprovalAnswered, At: time.Now()}
		if e.Asked != nil {
			out.Type, out.Approval = client.ApprovalPending, asked(e.Asked)
		} else {
			out.Answer = stepped(e.Answer)
		}
		f(out)
	}), nil
}

// Grants implements control.Approvals.
func (a *approvals) Grants() control.Grants { return (*grants)(a) }

// grants are the answers that hold again, for the service API.
type grants Service

// List implements control.Grants.
func (g *grants) List() ([]client.Grant, error) {
	out := []client.Grant{}
	for _, one := range g.desk.Grants() {
		out = append(out, *granted(&one))
	}
	return out, nil
}

// Revoke implements control.Grants. What takes rights away is done even if it
// cannot be recorded; the log says so then.
func (g *grants) Revoke(ctx context.Context, by durward.Caller, id string) (*client.Grant, error) {
	s := (*Service)(g)
	one, err := s.desk.Revoke(ctx, id)
	if one.ID != "" {
		c := changed(&by, "grant revoke", one.ID)
		c.Detail = one.Principal + " " + one.Server + " " + one.Tool
		if unrecorded := s.record(context.WithoutCancel(ctx), c); unrecorded != nil {
			s.log.Error("that a grant was revoked is not on record", "grant", one.ID, "error", unrecorded)
		}
	}
	if err != nil {
		return nil, err
	}
	return granted(&one), nil
}
