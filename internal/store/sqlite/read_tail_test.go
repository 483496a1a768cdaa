package sqlite_test

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"durward"
	"durward/internal/store/sqlite"
	"durward/ledger"
)

// What belongs to many calls and is in no segment, with much else between: calls are
// read in runs, and what lies between is passed over.
func TestTailsOfManyCallsAreRead(t *testing.T) {
	b := newTailBook(t)
	var want []spot
	with := func(i *ledger.Intent, _ *ledger.Outcome) []ledger.Record {
		flow, decision := i.At.Add(time.Microsecond), i.At.Add(2*time.Microsecond)
		i.TraceID = [16]byte{1}
		if i.Session = "a"; b.n%3 == 0 {
			i.Session = "b"
		} else {
			want = append(want, spot{flow, "net", string(i.ID)}, spot{decision, "security", string(i.ID)})
		}
		return []ledger.Record{&ledger.Flow{Call: i.ID, At: flow}, &ledger.Decision{Call: i.ID, At: decision}}
	}
	b.write(nil, &ledger.SessionStart{ID: "a", At: start, Sandbox: "box"}, &ledger.SessionStart{ID: "b", At: start})
	b.calls(400, with)
	for range 10 {
		b.write(nil, slices.Repeat([]ledger.Record{&ledger.Note{At: start, What: "n"}}, 4000)...)
	}
	b.calls(500, with)
	slices.Reverse(want)

	r := b.reader()
	for name, f := range map[string]ledger.TimelineFilter{
		"session": {Session: "a"}, "sandbox": {Sandbox: "box"}, "all": {Session: "a", Sandbox: "box", TraceID: "01" + strings.Repeat("0", 30)},
	} {
		f.Layers, f.Limit = []string{"net", "security"}, 2000
		if diff := cmp.Diff(want, spots(t, r, f)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
		f.Since, f.Until = want[900].At, want[300].At
		if diff := cmp.Diff(want[301:901], spots(t, r, f)); diff != "" {
			t.Errorf("%s of some time: (-want +got)\n%s", name, diff)
		}
	}
	looksAtNoTable(t, b.path, r, "SELECT seq, caller, trace FROM intents WHERE seq >= ? AND seq <= ? ORDER BY seq", "SELECT max(seq) FROM decisions WHERE seq <= ?")
}

// newTailBook has segments as large as usual.
func newTailBook(t *testing.T) *book {
	t.Helper()
	b := newBook(t)
	if err := b.db.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: b.path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	b.db = db
	return b
}

// The second row is where the next step through the tail begins.
func TestStepsThroughATailLeaveNothingOut(t *testing.T) {
	b := newTailBook(t)
	b.write(nil, &ledger.Decision{Call: "1", At: start})
	for range 31 {
		b.write(nil, slices.Repeat([]ledger.Record{&ledger.Note{At: start, What: "n"}}, 1057)...)
	}
	b.write(nil, &ledger.Decision{Call: "2", At: start})
	want := []spot{{start, "security", "2"}, {start, "security", "1"}}
	if diff := cmp.Diff(want, spots(t, b.reader(), ledger.TimelineFilter{Layers: []string{"security"}})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// What has no time is older than everything, whether it is in a segment or not.
func TestWhatHasNoTimeIsOldest(t *testing.T) {
	b := newBook(t)
	i, o := b.call()
	i.At, i.Session = time.Time{}, "s"
	b.write(nil, i, &ledger.Decision{Call: i.ID}, o)
	for _, more := range []int{0, 200} {
		b.calls(more, func(i *ledger.Intent, _ *ledger.Outcome) []ledger.Record {
			return []ledger.Record{&ledger.Decision{Call: i.ID, At: i.At}}
		})
		r := b.reader()
		for _, c := range []struct{ since, until time.Time }{{until: start}, {since: start}, {since: time.Unix(1, 0), until: start}} {
			want := 0
			if c.since.IsZero() {
				want = 1
			}
			page, err := r.Calls(t.Context(), ledger.Filter{Since: c.since, Until: c.until, Session: "s"})
			if err != nil || len(page.Rows) != want {
				t.Errorf("%d calls since %s until %s, %v; wanted %d", len(page.Rows), c.since, c.until, err, want)
			}
			for _, session := range []durward.SessionID{"", "s"} {
				f := ledger.TimelineFilter{Since: c.since, Until: c.until, Session: session, Layers: []string{"security"}}
				if got := spots(t, r, f); session == "s" && len(got) != want || slices.ContainsFunc(got, func(s spot) bool { return s.Ref == string(i.ID) }) != (want == 1) {
					t.Errorf("%+v: %v", f, got)
				}
			}
		}
	}
}

func spots(t *testing.T, r *sqlite.Reader, f ledger.TimelineFilter) (got []spot) {
	t.Helper()
	page, err := r.Timeline(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range page.Moments {
		got = append(got, spot{m.At, m.Layer, m.Ref})
	}
	return got
}

// looksAtNoTable holds that answers took these statements, each of which searches.
func looksAtNoTable(t *testing.T, path string, r *sqlite.Reader, texts ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, text := range texts {
		if !slices.Contains(r.Statements(), text) {
			t.Errorf("no answer took %s", text)
		}
		if steps := plan(t, db, text); len(steps) != 1 || !strings.HasPrefix(steps[0], "SEARCH ") {
			t.Errorf("%s: %v", text, steps)
		}
	}
}
