package sqlite

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"durward"
	"durward/ledger"
)

// Bounds of statistics.
const (
	statsRows   = 100  // servers and tools that are listed
	talliesMost = 8192 // servers and tools that are counted at the same time
)

// Stats counts the calls that a filter chooses; its cursor and limit are not used. See
// [ledger.Stats] for what is exact.
func (r *Reader) Stats(ctx context.Context, f ledger.Filter) (*ledger.Stats, error) {
	f.Cursor = ""
	w, err := wantCalls(&f)
	if err != nil {
		return nil, err
	}
	w.from.join(joinVerdicts)
	w.from.join(joinOutcomes)
	var stats *ledger.Stats
	err = r.view(ctx, func(v *view) error {
		c := counter{search: search{view: v, want: w}, tally: newTally(), targets: map[int64]targetTallies{}}
		err := errors.Join(c.run(), c.close())
		stats = c.tally.stats()
		return err
	})
	if err != nil {
		return nil, err
	}
	return stats, nil
}

// counter counts what a search finds.
type counter struct {
	search
	tally    *tally
	targets  map[int64]targetTallies // by number in table targets
	late     costs                   // what is read of one segment
	measures measures
	slots    []targetTallies // of the targets of a segment
}

// targetTallies are where the calls of a target are counted.
type targetTallies struct {
	server, tool *group // nil: not known, or no call of a tool
}

const statsColumns = "i.seq, i.at, i.bytes_in, i.target, v.action, o.status, o.duration, o.bytes_out"

func (c *counter) run() (err error) {
	if c.floor, err = c.floorOf(streamCalls); err != nil {
		return err
	}
	if c.search.spans, err = c.view.spans(streamCalls); err != nil {
		return err
	}
	last := int64(0)
	for tail := true; ; tail = false {
		if err := c.search.spans.next(); err != nil {
			return err
		}
		var sp span
		if !c.search.spans.done {
			if sp, err = readSpan(c.search.spans.first, c.search.spans.data); err != nil {
				return err
			}
			last = sp.last
		}
		if tail {
			if err := c.eachTail(c.from.sql(statsColumns), "", c.from.args, last, c.row); err != nil {
				return err
			}
		}
		if c.search.spans.done || sp.upto < c.since || sp.last < c.floor {
			return nil
		}
		if sp.max < c.since || sp.min > c.newest() {
			continue
		}
		if over, err := c.segment(sp); err != nil || over {
			return err
		}
	}
}

// row counts a call that is in no segment.
func (c *counter) row(columns []value) error {
	r := cells{row: columns}
	p := point{seq: r.number(), at: r.number()}
	if !c.matches(p) {
		return nil
	}
	in, target, action := r.number(), r.number(), durward.Action(r.number())
	e := ended{seq: p.seq, status: r.text(), duration: r.number(), bytes: r.number()}
	to, err := c.target(target)
	if err != nil {
		return err
	}
	c.tally.add(to, action, in, &e)
	return r.err("call", p.seq)
}

// segment counts the calls of one segment.
func (c *counter) segment(sp span) (over bool, err error) {
	if err := c.ctx.Err(); err != nil {
		return true, err
	}
	if c.cursors == nil {
		if err := c.openCursors(sp.first); err != nil {
			return true, err
		}
	}
	var rows, doubtful set
	rows.fill(sp.rows)
	if over, err := c.intersect(sp, &rows, &doubtful); err != nil || over || rows.empty() {
		return over, err
	}
	if err := c.outcomes(sp, &rows, &doubtful); err != nil || rows.empty() {
		return err != nil, err
	}
	if err := c.within(sp, &rows); err != nil {
		return true, err
	}
	return false, c.count(sp, &rows)
}

// within leaves the rows of the wanted time that are not pruned.
func (c *counter) within(sp span, rows *set) (err error) {
	if sp.min >= c.since && sp.max <= c.newest() && sp.first >= c.floor {
		return nil
	}
	at, err := c.blob(keyOf(streamCalls, fieldAt, 0, sp.first))
	if err != nil {
		return err
	}
	if c.ats, err = readColumn(c.ats, at, sp.rows); err != nil {
		return err
	}
	if c.seqs, err = c.readSeqs(sp); err != nil {
		return err
	}
	var out set
	rows.each(func(p int) bool {
		if c.ats[p] < c.since || c.ats[p] > c.newest() || c.seqs[p] < c.floor {
			out.add(p)
		}
		return true
	})
	rows.andNot(&out)
	return nil
}

