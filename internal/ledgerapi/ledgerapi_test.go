package ledgerapi_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"durward"
	"durward/client"
	"durward/internal/ledgerapi"
	"durward/ledger"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

// What cannot be read is an error: a filter that is overlooked shows too much.
func TestCallFilter(t *testing.T) {
	now := at("2026-07-28T12:00:00Z").In(time.FixedZone("here", 2*3600))
	for since, want := range map[string]string{
		"":                          "0001-01-01T00:00:00Z",
		"1h":                        "2026-07-28T11:00:00Z",
		"2d":                        "2026-07-26T12:00:00Z",
		"0s":                        "2026-07-28T12:00:00Z",
		"2026-07-27":                "2026-07-26T22:00:00Z", // midnight here
		"2026-07-27T10:00:00+02:00": "2026-07-27T08:00:00Z",
	} {
		f, err := ledgerapi.CallFilter(&client.CallFilter{Since: since, Until: since}, now)
		if err != nil || !f.Since.Equal(at(want)) || !f.Until.Equal(f.Since) {
			t.Errorf("%q: %v %v", since, f.Since, err)
		}
	}
	for _, wrong := range []client.CallFilter{
		{MinDuration: -1},
		{Since: "yesterday"},
		{Until: "-1h"},
		{Since: "1"},
		{Status: "failed"},
		{Status: "ok error"},
		{Decision: "deny"},
		{Entrance: "door"},
		{Origin: "x"},
		{Trace: "4bf92f"},
		{Trace: "4BF92F3577B34DA6A3CE929D0E0E4736"},
	} {
		if f, err := ledgerapi.CallFilter(&wrong, now); durward.KindOf(err) != durward.Invalid || err == nil {
			t.Errorf("%+v: %+v %v", wrong, f, err)
		}
	}
	full := client.CallFilter{
		Principal: "ann", Session: "s", Server: "x", Tool: "t", Method: "m", Status: "dispatched", Decision: "block", Rule: "r",
		Trace: "4bf92f3577b34da6a3ce929d0e0e4736", Entrance: "http", Origin: "mcp", MinDuration: time.Second, Cursor: "c", Limit: 7,
	}
	want := ledger.Filter{
		Principal: "ann", Session: "s", Server: "x", Tool: "t", Method: "m", Status: "dispatched", Action: "block", Rule: "r",
		TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", Entrance: "http", Origin: "mcp", MinDuration: time.Second, Cursor: "c", Limit: 7,
	}
	if f, err := ledgerapi.CallFilter(&full, now); err != nil || f != want {
		t.Errorf("%+v %v", f, err)
	}
}

