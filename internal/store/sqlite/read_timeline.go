package sqlite

import (
	"context"
	"fmt"
	"slices"

	"durward"
	"durward/ledger"
)

// Bounds of a page of a timeline.
const (
	momentsDefault = 200
	momentsMost    = 2000
)

// Timeline returns a page of everything that happened, in the order of time, the newest
// first: each table is searched for as many rows as the page has. With a session, a
// sandbox or a trace only what belongs to it is shown, and nothing that belongs to none.
func (r *Reader) Timeline(ctx context.Context, f ledger.TimelineFilter) (ledger.TimelinePage, error) {
	limit, err := limitOf(f.Limit, momentsDefault, momentsMost)
	if err != nil {
		return ledger.TimelinePage{}, err
	}
	wants, err := wantMoments(&f)
	if err != nil {
		return ledger.TimelinePage{}, err
	}
	var page ledger.TimelinePage
	err = r.view(ctx, func(v *view) (err error) {
		page, err = v.moments(wants, limit)
		return err
	})
	return page, err
}

// shown is a row that a timeline shows.
type shown struct {
	point
	stream
}

// newestMoments searches all tables for the newest rows that match, at most n. When
// there are as many, what is older than all of them is not looked for in the next table.
func (v *view) newestMoments(wants []*want, n int) ([]shown, error) {
	var all []shown
	var known termCalls
	for _, w := range wants {
		w.limit, w.known = n, &known
		if len(all) == n {
			w.since = max(w.since, all[n-1].at)
		}
		points, err := v.search(w)
		if err != nil {
			return nil, err
		}
		for _, p := range points {
			all = append(all, shown{p, w.stream})
		}
		slices.SortFunc(all, func(a, b shown) int { return b.compare(a.point) })
		all = all[:min(len(all), n)]
	}
	return all, nil
}

// moments reads the newest of what is found.
func (v *view) moments(wants []*want, limit int) (ledger.TimelinePage, error) {
	all, err := v.newestMoments(wants, limit+1)
	if err != nil {
		return ledger.TimelinePage{}, err
	}
	var page ledger.TimelinePage
	if len(all) > limit {
		all = all[:limit]
		page.Next = cursorOf(all[limit-1].point)
	}
	var seqs []int64
	for _, x := range all {
		if x.stream == streamCalls {
			seqs = append(seqs, x.seq)
		}
	}
	calls, err := v.calls(seqs)
	if err != nil {
		return ledger.TimelinePage{}, err
	}
	for _, x := range all {
		if x.stream != streamCalls {
			err = v.moment(x.stream, x.seq, &page)
		} else if row := calls[x.seq]; row != nil {
			page.Moments = append(page.Moments, callMoment(row))
		}
		if err != nil {
			return ledger.TimelinePage{}, err
		}
	}
	return page, nil
}

// The layers of a timeline, and those of events that they show.
const (
	layerTool     = "tool"
	layerNet      = "net"
	layerExec     = "exec"
	layerFS       = "fs"
	layerSandbox  = "sandbox"
	layerSecurity = "security"
	layerChange   = "change"
)

// timelineLayer is which tables a layer shows, and events of which layer.
type timelineLayer struct {
	name    string
	streams []stream
	events  string
}

func layers() []timelineLayer {
	return []timelineLayer{
		{layerTool, []stream{streamCalls}, ""},
		{layerNet, []stream{streamFlows}, "network"},
		{layerExec, nil, "exec"},
		{layerFS, nil, "file"},
		{layerSandbox, nil, "sandbox"},
		{layerSecurity, []stream{streamDecisions, streamApprovals}, ""},
		{layerChange, []stream{streamChanges, streamNotes}, ""},
	}
}

// wantMoments makes the searches of a filter.
func wantMoments(f *ledger.TimelineFilter) ([]*want, error) {
	before, err := readCursor(f.Cursor)
	if err != nil {
		return nil, err
	}
	var terms []wantTerm
	if f.TraceID != "" {
		trace, err := traceValue(f.TraceID)
		if err != nil {
			return nil, err
		}
		terms = append(terms, wantTerm{fieldTrace, trace})
	}
	if f.Session != "" {
		terms = append(terms, wantTerm{fieldSession, string(f.Session)})
	}
	if f.Sandbox != "" {
		terms = append(terms, wantTerm{fieldSandbox, f.Sandbox})
	}
	streams, err := streamsOf(f.Layers)
	if err != nil {
		return nil, err
	}
	var wants []*want
	for _, s := range streams {
		if len(terms) > 0 && (s.stream == streamChanges || s.stream == streamNotes) {
			continue // they belong to none of these
		}
		w := &want{stream: s.stream, since: ceilMicros(f.Since), until: untilMicros(f.Until), before: before, terms: slices.Clone(terms)}
		if s.layer != "" {
			w.terms = append(w.terms, wantTerm{fieldLayer, s.layer})
		}
		w.tail, w.from.args = tailOf(w)
		wants = append(wants, w)
	}
	return wants, nil
}

