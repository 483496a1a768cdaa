package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
)

// inspectSegments looks whether segments say what the rows say: who changes them hides
// rows from lists. Each is looked at in one state of the file; step is called after that.
func inspectSegments(ctx context.Context, c *conn, found func(where, what string), step func()) error {
	version, err := c.blob(0)
	if err != nil || len(version) != 1 || version[0] != segmentsVersion {
		return err // nobody reads them; they are made anew when the file is written next
	}
	for st := streamCalls; st <= streamNotes; st++ {
		n := 0
		i := inspection{c: c, st: st, step: step, found: func(where, what string) {
			if n++; n <= inspectMost {
				found(where, what)
			}
		}}
		if err := i.run(ctx); err != nil {
			return err
		}
	}
	return nil
}

// inspection looks at the segments of one table.
type inspection struct {
	c     *conn
	st    stream
	found func(where, what string)
	step  func()
	span  span // the segment that is looked at
}

func (i *inspection) says(what string) {
	i.found(fmt.Sprintf("table segments, for records %d to %d of table %s", i.span.first, i.span.last, tableOf(i.st)), what)
}

func (i *inspection) run(ctx context.Context) error {
	var all []span
	err := i.c.spans(i.st, func(sp span) error {
		all = append(all, sp)
		return nil
	})
	if errors.Is(err, errIndex) {
		i.found("table segments", "what it says of table "+tableOf(i.st)+" cannot be read")
		return nil
	}
	last := int64(0)
	for _, sp := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		i.span = sp
		if err := i.segment(last); err != nil {
			return err
		}
		i.step()
		last = sp.last
	}
	return err
}

// countSegments returns how many segments there are, of all tables.
func countSegments(c *conn) (all int64, err error) {
	for st := streamCalls; st <= streamNotes && err == nil; st++ {
		var n int64
		n, _, err = c.number("SELECT count(*) FROM segments WHERE key BETWEEN ? AND ?", keyOf(st, fieldSpan, 0, 0), keyOf(st, fieldSpan, 0, 1<<keySeqBits-1))
		all += n
	}
	return all, err
}

// segment looks at one segment, in a transaction that only reads. last is the last
// record of the one before.
func (i *inspection) segment(last int64) (err error) {
	if _, err := i.c.exec("BEGIN"); err != nil {
		return err
	}
	defer func() {
		if _, ending := i.c.exec("COMMIT"); err == nil {
			err = ending
		}
	}()
	floor, ok, err := i.c.number("SELECT min(seq) FROM " + tableOf(i.st))
	if err != nil || !ok || floor > i.span.first {
		return err // it is being pruned: what is gone cannot be compared
	}
	now, err := i.c.blob(keyOf(i.st, fieldSpan, 0, i.span.first))
	if err != nil || now == nil {
		return err
	}
	if i.span, err = readSpan(keyOf(i.st, fieldSpan, 0, i.span.first), now); err == nil {
		err = i.rows(max(last, floor-1))
	}
	if err == nil && i.st == streamCalls {
		err = i.calls()
	}
	if errors.Is(err, errIndex) {
		i.says("they cannot be read")
		return nil
	}
	return err
}

// rows holds which rows a segment is of, and their times, against the table.
func (i *inspection) rows(last int64) error {
	var seqs, ats []int64
	err := i.c.each("SELECT seq, at FROM "+tableOf(i.st)+" WHERE seq > ? AND seq <= ? ORDER BY seq", func(row []value) error {
		seq, _ := row[0].(int64)
		at, _ := row[1].(int64)
		seqs, ats = append(seqs, seq), append(ats, at)
		return nil
	}, last, i.span.last)
	if err != nil {
		return err
	}
	want := append(columns(i.st, i.span, seqs, ats), segmentRow{})[1:3] // seq and at
	for _, w := range want {
		have, err := i.c.blob(w.key)
		if err != nil {
			return err
		}
		if !bytes.Equal(have, w.data) {
			i.says("they are not those that are there: some cannot be found")
			return nil
		}
	}
	if len(ats) > 0 && (slices.Min(ats) != i.span.min || slices.Max(ats) != i.span.max || i.span.upto < i.span.max) {
		i.says("they are not of the time that is said: some cannot be found")
	}
	return nil
}

// calls holds the sets of a segment of calls, and what statistics need, against the rows.
func (i *inspection) calls() error {
	x := newIndex(segmentSizes{calls: segmentRows + 1, others: 1, amend: 1})
	err := i.c.each(loadCallsSQL, x.loadCall, i.span.first-1, int64(i.span.rows))
	if err != nil || len(x.current.seqs) != i.span.rows {
		return err
	}
	want := map[int64][]byte{keyOf(streamCalls, fieldMeasures, 0, i.span.first): x.current.measures()}
	for _, r := range x.current.fieldRows(streamCalls) {
		want[r.key] = r.data
	}
	for f := fieldAction; f <= fieldMeasures; f++ {
		if slices.Contains([]field{fieldSandbox, fieldSpan, fieldSeq, fieldAt, fieldCost}, f) {
			continue // sandboxes may be gone with their sessions
		}
		for bucket := range bucketsOf(f) {
			key := keyOf(streamCalls, f, bucket, i.span.first)
			have, err := i.c.blob(key)
			if err != nil {
				return err
			}
			if !bytes.Equal(have, want[key]) {
				i.says("they say of some of them what is not so: searches and statistics are wrong")
				return nil
			}
		}
	}
	return i.outcomes(x.current.costs)
}

// outcomes holds what a segment says of outcomes against the rows. Calls that ended
// since it was written may still be under way in it.
func (i *inspection) outcomes(want costs) error {
	_, have, ok, err := readCosts(i.c, i.span)
	if err != nil || !ok {
		return err
	}
	for p := range have.status {
		switch {
		case have.status[p] == 0: // it is looked at by itself
		case have.statuses[have.status[p]] != want.statuses[want.status[p]] || have.durations[p] != want.durations[p] || have.bytesOut[p] != want.bytesOut[p]:
			i.says("they say of some outcomes what is not so: searches and statistics are wrong")
			return nil
		}
	}
	for _, w := range have.rows(i.span) {
		stored, err := i.c.blob(w.key)
		if err != nil {
			return err
		}
		if w.key != keyOf(streamCalls, fieldCost, 0, i.span.first) && !sameTerms(stored, w.data) {
			i.says("they say of some outcomes what is not so: searches are wrong")
			return nil
		}
	}
	return nil
}

// sameTerms reports whether two rows of segments have the same sets, in any order.
func sameTerms(a, b []byte) bool {
	terms := map[string]string{}
	err := eachTerm(a, func(term, content []byte) error {
		terms[string(term)] = string(content)
		return nil
	})
	n := 0
	same := err == nil && eachTerm(b, func(term, content []byte) error {
		if n++; terms[string(term)] != string(content) {
			return errIndex
		}
		return nil
	}) == nil
	return same && n == len(terms)
}