func TestTimelineFilter(t *testing.T) {
	now := at("2026-07-28T12:00:00Z")
	f, err := ledgerapi.TimelineFilter(&client.TimelineFilter{Since: "1h", Session: "s", Sandbox: "b", Layers: []string{"tool", "net", "exec", "fs", "sandbox", "security", "change"}, Cursor: "c", Limit: 3}, now)
	want := ledger.TimelineFilter{Since: at("2026-07-28T11:00:00Z"), Session: "s", Sandbox: "b", Layers: []string{"tool", "net", "exec", "fs", "sandbox", "security", "change"}, Cursor: "c", Limit: 3}
	if err != nil || !reflect.DeepEqual(f, want) {
		t.Errorf("%+v %v", f, err)
	}
	for _, wrong := range []client.TimelineFilter{{Since: "x"}, {Until: "x"}, {Layers: []string{"tools"}}, {Layers: []string{""}}, {Trace: "1"}} {
		if _, err := ledgerapi.TimelineFilter(&wrong, now); durward.KindOf(err) != durward.Invalid || err == nil {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}

func row() ledger.Row {
	return ledger.Row{
		Intent: ledger.Intent{
			ID: "0197f6a2-1c3d-7abc-8def-0123456789ab", Session: "s", Parent: "p", TraceID: [16]byte{1}, SpanID: [8]byte{2}, At: at("2026-07-28T12:00:00Z"),
			Principal: "ann", Entrance: durward.EntranceHTTP, Process: "pid 1", Client: durward.ClientInfo{Name: "c", Version: "1"}, Route: "/mcp", Era: "modern",
			Origin: ledger.OriginMCP, Transport: durward.TransportStdio, Server: "x", Method: "tools/call", Tool: "t", FullName: "x__t", RequestID: "1", Risk: durward.RiskHigh,
			Action: durward.Block, Rule: "r", Layer: "l", Reason: "because", BytesIn: 3, Preview: "{}", Body: ledger.Digest{3},
		},
		Outcome: &ledger.Outcome{
			Call: "0197f6a2-1c3d-7abc-8def-0123456789ab", At: at("2026-07-28T12:00:01Z"), Dispatched: at("2026-07-28T12:00:00Z"), Duration: time.Second,
			Status: durward.StatusError, Attempts: 2, BytesOut: 4, Error: "e", Preview: "r", Body: ledger.Digest{4},
		},
	}
}

// Nothing that a record has is lost on the way out.
func TestACallIsToldAsAWhole(t *testing.T) {
	r := row()
	call := ledgerapi.Call(&r)
	v := reflect.ValueOf(call)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("%s is not told", v.Type().Field(i).Name)
		}
	}
	if call.TraceID != "01000000000000000000000000000000" || call.Status != "error" || call.DurationUS != 1e6 || call.Decision != "block" || call.Risk != "high" {
		t.Errorf("%+v", call)
	}
	r.Outcome, r.TraceID, r.Body, r.Risk = nil, [16]byte{}, ledger.Digest{}, durward.RiskUnset
	if call := ledgerapi.Call(&r); call.Status != client.StatusDispatched || call.TraceID != "" || call.RequestBody != "" || call.Risk != "" || !call.OutcomeAt.IsZero() {
		t.Errorf("%+v", call)
	}
	story := ledgerapi.Story(&ledger.Story{
		Row: row(), Decisions: []ledger.Decision{{Stage: "request", Rule: "r"}}, Approvals: []ledger.Approval{{ID: "a", By: "ann"}},
		Flows: []ledger.Flow{{Host: "h", Port: 443}}, Link: ledger.Link{Seq: 5, Records: 2, Hash: [32]byte{9}},
	})
	text, err := json.Marshal(story)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"rule":"r"`, `"by":"ann"`, `"port":443`, `"seq":5`, `"hash":"0900`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if empty := ledgerapi.Story(&ledger.Story{}); empty.Decisions == nil || empty.Approvals == nil || empty.Flows == nil {
		t.Error("an empty list is null in JSON")
	}
}

func TestStatsAndMoments(t *testing.T) {
	s := ledgerapi.Stats(&ledger.Stats{
		Calls: 3, ByStatus: map[durward.Status]int64{"ok": 2}, ByAction: map[string]int64{"allow": 3}, BytesIn: 1, BytesOut: 2,
		ByServer: []ledger.ServerStats{{Server: "x", Calls: 3, NotOK: 1, BytesIn: 1, BytesOut: 2}},
		ByTool:   []ledger.ToolStats{{Server: "x", Tool: "t", Calls: 3, NotOK: 1, Duration: ledger.Quantiles{P50: time.Millisecond}}},
		Duration: ledger.Quantiles{P50: time.Millisecond, P95: time.Second, P99: time.Minute},
	})
	want := &client.CallStats{
		Calls: 3, ByStatus: map[string]int64{"ok": 2}, ByAction: map[string]int64{"allow": 3}, BytesIn: 1, BytesOut: 2,
		ByServer: []client.ServerCalls{{Server: "x", Calls: 3, NotOK: 1, BytesIn: 1, BytesOut: 2}},
		ByTool:   []client.ToolCalls{{Server: "x", Tool: "t", Calls: 3, NotOK: 1, Duration: client.Quantiles{P50: 1000}}},
		Duration: client.Quantiles{P50: 1000, P95: 1e6, P99: 60e6},
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("%+v", s)
	}
	m := ledgerapi.Moment(&ledger.Moment{At: at("2026-07-28T12:00:00Z"), Layer: "tool", Ref: "1", Summary: "s", Status: "ok", Duration: time.Second, TraceID: "t"})
	if v := reflect.ValueOf(m); slices.ContainsFunc(reflect.VisibleFields(v.Type()), func(f reflect.StructField) bool { return v.FieldByIndex(f.Index).IsZero() }) {
		t.Errorf("%+v", m)
	}
}

