package sqlite_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"durward"
	"durward/internal/store/sqlite"
	"durward/ledger"
)

// live makes a world of some batches, with restarts and pruning between them.
func (w *world) live() {
	for range rapid.IntRange(1, 12).Draw(w.t, "batches") {
		w.write()
		switch rapid.IntRange(0, 9).Draw(w.t, "then") {
		case 0:
			w.reopen()
		case 1:
			w.prune()
		}
	}
}

func reader(t *rapid.T, w *world) *sqlite.Reader {
	r, err := w.db.OpenReader(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// pages returns all rows that a filter chooses, page after page. Between two pages
// whatever between does may happen.
func pages(t *rapid.T, r *sqlite.Reader, f ledger.Filter, between func()) []ledger.Row {
	var all []ledger.Row
	turn(t, f.Limit, between, func(cursor string) (rows int, next string, err error) {
		f.Cursor = cursor
		page, err := r.Calls(context.Background(), f)
		if err != nil {
			return 0, "", err
		}
		all = append(all, page.Rows...)
		return len(page.Rows), page.Next, nil
	})
	return all
}

// turn reads page after page. None has more rows than limit, and only the last has less.
func turn(t *rapid.T, limit int, between func(), read func(cursor string) (rows int, next string, err error)) {
	for cursor := ""; ; between() {
		rows, next, err := read(cursor)
		if err != nil {
			t.Fatal(err)
		}
		if rows > limit || next != "" && rows < limit {
			t.Fatalf("a page of %d has %d rows, and says that there are more: %v", limit, rows, next != "")
		}
		if cursor = next; next == "" {
			return
		}
	}
}

func TestPagesAreWhatTheFilterChooses(t *testing.T) {
	test(t, func(t *rapid.T, w *world) {
		w.live()
		w.opens()
		r := reader(t, w)
		defer r.Close()
		if rapid.IntRange(0, 4).Draw(t, "inspect") == 0 {
			if err := r.Inspect(context.Background(), func(where, what string) { t.Errorf("%s: %s", where, what) }, func(int64, int64) {}); err != nil {
				t.Fatal(err)
			}
		}
		for range 15 {
			f := w.filter()
			f.Limit = rapid.IntRange(1, 40).Draw(t, "page")
			want, got := w.calls(f), pages(t, r, f, func() {})
			if diff := cmp.Diff(want, got, emptyIsNil()); diff != "" {
				t.Fatalf("filter %+v: (-want +got)\n%s", f, diff)
			}
		}
	})
}

// opens holds the calls without outcome against those in memory, before and after a restart.
func (w *world) opens() {
	for range 2 {
		got, err := w.db.Open(context.Background(), 10_000)
		if err != nil {
			w.t.Fatal(err)
		}
		want := make([]durward.CallID, 0, len(w.open))
		for _, i := range w.open {
			want = append(want, i.ID)
		}
		if !slices.Equal(got, want) {
			w.t.Fatalf("the open calls are %v, wanted %v", got, want)
		}
		w.reopen()
	}
}

func emptyIsNil() cmp.Option {
	return cmp.FilterValues(func(a, b []ledger.Row) bool { return len(a) == 0 && len(b) == 0 }, cmp.Ignore())
}

// What was there when the first page was read is on one page, and on one only, whatever
// is written meanwhile.
func TestNothingIsSkippedOrRepeatedWhileRowsAreWritten(t *testing.T) {
	test(t, func(t *rapid.T, w *world) {
		w.live()
		r := reader(t, w)
		defer r.Close()
		for range 3 {
			f := w.filter()
			f.Status, f.MinDuration = "", 0 // what changes as calls end is not the same rows
			f.Limit = rapid.IntRange(1, 15).Draw(t, "page")
			want := idsOf(w.calls(f))
			written := 0
			got := idsOf(pages(t, r, f, func() {
				if written++; written < 6 {
					w.write()
				}
			}))
			seen := map[durward.CallID]int{}
			for _, id := range got {
				seen[id]++
			}
			for _, id := range want {
				if seen[id] != 1 {
					t.Fatalf("filter %+v: call %s was given %d times", f, id, seen[id])
				}
			}
			if len(seen) != len(got) {
				t.Fatalf("filter %+v: a call was given twice", f)
			}
			if old := slices.DeleteFunc(slices.Clone(got), func(id durward.CallID) bool { return !slices.Contains(want, id) }); !slices.Equal(old, want) {
				t.Fatalf("filter %+v: the order is %v, not %v", f, old, want)
			}
		}
	})
}

func idsOf(rows []ledger.Row) []durward.CallID {
	ids := make([]durward.CallID, 0, len(rows))
	for i := range rows {
		ids = append(ids, rows[i].ID)
	}
	return ids
}

func TestStatsCountWhatTheFilterChooses(t *testing.T) {
	test(t, func(t *rapid.T, w *world) {
		w.live()
		r := reader(t, w)
		defer r.Close()
		for range 8 {
			f := w.filter()
			got, err := r.Stats(context.Background(), f)
			if err != nil {
				t.Fatal(err)
			}
			want := statsOf(w.calls(f))
			for _, q := range [...]struct{ want, got time.Duration }{
				{want.Duration.P50, got.Duration.P50}, {want.Duration.P95, got.Duration.P95}, {want.Duration.P99, got.Duration.P99},
			} {
				if off := q.want - q.got; off.Abs() > q.want/50 {
					t.Fatalf("filter %+v: quantile %s, wanted %s", f, q.got, q.want)
				}
			}
			want.Duration, got.Duration = ledger.Quantiles{}, ledger.Quantiles{}
			for i := range got.ByTool {
				got.ByTool[i].Duration = ledger.Quantiles{}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("filter %+v: (-want +got)\n%s", f, diff)
			}
		}
	})
}

// statsOf counts in the simplest way.
func statsOf(rows []ledger.Row) *ledger.Stats {
	s := &ledger.Stats{Calls: int64(len(rows)), ByStatus: map[durward.Status]int64{}, ByAction: map[string]int64{}}
	var durations []time.Duration
	servers, tools := map[string]*ledger.ServerStats{}, map[string]*ledger.ToolStats{}
	for i := range rows {
		r := &rows[i]
		status, out, bad := durward.Status("dispatched"), int64(0), int64(0)
		if o := r.Outcome; o != nil {
			status, out = o.Status, int64(o.BytesOut)
			durations = append(durations, o.Duration)
			if status != "ok" && status != "input" {
				bad = 1
			}
		}
		s.ByStatus[status]++
		s.ByAction[r.Action.String()]++
		s.BytesIn += int64(r.BytesIn)
		s.BytesOut += out
		if servers[r.Server] == nil {
			servers[r.Server] = &ledger.ServerStats{Server: r.Server}
		}
		x := servers[r.Server]
		x.Calls, x.NotOK, x.BytesIn, x.BytesOut = x.Calls+1, x.NotOK+bad, x.BytesIn+int64(r.BytesIn), x.BytesOut+out
		if key := r.Server + " " + r.Tool; r.Server != "" && r.Tool != "" && r.Method == "tools/call" {
			if tools[key] == nil {
				tools[key] = &ledger.ToolStats{Server: r.Server, Tool: r.Tool}
			}
			tools[key].Calls, tools[key].NotOK = tools[key].Calls+1, tools[key].NotOK+bad
		}
	}
	for _, x := range servers {
		s.ByServer = append(s.ByServer, *x)
	}
	for _, x := range tools {
		s.ByTool = append(s.ByTool, *x)
	}
	slices.SortFunc(s.ByServer, func(a, b ledger.ServerStats) int {
		return order(int(b.Calls-a.Calls), a.Server, b.Server)
	})
	slices.SortFunc(s.ByTool, func(a, b ledger.ToolStats) int {
		return order(int(b.Calls-a.Calls), a.Server+" "+a.Tool, b.Server+" "+b.Tool)
	})
	if n := len(durations); n > 0 {
		slices.Sort(durations)
		at := func(percent int) time.Duration { return durations[max(1, (n*percent+99)/100)-1] }
		s.Duration = ledger.Quantiles{P50: at(50), P95: at(95), P99: at(99)}
	}
	return s
}

func order(n int, a, b string) int {
	if n != 0 {
		return n
	}
	if a < b {
		return -1
	}
	return 1
}

// spot is what a timeline is compared by.
type spot struct {
	At         time.Time
	Layer, Ref string
}

func TestTimelinesAreWhatTheFilterChooses(t *testing.T) {
	test(t, func(t *rapid.T, w *world) {
		w.live()
		r := reader(t, w)
		defer r.Close()
		for range 10 {
			f := w.timelineFilter()
			want := w.timeline(f)
			var got []spot
			turn(t, f.Limit, func() {}, func(cursor string) (rows int, next string, err error) {
				f.Cursor = cursor
				page, err := r.Timeline(context.Background(), f)
				if err != nil {
					return 0, "", err
				}
				for _, m := range page.Moments {
					got = append(got, spot{m.At, m.Layer, m.Ref})
				}
				return len(page.Moments), page.Next, nil
			})
			if diff := cmp.Diff(want, got); diff != "" && len(want)+len(got) > 0 {
				t.Fatalf("filter %+v: (-want +got)\n%s", f, diff)
			}
		}
	})
}

func (w *world) timelineFilter() ledger.TimelineFilter {
	t := w.t
	maybe := func() bool { return rapid.IntRange(0, 3).Draw(t, "wanted") == 0 }
	f := ledger.TimelineFilter{Limit: rapid.IntRange(1, 30).Draw(t, "page")}
	if maybe() {
		f.Since = w.now.Add(-time.Duration(rapid.IntRange(-10, 400).Draw(t, "since")) * time.Millisecond)
	}
	if maybe() {
		f.Until = w.now.Add(-time.Duration(rapid.IntRange(-50, 400).Draw(t, "until")) * time.Millisecond)
	}
	if maybe() {
		f.Session = sessionOf(anyOf(t, "session", "1", "2", "odd"))
	}
	if maybe() && !w.pruned { // where sessions began may be gone
		f.Sandbox = anyOf(t, "sandbox", "box1", "box2", "box3")
	}
	if maybe() {
		f.TraceID = fmt.Sprintf("%x", traceOf(rapid.IntRange(1, 4).Draw(t, "trace")))
	}
	if maybe() {
		f.Layers = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"tool", "net", "exec", "fs", "sandbox", "security", "change"}), 1, 4, rapid.ID[string]).Draw(t, "layers")
	}
	return f
}

