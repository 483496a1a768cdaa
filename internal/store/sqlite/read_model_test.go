package sqlite_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"durward"
	"durward/internal/store/sqlite"
	"durward/ledger"
)

// world is a store, and all that it must hold, in memory.
type world struct {
	t    *rapid.T
	opt  sqlite.Options
	db   *sqlite.DB
	head ledger.Link
	now  time.Time

	records []kept // in the order in which they were committed
	open    []*ledger.Intent
	later   []*ledger.Intent // about which something is recorded already
	made    int
	pruned  bool
}

// kept is a record and the link it is in.
type kept struct {
	ledger.Record
	link uint64
}

// Small alphabets, so that values meet in every combination.
func anyOf(t *rapid.T, label string, values ...string) string {
	return rapid.SampledFrom(values).Draw(t, label)
}

func newWorld(t *rapid.T, dir string, blank []byte) *world {
	w := &world{t: t, now: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)}
	if err := os.WriteFile(filepath.Join(dir, "ledger.db"), blank, 0o600); err != nil {
		t.Fatal(err)
	}
	w.opt = sqlite.WithSegments(sqlite.Options{Path: filepath.Join(dir, "ledger.db")},
		rapid.IntRange(1, 20).Draw(t, "segment"), rapid.IntRange(1, 8).Draw(t, "others"), rapid.IntRange(1, 10).Draw(t, "amend"))
	w.reopen()
	w.commit([]ledger.Record{&ledger.SessionStart{ID: sessionOf("1"), At: w.now, Sandbox: "box1"}, &ledger.SessionStart{ID: sessionOf("2"), At: w.now}})
	return w
}

func (w *world) reopen() {
	if w.db != nil {
		if err := w.db.Close(); err != nil {
			w.t.Fatal(err)
		}
	}
	db, err := sqlite.Open(context.Background(), w.opt)
	if err != nil {
		w.t.Fatal(err)
	}
	w.db = db
}

func (w *world) id() durward.CallID {
	w.made++
	return durward.CallID(fmt.Sprintf("0197%04x-%04x-7000-8000-%012x", w.made/50, w.made%7, w.made))
}

func sessionOf(n string) durward.SessionID {
	if n == "" || n == "odd" {
		return durward.SessionID(n)
	}
	return durward.SessionID("01970000-0000-7000-8000-00000000000" + n)
}

func traceOf(n int) (id [16]byte) {
	if n > 0 {
		id[0], id[15] = 0xaa, byte(n)
	}
	return id
}

// moment is a time near now, sometimes far from it: rows are not recorded in the order of time.
func (w *world) moment() time.Time {
	w.now = w.now.Add(time.Duration(rapid.IntRange(0, 3).Draw(w.t, "step")) * time.Millisecond)
	if rapid.IntRange(0, 15).Draw(w.t, "late") == 0 {
		return w.now.Add(time.Duration(rapid.IntRange(-400, 40).Draw(w.t, "shift")) * time.Millisecond)
	}
	return w.now
}

func (w *world) intent() *ledger.Intent {
	t := w.t
	i := &ledger.Intent{
		ID: w.id(), Session: sessionOf(anyOf(t, "session", "", "1", "2", "odd")), TraceID: traceOf(rapid.IntRange(0, 3).Draw(t, "trace")), At: w.moment(),
		Principal: anyOf(t, "principal", "a", "b", ""), Entrance: durward.Entrance(anyOf(t, "entrance", "http", "stdio")), Route: "/mcp",
		Origin: ledger.Origin(anyOf(t, "origin", "mcp", "local")), Server: anyOf(t, "server", "", "x", "y"), Method: anyOf(t, "method", "tools/call", "tools/list"),
		Tool: anyOf(t, "tool", "", "t1", "t2"), FullName: anyOf(t, "full", "", "x__t1", "t1"), Action: durward.Action(rapid.IntRange(0, 2).Draw(t, "action")),
		Rule: anyOf(t, "rule", "", "r1", "r2"), BytesIn: rapid.IntRange(0, 99).Draw(t, "in"), Preview: "{}", RequestID: "1",
	}
	if i.Principal == "" {
		i.Principal = "a principal with a name that is longer than what a segment keeps as it is"
	}
	return i
}

