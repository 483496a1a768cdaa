package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"durward"
	"durward/internal/store/sqlite"
	"durward/ledger"
)

// plan is how SQLite goes about a statement.
func plan(t *testing.T, db *sql.DB, text string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text, make([]any, strings.Count(text, "?"))...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer rows.Close()
	var steps []string
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return steps
}

// singles are filters by one field each.
func singles() map[string]ledger.Filter {
	return map[string]ledger.Filter{
		"none": {}, "since": {Since: start}, "until": {Until: start}, "principal": {Principal: "local"}, "session": {Session: "s"}, "server": {Server: "github"},
		"tool": {Tool: "create"}, "method": {Method: "tools/call"}, "status": {Status: durward.StatusOK}, "action": {Action: "allow"}, "rule": {Rule: "r"},
		"trace": {TraceID: strings.Repeat("a", 32)}, "entrance": {Entrance: durward.EntranceHTTP}, "origin": {Origin: ledger.OriginMCP}, "duration": {MinDuration: time.Second},
	}
}

// No question reads a table, or an index, from one end to the other, or sorts.
func TestNoQuestionLooksThroughATable(t *testing.T) {
	b := newBook(t)
	b.calls(300, func(i *ledger.Intent, _ *ledger.Outcome) []ledger.Record {
		return []ledger.Record{&ledger.Decision{Call: i.ID, At: i.At}, &ledger.Event{At: i.At, Layer: "exec"}, &ledger.Change{At: i.At}, &ledger.Note{At: i.At},
			&ledger.Approval{Call: i.ID, At: i.At}, &ledger.Flow{Call: i.ID, At: i.At}}
	})
	db, err := sql.Open("sqlite", "file:"+b.path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	everything := ledger.Filter{
		Since: start, Until: start.Add(time.Hour), Principal: "local", Session: "s", Server: "github", Tool: "create", Method: "tools/call", Status: durward.StatusOK, Action: "allow",
		Rule: "r", TraceID: strings.Repeat("a", 32), Entrance: durward.EntranceHTTP, Origin: ledger.OriginMCP, MinDuration: time.Second,
	}
	filters := singles()
	filters["everything"] = everything
	var asks []func(r *sqlite.Reader) error
	for _, f := range filters {
		asks = append(asks,
			func(r *sqlite.Reader) error { _, err := r.Calls(t.Context(), f); return err },
			func(r *sqlite.Reader) error { _, err := r.Stories(t.Context(), f); return err },
			func(r *sqlite.Reader) error { _, err := r.Stats(t.Context(), f); return err })
	}
	for _, f := range []ledger.TimelineFilter{{}, {Session: "s"}, {Sandbox: "b"}, {TraceID: strings.Repeat("a", 32)}, {Session: "s", Sandbox: "b", TraceID: strings.Repeat("a", 32)}, {Layers: []string{"exec", "net"}}} {
		asks = append(asks, func(r *sqlite.Reader) error { _, err := r.Timeline(t.Context(), f); return err })
	}
	asks = append(asks,
		func(r *sqlite.Reader) error {
			_, err := r.Call(t.Context(), "01970001-0000-7000-8000-00000000001f")
			return err
		},
		func(r *sqlite.Reader) error {
			_, err := r.Call(t.Context(), "01970001-0000-7000-8000-00000000001")
			_ = err
			return nil
		},
		func(r *sqlite.Reader) error {
			if _, _, err := r.Body(t.Context(), ledger.Digest{}); durward.KindOf(err) != durward.NotFound {
				return err
			}
			return nil
		})
	seen := map[string]bool{}
	for _, ask := range asks {
		r := b.reader()
		if err := ask(r); err != nil {
			t.Fatal(err)
		}
		for _, text := range r.Statements() {
			seen[text] = true
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for text := range seen {
		if strings.HasPrefix(text, "BEGIN") || strings.HasPrefix(text, "ROLLBACK") || strings.HasPrefix(text, "PRAGMA") || strings.Contains(text, "goose_db_version") {
			continue
		}
		for _, step := range plan(t, db, text) {
			// What a sub-query finds is looked through once, and kept in a filter.
			if !strings.HasPrefix(step, "SEARCH ") && !strings.HasPrefix(step, "LIST SUBQUERY ") && step != "CREATE BLOOM FILTER" {
				t.Errorf("%s\n\t%s", text, step)
			}
		}
	}
	if len(seen) < 50 {
		t.Errorf("only %d statements were looked at", len(seen))
	}
}

// The plans that the comments show.
func TestPlansAreThoseOfTheComments(t *testing.T) {
	b := newBook(t)
	b.calls(100, plain)
	db, err := sql.Open("sqlite", "file:"+b.path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r := b.reader()
	for range 2 {
		_, err := r.Calls(t.Context(), ledger.Filter{Principal: "local", Server: "github", Action: "allow", Status: durward.StatusOK})
		if err != nil {
			t.Fatal(err)
		}
	}
	plans := map[string]bool{}
	for _, text := range r.Statements() {
		plans[strings.Join(plan(t, db, text), "; ")] = true
	}
	for _, want := range []string{
		"SEARCH segments USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
		"SEARCH i USING INTEGER PRIMARY KEY (rowid>? AND rowid<?); SEARCH t USING INTEGER PRIMARY KEY (rowid=?); SEARCH c USING INTEGER PRIMARY KEY (rowid=?); " +
			"SEARCH v USING INTEGER PRIMARY KEY (rowid=?); SEARCH o USING INDEX outcomes_call (call=?) LEFT-JOIN",
		"SEARCH i USING INTEGER PRIMARY KEY (rowid=?); SEARCH c USING INTEGER PRIMARY KEY (rowid=?); SEARCH t USING INTEGER PRIMARY KEY (rowid=?); " +
			"SEARCH v USING INTEGER PRIMARY KEY (rowid=?); SEARCH o USING INDEX outcomes_call (call=?) LEFT-JOIN",
	} {
		if !plans[want] {
			t.Errorf("no statement has the plan %s; they are:\n%s", want, strings.Join(sorted(plans), "\n"))
		}
	}
}

func sorted(set map[string]bool) []string {
	var all []string
	for s := range set {
		all = append(all, s)
	}
	slices.Sort(all)
	return all
}

func TestAQueryThatFindsNothingIsInterrupted(t *testing.T) {
	r := newBook(t).reader()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := r.Endless(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := r.Calls(t.Context(), ledger.Filter{}); err != nil {
		t.Fatal(err)
	}
}

// Many ask at the same time, while rows are written, pruned and put into segments.
func TestManyReadWhileOneWrites(t *testing.T) {
	b := newBook(t)
	b.calls(200, plain)
	r := b.reader()
	ctx, stop := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	for n := range 8 {
		wait.Go(func() {
			for ctx.Err() == nil {
				if err := askAll(t.Context(), r, n); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for n := range 20 {
		b.calls(50, plain)
		if n%7 == 6 {
			if err := b.db.Prune(t.Context(), b.head.Seq/2, func(int64, int64) {}); err != nil {
				t.Error(err)
			}
		}
	}
	stop()
	wait.Wait()
}

// askAll pages through everything and holds what it is given against itself.
func askAll(ctx context.Context, r *sqlite.Reader, n int) error {
	f := ledger.Filter{Limit: 37 + n, Server: "github"}
	last := start.Add(1000 * time.Hour)
	for {
		page, err := r.Calls(ctx, f)
		if err != nil {
			return err
		}
		for i := range page.Rows {
			if !page.Rows[i].At.Before(last) {
				return fmt.Errorf("%s comes after %s", page.Rows[i].At, last)
			}
			last = page.Rows[i].At
		}
		if f.Cursor = page.Next; page.Next == "" {
			break
		}
	}
	s, err := r.Stats(ctx, ledger.Filter{})
	if err == nil && s.ByStatus[durward.StatusOK] != s.Calls {
		err = fmt.Errorf("%+v", s)
	}
	return err
}