// count counts rows of a segment.
func (c *counter) count(sp span, rows *set) error {
	for _, part := range [...]struct {
		field  field
		decode func([]byte, int) error
	}{{fieldCost, c.late.decode}, {fieldMeasures, c.measures.decode}} {
		b, err := c.blob(keyOf(streamCalls, part.field, 0, sp.first))
		if err != nil {
			return err
		}
		if err := part.decode(b, sp.rows); err != nil {
			return err
		}
	}
	c.slots = c.slots[:0]
	for _, id := range c.measures.targets {
		to, err := c.target(id)
		if err != nil {
			return err
		}
		c.slots = append(c.slots, to)
	}
	if c.late.open > 0 {
		if err := c.lookAgain(sp, rows); err != nil {
			return err
		}
	}
	c.add(rows)
	return nil
}

// add counts rows of the segment that was read.
func (c *counter) add(rows *set) {
	statuses, actions := make([]int64, len(c.late.statuses)), make([]int64, len(c.measures.actions))
	bad := make([]bool, len(c.late.statuses))
	for n, s := range c.late.statuses {
		bad[n] = n != 0 && isBad(s)
	}
	t := c.tally
	rows.each(func(p int) bool {
		status, to, in := c.late.status[p], &c.slots[c.measures.target[p]], c.measures.bytesIn[p]
		statuses[status]++
		actions[c.measures.action[p]]++
		t.bytesIn += in
		if status == 0 {
			to.server.begin(in)
			to.tool.begin(in)
			return true
		}
		out, duration := c.late.bytesOut[p], c.late.durations[p]
		t.bytesOut += out
		t.durations.add(duration)
		to.server.add(in, out, bad[status])
		if to.tool.add(in, out, bad[status]); to.tool != nil {
			to.tool.durations.add(duration)
		}
		return true
	})
	for n, s := range c.late.statuses {
		if statuses[n] > 0 {
			t.status[s] += statuses[n]
			t.calls += statuses[n]
		}
	}
	for n, a := range c.measures.actions {
		t.action[min(a, durward.Block)] += actions[n]
	}
}

// isBad reports whether calls that end so count as not ok.
func isBad(status string) bool {
	return status != string(durward.StatusOK) && status != string(durward.StatusInput)
}

// lookAgain reads the outcomes of calls that had none when the segment was written.
func (c *counter) lookAgain(sp span, rows *set) (err error) {
	if c.seqs, err = c.readSeqs(sp); err != nil {
		return err
	}
	var out set
	rows.each(func(p int) bool {
		if c.late.status[p] != 0 {
			return true
		}
		found := false
		err = c.each("SELECT status, duration, bytes_out FROM outcomes WHERE call = ?", func(columns []value) error {
			r := cells{row: columns}
			e := ended{status: r.text(), duration: r.number(), bytes: r.number()}
			c.late.set(p, e)
			found = true
			if c.status != "" && e.status != c.status || e.duration < c.minDuration {
				out.add(p)
			}
			return r.err("the outcome of call", c.seqs[p])
		}, c.seqs[p])
		if !found && (c.minDuration > 0 || c.status != "" && c.status != string(statusDispatched)) {
			out.add(p)
		}
		return err == nil
	})
	rows.andNot(&out)
	return err
}

// target returns where the calls of a target are counted.
func (c *counter) target(id int64) (targetTallies, error) {
	if to, ok := c.targets[id]; ok && !to.server.isGone() && !to.tool.isGone() {
		return to, nil
	}
	var to targetTallies
	err := c.each("SELECT server, method, tool FROM targets WHERE id = ?", func(columns []value) error {
		r := cells{row: columns}
		server, method, tool := r.text(), r.text(), r.text()
		to.server = c.tally.servers.of(name{server: server}) // what Durward answers by itself is of the server "", so that the counts add up
		if server != "" && tool != "" && method == "tools/call" {
			to.tool = c.tally.tools.of(name{server, tool})
		}
		return r.err("target", id)
	}, id)
	if len(c.targets) >= talliesMost {
		clear(c.targets)
	}
	c.targets[id] = to
	return to, err
}

