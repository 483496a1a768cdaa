package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"durward"
	"durward/internal/store/sqlite"
	"durward/ledger"
)

// book is a ledger file with a writer.
type book struct {
	t    *testing.T
	path string
	db   *sqlite.DB
	head ledger.Link
	n    int
}

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func newBook(t *testing.T) *book {
	t.Helper()
	b := &book{t: t, path: filepath.Join(t.TempDir(), "ledger.db")}
	b.open()
	return b
}

func (b *book) open() {
	b.t.Helper()
	db, err := sqlite.Open(b.t.Context(), sqlite.WithSegments(sqlite.Options{Path: b.path}, 64, 16, 16))
	if err != nil {
		b.t.Fatal(err)
	}
	if b.head, err = db.Head(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	b.db = db
	b.t.Cleanup(func() { db.Close() })
}

func (b *book) write(bodies []ledger.Body, records ...ledger.Record) {
	b.t.Helper()
	batch := &ledger.Batch{Records: records, Bodies: bodies, Link: b.head.Next(start, records)}
	if err := b.db.Write(b.t.Context(), batch); err != nil {
		b.t.Fatal(err)
	}
	b.head = batch.Link
}

// call returns the next call, a second after the one before, and its outcome.
func (b *book) call() (*ledger.Intent, *ledger.Outcome) {
	b.n++
	at := start.Add(time.Duration(b.n) * time.Second)
	i := &ledger.Intent{
		ID: durward.CallID(fmt.Sprintf("0197%04x-0000-7000-8000-%012x", b.n>>4, b.n)), At: at, Principal: "local", Entrance: durward.EntranceHTTP, Route: "/mcp",
		Era: "modern", Origin: ledger.OriginMCP, Server: "github", Method: "tools/call", Tool: "create", FullName: "github__create", RequestID: fmt.Sprint(b.n), Preview: "{}",
	}
	return i, &ledger.Outcome{Call: i.ID, At: at, Duration: time.Millisecond, Status: durward.StatusOK, Attempts: 1}
}

// calls writes so many calls, each with what f adds to it.
func (b *book) calls(n int, f func(i *ledger.Intent, o *ledger.Outcome) []ledger.Record) {
	b.t.Helper()
	var records []ledger.Record
	for range n {
		i, o := b.call()
		records = append(append(records, i), f(i, o)...)
		if records = append(records, o); len(records) > 50 {
			b.write(nil, records...)
			records = nil
		}
	}
	if len(records) > 0 {
		b.write(nil, records...)
	}
}

func plain(*ledger.Intent, *ledger.Outcome) []ledger.Record { return nil }

func (b *book) reader() *sqlite.Reader {
	b.t.Helper()
	r, err := sqlite.OpenReader(b.t.Context(), b.path)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { r.Close() })
	return r
}

func kind(t *testing.T, err error, want durward.Kind, says string) {
	t.Helper()
	if durward.KindOf(err) != want || err == nil || !strings.Contains(err.Error(), says) {
		t.Fatalf("the error is %v (%s), wanted %s with %q", err, durward.KindOf(err), want, says)
	}
}

func TestReadersRefuseWhatIsNoLedger(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	other := filepath.Join(dir, "other.db")
	change(t, other, "CREATE TABLE a (b)")
	for _, c := range []struct {
		path string
		kind durward.Kind
		says string
	}{
		{filepath.Join(dir, "none.db"), durward.NotFound, "no ledger"}, {dir, durward.Invalid, "no file"}, {file("empty.db", nil), durward.Invalid, "no ledger"},
		{file("text.db", []byte(strings.Repeat("no database ", 100))), durward.Invalid, "no ledger"}, {other, durward.Invalid, "no ledger"},
	} {
		_, err := sqlite.OpenReader(t.Context(), c.path)
		kind(t, err, c.kind, c.says)
	}
}

func TestReadersRefuseOtherVersions(t *testing.T) {
	b := newBook(t)
	if err := b.db.Close(); err != nil {
		t.Fatal(err)
	}
	change(t, b.path, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)")
	_, err := sqlite.OpenReader(t.Context(), b.path)
	kind(t, err, durward.Invalid, "newer Durward (schema 99")
	change(t, b.path, "DELETE FROM goose_db_version WHERE version_id > 0")
	_, err = sqlite.OpenReader(t.Context(), b.path)
	kind(t, err, durward.Invalid, "older Durward (schema 0")
}

