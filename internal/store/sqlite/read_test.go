package sqlite_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

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

func TestACallIsFoundByTheBeginningOfItsID(t *testing.T) {
	b := newBook(t)
	b.calls(40, plain)
	odd, ended := b.call()
	odd.ID, ended.Call = "not-a-uuid-1", "not-a-uuid-1"
	b.write(nil, odd, ended)
	r := b.reader()
	for id, want := range map[string]string{
		"01970000-0000-7000-8000-000000000003": "3", "01970002": "", "01970000-0000-7000-8000-000000000003 ": "none", "01970001-0000-7000-8000-00000000001f": "31",
		"01970000-0000-7000-8000-00000000000": "", "01970002-0000-7000-8000-000000000020": "32", "01970000-0000-7000-8000-00000000000F": "15", "01970001-0000-7000-8000-00000000001": "",
		"not-a-uuid-1": "41", "not-a": "41", "0198": "none", "0197000": "", "019": "short", "": "short", "%": "short", "0197%": "none",
	} {
		story, err := r.Call(t.Context(), id)
		switch want {
		case "":
			kind(t, err, durward.Conflict, "calls have an id that begins with")
		case "none":
			kind(t, err, durward.NotFound, "no call")
		case "short":
			kind(t, err, durward.Invalid, "too short")
		default:
			if err != nil || story.RequestID != want {
				t.Errorf("%s: %v, wanted call %s", id, err, want)
			}
		}
	}
	_, err := r.Call(t.Context(), "01970000")
	kind(t, err, durward.Conflict, "15 calls")
	b.calls(1200, plain)
	_, err = r.Call(t.Context(), "0197")
	kind(t, err, durward.Conflict, "more than 1000 calls")
}

func TestAStoryIsEverythingAboutACall(t *testing.T) {
	b := newBook(t)
	b.calls(5, plain)
	i, o := b.call()
	i.Session, i.TraceID, i.SpanID, i.Parent = "01970000-0000-7000-8000-0000000000aa", [16]byte{1}, [8]byte{2}, "01970000-0000-7000-8000-000000000001"
	i.Process, i.Client, i.Transport, i.Risk = "pid 7", durward.ClientInfo{Name: "c", Version: "1"}, durward.TransportStdio, durward.RiskHigh
	i.Action, i.Rule, i.Layer, i.Reason, i.BytesIn, i.Body = durward.Ask, "r", "user", "because", 9, ledger.Digest{3}
	o.Dispatched, o.Error, o.BytesOut, o.Preview, o.Body, o.Status = start, "no", 8, "p", ledger.Digest{4}, durward.StatusError
	decisions := []ledger.Decision{
		{Call: i.ID, At: start, Stage: "request", Layer: "user", Rule: "r", Action: "ask", Effective: "ask", Detection: "d", Detail: "{}"},
		{Call: i.ID, At: start, Stage: "response", Rule: "s", Action: "allow"},
	}
	approvals := []ledger.Approval{{ID: "q", Call: i.ID, At: start, Status: "pending"}, {ID: "q", Call: i.ID, At: start, Status: "approved", By: "me", Reason: "ok", Scope: "call"}}
	flow := ledger.Flow{Call: i.ID, At: start, Server: "github", Method: "GET", Host: "h", IP: "192.0.2.1", Port: 443, Path: "/", Status: 200, BytesOut: 1, BytesIn: 2, Decision: "allow"}
	b.write(nil, &decisions[0], &approvals[0], &approvals[1], i, &decisions[1])
	link := b.head
	b.write(nil, &flow, o)
	b.calls(5, func(i *ledger.Intent, _ *ledger.Outcome) []ledger.Record {
		return []ledger.Record{&ledger.Decision{Call: i.ID, At: start}}
	})
	got, err := b.reader().Call(t.Context(), string(i.ID))
	if err != nil {
		t.Fatal(err)
	}
	want := &ledger.Story{Row: ledger.Row{Intent: *i, Outcome: o}, Decisions: decisions, Approvals: approvals, Flows: []ledger.Flow{flow}, Link: link}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestBodiesAreDecompressedAndChecked(t *testing.T) {
	b := newBook(t)
	text := []byte(strings.Repeat("all of it ", 10_000))
	zip, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	packed := ledger.Body{Digest: sha256.Sum256(text), Encoding: "zstd", Original: len(text), Data: zip.EncodeAll(text, nil)}
	bare := ledger.Body{Digest: sha256.Sum256([]byte("bare")), Original: 9000, Truncated: true, Data: []byte("bare")}
	wrong := ledger.Body{Digest: sha256.Sum256([]byte("right")), Original: 5, Data: []byte("wrong")}
	cut := packed
	cut.Digest, cut.Data = ledger.Digest{1}, packed.Data[:len(packed.Data)/2]
	odd := ledger.Body{Digest: ledger.Digest{2}, Encoding: "rot13"}
	i, o := b.call()
	b.write([]ledger.Body{packed, bare, wrong, cut, odd}, i, o)
	r := b.reader()
	read := func(d ledger.Digest) ([]byte, ledger.BodyInfo, error) {
		body, info, err := r.Body(t.Context(), d)
		if err != nil {
			return nil, info, err
		}
		content, err := io.ReadAll(body)
		return content, info, errors.Join(err, body.Close())
	}
	content, info, err := read(packed.Digest)
	if err != nil || !bytes.Equal(content, text) || info != (ledger.BodyInfo{Digest: packed.Digest, Encoding: "zstd", Original: len(text), Stored: len(packed.Data)}) {
		t.Errorf("%d bytes, %+v, %v", len(content), info, err)
	}
	content, info, err = read(bare.Digest)
	if err != nil || string(content) != "bare" || !info.Truncated || info.Original != 9000 {
		t.Errorf("%s, %+v, %v", content, info, err)
	}
	for d, says := range map[ledger.Digest]string{wrong.Digest: "not what was recorded", cut.Digest: "damaged", odd.Digest: "rot13"} {
		if _, _, err := read(d); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("the error is %v, wanted %q", err, says)
		}
	}
	_, _, err = read(ledger.Digest{9})
	kind(t, err, durward.NotFound, "no body")
}

