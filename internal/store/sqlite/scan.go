package sqlite

import (
	"fmt"
	"time"

	"durward"
	"durward/ledger"
)

// fields takes the columns of a row one after the other. The first that cannot have
// been written by us makes the row bad: each value has one form, so that two rows that
// say the same are the same.
type fields struct {
	row []value
	at  int
	bad int // 1 + the column; 0: none
}

func (f *fields) take() value {
	f.at++
	return f.row[f.at-1]
}

func (f *fields) check(ok bool) {
	if !ok && f.bad == 0 {
		f.bad = f.at
	}
}

func (f *fields) number() int64 {
	n, ok := f.take().(int64)
	f.check(ok)
	return n
}

// small is a number of at most most.
func (f *fields) small(most int64) uint8 {
	n := f.number()
	f.check(0 <= n && n <= most)
	return uint8(n)
}

func (f *fields) text() string {
	s, ok := f.take().(string)
	f.check(ok)
	return s
}

// optional is a text for which NULL stands when it is empty.
func (f *fields) optional() string {
	v := f.take()
	s, ok := v.(string)
	f.check(ok && s != "" || v == nil)
	return s
}

func (f *fields) id() string {
	v := f.take()
	s, ok := idText(v)
	_, asText := v.(string)
	_, textual := idValue(s).(string)
	f.check(ok && v != nil && asText == textual)
	return s
}

// optionalID is an identifier for which NULL stands when it is empty.
func (f *fields) optionalID() string {
	if f.row[f.at] == nil {
		f.at++
		return ""
	}
	s := f.id()
	f.check(s != "")
	return s
}

func (f *fields) time() time.Time {
	t, ok := microTime(f.take())
	f.check(ok)
	return t
}

// bytes fills a fixed number of bytes; NULL leaves them zero.
func (f *fields) bytes(to []byte) {
	v := f.take()
	b, ok := v.([]byte)
	f.check(v == nil || ok && len(b) == len(to) && bytesValue(b) != nil)
	copy(to, b)
}

// source is a table of records: how it is read, and what a row says.
type source struct {
	kind  ledger.Kind
	table string
	query string // seq first, between two seqs, in order
	scan  func(f *fields, a *audit) ledger.Record
}

// sources are the tables of records. The columns are those of the schema.
func sources() []source {
	all := []source{
		{ledger.KindIntent, "intents", "*", restoreIntent},
		{ledger.KindOutcome, "outcomes", "seq, coalesce((SELECT i.id FROM intents i WHERE i.seq = call), (SELECT p.id FROM pruned_calls p WHERE p.seq = call)), " +
			"at, dispatched, duration, status, attempts, bytes_out, error, body, preview", restoreOutcome},
		{ledger.KindSessionStart, "session_starts", "*", restoreSessionStart},
		{ledger.KindSessionEnd, "session_ends", "*", restoreSessionEnd},
		{ledger.KindDecision, "decisions", "*", restoreDecision},
		{ledger.KindApproval, "approvals", "*", restoreApproval},
		{ledger.KindChange, "changes", "*", restoreChange},
		{ledger.KindFlow, "http_requests", "*", restoreFlow},
		{ledger.KindEvent, "events", "*", restoreEvent},
		{ledger.KindNote, "notes", "*", restoreNote},
	}
	for i := range all {
		all[i].query = "SELECT " + all[i].query + " FROM " + all[i].table + " WHERE seq BETWEEN ? AND ? ORDER BY seq"
	}
	return all
}

// read makes a record of a row, a *ledger.Damaged if it says nothing sensible.
func (s *source) read(row []value, a *audit) ledger.Record {
	f := &fields{row: row, at: 1}
	r := s.scan(f, a)
	if f.bad > 0 {
		return &ledger.Damaged{Of: s.kind, Reason: fmt.Sprintf("record %v in table %s: column %d holds what was never written there", row[0], s.table, f.bad)}
	}
	return r
}

func restoreIntent(f *fields, a *audit) ledger.Record {
	i := &ledger.Intent{ID: durward.CallID(f.id()), At: f.time()}
	caller, ok := a.caller(f.number())
	f.check(ok)
	target, ok := a.target(f.number())
	f.check(ok)
	verdict, ok := a.verdict(f.number())
	f.check(ok)
	i.BytesIn, i.Parent = int(f.number()), durward.CallID(f.optionalID())
	f.bytes(i.TraceID[:])
	f.bytes(i.SpanID[:])
	i.RequestID = f.optional()
	f.bytes(i.Body[:])
	i.Preview = f.optional()

	i.Session, i.Principal, i.Entrance, i.Process = durward.SessionID(caller.session), caller.principal, durward.Entrance(caller.entrance), caller.process
	i.Client, i.Route, i.Era = durward.ClientInfo{Name: caller.client, Version: caller.version}, caller.route, caller.era
	i.Server, i.Method, i.Tool, i.FullName = target.server, target.method, target.tool, target.fullName
	i.Origin, i.Transport, i.Risk = ledger.Origin(target.origin), durward.Transport(target.transport), target.risk
	i.Action, i.Rule, i.Layer, i.Reason = verdict.action, verdict.rule, verdict.layer, verdict.reason
	return i
}

