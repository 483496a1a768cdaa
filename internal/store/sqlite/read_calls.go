package sqlite

import (
	"context"
	"strings"
	"time"

	"durward"
	"durward/ledger"
)

// Bounds of a page of calls.
const (
	callsDefault = 50
	callsMost    = 1000
)

// Calls returns a page of the calls that a filter chooses, those that were received
// last first. Errors: Invalid for a filter or a cursor that makes no sense.
func (r *Reader) Calls(ctx context.Context, f ledger.Filter) (ledger.Page, error) {
	var page ledger.Page
	err := r.choosing(ctx, &f, func(v *view, w *want, limit int) (err error) {
		page, err = v.page(w, limit)
		return err
	})
	return page, err
}

// choosing calls read with what a filter of calls means, and what is in the file now.
func (r *Reader) choosing(ctx context.Context, f *ledger.Filter, read func(v *view, w *want, limit int) error) error {
	limit, err := limitOf(f.Limit, callsDefault, callsMost)
	if err != nil {
		return err
	}
	w, err := wantCalls(f)
	if err != nil {
		return err
	}
	return r.view(ctx, func(v *view) error { return read(v, w, limit) })
}

// limitOf checks how many rows are asked for.
func limitOf(n, usual, most int) (int, error) {
	switch {
	case n == 0:
		return usual, nil
	case n < 0 || n > most:
		return 0, durward.Errorf(durward.Invalid, "ledger", "a page has 1 to %d rows, not %d; ask for the next one with its cursor", most, n)
	}
	return n, nil
}

// page reads the rows that a search finds.
func (v *view) page(w *want, limit int) (ledger.Page, error) {
	page := ledger.Page{Rows: make([]ledger.Row, 0, min(limit, 64))}
	found, next, err := v.choose(w, limit)
	if err != nil {
		return ledger.Page{}, err
	}
	rows, err := v.calls(seqsOf(found))
	if err != nil {
		return ledger.Page{}, err
	}
	for _, p := range found {
		if row := rows[p.seq]; row != nil {
			page.Rows = append(page.Rows, *row)
		}
	}
	page.Next = next
	return page, nil
}

func seqsOf(points []point) []int64 {
	seqs := make([]int64, len(points))
	for i, p := range points {
		seqs[i] = p.seq
	}
	return seqs
}

// choose returns where the intents are that a search finds, and the cursor of the next
// page. One more is looked for than is given, to know whether there is one.
func (v *view) choose(w *want, limit int) (found []point, next string, err error) {
	w.limit = limit + 1
	if found, err = v.search(w); err != nil {
		return nil, "", err
	}
	if len(found) > limit {
		found = found[:limit]
		next = cursorOf(found[limit-1])
	}
	return found, next, nil
}

// wantCalls makes a search of a filter.
func wantCalls(f *ledger.Filter) (*want, error) {
	before, err := readCursor(f.Cursor)
	if err != nil {
		return nil, err
	}
	w := &want{
		stream: streamCalls, since: ceilMicros(f.Since), until: untilMicros(f.Until), before: before,
		status: string(f.Status), minDuration: f.MinDuration.Microseconds(),
	}
	if f.MinDuration%time.Microsecond > 0 {
		w.minDuration++
	}
	action, err := actionOf(f.Action)
	if err != nil {
		return nil, err
	}
	trace, err := traceValue(f.TraceID)
	if err != nil {
		return nil, err
	}
	// Those that mostly occur in few segments come first: where one does not occur
	// nothing else is looked at.
	for _, t := range [...]wantTerm{
		{fieldTrace, trace}, {fieldSession, string(f.Session)}, {fieldRule, f.Rule}, {fieldTool, f.Tool}, {fieldServer, f.Server},
		{fieldPrincipal, f.Principal}, {fieldMethod, f.Method}, {fieldAction, f.Action}, {fieldOrigin, string(f.Origin)}, {fieldEntrance, string(f.Entrance)},
	} {
		if t.value != "" {
			w.terms = append(w.terms, t)
		}
	}
	w.conditions(action)
	w.tail = w.from.sql("i.seq, i.at")
	return w, nil
}

// ceilMicros is the first microsecond that is not before a time; 0 for the zero time.
func ceilMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Add(time.Microsecond - 1).UnixMicro()
}