// The described system took the oldest 50,000 rows of each table before it filtered and cut.
func TestTimelinesBeginWithTheNewest(t *testing.T) {
	b := newBook(t)
	b.calls(500, func(i *ledger.Intent, _ *ledger.Outcome) []ledger.Record {
		return []ledger.Record{&ledger.Decision{Call: i.ID, At: i.At.Add(time.Millisecond), Rule: "r", Effective: "allow"}}
	})
	r := b.reader()
	page, err := r.Timeline(t.Context(), ledger.TimelineFilter{Limit: 4})
	if err != nil || len(page.Moments) != 4 || page.Next == "" {
		t.Fatal(page, err)
	}
	for n, m := range page.Moments {
		want := start.Add(time.Duration(500-n/2) * time.Second)
		if n%2 == 0 {
			want = want.Add(time.Millisecond)
		}
		if !m.At.Equal(want) || (m.Layer == "security") != (n%2 == 0) {
			t.Errorf("moment %d is %+v, wanted one of %s", n, m, want)
		}
	}
}

// In the described system rows without a trace passed every filter for one.
func TestTimelinesOfATraceShowNothingWithoutOne(t *testing.T) {
	b := newBook(t)
	b.calls(200, func(i *ledger.Intent, _ *ledger.Outcome) []ledger.Record {
		if b.n%50 == 0 {
			i.TraceID, i.Session = [16]byte{0xab}, "s"
		}
		return []ledger.Record{
			&ledger.Decision{Call: i.ID, At: i.At}, &ledger.Approval{Call: i.ID, At: i.At}, &ledger.Flow{Call: i.ID, At: i.At}, &ledger.Flow{At: i.At},
			&ledger.Event{At: i.At, Layer: "exec", Session: i.Session, TraceID: i.TraceID}, &ledger.Change{At: i.At}, &ledger.Note{At: i.At},
		}
	})
	r := b.reader()
	trace := "ab" + strings.Repeat("0", 30)
	for name, f := range map[string]ledger.TimelineFilter{"trace": {TraceID: trace}, "session": {Session: "s"}, "both": {Session: "s", TraceID: trace}} {
		page, err := r.Timeline(t.Context(), f)
		if err != nil || len(page.Moments) != 4*5 || page.Next != "" {
			t.Errorf("%s: %d moments, %v; wanted those of 4 calls: call, decision, approval, flow and event", name, len(page.Moments), err)
		}
		for _, m := range page.Moments {
			if m.TraceID != trace {
				t.Errorf("%s: %+v", name, m)
			}
		}
	}
	for _, f := range []ledger.TimelineFilter{{TraceID: strings.Repeat("0", 32)}, {Session: "t"}, {Sandbox: "x"}} {
		if page, err := r.Timeline(t.Context(), f); err != nil || len(page.Moments) != 0 {
			t.Errorf("%+v: %d moments, %v", f, len(page.Moments), err)
		}
	}
}

