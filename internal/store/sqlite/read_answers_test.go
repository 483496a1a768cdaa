package sqlite_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"durward"
	"durward/ledger"
)

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
		&ledger.Change{At: at(3).Add(-time.Microsecond), Who: "me", What: "config reload", Target: "c.yaml", OldHash: strings.Repeat("ab", 32), NewHash: strings.Repeat("cd", 32), Detail: "different: log"},
		&ledger.Change{At: at(3).Add(-2 * time.Microsecond), Who: "me", What: "key rotate", NewHash: "durward-1+2+3"},
		&ledger.Change{At: at(3).Add(-3 * time.Microsecond), Who: "me", What: "config reload", OldHash: strings.Repeat("ab", 32), NewHash: strings.Repeat("ab", 32)},
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
		{At: at(3).Add(-time.Microsecond), Layer: "change", Ref: "c.yaml", Summary: "me config reload (abababababab → cdcdcdcdcdcd) different: log"},
		{At: at(3).Add(-2 * time.Microsecond), Layer: "change", Summary: "me key rotate (→ durward-1+2+3)"},
		{At: at(3).Add(-3 * time.Microsecond), Layer: "change", Summary: "me config reload"},
		{At: at(2), Layer: "change", Summary: "recovered: 1 call"},
	}
	if diff := cmp.Diff(want, page.Moments); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