// untilMicros is ceilMicros for a bound that excludes: 1970 itself excludes as much as the
// moment before it, and is a bound all the same.
func untilMicros(t time.Time) int64 {
	if n := ceilMicros(t); n != 0 || t.IsZero() {
		return n
	}
	return -1
}

func actionOf(text string) (durward.Action, error) {
	for a := durward.Allow; a <= durward.Block; a++ {
		if text == "" || text == a.String() {
			return a, nil
		}
	}
	return 0, durward.Errorf(durward.Invalid, "ledger", "the action %.64q is not one of allow, ask, block", text)
}

// callsFrom is the part of a query for the calls that are in no segment: what is
// joined, and what must hold.
type callsFrom struct {
	joins, conditions string
	args              []value
}

// What calls are joined with.
const (
	joinCallers  = " CROSS JOIN callers c ON c.id = i.caller"
	joinTargets  = " CROSS JOIN targets t ON t.id = i.target"
	joinVerdicts = " CROSS JOIN verdicts v ON v.id = i.verdict"
	joinOutcomes = " LEFT JOIN outcomes o ON o.call = i.seq"
)

// Sessions have few callers, which are found by an index, so these are looked for once:
//
//	LIST SUBQUERY 1
//	SEARCH callers USING COVERING INDEX sqlite_autoindex_callers_1 (session=?)
//
//	LIST SUBQUERY 1
//	SEARCH s USING INDEX session_starts_sandbox (sandbox=?)
//	SEARCH c USING COVERING INDEX sqlite_autoindex_callers_1 (session=?)
const (
	ofSession = "i.caller IN (" + sessionCallers + ")"
	ofSandbox = "i.caller IN (" + sandboxCallers + ")"

	sessionCallers = "SELECT id FROM callers WHERE session = ?"
	sandboxCallers = "SELECT c.id FROM session_starts s CROSS JOIN callers c ON c.session = s.id WHERE s.sandbox = ? AND s.sandbox <> ''"
)

// join adds a table, unless it is there.
func (f *callsFrom) join(table string) {
	if !strings.Contains(f.joins, table) {
		f.joins += table
	}
}

func (f *callsFrom) must(table, condition string, args ...value) {
	f.join(table)
	f.conditions += condition + " AND "
	f.args = append(f.args, args...)
}

// sql makes the query, to be completed by bounded. Tables that nothing is wanted of are
// not read; the order of the joins is fixed, so that only the rows between two seq are
// looked at:
//
//	SEARCH i USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)
//	SEARCH c USING INTEGER PRIMARY KEY (rowid=?)
//	SEARCH t USING INTEGER PRIMARY KEY (rowid=?)
//	SEARCH v USING INTEGER PRIMARY KEY (rowid=?)
//	SEARCH o USING INDEX outcomes_call (call=?) LEFT-JOIN
func (f *callsFrom) sql(columns string) string {
	return "SELECT " + columns + " FROM intents i" + f.joins + " WHERE " + f.conditions
}

// conditions makes the part of a query for the same as the terms.
func (w *want) conditions(action durward.Action) {
	f := &w.from
	for _, t := range w.terms {
		switch t.field {
		case fieldTrace:
			f.must("", "i.trace = ?", []byte(t.value))
		case fieldSession:
			f.must("", ofSession, idValue(t.value))
		case fieldPrincipal:
			f.must(joinCallers, "c.principal = ?", t.value)
		case fieldEntrance:
			f.must(joinCallers, "c.entrance = ?", t.value)
		case fieldServer:
			f.must(joinTargets, "t.server = ?", t.value)
		case fieldMethod:
			f.must(joinTargets, "t.method = ?", t.value)
		case fieldOrigin:
			f.must(joinTargets, "t.origin = ?", t.value)
		case fieldTool:
			f.must(joinTargets, "(t.tool = ? OR t.full_name = ?)", t.value, t.value)
		case fieldAction:
			f.must(joinVerdicts, "v.action = ?", int64(action))
		case fieldRule:
			f.must(joinVerdicts, "v.rule = ?", t.value)
		}
	}
	if w.status != "" {
		f.must(joinOutcomes, "coalesce(o.status, 'dispatched') = ?", w.status)
	}
	if w.minDuration > 0 {
		f.must(joinOutcomes, "o.duration >= ?", w.minDuration)
	}
}
