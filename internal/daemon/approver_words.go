package daemon

import (
	"encoding/json"

	"durward/client"
	"durward/internal/approval"
)

// asked is a question in the words of the service API.
func asked(q *approval.Asked) *client.Approval {
	rules := q.Rules
	if rules == nil {
		rules = []string{}
	}
	return &client.Approval{
		ID: q.ID, Call: q.Call, Asked: q.At, Deadline: q.Deadline, Principal: q.Caller.Principal, Entrance: q.Caller.Entrance,
		Session: q.Caller.Session, Process: q.Caller.Process, Client: client.ClientSays{Name: q.Caller.Client.Name, Version: q.Caller.Client.Version},
		Route: q.Route.String(), Method: q.Method, Server: q.Server, Tool: q.Tool, FullName: q.FullName, Risk: q.Risk.String(),
		Rules: rules, Reason: q.Text, Remember: q.Remember,
	}
}

func detailed(d *approval.Detail) *client.ApprovalDetail {
	out := &client.ApprovalDetail{
		Approval: *asked(&d.Asked), Arguments: rawJSON(d.Arguments), Digest: d.Digest, Pin: d.Pin,
		Changes: []client.ArgumentChange{}, Matches: []client.DecisionRecord{},
	}
	for _, c := range d.Changes {
		out.Changes = append(out.Changes, client.ArgumentChange{Path: c.Path, Rule: c.Rule, Old: rawJSON(c.Old), New: rawJSON(c.New)})
	}
	for _, m := range d.Matches {
		out.Matches = append(out.Matches, client.DecisionRecord{
			At: d.At, Stage: m.Stage, Layer: m.Layer, Rule: m.Rule, Action: m.Action, Effective: m.Effective, Detection: m.Detection, Detail: m.Detail,
		})
	}
	return out
}

// rawJSON is what was JSON before secrets were taken out of it; a string if it is
// none any more.
func rawJSON(raw []byte) json.RawMessage {
	if raw == nil || json.Valid(raw) {
		return raw
	}
	text, _ := json.Marshal(string(raw)) // a string always encodes
	return text
}

func stepped(s *approval.Step) *client.ApprovalRecord {
	return &client.ApprovalRecord{ID: s.ID, At: s.At, Status: string(s.Status), By: s.By, Reason: s.Reason, Scope: string(s.Scope)}
}

func granted(g *approval.Grant) *client.Grant {
	out := &client.Grant{
		ID: g.ID, Scope: g.Scope, Session: g.Session, Principal: g.Principal, Rules: g.Rules, Method: g.Method, Server: g.Server, Tool: g.Tool,
		Pin: g.Pin, Digest: g.Arguments, Preview: g.Preview, Created: g.Created, Expires: g.Expires, By: g.By, Reason: g.Reason,
	}
	if out.Rules == nil {
		out.Rules = []string{}
	}
	for _, p := range g.Patterns {
		if out.Patterns == nil {
			out.Patterns = map[string]string{}
		}
		out.Patterns[p.Pointer] = p.Glob
	}
	return out
}
