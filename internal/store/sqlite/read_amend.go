package sqlite

import (
	"slices"
)

// amendAll writes anew what has calls that ended since it was written.
func (x *index) amendAll(c *conn) error {
	for i := 0; i < len(x.written); i++ {
		sp := x.written[i]
		ended := x.ended[sp.first]
		if len(ended) == 0 {
			continue
		}
		open, err := amendSegment(c, sp, ended)
		if err != nil {
			return err
		}
		delete(x.ended, sp.first)
		x.amend -= len(ended)
		if x.written[i].open = open; open == 0 {
			x.written = slices.Delete(x.written, i, i+1)
			i--
		}
	}
	return nil
}

// amendSegment gives calls of a written segment their outcomes and returns how many
// have none still. A segment that was pruned meanwhile is left alone.
func amendSegment(c *conn, sp span, all []ended) (open int, err error) {
	seqs, costs, ok, err := readCosts(c, sp)
	if err != nil || !ok {
		return 0, err
	}
	for _, e := range all {
		if p, ok := slices.BinarySearch(seqs, e.seq); ok {
			costs.set(p, e)
		}
	}
	sp.open = costs.open
	rows := append(costs.rows(sp), segmentRow{keyOf(streamCalls, fieldSpan, 0, sp.first), sp.append(nil)})
	return sp.open, writeRows(c, rows)
}

// readCosts reads which calls a segment has and what their outcomes are.
func readCosts(c *conn, sp span) (seqs []int64, k costs, ok bool, err error) {
	seq, err := c.blob(keyOf(streamCalls, fieldSeq, 0, sp.first))
	if err != nil || seq == nil {
		return nil, k, false, err
	}
	cost, err := c.blob(keyOf(streamCalls, fieldCost, 0, sp.first))
	if err != nil {
		return nil, k, false, err
	}
	if seqs, err = readColumn(nil, seq, sp.rows); err != nil {
		return nil, k, false, err
	}
	return seqs, k, true, k.decode(cost, sp.rows)
}

// blob returns the data of a row of segments, nil if it is not there.
func (c *conn) blob(key int64) (data []byte, err error) {
	err = c.each("SELECT data FROM segments WHERE key = ?", func(row []value) error {
		data, _ = row[0].([]byte)
		return nil
	}, key)
	return data, err
}

// sealOthers writes a segment of a table other than intents.
func (x *index) sealOthers(c *conn, st stream, rows []otherRow) error {
	seqs, ats := make([]int64, len(rows)), make([]int64, len(rows))
	session, trace, sandbox, layer := newValues(fieldSession), newValues(fieldTrace), newValues(fieldSandbox), newValues(fieldLayer)
	early := newValues(fieldEarly)
	boxes := map[string][]string{} // of sessions
	for p := range rows {
		r := &rows[p]
		seqs[p], ats[p] = r.seq, r.at
		if err := r.resolve(c); err != nil {
			return err
		}
		if r.call != "" {
			early.put(early.slot(earlyValue), p)
		}
		session.put(session.slot(r.session), p)
		trace.put(trace.slot(r.trace), p)
		layer.put(layer.slot(r.layer), p)
		sandbox.put(sandbox.slot(r.sandbox), p)
		names, err := x.sandboxesOf(c, st, r.session, boxes)
		if err != nil {
			return err
		}
		for _, name := range names {
			sandbox.put(sandbox.slot(name), p)
		}
	}
	sp := spanOf(seqs, ats, x.upto[st])
	out := columns(st, sp, seqs, ats)
	for _, v := range [...]*values{session, trace, sandbox, layer, early} {
		out = append(out, v.segmentRows(st, sp.first, sp.rows)...)
	}
	if err := writeRows(c, out); err != nil {
		return err
	}
	x.upto[st] = sp.upto
	return nil
}

// earlyValue is the value of all rows in fieldEarly.
const earlyValue = "early"

// sandboxesOf returns in which sandboxes the session of a row of a table began. Events
// name theirs themselves.
func (x *index) sandboxesOf(c *conn, st stream, session string, known map[string][]string) ([]string, error) {
	if st == streamEvents || !x.sandboxes {
		return nil, nil
	}
	names, ok := known[session]
	if ok {
		return names, nil
	}
	names, err := sandboxesOf(c, session)
	known[session] = names
	return names, err
}

// resolve finds the session and trace of the call that a row belongs to. If that is not
// there yet, call stays.
func (r *otherRow) resolve(c *conn) error {
	if r.call == "" {
		return nil
	}
	return c.each("SELECT c.session, i.trace FROM intents i JOIN callers c ON c.id = i.caller WHERE i.id = ?", func(row []value) error {
		r.session, _ = idText(row[0])
		trace, _ := row[1].([]byte)
		r.trace, r.call = string(trace), ""
		return nil
	}, idValue(string(r.call)))
}
