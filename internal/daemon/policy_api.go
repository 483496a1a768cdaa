package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"durward"
	"durward/client"
	"durward/internal/config"
	"durward/internal/control"
	"durward/internal/identity"
	"durward/internal/wire"
	"durward/internal/yamlx"
	"durward/policy"
)

// rules are what decides calls, for the service API.
type rules Service

var _ control.Policy = (*rules)(nil)

// Rules implements control.Policy: the highest layer first.
func (r *rules) Rules(context.Context) (*client.PolicyRules, error) {
	out := &client.PolicyRules{Digest: r.judge.engine.Digest(), Rules: []client.PolicyRule{}}
	all := r.judge.engine.Rules()
	slices.SortStableFunc(all, func(a, b policy.RuleInfo) int { return cmp.Compare(b.Layer, a.Layer) })
	for i := range all {
		info, one := &all[i], &all[i].Rule
		out.Rules = append(out.Rules, client.PolicyRule{
			Layer: info.Layer.String(), ID: one.ID, File: one.Pos.File, Line: one.Pos.Line, Phase: cmp.Or(one.Phase, "request"),
			On: one.On, Servers: one.Servers, Tools: one.Tools, When: one.When, Action: one.Action, Detection: one.Detection,
			Reason: one.Reason, Limit: info.Limit, Until: one.Until, Hits: info.Hits,
		})
	}
	return out, nil
}

// Effective implements control.Policy.
func (r *rules) Effective(ctx context.Context, session string) (*client.EffectivePolicy, error) {
	set := r.judge.engine.Set()
	out := &client.EffectivePolicy{Digest: set.Digest(), Session: session, Lines: []client.PolicyLine{}}
	for _, l := range set.Effective() {
		out.Lines = append(out.Lines, client.PolicyLine{Text: l.Text, Layer: l.Layer.String(), File: l.Pos.File, Line: l.Pos.Line})
	}
	if session == "" {
		return out, nil
	}
	if r.ledger == nil {
		return nil, durward.Errorf(durward.Unavailable, "ledger", "sessions are on record only with a ledger, and there is none (ledger.enabled)")
	}
	begun, err := r.ledger.current(ctx).Session(ctx, durward.SessionID(session))
	if err != nil {
		return nil, err
	}
	out.SessionDigest = begun.Policy
	return out, nil
}

// Explain implements control.Policy.
func (r *rules) Explain(ctx context.Context, _ durward.Caller, in client.ExplainRequest) (*client.Explanation, error) {
	ev, err := r.event(ctx, &in)
	if err != nil {
		return nil, err
	}
	x := r.judge.engine.Explain(ctx, ev)
	out := &client.Explanation{
		Digest: x.Digest, Action: x.Decision.Action.String(), Rule: x.Decision.Rule, Layer: x.Decision.Layer, Cause: x.Decision.Cause,
		Reason: x.Decision.Reason, Risk: x.Risk.String(), Pin: x.Pin, Rules: []client.ExplainedRule{},
	}
	for _, one := range x.Rules {
		if !one.Indexed && in.Event == nil && one.Layer != policy.Corp && len(x.Rules) > explainedMost {
			continue // the indexes of most rules do not take the event: what they are for is told by the list of rules
		}
		out.Rules = append(out.Rules, client.ExplainedRule{
			Layer: one.Layer.String(), ID: one.ID, File: one.Pos.File, Line: one.Pos.Line, Stage: one.Stage, Action: one.Action,
			Indexed: one.Indexed, Matched: one.Matched, Decides: one.Decides, Why: one.Why,
		})
	}
	return out, nil
}

// explainedMost is the number of rules up to which those are explained, too, whose
// index does not take the event.
const explainedMost = 500

