package ledger_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"durward"
	"durward/ledger"
)

// desk answers from memory: calls n-1 … 0, in pages.
type desk struct {
	n      int
	story  func(n int) *ledger.Story
	bodies map[ledger.Digest]string
	pages  int // how many were asked for
	most   int // rows of the biggest page
}

func (d *desk) Calls(_ context.Context, f ledger.Filter) (ledger.Page, error) {
	d.pages++
	d.most = max(d.most, f.Limit)
	if f.Server == "broken" {
		return ledger.Page{}, durward.Errorf(durward.Unavailable, "ledger", "locked")
	}
	from := d.n - 1
	if f.Cursor != "" {
		if _, err := fmt.Sscan(f.Cursor, &from); err != nil {
			return ledger.Page{}, err
		}
	}
	var p ledger.Page
	for ; from >= 0 && len(p.Rows) < f.Limit; from-- {
		p.Rows = append(p.Rows, d.story(from).Row)
	}
	if from >= 0 {
		p.Next = fmt.Sprint(from)
	}
	return p, nil
}

func (d *desk) Call(_ context.Context, id string) (*ledger.Story, error) {
	var n int
	if _, err := fmt.Sscan(id, &n); err != nil || n == 13 { // pruned meanwhile
		return nil, durward.Errorf(durward.NotFound, "ledger", "no such call")
	}
	return d.story(n), nil
}

func (d *desk) Body(_ context.Context, digest ledger.Digest) (io.ReadCloser, ledger.BodyInfo, error) {
	text, ok := d.bodies[digest]
	if !ok {
		return nil, ledger.BodyInfo{}, durward.Errorf(durward.NotFound, "ledger", "no such body")
	}
	return io.NopCloser(strings.NewReader(text)), ledger.BodyInfo{Digest: digest, Original: len(text)}, nil
}

func (d *desk) Timeline(context.Context, ledger.TimelineFilter) (ledger.TimelinePage, error) {
	return ledger.TimelinePage{}, nil
}

func (d *desk) Stats(context.Context, ledger.Filter) (*ledger.Stats, error) {
	return &ledger.Stats{Calls: int64(d.n)}, nil
}

func newDesk(n int) *desk {
	at := time.Date(2026, 3, 1, 12, 0, 0, 1000, time.UTC)
	d := &desk{n: n, bodies: map[ledger.Digest]string{}}
	d.story = func(n int) *ledger.Story {
		s := &ledger.Story{Link: ledger.Link{Seq: uint64(n) + 1}}
		s.Intent = ledger.Intent{ID: durward.CallID(fmt.Sprint(n)), At: at, Server: "files", Tool: "read", RequestID: `"a"`, Preview: `{"x":1}`, Risk: durward.RiskHigh, Action: durward.Ask}
		if n%2 == 0 {
			s.Outcome = &ledger.Outcome{Call: s.ID, At: at.Add(time.Second), Status: durward.StatusOK, Duration: time.Second, BytesOut: 7, Preview: "<&>"}
		}
		return s
	}
	return d
}

func TestExportGoesThroughAllCalls(t *testing.T) {
	d := newDesk(1700)
	next, seen := 1699, 0
	err := ledger.Export(t.Context(), d, ledger.Filter{Limit: 3}, func(s *ledger.Story) error {
		if next == 13 {
			next--
		}
		if string(s.ID) != fmt.Sprint(next) {
			t.Fatalf("%s, want %d", s.ID, next)
		}
		next--
		seen++
		return nil
	})
	if err != nil || seen != 1699 || d.pages != 4 || d.most != 500 {
		t.Error(err, seen, d.pages, d.most)
	}
	enough := errors.New("enough")
	if err := ledger.Export(t.Context(), d, ledger.Filter{}, func(*ledger.Story) error { return enough }); err != enough { //nolint:errorlint // as it is
		t.Error(err)
	}
	if err := ledger.Export(t.Context(), d, ledger.Filter{Server: "broken"}, nil); durward.KindOf(err) != durward.Unavailable {
		t.Error(err)
	}
}

// pagedDesk tells stories by the page.
type pagedDesk struct{ *desk }

func (d pagedDesk) Stories(ctx context.Context, f ledger.Filter) (ledger.StoryPage, error) {
	page, err := d.Calls(ctx, f)
	out := ledger.StoryPage{Next: page.Next}
	for i := range page.Rows {
		var n int
		_, _ = fmt.Sscan(string(page.Rows[i].ID), &n) // desk made it
		out.Stories = append(out.Stories, d.story(n))
	}
	return out, err
}

// Call is not asked: it costs more.
func (d pagedDesk) Call(context.Context, string) (*ledger.Story, error) {
	return nil, errors.New("one story was asked for")
}