func (w *world) outcome(i *ledger.Intent) *ledger.Outcome {
	t := w.t
	return &ledger.Outcome{
		Call: i.ID, At: w.now, Duration: time.Duration(rapid.SampledFrom([]int{0, 1, 2, 3, 5, 6, 7, 8, 1000, 1023, 1024, 1500, 60_000_000}).Draw(t, "duration")) * time.Microsecond,
		Status: durward.Status(anyOf(t, "status", "ok", "error", "timeout")), Attempts: 1, BytesOut: rapid.IntRange(0, 99).Draw(t, "out"),
	}
}

// other is a record that belongs to a call, a session or nothing.
func (w *world) other(i *ledger.Intent) ledger.Record {
	t, at := w.t, w.moment()
	switch rapid.IntRange(0, 6).Draw(t, "other") {
	case 0:
		return &ledger.Decision{Call: i.ID, At: at, Stage: "request", Rule: "r1", Effective: "allow"}
	case 1:
		return &ledger.Approval{ID: "q", Call: i.ID, At: at, Status: "pending"}
	case 2:
		return &ledger.Flow{Call: i.ID, At: at, Host: "h", Decision: "allow"}
	case 3:
		return &ledger.Flow{At: at, Host: "h", Decision: "allow"}
	case 4:
		return &ledger.Change{At: at, Who: "me", What: "server add"}
	case 5:
		return &ledger.Note{At: at, What: "n"}
	default:
		return &ledger.Event{
			At: at, Layer: anyOf(t, "layer", "exec", "file", "network", "sandbox"), Sandbox: anyOf(t, "sandbox", "", "box1", "box2"),
			Session: sessionOf(anyOf(t, "session", "", "1", "2")), TraceID: traceOf(rapid.IntRange(0, 2).Draw(t, "trace")), What: "e",
		}
	}
}

// write commits a batch of new calls, of outcomes of some that are open, and of others.
func (w *world) write() {
	var records []ledger.Record
	for range rapid.IntRange(1, 12).Draw(w.t, "batch") {
		i := w.intent()
		switch rapid.IntRange(0, 5).Draw(w.t, "order") {
		case 0:
			records, w.later = append(records, w.other(i)), append(w.later, i)
			continue
		case 1:
			if len(w.later) > 0 {
				i, w.later = w.later[0], w.later[1:]
			}
		}
		if rapid.IntRange(0, 3).Draw(w.t, "with") == 0 {
			records = append(records, w.other(i))
		}
		records = append(records, i)
		w.open = append(w.open, i)
		if rapid.IntRange(0, 3).Draw(w.t, "with") == 0 {
			records = append(records, w.other(i))
		}
	}
	var open []*ledger.Intent
	for _, i := range w.open {
		if rapid.IntRange(0, 9).Draw(w.t, "ends") < 7 {
			records = append(records, w.outcome(i))
		} else {
			open = append(open, i)
		}
	}
	w.open = open
	w.commit(records)
}

func (w *world) commit(records []ledger.Record) {
	b := &ledger.Batch{Records: records, Link: w.head.Next(w.now, records)}
	if err := w.db.Write(context.Background(), b); err != nil {
		w.t.Fatal(err)
	}
	w.head = b.Link
	for _, r := range records {
		w.records = append(w.records, kept{r, b.Link.Seq})
	}
}

// prune removes links from the store and from memory.
func (w *world) prune() {
	if w.head.Seq < 2 {
		return
	}
	upto := rapid.Uint64Range(1, w.head.Seq-1).Draw(w.t, "prune")
	if err := w.db.Prune(context.Background(), upto, func(int64, int64) {}); err != nil {
		w.t.Fatal(err)
	}
	w.pruned = true
	w.records = slices.DeleteFunc(w.records, func(k kept) bool { return k.link <= upto })
}

// placed is something with its place in the order of answers.
type placed[T any] struct {
	at  time.Time
	seq int
	it  T
}

// newest puts things in the order of answers: the newest first; what came at the same
// time in the order in which it was recorded, the last first.
func newest[T any](all []placed[T]) []T {
	slices.SortStableFunc(all, func(a, b placed[T]) int {
		if c := b.at.Compare(a.at); c != 0 {
			return c
		}
		return b.seq - a.seq
	})
	out := make([]T, 0, len(all))
	for _, p := range all {
		out = append(out, p.it)
	}
	return out
}