// A report goes to a client and back as it was: the two have one form in JSON.
func TestAReportIsToldAsAWhole(t *testing.T) {
	when := at("2026-07-28T12:00:00Z")
	r := &ledger.Report{
		Verdict: ledger.VerdictDamaged, Findings: []ledger.Finding{{Verdict: ledger.VerdictOK, From: 1, To: 2, Where: "w", Message: "m"}}, More: 1,
		From: 3, To: 4, Links: 5, Records: 6, Bodies: 7, Open: 8, Checkpoints: 9, Keys: []string{"k"},
		Anchored: &ledger.Anchored{Seq: 10, Time: when}, Unanchored: &ledger.Unanchored{Links: 1, Records: 2, Since: when, Until: when},
		Truncated: &ledger.Truncated{Seq: 3, Time: when, Why: "w"}, BodiesGone: &ledger.Truncated{Seq: 4, Time: when, Why: "w"}, Elapsed: 1.5,
	}
	v := reflect.ValueOf(r).Elem()
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("the test does not set %s", v.Type().Field(i).Name)
		}
	}
	told, err := ledgerapi.Verified(r)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := ledgerapi.Report(told); err != nil || !reflect.DeepEqual(again, r) {
		t.Errorf("%+v %v", again, err)
	}
	if told.Verdict != client.VerdictDamaged || string(ledger.VerdictOK) != client.VerdictOK || string(ledger.VerdictUnclear) != client.VerdictUnclear {
		t.Error(told.Verdict)
	}
}

// A call matches a filter when it has every value that the filter names.
func TestMatches(t *testing.T) {
	r := row()
	whole := ledger.Filter{
		Since: r.Intent.At, Until: r.Intent.At.Add(1), Principal: "ann", Session: "s", Server: "x", Tool: "t", Method: "tools/call", Status: durward.StatusError,
		Action: "block", Rule: "r", TraceID: "01000000000000000000000000000000", Entrance: durward.EntranceHTTP, Origin: ledger.OriginMCP, MinDuration: time.Second,
	}
	if !ledgerapi.Matches(&whole, &r) || !ledgerapi.Matches(&ledger.Filter{}, &r) || !ledgerapi.Matches(&ledger.Filter{Tool: "x__t"}, &r) {
		t.Error("it does not match what it is")
	}
	rapid.Check(t, func(rt *rapid.T) {
		f := whole
		v := reflect.ValueOf(&f).Elem()
		i := rapid.IntRange(0, v.NumField()-3).Draw(rt, "field") // Cursor and Limit choose nothing
		switch field := v.Field(i); field.Interface().(type) {
		case time.Time:
			field.Set(reflect.ValueOf(r.Intent.At.Add(time.Duration(1 - i)))) // later than it, or not after it
		case time.Duration:
			field.SetInt(int64(time.Second + 1))
		default:
			field.SetString("other")
		}
		if ledgerapi.Matches(&f, &r) {
			rt.Errorf("%s does not count", v.Type().Field(i).Name)
		}
	})
	r.Outcome = nil
	if !ledgerapi.Matches(&ledger.Filter{Status: "dispatched"}, &r) || ledgerapi.Matches(&ledger.Filter{Status: "ok"}, &r) || ledgerapi.Matches(&ledger.Filter{MinDuration: 1}, &r) {
		t.Error("a call that is under way")
	}
}

// What a record can say can be asked for: the words are those that the sources declare.
func TestEveryWordOfARecordIsAFilter(t *testing.T) {
	for _, tt := range []struct {
		file, typ string
		words     []string
		of        func(word string) client.CallFilter
	}{
		{"../../call.go", "Status", ledgerapi.Statuses(), func(w string) client.CallFilter { return client.CallFilter{Status: w} }},
		{"../../caller.go", "Entrance", ledgerapi.Entrances(), func(w string) client.CallFilter { return client.CallFilter{Entrance: w} }},
		{"../../ledger/record.go", "Origin", ledgerapi.Origins(), func(w string) client.CallFilter { return client.CallFilter{Origin: w} }},
	} {
		declared := constants(t, tt.file, tt.typ)
		if len(declared) < 4 {
			t.Errorf("%s declares %q", tt.file, declared)
		}
		for _, word := range declared {
			f := tt.of(word)
			if _, err := ledgerapi.CallFilter(&f, time.Now()); err != nil || !slices.Contains(tt.words, word) {
				t.Errorf("%s %q: %v", tt.typ, word, err)
			}
		}
	}
	if _, err := ledgerapi.CallFilter(&client.CallFilter{Status: client.StatusDispatched}, time.Now()); err != nil {
		t.Error(err)
	}
}

// constants returns the texts of the constants of a type that a file declares.
func constants(t *testing.T, file, typ string) (texts []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); ok && name.Name == typ {
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				texts = append(texts, text)
			}
		}
		return true
	})
	return texts
}
