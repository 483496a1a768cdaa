package cli

import (
	"bytes"
	"context"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/client"
)

func cells(texts ...string) (row []cell) {
	for _, text := range texts {
		row = append(row, cell{text: text})
	}
	return row
}

// A table is as wide as what is in it, or as the screen; foreign text stays on its line.
func TestTables(t *testing.T) {
	var out bytes.Buffer
	table := newTable(&out)
	if err := table.print([][]cell{cells("WHEN", "WHAT", "BY"), cells("1s ago", "a\nb\tc\x1b[31m\u202e", "ünï"), cells("2m ago", "", "x")}); err != nil {
		t.Fatal(err)
	}
	if err := table.print([][]cell{cells("10m ago", "later and longer than others", "y")}); err != nil {
		t.Fatal(err)
	}
	want := "WHEN    WHAT                       BY\n1s ago  a b c<U+001B>[31m<U+202E>  ünï\n" +
		"2m ago                             x\n10m ago  later and longer than others  y\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwanted\n%s", out.String(), want)
	}
	table.screen = 12
	if got := table.line(cells("1s ago", "abcdefg", "z")); got != "1s ago  abc…" {
		t.Errorf("%q", got)
	}
	if got := table.line(cells("1s ago", "abcd", "z")); got != "1s ago  abcd" {
		t.Errorf("%q", got)
	}
}