// timeline is what a filter chooses, looked for in the simplest way.
func (w *world) timeline(f ledger.TimelineFilter) []spot {
	intents, boxes := map[durward.CallID]*ledger.Intent{}, map[durward.SessionID]string{}
	for _, k := range w.records {
		switch r := k.Record.(type) {
		case *ledger.Intent:
			intents[r.ID] = r
		case *ledger.SessionStart:
			boxes[r.ID] = r.Sandbox
		}
	}
	none := &ledger.Intent{}
	of := func(id durward.CallID) *ledger.Intent {
		if i := intents[id]; i != nil {
			return i
		}
		return none
	}
	var all []placed[spot]
	for n, k := range w.records {
		var s spot
		var session durward.SessionID
		sandbox, trace, call := "", [16]byte{}, none
		switch r := k.Record.(type) {
		case *ledger.Intent:
			s, call = spot{r.At, "tool", string(r.ID)}, r
		case *ledger.Decision:
			s, call = spot{r.At, "security", string(r.Call)}, of(r.Call)
		case *ledger.Approval:
			s, call = spot{r.At, "security", r.ID}, of(r.Call)
		case *ledger.Flow:
			s, call = spot{r.At, "net", string(r.Call)}, of(r.Call)
		case *ledger.Event:
			layer := map[string]string{"network": "net", "exec": "exec", "file": "fs", "sandbox": "sandbox"}[r.Layer]
			s, session, sandbox, trace = spot{r.At, layer, r.Sandbox}, r.Session, r.Sandbox, r.TraceID
		case *ledger.Change:
			s = spot{r.At, "change", r.Target}
		case *ledger.Note:
			s = spot{r.At, "change", ""}
		default:
			continue
		}
		if call != none {
			session, sandbox, trace = call.Session, boxes[call.Session], call.TraceID
		}
		if (f.Since.IsZero() || !s.At.Before(f.Since)) && (f.Until.IsZero() || s.At.Before(f.Until)) &&
			(f.Session == "" || f.Session == session) && (f.Sandbox == "" || f.Sandbox == sandbox) &&
			(f.TraceID == "" || f.TraceID == fmt.Sprintf("%x", trace)) && (len(f.Layers) == 0 || slices.Contains(f.Layers, s.Layer)) {
			all = append(all, placed[spot]{s.At, n, s})
		}
	}
	return newest(all)
}
