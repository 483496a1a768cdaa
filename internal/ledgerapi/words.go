package ledgerapi

import (
	"encoding/hex"
	"encoding/json"
	"strings"

	"durward"
	"durward/client"
	"durward/ledger"
)

// Call is a call with how it ended, if it has.
func Call(row *ledger.Row) client.CallRecord {
	i := &row.Intent
	r := client.CallRecord{
		ID: i.ID, Session: i.Session, Parent: i.Parent, TraceID: Hex(i.TraceID[:]), SpanID: Hex(i.SpanID[:]), IntentAt: i.At,
		Principal: i.Principal, Entrance: i.Entrance, Process: i.Process, Client: client.ClientSays(i.Client), Route: i.Route, Era: i.Era,
		Origin: string(i.Origin), Transport: i.Transport, Server: i.Server, Method: i.Method, Tool: i.Tool, FullName: i.FullName,
		RequestID: i.RequestID, Decision: i.Action.String(), Rule: i.Rule, Layer: i.Layer, Reason: i.Reason,
		BytesIn: i.BytesIn, Request: i.Preview, RequestBody: Hex(i.Body[:]), Status: client.StatusDispatched,
	}
	if i.Risk != durward.RiskUnset {
		r.Risk = i.Risk.String()
	}
	if o := row.Outcome; o != nil {
		r.Status, r.DispatchedAt, r.OutcomeAt, r.DurationUS = string(o.Status), o.Dispatched, o.At, o.Duration.Microseconds()
		r.Attempts, r.BytesOut, r.Error, r.Response, r.ResponseBody = o.Attempts, o.BytesOut, o.Error, o.Preview, Hex(o.Body[:])
	}
	return r
}

// Hex writes bytes in hex; "" if all are zero, which means that there are none.
func Hex(b []byte) string {
	text := hex.EncodeToString(b)
	if strings.Trim(text, "0") == "" {
		return ""
	}
	return text
}

// Link is a link of the chain.
func Link(l *ledger.Link) client.LinkRecord {
	return client.LinkRecord{Seq: l.Seq, At: l.At, Records: l.Records, Hash: Hex(l.Hash[:])}
}

// Story is everything about a call.
func Story(s *ledger.Story) *client.CallStory {
	out := &client.CallStory{
		Call: Call(&s.Row), Link: Link(&s.Link),
		Decisions: []client.DecisionRecord{}, Approvals: []client.ApprovalRecord{}, Flows: []client.FlowRecord{},
	}
	for _, d := range s.Decisions {
		out.Decisions = append(out.Decisions, client.DecisionRecord{
			At: d.At, Stage: d.Stage, Layer: d.Layer, Rule: d.Rule, Action: d.Action, Effective: d.Effective, Detection: d.Detection, Detail: d.Detail,
		})
	}
	for _, a := range s.Approvals {
		out.Approvals = append(out.Approvals, client.ApprovalRecord{ID: a.ID, At: a.At, Status: a.Status, By: a.By, Reason: a.Reason, Scope: a.Scope})
	}
	for _, f := range s.Flows {
		out.Flows = append(out.Flows, client.FlowRecord{
			At: f.At, Server: f.Server, Method: f.Method, Host: f.Host, IP: f.IP, Port: f.Port, Path: f.Path, Status: f.Status,
			BytesIn: f.BytesIn, BytesOut: f.BytesOut, Decision: f.Decision,
		})
	}
	return out
}

// Moment is one thing in a timeline.
func Moment(m *ledger.Moment) client.Moment {
	return client.Moment{
		At: m.At, Layer: m.Layer, Ref: m.Ref, Summary: m.Summary, Status: m.Status, DurationUS: m.Duration.Microseconds(), TraceID: m.TraceID,
	}
}

// Stats are counts over calls.
func Stats(s *ledger.Stats) *client.CallStats {
	out := &client.CallStats{
		Calls: s.Calls, ByStatus: map[string]int64{}, ByAction: map[string]int64{}, ByServer: []client.ServerCalls{}, ByTool: []client.ToolCalls{},
		BytesIn: s.BytesIn, BytesOut: s.BytesOut, Duration: quantiles(s.Duration),
	}
	for status, n := range s.ByStatus {
		out.ByStatus[string(status)] = n
	}
	for action, n := range s.ByAction {
		out.ByAction[action] = n
	}
	for _, v := range s.ByServer {
		out.ByServer = append(out.ByServer, client.ServerCalls{Server: v.Server, Calls: v.Calls, NotOK: v.NotOK, BytesIn: v.BytesIn, BytesOut: v.BytesOut})
	}
	for _, v := range s.ByTool {
		out.ByTool = append(out.ByTool, client.ToolCalls{Server: v.Server, Tool: v.Tool, Calls: v.Calls, NotOK: v.NotOK, Duration: quantiles(v.Duration)})
	}
	return out
}

func quantiles(q ledger.Quantiles) client.Quantiles {
	return client.Quantiles{P50: q.P50.Microseconds(), P95: q.P95.Microseconds(), P99: q.P99.Microseconds()}
}

// Verified is what a check found.
func Verified(r *ledger.Report) (*client.Verified, error) {
	var v client.Verified
	return &v, again(r, &v)
}

// Report is what a check found, as it was before [Verified].
func Report(v *client.Verified) (*ledger.Report, error) {
	var r ledger.Report
	return &r, again(v, &r)
}

// again writes one form and reads it as the other: their JSON is the same, as a test sees to.
func again(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}