func TestWordsForTimes(t *testing.T) {
	now := time.Date(2026, 7, 28, 12, 0, 0, 0, time.Local)
	for d, want := range map[time.Duration]string{
		-time.Second: "now", 0: "0s ago", 59 * time.Second: "59s ago", time.Minute: "1m ago", 119 * time.Minute: "1h ago",
		47 * time.Hour: "47h ago", 48 * time.Hour: "2d ago", 14 * 24 * time.Hour: "2026-07-14",
	} {
		if got := ago(now.Add(-d), now); got != want {
			t.Errorf("%s: %q, wanted %q", d, got, want)
		}
	}
	for us, want := range map[int64]string{0: "", 1: "1µs", 999: "999µs", 1500: "1.5ms", 15_000: "15ms", 1_500_000: "1.5s", 90_000_000: "1m30s"} {
		if got := took(us); got != want {
			t.Errorf("%d: %q, wanted %q", us, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 bytes", 10239: "10239 bytes", 10240: "10.0 KiB", 5 << 20: "5.0 MiB", 3 << 30: "3.0 GiB", 1 << 50: "1024.0 TiB"} {
		if got := bytesText(n); got != want {
			t.Errorf("%d: %q, wanted %q", n, got, want)
		}
	}
	for id, want := range map[string]string{
		"0197f6a2-1c3d-7abc-8def-0123456789ab": "0197f6a2-1c3d-7abc-8", "/a/path/that/is/as/long/as/an/id/is/x": "/a/path/that/is/as/long/as/an/id/is/x", "": "",
	} {
		if got := shortID(id); got != want {
			t.Errorf("%q: %q", id, got)
		}
	}
}

// Whoever prints a body is told if it is not all there was.
func TestAPreviewIsAllOrNot(t *testing.T) {
	for _, tt := range []struct {
		preview, length int
		want            bool
	}{{0, 0, true}, {10, 10, true}, {9, 20, true}, {1024, 1024, true}, {1024, 1025, false}, {1021, 5000, false}, {1020, 5000, true}} {
		if got := whole(strings.Repeat("x", tt.preview), tt.length); got != tt.want {
			t.Errorf("%d of %d: %t", tt.preview, tt.length, got)
		}
	}
}

// An error that was cut is not printed as if that were all, as no body is.
func TestAnErrorIsAllOrNot(t *testing.T) {
	for n, all := range map[int]bool{20: true, 1024: true, 5000: false} {
		c := &client.CallRecord{ID: "c1", Status: "error", Error: strings.Repeat("x", min(n, 1024)), BytesOut: n}
		var out bytes.Buffer
		err := printBody(t.Context(), nil, c, "response", Streams{Out: &out})
		if all != (err == nil) || all != (out.String() == c.Error+"\n") || !all && (durward.KindOf(err) != durward.NotFound || out.Len() > 0) {
			t.Errorf("%d bytes: %v %q", n, err, out.String())
		}
		out.Reset()
		if err := printStory(Streams{Out: &out}, &client.CallStory{Call: *c}); err != nil || strings.Contains(out.String(), "\nerror:\n") != all || strings.Contains(out.String(), "only its beginning was kept") == all {
			t.Errorf("%d bytes: %v %s", n, err, out.String())
		}
	}
	// What the ledger itself says of a call that never was answered has no bytes of an answer.
	var out bytes.Buffer
	c := &client.CallRecord{ID: "c1", Status: "unknown", Error: "the service was killed"}
	if err := printBody(t.Context(), nil, c, "response", Streams{Out: &out}); err != nil || out.String() != c.Error+"\n" {
		t.Errorf("%v %q", err, out.String())
	}
}

// Where there is no terminal a short task says nothing, and a long one little.
func TestProgressInLines(t *testing.T) {
	var out bytes.Buffer
	begun := time.Now()
	b := newBar(Streams{Err: &out}, "verifying")
	if b.last.Before(begun) {
		t.Error("it is told at once")
	}
	b.last = time.Now().Add(time.Hour) // however long the test takes
	b.tell(1, 100)
	if out.Len() > 0 {
		t.Errorf("%q", out.String())
	}
	for _, done := range []int64{5, 7, 25, 29, 31} {
		b.last = time.Time{} // as if it took long
		b.tell(done, 100)
	}
	b.last = time.Time{}
	b.tell(7, 0)
	for _, done := range []int64{100, 0, 9} { // the next part of a task begins anew
		b.last = time.Time{}
		b.tell(done, 100)
	}
	b.end()
	want := ""
	for _, share := range []string{"5 %", "25 %", "31 %", "7", "100 %", "0 %"} {
		want += "durward: verifying: " + share + "\n"
	}
	if out.String() != want {
		t.Errorf("%q", out.String())
	}
}

func TestProgressAsABar(t *testing.T) {
	var out bytes.Buffer
	b := &bar{out: &out, what: "copying", terminal: true}
	b.tell(1, 2)
	b.tell(5, 2) // more than there was when it began
	b.end()
	full, half := strings.Repeat("█", barWidth), strings.Repeat("█", barWidth/2)+strings.Repeat("░", barWidth/2)
	if want := "\r\x1b[Kcopying  " + half + "  50 %\r\x1b[Kcopying  " + full + "  100 %\r\x1b[K"; out.String() != want {
		t.Errorf("%q", out.String())
	}
}

// A damaged file can make a task say anything of how far it is.
func TestProgressThatCannotBe(t *testing.T) {
	for _, tt := range []struct {
		done, of int64
		want     string
	}{
		{-1, 2, "0 %"}, {math.MinInt64, math.MaxInt64, "0 %"}, {math.MaxInt64, math.MaxInt64, "100 %"}, {math.MaxInt64, 1, "100 %"},
		{math.MaxInt64 / 2, math.MaxInt64, "49 %"}, {1 << 49, 1 << 50, "50 %"}, {1<<50 + 1, 1<<51 + 2, "50 %"}, {18, math.MaxInt64, "0 %"},
		{5, -1, "5"}, {29, 100, "29 %"},
	} {
		var out bytes.Buffer
		b := &bar{out: &out, what: "verifying", terminal: true}
		b.tell(tt.done, tt.of)
		text, ok := strings.CutSuffix(out.String(), "  "+tt.want)
		if n := strings.Count(text, "█") + strings.Count(text, "░"); !ok || tt.of > 0 && n != barWidth {
			t.Errorf("%d of %d: %q", tt.done, tt.of, out.String())
		}
		b.terminal = false
		b.tell(tt.done, tt.of) // in lines
	}
}

func TestAnInterruptSaysWhatIsLeft(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	failed := errors.New("broken")
	if err := interrupted(ctx, failed, "nothing"); !errors.Is(err, failed) {
		t.Error(err)
	}
	cancel()
	if err := interrupted(ctx, nil, "nothing"); err != nil {
		t.Error(err)
	}
	err := interrupted(ctx, failed, "nothing is left")
	if err.Error() != "interrupted; nothing is left" || exitStatus(err) != 6 {
		t.Error(err)
	}
}

func TestVerdictsHaveExitStatusesOfTheirOwn(t *testing.T) {
	damaged := durward.Errorf(durward.Conflict, "ledger", "damaged")
	if got := exitStatus(&verdict{damaged, statusDamaged}); got != 1 {
		t.Error(got)
	}
	if got := exitStatus(withHint(&verdict{damaged, statusUnclear}, "x")); got != 2 {
		t.Error(got)
	}
}

func TestHeadersForACollector(t *testing.T) {
	headers, err := otlpHeaders(" Authorization=Bearer a=b, X-Tenant=7,,")
	if err != nil || len(headers) != 2 || headers["Authorization"].Reveal() != "Bearer a=b" || headers["X-Tenant"].Reveal() != "7" {
		t.Errorf("%v %v", headers, err)
	}
	for _, wrong := range []string{"hunter2", "=hunter2"} {
		if _, err := otlpHeaders(wrong); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// Who follows and looks back is shown the last calls first, and told if there are more.
func TestWhoLooksBackIsToldOfWhatIsLeftOut(t *testing.T) {
	for next, want := range map[string]string{"": "", "older": "durward: only the newest 2 calls are shown first; durward calls with --limit 0 lists all\n"} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/api/v1/ledger" {
				_ = printJSON(w, client.LedgerInfo{Head: client.LinkRecord{Seq: 7}})
				return
			}
			_ = printJSON(w, client.CallList{Calls: []client.CallRecord{{ID: "two", Status: "ok"}, {ID: "open", Status: "dispatched"}, {ID: "one", Status: "ok"}}, Next: next})
		}))
		service, err := client.NewTCP(strings.TrimPrefix(web.URL, "http://"), "t")
		if err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		after, err := newFollowed(Streams{Out: &out, Err: &errs}, false).before(t.Context(), service, client.CallFilter{Since: "1h"})
		web.Close()
		if err != nil || after != "7" || errs.String() != want {
			t.Errorf("%v %q %q", err, after, errs.String())
		}
		if one, two := strings.Index(out.String(), "  one"), strings.Index(out.String(), "  two"); one < 0 || two < one || strings.Contains(out.String(), "open") {
			t.Errorf("%q", out.String())
		}
	}
}

