package sqlite

import (
	"durward"
	"durward/ledger"
)

// loadIndex is what the writer begins with. Rows that are in no segment yet are read
// again, a segment's worth at a time.
func loadIndex(c *conn, sizes segmentSizes) (*index, error) {
	x := newIndex(sizes)
	return x, x.load(c, func(int64) error { return nil })
}

// load is told step, which may end it, how far it is: the seq of the last record.
func (x *index) load(c *conn, step func(seq int64) error) error {
	if err := checkVersion(c); err != nil {
		return err
	}
	found := false
	err := c.each("SELECT 1 FROM session_starts WHERE sandbox <> '' LIMIT 1", func([]value) error {
		found = true
		return nil
	})
	if err != nil {
		return err
	}
	x.sandboxes = found
	if err := x.loadCalls(c, step); err != nil {
		return err
	}
	for st := streamDecisions; st <= streamNotes; st++ {
		if err := x.loadOthers(c, st, step); err != nil {
			return err
		}
	}
	return x.amendAll(c)
}

// checkVersion empties the table when it was made by another version.
func checkVersion(c *conn) error {
	data, err := c.blob(0)
	if err != nil || len(data) == 1 && data[0] == segmentsVersion {
		return err
	}
	return c.transaction(func() error {
		if _, err := c.exec("DELETE FROM segments"); err != nil {
			return err
		}
		_, err := c.exec("INSERT INTO segments (key, data) VALUES (0, ?)", []byte{segmentsVersion})
		return err
	})
}

// spans calls f for the segments of a table, the oldest first.
func (c *conn) spans(st stream, f func(span) error) error {
	return c.each("SELECT key, data FROM segments WHERE key BETWEEN ? AND ? ORDER BY key", func(row []value) error {
		key, _ := row[0].(int64)
		data, _ := row[1].([]byte)
		sp, err := readSpan(key, data)
		if err != nil {
			return err
		}
		return f(sp)
	}, keyOf(st, fieldSpan, 0, 0), keyOf(st, fieldSpan, 0, 1<<keySeqBits-1))
}

// loadCalls finds the calls without outcome, and reads those that are in no segment.
func (x *index) loadCalls(c *conn, step func(seq int64) error) error {
	last := int64(0)
	err := c.spans(streamCalls, func(sp span) error {
		if last, x.upto[streamCalls] = sp.last, sp.upto; sp.open == 0 {
			return nil
		}
		x.written = append(x.written, sp)
		return x.loadOpen(c, sp)
	})
	for err == nil {
		n := 0
		err = c.each(loadCallsSQL, func(row []value) error {
			n++
			last = row[0].(int64)
			return x.loadCall(row)
		}, last, int64(x.sizes.calls))
		if err != nil || n == 0 {
			return err
		}
		if err = x.seal(c); err == nil {
			err = step(last)
		}
	}
	return err
}

const loadCallsSQL = `SELECT i.seq, i.id, i.at, i.caller, i.target, i.verdict, i.bytes_in, i.trace,
	c.session, c.principal, c.entrance, t.server, t.method, t.tool, t.full_name, t.origin, v.action, v.rule,
	o.status, o.duration, o.bytes_out
FROM intents i JOIN callers c ON c.id = i.caller JOIN targets t ON t.id = i.target JOIN verdicts v ON v.id = i.verdict
LEFT JOIN outcomes o ON o.call = i.seq
WHERE i.seq > ? ORDER BY i.seq LIMIT ?`

func (x *index) loadCall(row []value) error {
	text := func(n int) string { s, _ := row[n].(string); return s }
	number := func(n int) int64 { v, _ := row[n].(int64); return v }
	id, _ := idText(row[1])
	session, _ := idText(row[8])
	at, _ := microTime(row[2])
	i := &ledger.Intent{
		ID: durward.CallID(id), At: at, Session: durward.SessionID(session), Principal: text(9), Entrance: durward.Entrance(text(10)),
		Server: text(11), Method: text(12), Tool: text(13), FullName: text(14), Origin: ledger.Origin(text(15)),
		Action: durward.Action(number(16)), Rule: text(17), BytesIn: int(number(6)),
	}
	if trace, _ := row[7].([]byte); len(trace) == len(i.TraceID) {
		copy(i.TraceID[:], trace)
	}
	x.begin(&staged{seq: number(0), caller: number(3), target: number(4), verdict: number(5)}, i)
	if row[18] == nil {
		x.calls[i.ID] = number(0)
		return nil
	}
	x.end(ended{number(0), number(19), number(20), text(18)})
	return nil
}

// loadOpen looks which calls of a segment have no outcome still.
func (x *index) loadOpen(c *conn, sp span) error {
	seqs, costs, ok, err := readCosts(c, sp)
	if err != nil || !ok {
		return err
	}
	for p, n := range costs.status {
		if n != 0 {
			continue
		}
		err := c.each("SELECT i.id, o.status, o.duration, o.bytes_out FROM intents i LEFT JOIN outcomes o ON o.call = i.seq WHERE i.seq = ?",
			func(row []value) error {
				if status, ok := row[1].(string); ok {
					duration, _ := row[2].(int64)
					bytes, _ := row[3].(int64)
					x.end(ended{seqs[p], duration, bytes, status})
					return nil
				}
				id, _ := idText(row[0])
				x.calls[durward.CallID(id)] = seqs[p]
				return nil
			}, seqs[p])
		if err != nil {
			return err
		}
	}
	return nil
}

// loadOthersSQL reads the rows of a table that are in no segment: seq, at, call,
// session, trace, sandbox, layer.
func loadOthersSQL(st stream) string {
	switch st {
	case streamDecisions:
		return "SELECT seq, at, call, NULL, NULL, '', '' FROM decisions WHERE seq > ? ORDER BY seq LIMIT ?"
	case streamApprovals:
		return "SELECT seq, at, call, NULL, NULL, '', '' FROM approvals WHERE seq > ? ORDER BY seq LIMIT ?"
	case streamFlows:
		return "SELECT seq, at, call, NULL, NULL, '', '' FROM http_requests WHERE seq > ? ORDER BY seq LIMIT ?"
	case streamEvents:
		return "SELECT seq, at, NULL, session, trace, sandbox, layer FROM events WHERE seq > ? ORDER BY seq LIMIT ?"
	case streamChanges:
		return "SELECT seq, at, NULL, NULL, NULL, '', '' FROM changes WHERE seq > ? ORDER BY seq LIMIT ?"
	default:
		return "SELECT seq, at, NULL, NULL, NULL, '', '' FROM notes WHERE seq > ? ORDER BY seq LIMIT ?"
	}
}

func (x *index) loadOthers(c *conn, st stream, step func(seq int64) error) error {
	last := int64(0)
	err := c.spans(st, func(sp span) error {
		last, x.upto[st] = sp.last, sp.upto
		return nil
	})
	for err == nil {
		n := 0
		err = c.each(loadOthersSQL(st), func(row []value) error {
			n++
			last, _ = row[0].(int64)
			r := otherRow{seq: last}
			at, _ := microTime(row[1])
			call, _ := idText(row[2])
			trace, _ := row[4].([]byte)
			sandbox, _ := row[5].(string)
			r.at, r.call, r.trace, r.sandbox = micros(at), durward.CallID(call), string(trace), sandbox
			r.session, _ = idText(row[3])
			r.layer, _ = row[6].(string)
			x.put(st, r)
			return nil
		}, last, int64(x.sizes.others))
		if err != nil || n == 0 {
			return err
		}
		if err = x.seal(c); err == nil {
			err = step(last)
		}
	}
	return err
}