// change runs SQL on a file behind our back.
func change(t *testing.T, path string, text string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), text, args...); err != nil {
		t.Fatal(err)
	}
}

func TestACursorIsCheckedAndStaysGood(t *testing.T) {
	b := newBook(t)
	b.calls(10, plain)
	r := b.reader()
	first, err := r.Calls(t.Context(), ledger.Filter{Limit: 3})
	if err != nil || first.Next == "" {
		t.Fatal(first, err)
	}
	b.calls(10, plain)
	second, err := r.Calls(t.Context(), ledger.Filter{Limit: 3, Cursor: first.Next})
	if err != nil || len(second.Rows) != 3 || second.Rows[0].RequestID != "7" {
		t.Fatalf("%+v %v", second, err)
	}
	for _, bad := range []string{"x", first.Next[1:], first.Next[:len(first.Next)-1], first.Next + "A", strings.ToLower(first.Next), strings.Repeat("A", 1<<16), "\x00", "AQ"} {
		_, err := r.Calls(t.Context(), ledger.Filter{Cursor: bad})
		kind(t, err, durward.Invalid, "cursor")
		_, err = r.Timeline(t.Context(), ledger.TimelineFilter{Cursor: bad})
		kind(t, err, durward.Invalid, "cursor")
	}
}

func TestFiltersThatMakeNoSenseAreRefused(t *testing.T) {
	r := newBook(t).reader()
	for says, f := range map[string]ledger.Filter{
		"trace id": {TraceID: "12"}, "hexadecimal": {TraceID: strings.Repeat("x", 32)}, "action": {Action: "deny"}, "1 to 1000 rows": {Limit: 1001}, "rows, not -1": {Limit: -1},
	} {
		_, err := r.Calls(t.Context(), f)
		kind(t, err, durward.Invalid, says)
	}
	for says, f := range map[string]ledger.TimelineFilter{"trace id": {TraceID: "1"}, "layer": {Layers: []string{"tool", "wire"}}, "1 to 2000 rows": {Limit: 2001}} {
		_, err := r.Timeline(t.Context(), f)
		kind(t, err, durward.Invalid, says)
	}
}

