package sqlite

import (
	"fmt"

	"durward"
	"durward/ledger"
)

// inserter writes the rows of one batch.
type inserter struct {
	c   *conn
	s   *state
	seq int64 // of the record
}

// records writes records, of which the first has the seq of the inserter: outcomes
// last, since they name the rows of their intents.
func (w *inserter) records(all []ledger.Record) error {
	first, intents, outcomes := w.seq, 0, 0
	for _, r := range all {
		switch r.(type) {
		case *ledger.Intent:
			intents++
		case *ledger.Outcome:
			outcomes++
		}
	}
	w.s.intents.begin(w.c, intents)
	w.s.outcomes.begin(w.c, outcomes)
	for n, r := range all {
		w.seq = first + int64(n)
		var err error
		switch r := r.(type) {
		case *ledger.Intent:
			err = w.intent(r)
		case *ledger.Outcome:
		default:
			err = w.other(r)
		}
		if err != nil {
			return err
		}
	}
	for n, r := range all {
		w.seq = first + int64(n)
		if o, ok := r.(*ledger.Outcome); ok {
			if err := w.outcome(o); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *inserter) intent(i *ledger.Intent) error {
	caller, err := w.s.names.caller(w.c, i, w.seq)
	if err != nil {
		return err
	}
	target, err := w.s.names.target(w.c, i, w.seq)
	if err != nil {
		return err
	}
	verdict, err := w.s.names.verdict(w.c, i, w.seq)
	if err != nil {
		return err
	}
	r := w.s.intents
	r.take()
	r.number(w.seq)
	r.id(string(i.ID), false)
	r.time(i.At)
	r.number(caller)
	r.number(target)
	r.number(verdict)
	r.number(int64(i.BytesIn))
	r.id(string(i.Parent), true)
	r.bytes(i.TraceID[:])
	r.bytes(i.SpanID[:])
	r.text(i.RequestID)
	r.bytes(i.Body[:])
	r.text(i.Preview)
	if err := r.end(); err != nil {
		return err
	}
	w.s.index.intent(w.seq, i, caller, target, verdict)
	w.s.used.call(w.seq, caller, target, verdict)
	w.s.used.body(i.Body, w.seq)
	return nil
}

func (w *inserter) outcome(o *ledger.Outcome) error {
	call, err := w.call(o.Call)
	if err != nil {
		return err
	}
	r := w.s.outcomes
	r.take()
	r.number(w.seq)
	r.number(call)
	r.time(o.At)
	r.time(o.Dispatched)
	r.number(o.Duration.Microseconds())
	r.name(string(o.Status))
	r.number(int64(o.Attempts))
	r.number(int64(o.BytesOut))
	r.text(o.Error)
	r.bytes(o.Body[:])
	r.text(o.Preview)
	if err := r.end(); err != nil {
		return err
	}
	w.s.index.outcome(call, o)
	w.s.used.body(o.Body, w.seq)
	return nil
}

// other writes a record of the quieter tables.
func (w *inserter) other(r ledger.Record) error {
	query, args, err := w.statement(r)
	if err != nil {
		return err
	}
	if _, err := w.c.exec(query, args...); err != nil {
		return err
	}
	w.s.index.other(w.seq, r)
	return nil
}

// call returns the seq of a call's intent. That there is one is certain for calls that
// are under way, and looked up for all others.
func (w *inserter) call(id durward.CallID) (int64, error) {
	if seq, ok := w.s.index.call(id); ok {
		return seq, nil
	}
	for _, query := range [2]string{"SELECT seq FROM intents WHERE id = ?", "SELECT seq FROM pruned_calls WHERE id = ?"} {
		if seq, ok, err := w.c.number(query, idValue(string(id))); err != nil || ok {
			return seq, err
		}
	}
	return 0, errNoIntent(id)
}

// statement returns the statement for a record of the quieter tables.
func (w *inserter) statement(r ledger.Record) (query string, args []value, err error) {
	switch r := r.(type) {
	case *ledger.SessionStart:
		return "INSERT INTO session_starts (seq, id, at, principal, entrance, process, client, client_version, route, era, sandbox, policy) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			[]value{
				w.seq, idValue(string(r.ID)), timeValue(r.At), r.Principal, string(r.Entrance), r.Process, r.Client.Name, r.Client.Version,
				r.Route, r.Era, r.Sandbox, r.Policy,
			}, nil
	case *ledger.SessionEnd:
		return "INSERT INTO session_ends (seq, id, at, reason) VALUES (?, ?, ?, ?)", []value{w.seq, idValue(string(r.ID)), timeValue(r.At), r.Reason}, nil
	case *ledger.Decision:
		return "INSERT INTO decisions (seq, call, at, stage, layer, rule, action, effective, detection, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			[]value{w.seq, idValue(string(r.Call)), timeValue(r.At), r.Stage, r.Layer, r.Rule, r.Action, r.Effective, r.Detection, r.Detail}, nil
	case *ledger.Approval:
		return "INSERT INTO approvals (seq, id, call, at, status, by, reason, scope) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			[]value{w.seq, r.ID, idValue(string(r.Call)), timeValue(r.At), r.Status, r.By, r.Reason, r.Scope}, nil
	case *ledger.Flow:
		return "INSERT INTO http_requests (seq, call, at, server, method, host, ip, port, path, status, bytes_out, bytes_in, decision) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			[]value{
				w.seq, optionalID(string(r.Call)), timeValue(r.At), r.Server, r.Method, r.Host, r.IP, int64(r.Port), r.Path, int64(r.Status),
				r.BytesOut, r.BytesIn, r.Decision,
			}, nil
	case *ledger.Event:
		return "INSERT INTO events (seq, at, layer, sandbox, session, trace, what, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			[]value{w.seq, timeValue(r.At), r.Layer, r.Sandbox, optionalID(string(r.Session)), bytesValue(r.TraceID[:]), r.What, r.Detail}, nil
	case *ledger.Change:
		return "INSERT INTO changes (seq, at, who, what, target, old_hash, new_hash, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			[]value{w.seq, timeValue(r.At), r.Who, r.What, r.Target, r.OldHash, r.NewHash, r.Detail}, nil
	case *ledger.Note:
		return "INSERT INTO notes (seq, at, what, detail) VALUES (?, ?, ?, ?)", []value{w.seq, timeValue(r.At), r.What, r.Detail}, nil
	default:
		return "", nil, durward.Errorf(durward.Invalid, "ledger", "%T is no record", r)
	}
}

// body writes a body unless it is there. last is the seq of the last record of the batch.
func (w *inserter) body(b *ledger.Body, last int64) error {
	truncated := int64(0)
	if b.Truncated {
		truncated = 1
	}
	r, err := w.c.exec("INSERT INTO bodies (digest, encoding, original, stored, truncated, last) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (digest) DO NOTHING",
		b.Digest[:], b.Encoding, int64(b.Original), int64(len(b.Data)), truncated, last)
	if err != nil {
		return err
	}
	if n, err := r.RowsAffected(); err != nil {
		return err
	} else if n == 0 {
		w.s.used.body(b.Digest, last) // whoever brought it may name it later without bringing it
		return nil
	}
	id, err := r.LastInsertId()
	if err != nil {
		return err
	}
	data := b.Data
	if data == nil {
		data = []byte{} // NULL is no body
	}
	if _, err = w.c.exec("INSERT INTO body_data (id, data) VALUES (?, ?)", id, data); err != nil {
		return fmt.Errorf("body %x: %w", b.Digest, err)
	}
	return nil
}