func TestStoriesHideNothingAndShowNoEmptyLine(t *testing.T) {
	var out bytes.Buffer
	story := &client.CallStory{Call: client.CallRecord{
		ID: "0197f6a2-1c3d-7abc-8def-0123456789ab", Method: "tools/call", FullName: "x__t\x1b[2J", Server: "x", Tool: "t", Status: "refused", Decision: "block",
		Rule: "no\nwrites", Layer: "corp", Reason: "because", Principal: "ann", Entrance: "stdio", Attempts: 2, Error: "refused by policy",
		Request: "{}", BytesIn: 2, IntentAt: time.Now(),
	}, Decisions: []client.DecisionRecord{{Rule: "no writes", Action: "block", Effective: "block"}},
		Approvals: []client.ApprovalRecord{{ID: "q1", Status: "denied", By: "bob"}}, Flows: []client.FlowRecord{{Host: "h", Port: 443, Path: "/p"}}}
	if err := printStory(Streams{Out: &out}, story); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"x__t<U+001B>[2J  (t of x, )", "refused, handed to the server 2 times", "block, rule no writes, layer corp, reason because", "ann, stdio",
		"request, 2 bytes:\n{}\n", "error:\nrefused by policy\n", "no writes → block", "q1 denied bob", "h:443/p",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "\x1b") || strings.Contains(out.String(), "session") || strings.Contains(out.String(), "parent") {
		t.Errorf("%q", out.String())
	}
}