// Segments are made from the rows: without them, or with those of another version, the
// answers are the same, and the next writer makes them anew.
func TestSegmentsAreMadeAnew(t *testing.T) {
	b := newBook(t)
	b.calls(300, func(i *ledger.Intent, o *ledger.Outcome) []ledger.Record {
		if b.n%7 == 0 {
			o.Status = durward.StatusTimeout
		}
		return []ledger.Record{&ledger.Decision{Call: i.ID, At: i.At}}
	})
	open, _ := b.call()
	b.write(nil, open)
	b.calls(100, plain)
	type answer struct {
		Calls    []ledger.Row
		Timeline []ledger.Moment
	}
	ask := func() answer {
		r := b.reader()
		page, err := r.Calls(t.Context(), ledger.Filter{Status: durward.StatusTimeout})
		if err != nil {
			t.Fatal(err)
		}
		all, err := r.Timeline(t.Context(), ledger.TimelineFilter{Layers: []string{"security"}, Limit: 2000})
		if err != nil {
			t.Fatal(err)
		}
		return answer{page.Rows, all.Moments}
	}
	segments := func() (n int) {
		db, err := sql.Open("sqlite", "file:"+b.path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM segments").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	want, were := ask(), segments()
	for _, text := range []string{"DELETE FROM segments", "UPDATE segments SET data = x'63' WHERE key = 0", "DELETE FROM segments WHERE key > 0"} {
		if err := b.db.Close(); err != nil {
			t.Fatal(err)
		}
		change(t, b.path, text)
		if diff := cmp.Diff(want, ask()); diff != "" {
			t.Fatalf("after %s the answer is another: (-want +got)\n%s", text, diff)
		}
		b.open()
		if n := segments(); n < were-1 || n > were+1 {
			t.Errorf("after %s there are %d rows of segments, wanted %d", text, n, were)
		}
		if diff := cmp.Diff(want, ask()); diff != "" {
			t.Fatalf("after %s and a new start the answer is another: (-want +got)\n%s", text, diff)
		}
		if ids, err := b.db.Open(t.Context(), 10); err != nil || len(ids) != 1 || ids[0] != open.ID {
			t.Errorf("open calls: %v %v", ids, err)
		}
	}
}

// Who changes segments hides calls from lists, though not from the chain.
func TestInspectFindsSegmentsThatHideRows(t *testing.T) {
	b := newBook(t)
	b.calls(300, func(i *ledger.Intent, o *ledger.Outcome) []ledger.Record {
		if b.n%9 == 0 {
			o.Status = durward.StatusError
		}
		return []ledger.Record{&ledger.Decision{Call: i.ID, At: i.At}}
	})
	if err := b.db.Close(); err != nil {
		t.Fatal(err)
	}
	clean, err := os.ReadFile(b.path)
	if err != nil {
		t.Fatal(err)
	}
	inspect := func() (all []string) {
		r := b.reader()
		if err := errors.Join(r.Inspect(t.Context(), func(where, what string) { all = append(all, where+": "+what) }, func(int64, int64) {}), r.Close()); err != nil {
			t.Fatal(err)
		}
		return all
	}
	if all := inspect(); len(all) > 0 {
		t.Fatal(all)
	}
	const field = "(key >> 50 & 31)" // see keyOf
	for name, change := range map[string]string{
		"a value is gone":               "DELETE FROM segments WHERE key IN (SELECT key FROM segments WHERE " + field + " = 11 LIMIT 1)",
		"a value is of other rows":      "UPDATE segments SET data = (SELECT data FROM segments WHERE " + field + " = 9 LIMIT 1 OFFSET 1) WHERE key IN (SELECT key FROM segments WHERE " + field + " = 11 LIMIT 1)",
		"a value is where it is not":    "INSERT INTO segments SELECT key + (1 << 44), data FROM segments WHERE " + field + " = 8 LIMIT 1",
		"a segment is gone":             "DELETE FROM segments WHERE key IN (SELECT key FROM segments WHERE " + field + " = 24 LIMIT 1 OFFSET 1)",
		"a segment is of no time":       "UPDATE segments SET data = (SELECT data FROM segments WHERE " + field + " = 24 LIMIT 1) WHERE " + field + " = 24",
		"rows are gone":                 "UPDATE segments SET data = substr(data, 1, length(data) - 1) WHERE " + field + " = 25",
		"times are others":              "UPDATE segments SET data = CAST(substr(data, 1, length(data) - 1) || x'00' AS BLOB) WHERE " + field + " = 26",
		"outcomes are of other calls":   "UPDATE segments SET data = (SELECT data FROM segments WHERE " + field + " = 1 LIMIT 1) WHERE " + field + " = 1",
		"durations are others":          "DELETE FROM segments WHERE " + field + " = 2",
		"costs are others":              "UPDATE segments SET data = (SELECT data FROM segments WHERE " + field + " = 27 LIMIT 1 OFFSET 1) WHERE " + field + " = 27",
		"statistics are of other calls": "UPDATE segments SET data = CAST(substr(data, 1, length(data) - 2) || x'7e7e' AS BLOB) WHERE " + field + " = 28",
		"decisions are gone":            "DELETE FROM segments WHERE key IN (SELECT key FROM segments WHERE key >> 55 = 2 AND " + field + " = 24 LIMIT 1)",
	} {
		file := filepath.Join(t.TempDir(), "ledger.db")
		if err := os.WriteFile(file, clean, 0o600); err != nil {
			t.Fatal(err)
		}
		b.path = file
		changeSome(t, file, change)
		if all := inspect(); len(all) == 0 {
			t.Errorf("when %s, nothing is found", name)
		}
	}
}

// A bound at the edge of what there is stays a bound.
func TestBoundsAtTheEdge(t *testing.T) {
	b := newBook(t)
	b.calls(200, plain) // in segments, and some behind them
	r := b.reader()
	const long = time.Duration(1<<63 - 1)
	epoch := time.Unix(0, 0)
	for name, tt := range map[string]struct {
		filter ledger.Filter
		calls  bool
	}{
		"until 1970": {ledger.Filter{Until: epoch}, false}, "since 1970": {ledger.Filter{Since: epoch}, true},
		"a moment before": {ledger.Filter{Until: epoch.Add(-time.Microsecond)}, false}, "since before": {ledger.Filter{Since: epoch.Add(-time.Hour)}, true},
		"as long as can be": {ledger.Filter{MinDuration: long}, false}, "nearly": {ledger.Filter{MinDuration: long - 500}, false}, "a little": {ledger.Filter{MinDuration: 1}, true},
	} {
		page, err := r.Calls(t.Context(), tt.filter)
		if err != nil || len(page.Rows) > 0 != tt.calls {
			t.Errorf("%s: %d calls, %v", name, len(page.Rows), err)
		}
		if stats, err := r.Stats(t.Context(), tt.filter); err != nil || stats.Calls > 0 != tt.calls {
			t.Errorf("%s: %d calls, %v", name, stats.Calls, err)
		}
	}
	page, err := r.Timeline(t.Context(), ledger.TimelineFilter{Until: epoch})
	if err != nil || len(page.Moments) > 0 {
		t.Errorf("%d moments, %v", len(page.Moments), err)
	}
}

// To hold segments against rows takes as long as to read all records.
func TestInspectTellsHowFarItIs(t *testing.T) {
	b := newBook(t)
	b.calls(300, plain)
	var done, of int64
	err := b.reader().Inspect(t.Context(), func(where, what string) { t.Errorf("%s: %s", where, what) }, func(now, all int64) {
		if now != done+1 || of != 0 && all != of {
			t.Errorf("%d of %d after %d of %d", now, all, done, of)
		}
		done, of = now, all
	})
	if err != nil || done != of || of < 40 {
		t.Errorf("%d of %d: %v", done, of, err)
	}
}

// changeSome is change that must change something.
func changeSome(t *testing.T, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r, err := db.ExecContext(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		t.Fatalf("%s changed nothing: %v", text, err)
	}
}

func TestDamagedSegmentsAreToldAndMended(t *testing.T) {
	b := newBook(t)
	b.calls(300, plain)
	want, err := b.reader().Calls(t.Context(), ledger.Filter{Tool: "create", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.db.Close(); err != nil {
		t.Fatal(err)
	}
	change(t, b.path, "UPDATE segments SET data = x'ffffffffff' WHERE key > 0")
	_, err = b.reader().Calls(t.Context(), ledger.Filter{Tool: "create", Limit: 1000})
	kind(t, err, durward.Unavailable, "the records are not")
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: b.path}) // as the command does
	must(t, err)
	_, err = db.Head(t.Context())
	kind(t, err, durward.Unavailable, "durward ledger reindex")
	last := int64(0)
	if err := db.Reindex(t.Context(), func(done, of int64) { last = of - done }); err != nil || last != 0 {
		t.Fatal(err, last)
	}
	must(t, db.Close())
	b.open()
	b.calls(1, plain)
	got, err := b.reader().Calls(t.Context(), ledger.Filter{Tool: "create", Limit: 1000})
	if err != nil || cmp.Diff(want.Rows, got.Rows[1:]) != "" {
		t.Errorf("%d rows, %v", len(got.Rows), err)
	}
}

// Making segments anew is interrupted in any table, also where there are no calls.
func TestReindexIsInterrupted(t *testing.T) {
	b := newBook(t)
	for n := range 40 {
		b.write(nil, &ledger.Note{What: fmt.Sprint(n)})
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := b.db.Reindex(ctx, func(int64, int64) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if head, err := b.db.Head(t.Context()); err != nil || head != b.head {
		t.Error(head, err)
	}
}

func TestQuestionsEndWhenNobodyWaitsForThem(t *testing.T) {
	b := newBook(t)
	b.calls(200, plain)
	r := b.reader()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Calls(ctx, ledger.Filter{})
	kind(t, err, durward.Unavailable, "given up")
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 0)
	defer cancel()
	_, err = r.Stats(ctx, ledger.Filter{})
	kind(t, err, durward.Timeout, "given up")
	// At whatever point it ends, the connection is good for the next question.
	for n := range 40 {
		ctx := &ending{Context: t.Context(), after: n}
		for name, ask := range map[string]func() error{
			"calls":    func() error { _, err := r.Calls(ctx, ledger.Filter{Method: "tools/list"}); return err },
			"timeline": func() error { _, err := r.Timeline(ctx, ledger.TimelineFilter{Layers: []string{"tool"}}); return err },
			"stats":    func() error { _, err := r.Stats(ctx, ledger.Filter{}); return err },
		} {
			if err := ask(); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	if page, err := r.Calls(t.Context(), ledger.Filter{}); err != nil || len(page.Rows) != 50 {
		t.Error(len(page.Rows), err)
	}
}

// ending is a context that ends when it was looked at so many times.
type ending struct {
	context.Context
	after int
}

func (e *ending) Err() error {
	if e.after--; e.after < 0 {
		return context.Canceled
	}
	return nil
}

func TestAClosedReaderAnswersNothing(t *testing.T) {
	r := newBook(t).reader()
	if err := errors.Join(r.Close(), r.Close()); err != nil {
		t.Fatal(err)
	}
	_, err := r.Calls(t.Context(), ledger.Filter{})
	kind(t, err, durward.Unavailable, "stopping")
}

// Whatever of its schema a file does not say, what is said of it is a sentence.
func TestALedgerThatWasNotFinishedIsNotRead(t *testing.T) {
	for _, change := range []string{"DELETE FROM goose_db_version", "UPDATE goose_db_version SET is_applied = 0"} {
		b := newBook(t)
		if err := b.db.Close(); err != nil {
			t.Fatal(err)
		}
		changeSome(t, b.path, change)
		_, err := sqlite.OpenReader(t.Context(), b.path)
		kind(t, err, durward.Invalid, "was not finished: it does not say which schema it has; start")
	}
}

// Between two pages a reader holds nothing, so that the write-ahead log can be copied
// into the file and begun anew.
func TestReadersDoNotKeepTheLogFromBeingCopied(t *testing.T) {
	b := newBook(t)
	b.calls(300, plain)
	r := b.reader()
	f := ledger.Filter{Limit: 100}
	for {
		page, err := r.Calls(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		b.calls(30, plain)
		db, err := sql.Open("sqlite", "file:"+b.path)
		if err != nil {
			t.Fatal(err)
		}
		var busy, log, copied int
		if err := db.QueryRowContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &copied); err != nil || busy != 0 || log != 0 {
			t.Fatalf("the log could not be copied: busy=%d log=%d copied=%d %v", busy, log, copied, err)
		}
		db.Close()
		if f.Cursor = page.Next; page.Next == "" {
			return
		}
	}
}

func TestABackupIsRead(t *testing.T) {
	b := newBook(t)
	b.calls(100, plain)
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := b.db.Backup(t.Context(), path, func(int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	b.calls(100, plain)
	r, err := sqlite.OpenReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if page, err := r.Calls(t.Context(), ledger.Filter{Limit: 1000}); err != nil || len(page.Rows) != 100 {
		t.Errorf("%d rows, %v", len(page.Rows), err)
	}
}

// What another process reads while a service writes is what was committed.
func TestAnotherProcessReadsWhileTheServiceWrites(t *testing.T) {
	const path, want = "DURWARD_TEST_LEDGER", "DURWARD_TEST_CALLS"
	if file := os.Getenv(path); file != "" { // the other process
		r, err := sqlite.OpenReader(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		s, err := r.Stats(t.Context(), ledger.Filter{})
		if err != nil || fmt.Sprint(s.Calls) != os.Getenv(want) {
			t.Fatalf("%+v %v", s, err)
		}
		return
	}
	b := newBook(t)
	for range 3 {
		b.calls(70, plain)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), path+"="+b.path, fmt.Sprintf("%s=%d", want, b.n))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}