func restoreOutcome(f *fields, _ *audit) ledger.Record {
	o := &ledger.Outcome{Call: durward.CallID(f.id()), At: f.time(), Dispatched: f.time(), Duration: time.Duration(f.number()) * time.Microsecond}
	o.Status, o.Attempts, o.BytesOut = durward.Status(f.text()), int(f.number()), int(f.number())
	o.Error = f.optional()
	f.bytes(o.Body[:])
	o.Preview = f.optional()
	return o
}

func restoreSessionStart(f *fields, _ *audit) ledger.Record {
	return &ledger.SessionStart{
		ID: durward.SessionID(f.id()), At: f.time(), Principal: f.text(), Entrance: durward.Entrance(f.text()), Process: f.text(),
		Client: durward.ClientInfo{Name: f.text(), Version: f.text()}, Route: f.text(), Era: f.text(), Sandbox: f.text(), Policy: f.text(),
	}
}

func restoreSessionEnd(f *fields, _ *audit) ledger.Record {
	return &ledger.SessionEnd{ID: durward.SessionID(f.id()), At: f.time(), Reason: f.text()}
}

func restoreDecision(f *fields, _ *audit) ledger.Record {
	return &ledger.Decision{
		Call: durward.CallID(f.id()), At: f.time(), Stage: f.text(), Layer: f.text(), Rule: f.text(), Action: f.text(), Effective: f.text(),
		Detection: f.text(), Detail: f.text(),
	}
}

func restoreApproval(f *fields, _ *audit) ledger.Record {
	return &ledger.Approval{
		ID: f.text(), Call: durward.CallID(f.id()), At: f.time(), Status: f.text(), By: f.text(), Reason: f.text(), Scope: f.text(),
	}
}

func restoreChange(f *fields, _ *audit) ledger.Record {
	return &ledger.Change{
		At: f.time(), Who: f.text(), What: f.text(), Target: f.text(), OldHash: f.text(), NewHash: f.text(), Detail: f.text(),
	}
}

func restoreFlow(f *fields, _ *audit) ledger.Record {
	return &ledger.Flow{
		Call: durward.CallID(f.optionalID()), At: f.time(), Server: f.text(), Method: f.text(), Host: f.text(), IP: f.text(), Port: int(f.number()),
		Path: f.text(), Status: int(f.number()), BytesOut: f.number(), BytesIn: f.number(), Decision: f.text(),
	}
}

func restoreEvent(f *fields, _ *audit) ledger.Record {
	v := &ledger.Event{At: f.time(), Layer: f.text(), Sandbox: f.text(), Session: durward.SessionID(f.optionalID())}
	f.bytes(v.TraceID[:])
	v.What, v.Detail = f.text(), f.text()
	return v
}

func restoreNote(f *fields, _ *audit) ledger.Record {
	return &ledger.Note{At: f.time(), What: f.text(), Detail: f.text()}
}

// caller, target and verdict return what a row names by number; false if it is not there.
func (a *audit) caller(id int64) (k callerKey, ok bool) {
	return named(a, a.callers, id, "SELECT session, principal, entrance, process, client, client_version, route, era FROM callers WHERE id = ?", func(f *fields) callerKey {
		return callerKey{f.id(), f.text(), f.text(), f.text(), f.text(), f.text(), f.text(), f.text()}
	})
}

func (a *audit) target(id int64) (k targetKey, ok bool) {
	return named(a, a.targets, id, "SELECT server, method, tool, full_name, origin, transport, risk FROM targets WHERE id = ?", func(f *fields) targetKey {
		return targetKey{f.text(), f.text(), f.text(), f.text(), f.text(), f.text(), durward.Risk(f.small(255))}
	})
}

func (a *audit) verdict(id int64) (k verdictKey, ok bool) {
	return named(a, a.verdicts, id, "SELECT action, rule, layer, reason FROM verdicts WHERE id = ?", func(f *fields) verdictKey {
		return verdictKey{durward.Action(f.small(255)), f.text(), f.text(), f.text()}
	})
}

func named[K any](a *audit, known map[int64]K, id int64, query string, scan func(*fields) K) (k K, ok bool) {
	if k, ok = known[id]; ok {
		return k, true
	}
	err := a.c.each(query, func(row []value) error {
		f := &fields{row: row}
		k, ok = scan(f), f.bad == 0
		return nil
	}, id)
	if err != nil || !ok {
		a.failed = err
		return k, false
	}
	if len(known) >= namesMost {
		clear(known)
	}
	known[id] = k
	return k, true
}
