package ledgerapi_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"durward"
	"durward/internal/ledgerapi"
	"durward/ledger"
)

// Who can read what `durward calls --json` prints can read an export, as NDJSON and as
// CSV: the same is called the same, and says the same.
func TestExportsSpeakAsCallsDo(t *testing.T) {
	s := &ledger.Story{Link: ledger.Link{Seq: 9}}
	s.Intent = ledger.Intent{
		ID: "call", Session: "s", Parent: "p", TraceID: [16]byte{1}, SpanID: [8]byte{2}, At: at("2026-07-28T12:00:00Z"), Principal: "local",
		Entrance: durward.EntranceHTTP, Process: "pid", Client: durward.ClientInfo{Name: "c", Version: "1"}, Route: "/mcp", Era: "modern",
		Origin: ledger.OriginMCP, Transport: durward.TransportStdio, Server: "files", Method: "tools/call", Tool: "read", FullName: "files__read",
		RequestID: `"a"`, Risk: durward.RiskHigh, Action: durward.Ask, Rule: "r", Layer: "user", Reason: "because", BytesIn: 1, Preview: "{}", Body: ledger.Digest{3},
	}
	s.Outcome = &ledger.Outcome{
		Call: "call", At: s.At.Add(time.Second), Dispatched: s.At.Add(time.Millisecond), Duration: time.Second, Status: durward.StatusError,
		Attempts: 2, BytesOut: 4, Error: "e", Preview: "p", Body: ledger.Digest{5},
	}
	says, exported := members(t, ledgerapi.Call(&s.Row)), members(t, ledger.ExportedCall(s))
	columns := ledger.CSVColumns()
	for name, value := range says {
		if got := exported[name]; !alike(got, value) {
			t.Errorf("%s: calls says %s, an export %s", name, value, got)
		}
		if !slices.Contains(columns, name) {
			t.Errorf("%s is no column", name)
		}
		delete(exported, name)
	}
	if delete(exported, "link"); len(exported) > 0 { // durward show says it
		t.Errorf("only in exports: %v", exported)
	}
}

// members are the members of what v is as JSON.
func members(t *testing.T, v any) map[string]json.RawMessage {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// alike reports whether two values are the same; times may be written otherwise.
func alike(a, b json.RawMessage) bool {
	if string(a) == string(b) {
		return true
	}
	var t, u time.Time
	return json.Unmarshal(a, &t) == nil && json.Unmarshal(b, &u) == nil && t.Equal(u)
}