func TestExportReadsStoriesByThePage(t *testing.T) {
	d := pagedDesk{newDesk(1700)}
	next := 1699
	err := ledger.Export(t.Context(), d, ledger.Filter{}, func(s *ledger.Story) error {
		if string(s.ID) != fmt.Sprint(next) {
			t.Fatalf("%s, want %d", s.ID, next)
		}
		next--
		return nil
	})
	if err != nil || next != -1 || d.pages != 4 || d.most != 500 {
		t.Error(err, next, d.pages, d.most)
	}
	if err := ledger.Export(t.Context(), d, ledger.Filter{Server: "broken"}, nil); durward.KindOf(err) != durward.Unavailable {
		t.Error(err)
	}
}

func TestExportAsNDJSON(t *testing.T) {
	d := newDesk(4)
	text, binary := "<body>\n", "\xff\x00"
	d.bodies[sum(text)], d.bodies[sum(binary)] = text, binary
	plain := d.story
	d.story = func(n int) *ledger.Story {
		s := plain(n)
		if n == 2 {
			s.Body, s.Outcome.Body, s.TraceID = sum(text), sum(binary), [16]byte{1}
			s.Decisions = []ledger.Decision{{At: s.At, Rule: "r1"}, {At: s.At, Rule: "r2"}}
			s.Approvals = []ledger.Approval{{ID: "a", At: s.At, Status: "denied"}}
			s.Flows = []ledger.Flow{{At: s.At, Host: "example.org", Port: 443}}
		}
		if n == 1 {
			s.Body = sum("gone")
		}
		return s
	}
	var out bytes.Buffer
	var steps [][2]int64
	opt := ledger.ExportOptions{Bodies: true, Progress: func(done, of int64) { steps = append(steps, [2]int64{done, of}) }}
	if err := ledger.ExportNDJSON(t.Context(), &out, d, opt); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(out.String(), "\n")
	if len(lines) != 5 || lines[4] != "" {
		t.Fatalf("%q", lines)
	}
	var calls [4]ledger.Exported
	for i := range calls {
		if err := json.Unmarshal([]byte(lines[i]), &calls[i]); err != nil {
			t.Fatal(err)
		}
	}
	two := calls[1]
	if two.ID != "2" || two.Status != "ok" || two.At != "2026-03-01T12:00:00.000001Z" || two.DurationUS != 1e6 || two.Risk != "high" || two.Action != "ask" || two.TraceID != "01000000000000000000000000000000" ||
		len(two.Decisions) != 2 || two.Decisions[1].Rule != "r2" || two.Approvals[0].Status != "denied" || two.Flows[0].Host != "example.org" || two.Link != 3 {
		t.Errorf("%+v", two)
	}
	if two.Bodies.Request.Text != text || two.Bodies.Response.Base64 != "/wA=" || two.RequestBody != fmt.Sprintf("%x", sum(text)) {
		t.Errorf("%+v", two.Bodies)
	}
	if calls[2].Status != "dispatched" || !calls[2].Bodies.Request.Gone || calls[2].Bodies.Response != nil || calls[0].Bodies != nil {
		t.Errorf("%+v", calls[2])
	}
	if !strings.Contains(lines[1], `"response_preview":"<&>"`) {
		t.Error(lines[1])
	}
	if len(steps) == 0 || steps[len(steps)-1] != [2]int64{4, 4} {
		t.Error(steps)
	}
	out.Reset()
	if err := ledger.ExportNDJSON(t.Context(), &out, d, ledger.ExportOptions{}); err != nil || strings.Contains(out.String(), "bodies") {
		t.Error(err, out.String())
	}
}

// rotten is a desk of which one body cannot be read to its end.
type rotten struct {
	*desk
	body ledger.Digest
}

func (d rotten) Body(ctx context.Context, digest ledger.Digest) (io.ReadCloser, ledger.BodyInfo, error) {
	content, info, err := d.desk.Body(ctx, digest)
	if digest == d.body {
		content = io.NopCloser(io.MultiReader(content, iotest.ErrReader(errors.New("its content is not what was recorded"))))
	}
	return content, info, err
}

