package sqlite

import (
	"encoding/binary"
	"slices"
)

// segmentRow is one row of table segments.
type segmentRow struct {
	key  int64
	data []byte
}

// seal writes the segments that are due, each in a transaction of its own. When that
// fails nothing is lost: rows that are in no segment are looked through one by one.
func (x *index) seal(c *conn) error {
	for len(x.full) > 0 && (x.full[0].open == 0 || len(x.full) > fullMost) {
		if err := x.sealCalls(c, x.full[0]); err != nil {
			return err
		}
		x.full = slices.Delete(x.full, 0, 1)
		if err := x.amendAll(c); err != nil {
			return err
		}
	}
	for s, o := range x.others {
		for len(o.rows) >= x.sizes.others {
			if err := x.sealOthers(c, s, o.rows[:x.sizes.others]); err != nil {
				return err
			}
			o.rows = slices.Delete(o.rows, 0, x.sizes.others)
		}
	}
	if x.amend >= x.sizes.amend {
		return x.amendAll(c)
	}
	return nil
}

func (x *index) sealCalls(c *conn, s *callSegment) error {
	rows := s.fieldRows(streamCalls)
	if x.sandboxes {
		sandboxes, err := s.sandboxRows(c)
		if err != nil {
			return err
		}
		rows = append(rows, sandboxes...)
	}
	sp := spanOf(s.seqs, s.ats, x.upto[streamCalls])
	sp.open = s.open
	rows = append(rows, s.costs.rows(sp)...)
	rows = append(rows, columns(streamCalls, sp, s.seqs, s.ats)...)
	rows = append(rows, segmentRow{keyOf(streamCalls, fieldMeasures, 0, sp.first), s.measures()})
	if err := writeRows(c, rows); err != nil {
		return err
	}
	x.upto[streamCalls] = sp.upto
	if sp.open > 0 {
		x.written = append(x.written, sp)
	}
	return nil
}

// spanOf describes rows.
func spanOf(seqs, ats []int64, upto int64) span {
	s := span{first: seqs[0], last: seqs[len(seqs)-1], rows: len(seqs), min: slices.Min(ats), max: slices.Max(ats)}
	s.upto = max(upto, s.max)
	return s
}

// columns are the rows of a segment that say which rows it is of.
func columns(st stream, sp span, seqs, ats []int64) []segmentRow {
	return []segmentRow{
		{keyOf(st, fieldSpan, 0, sp.first), sp.append(nil)},
		{keyOf(st, fieldSeq, 0, sp.first), appendColumn(nil, seqs)},
		{keyOf(st, fieldAt, 0, sp.first), appendColumn(nil, ats)},
	}
}

// writeRows writes rows of segments, replacing those that are there.
func writeRows(c *conn, rows []segmentRow) error {
	slices.SortFunc(rows, func(a, b segmentRow) int { return int(a.key>>32) - int(b.key>>32) })
	return c.transaction(func() error {
		for _, r := range rows {
			if _, err := c.exec("REPLACE INTO segments (key, data) VALUES (?, ?)", r.key, r.data); err != nil {
				return err
			}
		}
		return nil
	})
}

// transaction runs f in a transaction.
func (c *conn) transaction(f func() error) error {
	if _, err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := f()
	if err == nil {
		if _, err = c.exec("COMMIT"); err == nil {
			return nil
		}
	}
	// It is over already after some errors; then this one says so.
	_, _ = c.exec("ROLLBACK")
	return err
}

// values are the values of one field in a segment, and the rows that have them.
type values struct {
	field field
	slots map[string]int
	terms []string
	rows  [][]uint16
}

func newValues(f field) *values { return &values{field: f, slots: map[string]int{}} }

// slot returns the number of a value, -1 for the empty one, which nobody looks for.
func (v *values) slot(value string) int {
	if value == "" {
		return -1
	}
	t := term(value)
	n, ok := v.slots[t]
	if !ok {
		n = len(v.terms)
		v.slots[t] = n
		v.terms = append(v.terms, t)
		v.rows = append(v.rows, nil)
	}
	return n
}

// put says that the row at position p has a value; positions come in order.
func (v *values) put(slot, p int) {
	if slot < 0 {
		return
	}
	if r := v.rows[slot]; len(r) > 0 && r[len(r)-1] == uint16(p) {
		return
	}
	v.rows[slot] = append(v.rows[slot], uint16(p))
}

// segmentRows makes the rows of a segment of n rows.
func (v *values) segmentRows(st stream, first int64, n int) []segmentRow {
	buckets := make([][]byte, bucketsOf(v.field))
	var scratch []byte
	for i, t := range v.terms {
		scratch = appendPositions(scratch[:0], v.rows[i], n)
		b := &buckets[bucketOf(v.field, t)]
		*b = append(binary.AppendUvarint(*b, uint64(len(t))), t...)
		*b = append(binary.AppendUvarint(*b, uint64(len(scratch))), scratch...)
	}
	var out []segmentRow
	for i, b := range buckets {
		if b != nil {
			out = append(out, segmentRow{keyOf(st, v.field, int64(i), first), b})
		}
	}
	return out
}