// layerStream is a table that is shown, and the only layer of it, if not all are.
type layerStream struct {
	stream
	layer string
}

func streamsOf(names []string) ([]layerStream, error) {
	var out []layerStream
	for _, l := range layers() {
		if len(names) > 0 && !slices.Contains(names, l.name) {
			continue
		}
		for _, s := range l.streams {
			out = append(out, layerStream{s, ""})
		}
		if l.events != "" && len(names) > 0 {
			out = append(out, layerStream{streamEvents, l.events})
		}
	}
	if len(names) == 0 {
		out = append(out, layerStream{streamEvents, ""})
	}
	for _, name := range names {
		if !slices.ContainsFunc(layers(), func(l timelineLayer) bool { return l.name == name }) {
			return nil, durward.Errorf(durward.Invalid, "ledger", "the layer %.64q is not one of tool, net, exec, fs, sandbox, security, change", name)
		}
	}
	return out, nil
}

// tailOf makes the query for rows that are in no segment, to be completed by bounded. Of
// what is joined only the rows that belong to those between two seq are read:
//
//	SEARCH x USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)
//	SEARCH i USING INDEX intents_id (id=?)
func tailOf(w *want) (query string, args []value) {
	row := aliasOf(w.stream)
	query = "SELECT " + row + ".seq, " + row + ".at FROM " + tableOf(w.stream) + " " + row
	columns := map[field]string{fieldTrace: "x.trace = ?", fieldSession: "x.session = ?", fieldSandbox: "x.sandbox = ?", fieldLayer: "x.layer = ?"}
	if w.stream != streamEvents {
		columns = map[field]string{fieldTrace: "i.trace = ?", fieldSession: ofSession, fieldSandbox: ofSandbox}
		if len(w.terms) > 0 && w.stream != streamCalls {
			query += " CROSS JOIN intents i ON i.id = x.call"
		}
	}
	query += " WHERE "
	for _, t := range w.terms {
		query += columns[t.field] + " AND "
		switch t.field {
		case fieldTrace:
			args = append(args, []byte(t.value))
		case fieldSession:
			args = append(args, idValue(t.value))
		default:
			args = append(args, t.value)
		}
	}
	return query, args
}

// moment reads one row of a table other than intents.
func (v *view) moment(st stream, seq int64, page *ledger.TimelinePage) error {
	return v.each(momentSQL(st), func(columns []value) error {
		c := cells{row: columns}
		m := ledger.Moment{At: c.time()}
		trace := [16]byte{}
		switch c.bytes(trace[:]); st {
		case streamDecisions:
			m.Layer, m.Ref, m.Status = layerSecurity, c.id(), c.text()
			m.Summary = decisionSummary(c.text(), c.text(), c.text(), c.text())
		case streamApprovals:
			m.Layer, m.Ref, m.Status = layerSecurity, c.text(), c.text()
			m.Summary = approvalSummary(c.id(), c.text(), c.text(), c.text())
		case streamFlows:
			m.Layer, m.Ref, m.Status = layerNet, c.id(), c.text()
			m.Summary = flowSummary(c.text(), c.text(), c.number(), c.text(), c.number())
		case streamEvents:
			m.Layer, m.Ref, m.Summary = eventLayer(c.text()), c.text(), joined(" ", c.text(), c.text())
		case streamChanges:
			m.Layer, m.Ref = layerChange, c.text()
			m.Summary = changeSummary(c.text(), c.text(), c.text(), c.text(), c.text())
		default:
			m.Layer, m.Summary = layerChange, joined(": ", c.text(), c.text())
		}
		if m.Summary = shorten(m.Summary); trace != [16]byte{} {
			m.TraceID = fmt.Sprintf("%x", trace)
		}
		page.Moments = append(page.Moments, m)
		return c.err("record", seq)
	}, seq)
}