// A body that is damaged is told as that, and keeps nothing else from being exported.
func TestExportGoesOnBehindADamagedBody(t *testing.T) {
	d := newDesk(3)
	d.bodies[sum("one")], d.bodies[sum("two")] = "one", "two"
	plain := d.story
	d.story = func(n int) *ledger.Story {
		s := plain(n)
		s.Body = sum([]string{"one", "two", "one"}[n])
		return s
	}
	var out bytes.Buffer
	if err := ledger.ExportNDJSON(t.Context(), &out, rotten{d, sum("two")}, ledger.ExportOptions{Bodies: true}); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(out.String(), "\n")
	if len(lines) != 4 {
		t.Fatalf("%q", lines)
	}
	for i, want := range []ledger.ExportedBody{{Original: 3, Text: "one"}, {Original: 3, Damaged: "its content is not what was recorded"}, {Original: 3, Text: "one"}} {
		var call ledger.Exported
		if err := json.Unmarshal([]byte(lines[i]), &call); err != nil || *call.Bodies.Request != want {
			t.Errorf("%v %+v", err, call.Bodies)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ledger.ExportNDJSON(ctx, io.Discard, rotten{d, sum("two")}, ledger.ExportOptions{Bodies: true}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestExportAsCSV(t *testing.T) {
	d := newDesk(6)
	cells := []string{"=1+1", "+1", "-1", "@SUM", "\tx", "\rx"}
	plain := d.story
	d.story = func(n int) *ledger.Story {
		s := plain(n)
		s.Preview, s.Tool = cells[n], "a \"quoted\", tool"
		return s
	}
	var out bytes.Buffer
	if err := ledger.ExportCSV(t.Context(), &out, d, ledger.ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "id,intent_at,status,server,method,tool,") || strings.Count(out.String(), "\r\n") != 7 {
		t.Errorf("%q", out.String())
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(rows) != 7 || len(rows[0]) != len(ledger.CSVColumns()) {
		t.Fatal(rows, err)
	}
	for n := range 6 {
		row := map[string]string{}
		for i, name := range rows[0] {
			row[name] = rows[6-n][i]
		}
		want := map[string]string{"id": fmt.Sprint(n), "request_preview": "'" + cells[n], "tool": `a "quoted", tool`, "decision": "ask", "link": fmt.Sprint(n + 1), "duration_us": "1000000", "status": "ok"}
		if n%2 == 1 {
			want["status"], want["duration_us"] = "dispatched", "0"
		}
		for k, v := range want {
			if row[k] != v {
				t.Errorf("%d: %s is %q, want %q", n, k, row[k], v)
			}
		}
	}
	// No column is forgotten.
	var fields map[string]any
	full := &ledger.Exported{}
	fillStrings(full)
	data, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	fields["client"], fields["client_version"] = "x", "x" // one object in NDJSON
	for _, name := range ledger.CSVColumns() {
		if _, ok := fields[name]; !ok {
			t.Error("no field", name)
		}
		delete(fields, name)
	}
	if len(fields) != 0 {
		t.Error("not in CSV:", fields)
	}
}

// What is in a cell is what was recorded, with the line ends that are in it.
func TestExportAsCSVLeavesTextsAlone(t *testing.T) {
	d := newDesk(1)
	plain := d.story
	d.story = func(n int) *ledger.Story {
		s := plain(n)
		s.Outcome.Error, s.Outcome.Preview, s.Reason = "one\rtwo", "a\nb\r\nc", "\r=1+1"
		return s
	}
	var out bytes.Buffer
	if err := ledger.ExportCSV(t.Context(), &out, d, ledger.ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{",\"one\rtwo\",", ",\"a\nb\r\nc\",", ",\"'\r=1+1\","} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %q", want, out.String())
		}
	}
}

// closedPipe takes so many bytes.
type closedPipe struct{ left int }

func (p *closedPipe) Write(b []byte) (int, error) {
	if p.left -= len(b); p.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(b), nil
}

func TestExportIsEnded(t *testing.T) {
	for name, export := range map[string]func(context.Context, io.Writer, ledger.Reader, ledger.ExportOptions) error{"ndjson": ledger.ExportNDJSON, "csv": ledger.ExportCSV} {
		d := newDesk(5000)
		for _, left := range []int{0, 100_000} {
			if err := export(t.Context(), &closedPipe{left}, d, ledger.ExportOptions{}); durward.KindOf(err) != durward.Unavailable || !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("%s: %v", name, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		plain := d.story
		d.story = func(n int) *ledger.Story {
			if n == 4000 {
				cancel()
			}
			return plain(n)
		}
		var out bytes.Buffer
		if err := export(ctx, &out, d, ledger.ExportOptions{}); durward.KindOf(err) != durward.Unavailable || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if n := strings.Count(out.String(), "\n"); n < 500 || n > 1000 || !strings.HasSuffix(out.String(), "\n") {
			t.Errorf("%s: %d lines", name, n)
		}
	}
}

// fillStrings sets every plain field, so that none is left out.
func fillStrings(e *ledger.Exported) {
	v := reflect.ValueOf(e).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Int, reflect.Int64:
			f.SetInt(1)
		case reflect.Uint64:
			f.SetUint(1)
		default: // lists, and bodies, which CSV does not have
		}
	}
}