// event is what a request to explain is about. Of a tool that the catalog knows, the
// event says what the gate would see.
func (r *rules) event(ctx context.Context, in *client.ExplainRequest) (*policy.Event, error) {
	ev := &policy.Event{Type: policy.EventMCP, Method: wire.MethodToolsCall, Caller: policy.EventCaller{
		Principal: identity.PrincipalLocal, Entrance: string(durward.EntranceConsole),
	}}
	if len(in.Event) > 0 {
		var err error
		if ev, err = policy.EventFromJSON(in.Event); err != nil {
			return nil, err
		}
	}
	ev.Server.Name, ev.Tool.Name = cmp.Or(in.Server, ev.Server.Name), cmp.Or(in.Tool, ev.Tool.Name)
	ev.Caller.Principal = cmp.Or(in.Principal, ev.Caller.Principal)
	if len(in.Arguments) > 0 {
		if !isObject(in.Arguments) {
			return nil, durward.Errorf(durward.Invalid, "arguments", "must be a JSON object")
		}
		ev.Args = in.Arguments
	}
	if in.Session != "" {
		ev.Session.ID = in.Session
		ev.Session.Labels = r.judge.engine.Labels(&durward.Caller{Session: durward.SessionID(in.Session)})
	}
	if ev.Method != wire.MethodToolsCall || ev.Server.Name == "" || ev.Tool.Name == "" {
		return ev, nil
	}
	known, err := r.gateway.ToolCall(ctx, ev.Server.Name, ev.Tool.Name)
	switch {
	case err == nil:
		ev.Tool.FullName, ev.Tool.Annotations, ev.Tool.SchemaHash = known.FullName, known.Tool.Annotations, known.Tool.Hash
		ev.Server.Risk, ev.Server.Transport = known.Tool.Floor, string(known.Transport)
		ev.Tool.Risk = cmp.Or(ev.Tool.Risk, known.Tool.Set)
	case len(in.Event) == 0:
		return nil, err
	}
	return ev, nil
}

func isObject(data []byte) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(data, &object) == nil && object != nil
}

// AddRule implements control.Policy.
func (r *rules) AddRule(ctx context.Context, by durward.Caller, in client.NewRule) (*client.PolicyEdit, error) {
	id := ""
	if rule := yamlx.Parse("rule", []byte(in.Text), yamlx.Limits{}).Tree(); rule != nil {
		if v := rule.Get("id"); v != nil {
			id = v.Text
		}
	}
	edit, err := r.edit(ctx, &by, "rule add", id, func(file string, data []byte) ([]byte, int, error) {
		return config.AddRule(file, data, in.Text)
	})
	if err != nil {
		return nil, err
	}
	edit.ID = id
	return edit, nil
}

// SetTool implements control.Policy.
func (r *rules) SetTool(ctx context.Context, by durward.Caller, t client.ToolAction) (*client.PolicyEdit, error) {
	switch t.Action {
	case durward.Allow.String(), durward.Ask.String(), durward.Block.String():
	default:
		return nil, durward.Errorf(durward.Invalid, "action", "%q is not one of allow, ask, block", t.Action)
	}
	if _, err := r.gateway.ServerStderr(t.Server); err != nil {
		return nil, err
	}
	return r.edit(ctx, &by, "tool "+t.Action, t.Server+"/"+t.Tool, func(file string, data []byte) ([]byte, int, error) {
		return config.SetTool(file, data, t.Server, t.Tool, t.Action)
	})
}

// edit changes the policy in the user's file and takes it into use.
func (r *rules) edit(ctx context.Context, by *durward.Caller, what, target string, change func(file string, data []byte) ([]byte, int, error)) (*client.PolicyEdit, error) {
	s := (*Service)(r)
	s.changes.Lock()
	defer s.changes.Unlock()
	out := &client.PolicyEdit{Old: s.judge.engine.Digest(), File: s.file()}
	c := changed(by, what, target)
	c.Who = answerer(by)
	_, _, err := s.edit(ctx, c, func(file string, data []byte) (after []byte, err error) {
		after, out.Line, err = change(file, data)
		return after, err
	})
	if err != nil {
		return nil, err
	}
	out.New = s.judge.engine.Digest()
	s.events.tell(client.Event{Type: client.EventReload, At: time.Now(), Reload: &client.Reloaded{File: s.file(), Servers: len(s.config.Servers)}})
	return out, nil
}