// tally is what was counted.
type tally struct {
	calls, bytesIn, bytesOut int64
	status                   map[string]int64
	action                   [int(durward.Block) + 1]int64
	durations                histogram
	servers, tools           groups
}

func newTally() *tally {
	return &tally{status: map[string]int64{}, servers: groups{by: map[name]*group{}}, tools: groups{by: map[name]*group{}}}
}

// add counts a call. e.status is empty when it has no outcome.
func (t *tally) add(to targetTallies, action durward.Action, in int64, e *ended) {
	t.calls++
	t.bytesIn += in
	t.action[min(action, durward.Block)]++
	if e.status == "" {
		t.status[string(statusDispatched)]++
		to.server.begin(in)
		to.tool.begin(in)
		return
	}
	t.status[e.status]++
	t.bytesOut += e.bytes
	t.durations.add(e.duration)
	to.server.add(in, e.bytes, isBad(e.status))
	if to.tool.add(in, e.bytes, isBad(e.status)); to.tool != nil {
		to.tool.durations.add(e.duration)
	}
}

// group is what was counted of one server or tool.
type group struct {
	name                            name
	calls, notOK, bytesIn, bytesOut int64
	durations                       histogram
	gone                            bool // given up
}

type name struct{ server, tool string }

func (g *group) isGone() bool { return g != nil && g.gone }

// begin counts a call without outcome.
func (g *group) begin(in int64) {
	if g != nil {
		g.calls++
		g.bytesIn += in
	}
}

// add counts a call.
func (g *group) add(in, out int64, bad bool) {
	if g == nil {
		return
	}
	g.calls++
	g.bytesIn += in
	g.bytesOut += out
	if bad {
		g.notOK++
	}
}

// groups are those of all servers or tools.
type groups struct{ by map[name]*group }

// of returns the group of a name. When there are too many, those with the fewest calls
// so far are given up.
func (g *groups) of(n name) *group {
	if x := g.by[n]; x != nil {
		return x
	}
	if len(g.by) >= talliesMost {
		for _, x := range g.busiest()[talliesMost/2:] {
			delete(g.by, x.name)
			x.gone = true
		}
	}
	x := &group{name: n}
	g.by[n] = x
	return x
}

// busiest returns all groups, those with the most calls first.
func (g *groups) busiest() []*group {
	all := make([]*group, 0, len(g.by))
	for _, x := range g.by {
		all = append(all, x)
	}
	slices.SortFunc(all, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.calls, a.calls), cmp.Compare(a.name.server, b.name.server), cmp.Compare(a.name.tool, b.name.tool))
	})
	return all
}

func (t *tally) stats() *ledger.Stats {
	s := &ledger.Stats{
		Calls: t.calls, BytesIn: t.bytesIn, BytesOut: t.bytesOut, Duration: t.durations.quantiles(),
		ByStatus: map[durward.Status]int64{}, ByAction: map[string]int64{},
	}
	for status, n := range t.status {
		s.ByStatus[durward.Status(status)] = n
	}
	for action, n := range t.action {
		if n > 0 {
			s.ByAction[durward.Action(action).String()] = n
		}
	}
	for _, g := range t.servers.busiest() {
		if g.calls > 0 && len(s.ByServer) < statsRows {
			s.ByServer = append(s.ByServer, ledger.ServerStats{Server: g.name.server, Calls: g.calls, NotOK: g.notOK, BytesIn: g.bytesIn, BytesOut: g.bytesOut})
		}
	}
	for _, g := range t.tools.busiest() {
		if g.calls > 0 && len(s.ByTool) < statsRows {
			s.ByTool = append(s.ByTool, ledger.ToolStats{Server: g.name.server, Tool: g.name.tool, Calls: g.calls, NotOK: g.notOK, Duration: g.durations.quantiles()})
		}
	}
	return s
}