func TestMomentsSayWhatHappened(t *testing.T) {
	b := newBook(t)
	i, o := b.call()
	at := func(n int) time.Time { return start.Add(time.Duration(n) * time.Hour) }
	i.At, o.Duration, o.Status = at(9), 5*time.Second, durward.StatusTimeout
	open, _ := b.call()
	open.At, open.FullName, open.Tool, open.Method = at(8), "", "", "tools/list"
	b.write(nil,
		&ledger.Decision{Call: i.ID, At: at(7), Stage: "request", Rule: "no-rm", Action: "block", Effective: "ask", Detection: "high"},
		&ledger.Approval{ID: "q1", Call: i.ID, At: at(6), Status: "approved", By: "me", Scope: "session", Reason: "fine"},
		i, o, open,
		&ledger.Flow{Call: i.ID, At: at(5), Method: "GET", Host: "h", Port: 80, Path: "/x", Status: 404, Decision: "allow"},
		&ledger.Event{At: at(4), Layer: "file", Sandbox: "box", What: "write", Detail: strings.Repeat("ä", 200), TraceID: [16]byte{1}},
		&ledger.Change{At: at(3), Who: "me", What: "server add", Target: "github"},
		&ledger.Note{At: at(2), What: "recovered", Detail: "1 call"},
	)
	page, err := b.reader().Timeline(t.Context(), ledger.TimelineFilter{})
	if err != nil {
		t.Fatal(err)
	}
	want := []ledger.Moment{
		{At: at(9), Layer: "tool", Ref: string(i.ID), Summary: "tools/call github__create", Status: "timeout", Duration: 5 * time.Second},
		{At: at(8), Layer: "tool", Ref: string(open.ID), Summary: "tools/list", Status: "dispatched"},
		{At: at(7), Layer: "security", Ref: string(i.ID), Summary: "request rule no-rm wants block (high)", Status: "ask"},
		{At: at(6), Layer: "security", Ref: "q1", Summary: "question about call " + string(i.ID) + ", answered by me for the session: fine", Status: "approved"},
		{At: at(5), Layer: "net", Ref: string(i.ID), Summary: "GET h:80/x 404", Status: "allow"},
		{At: at(4), Layer: "fs", Ref: "box", Summary: "write " + strings.Repeat("ä", 117) + "…", TraceID: "01" + strings.Repeat("0", 30)},
		{At: at(3), Layer: "change", Ref: "github", Summary: "me server add"},
		{At: at(2), Layer: "change", Summary: "recovered: 1 call"},
	}
	if diff := cmp.Diff(want, page.Moments); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
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
	change(t, b.path, "DELETE FROM segments WHERE key > 0") // what opening trips over
	b.open()
	last := int64(0)
	if err := b.db.Reindex(t.Context(), func(done, of int64) { last = of - done }); err != nil || last != 0 {
		t.Fatal(err, last)
	}
	b.calls(1, plain)
	got, err := b.reader().Calls(t.Context(), ledger.Filter{Tool: "create", Limit: 1000})
	if err != nil || cmp.Diff(want.Rows, got.Rows[1:]) != "" {
		t.Errorf("%d rows, %v", len(got.Rows), err)
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
	ctx, cancel = context.WithDeadline(t.Context(), start)
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