// calls is what a filter chooses, looked for in the simplest way.
func (w *world) calls(f ledger.Filter) []ledger.Row {
	outcomes := map[durward.CallID]*ledger.Outcome{}
	for _, k := range w.records {
		if o, ok := k.Record.(*ledger.Outcome); ok {
			outcomes[o.Call] = o
		}
	}
	var all []placed[ledger.Row]
	for n, k := range w.records {
		i, ok := k.Record.(*ledger.Intent)
		if !ok {
			continue
		}
		if row := (ledger.Row{Intent: *i, Outcome: outcomes[i.ID]}); chosen(&row, &f) {
			all = append(all, placed[ledger.Row]{i.At, n, row})
		}
	}
	return newest(all)
}

func chosen(r *ledger.Row, f *ledger.Filter) bool {
	status, duration := durward.Status("dispatched"), time.Duration(-1)
	if r.Outcome != nil {
		status, duration = r.Outcome.Status, r.Outcome.Duration
	}
	return (f.Since.IsZero() || !r.At.Before(f.Since)) && (f.Until.IsZero() || r.At.Before(f.Until)) &&
		(f.Principal == "" || f.Principal == r.Principal) && (f.Session == "" || f.Session == r.Session) && (f.Server == "" || f.Server == r.Server) &&
		(f.Tool == "" || f.Tool == r.Tool || f.Tool == r.FullName) && (f.Method == "" || f.Method == r.Method) && (f.Status == "" || f.Status == status) &&
		(f.Action == "" || f.Action == r.Action.String()) && (f.Rule == "" || f.Rule == r.Rule) &&
		(f.TraceID == "" || f.TraceID == fmt.Sprintf("%x", r.TraceID)) && (f.Entrance == "" || f.Entrance == r.Entrance) &&
		(f.Origin == "" || f.Origin == r.Origin) && (f.MinDuration == 0 || duration >= f.MinDuration)
}

// filter is any filter: few fields often, all of them seldom.
func (w *world) filter() ledger.Filter {
	t := w.t
	maybe := func() bool { return rapid.IntRange(0, 5).Draw(t, "wanted") == 0 }
	var f ledger.Filter
	if maybe() {
		f.Since = w.now.Add(-time.Duration(rapid.IntRange(-10, 400).Draw(t, "since")) * time.Millisecond)
	}
	if maybe() {
		f.Until = w.now.Add(-time.Duration(rapid.IntRange(-50, 400).Draw(t, "until")) * time.Millisecond)
	}
	text := func(to *string, label string, values ...string) {
		if maybe() {
			*to = anyOf(t, label, values...)
		}
	}
	text(&f.Principal, "principal", "a", "b", "a principal with a name that is longer than what a segment keeps as it is", "nobody")
	text((*string)(&f.Session), "session", string(sessionOf("1")), string(sessionOf("2")), "odd", "none")
	text(&f.Server, "server", "x", "y", "z")
	text(&f.Tool, "tool", "t1", "t2", "x__t1", "t3")
	text(&f.Method, "method", "tools/call", "tools/list", "other")
	text((*string)(&f.Status), "status", "ok", "error", "timeout", "dispatched", "strange")
	text(&f.Action, "action", "allow", "ask", "block")
	text(&f.Rule, "rule", "r1", "r2", "r3")
	text(&f.TraceID, "trace", fmt.Sprintf("%x", traceOf(1)), fmt.Sprintf("%x", traceOf(3)), fmt.Sprintf("%x", traceOf(9)))
	text((*string)(&f.Entrance), "entrance", "http", "stdio", "console")
	text((*string)(&f.Origin), "origin", "mcp", "local", "host")
	if maybe() {
		f.MinDuration = time.Duration(rapid.SampledFrom([]int{1, 1000, 1001, 3000, 6000, 1_023_000, 1_024_000, 1_400_500, 3_600_000_000_000}).Draw(t, "longer")) * time.Nanosecond
	}
	return f
}

// test runs a property in a directory of its own for each case. Cases begin with a
// copy of a file that has the schema, because making it takes longer than all the rest.
func test(t *testing.T, f func(t *rapid.T, w *world)) {
	t.Helper()
	b := newBook(t)
	if err := b.db.Close(); err != nil {
		t.Fatal(err)
	}
	blank, err := os.ReadFile(b.path)
	if err != nil {
		t.Fatal(err)
	}
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue { // nobody asked for another number
		if err := flag.Set("rapid.checks", casesOf); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = flag.Set("rapid.checks", checks.DefValue) })
	}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, t.TempDir(), blank)
		defer func() { _ = w.db.Close() }()
		f(rt, w)
	})
}