// fieldRows makes the rows for what was known of the calls from the beginning.
func (s *callSegment) fieldRows(st stream) []segmentRow {
	first, n := s.seqs[0], len(s.seqs)
	var out []segmentRow
	each := func(f field, slots func(*values) []int, of []uint16) {
		v := newValues(f)
		slot := slots(v)
		for p, o := range of {
			v.put(slot[o], p)
		}
		out = append(out, v.segmentRows(st, first, n)...)
	}
	each(fieldSession, slotsOf(s.caller.terms, func(t *callerTerms) string { return t.session }), s.caller.of)
	each(fieldPrincipal, slotsOf(s.caller.terms, func(t *callerTerms) string { return t.principal }), s.caller.of)
	each(fieldEntrance, slotsOf(s.caller.terms, func(t *callerTerms) string { return t.entrance }), s.caller.of)
	each(fieldServer, slotsOf(s.target.terms, func(t *targetTerms) string { return t.server }), s.target.of)
	each(fieldMethod, slotsOf(s.target.terms, func(t *targetTerms) string { return t.method }), s.target.of)
	each(fieldOrigin, slotsOf(s.target.terms, func(t *targetTerms) string { return t.origin }), s.target.of)
	each(fieldAction, slotsOf(s.verdict.terms, func(t *verdictTerms) string { return t.action.String() }), s.verdict.of)
	each(fieldRule, slotsOf(s.verdict.terms, func(t *verdictTerms) string { return t.rule }), s.verdict.of)
	return append(append(out, s.toolRows(st)...), traceRows(st, s.seqs[0], s.traces)...)
}

// slotsOf returns a function that numbers a value of each element of a column.
func slotsOf[T any](terms []T, value func(*T) string) func(*values) []int {
	return func(v *values) []int {
		slots := make([]int, len(terms))
		for i := range terms {
			slots[i] = v.slot(value(&terms[i]))
		}
		return slots
	}
}

// toolRows makes the rows for own and offered names, which are looked for together.
func (s *callSegment) toolRows(st stream) []segmentRow {
	v := newValues(fieldTool)
	own := slotsOf(s.target.terms, func(t *targetTerms) string { return t.tool })(v)
	full := slotsOf(s.target.terms, func(t *targetTerms) string { return t.full })(v)
	for p, o := range s.target.of {
		v.put(own[o], p)
		v.put(full[o], p)
	}
	return v.segmentRows(st, s.seqs[0], len(s.seqs))
}

func traceRows(st stream, first int64, traces [][16]byte) []segmentRow {
	v := newValues(fieldTrace)
	for p := range traces {
		v.put(v.slot(traceText(traces[p])), p)
	}
	return v.segmentRows(st, first, len(traces))
}

// sandboxRows makes the rows for the sandboxes of the calls' sessions.
func (s *callSegment) sandboxRows(c *conn) ([]segmentRow, error) {
	v := newValues(fieldSandbox)
	slots := make([][]int, len(s.caller.terms))
	for i := range s.caller.terms {
		names, err := sandboxesOf(c, s.caller.terms[i].session)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			slots[i] = append(slots[i], v.slot(name))
		}
	}
	for p, o := range s.caller.of {
		for _, slot := range slots[o] {
			v.put(slot, p)
		}
	}
	return v.segmentRows(streamCalls, s.seqs[0], len(s.seqs)), nil
}

// sandboxesOf returns in which sandboxes a session began: none or one.
func sandboxesOf(c *conn, session string) ([]string, error) {
	if session == "" {
		return nil, nil
	}
	var names []string
	err := c.each("SELECT DISTINCT sandbox FROM session_starts WHERE id = ? AND sandbox <> ''", func(row []value) error {
		name, _ := row[0].(string)
		names = append(names, name)
		return nil
	}, idValue(session))
	return names, err
}

// rows makes the rows of a segment for what outcomes add.
func (c *costs) rows(sp span) []segmentRow {
	status, duration := newValues(fieldStatus), newValues(fieldDuration)
	slots, magnitudes := make([]int, len(c.statuses)), [64]int{}
	for n := range slots {
		slots[n] = status.slot(c.statuses[n])
	}
	for p, n := range c.status {
		if status.put(slots[n], p); n == 0 {
			continue
		}
		m := magnitude(c.durations[p])
		if magnitudes[m] == 0 {
			magnitudes[m] = 1 + duration.slot(magnitudeTerm(m))
		}
		duration.put(magnitudes[m]-1, p)
	}
	out := append(status.segmentRows(streamCalls, sp.first, sp.rows), duration.segmentRows(streamCalls, sp.first, sp.rows)...)
	return append(out, segmentRow{keyOf(streamCalls, fieldCost, 0, sp.first), c.encode()})
}
