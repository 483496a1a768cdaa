package sqlite_test

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/ledger"
)

// Who looks at the file with other tools finds the names of the described system, and
// in them what was recorded.
func TestViewsForPeople(t *testing.T) {
	b := newBook(t)
	content := []byte(`{"whole":true}`)
	body := ledger.Body{Digest: sha256.Sum256(content), Original: 9000, Truncated: true, Data: content}
	i, o := b.call()
	i.Session, i.Process, i.TraceID = "01970000-0000-7000-8000-0000000000aa", "pid 7", [16]byte{1}
	i.Transport, i.Action, i.Rule, i.Reason, i.Body, i.BytesIn = durward.TransportStdio, durward.Ask, "r", "because", body.Digest, 7
	o.Duration, o.Preview, o.BytesOut, o.Dispatched = 1500*time.Millisecond, `{"ok":1}`, 8, i.At
	refused, over := b.call()
	refused.Action, over.Status, over.Error = durward.Block, durward.StatusRefused, "no"
	open, _ := b.call()
	list, listed := b.call()
	list.Method = "tools/list"
	denied, by := b.call() // a person said no
	denied.Action, by.Status = durward.Ask, durward.StatusDenied
	filled, full := b.call() // policy allowed it, a limit did not
	full.Status = durward.StatusRefused
	failed, why := b.call()
	why.Status = durward.StatusToolError
	at := start.Add(123456 * time.Microsecond)
	b.write([]ledger.Body{body},
		i, o, refused, over, open, list, listed, denied, by, filled, full, failed, why,
		&ledger.Decision{Call: i.ID, At: at, Stage: "request", Layer: "user", Rule: "r", Action: "ask", Effective: "allow", Detection: "high", Detail: `{"a":1}`},
		&ledger.Approval{ID: "q", Call: i.ID, At: at, Status: "approved", By: "ann", Reason: "fine", Scope: "call"},
		&ledger.Flow{Call: i.ID, At: at, Server: "github", Method: "GET", Host: "h", IP: "192.0.2.1", Port: 443, Path: "/p", Status: 200, BytesOut: 1, BytesIn: 2, Decision: "allow"},
		&ledger.Decision{Call: open.ID, At: at, Rule: "untraced"}, &ledger.Decision{Call: "pruned", At: at, Rule: "of no call"},
		&ledger.Flow{At: at, Host: "of no call"}, &ledger.Flow{Call: open.ID, At: at, Host: "untraced"},
		&ledger.SessionStart{ID: i.Session, At: at, Principal: "local", Entrance: durward.EntranceHTTP, Sandbox: "box"},
		&ledger.SessionEnd{ID: i.Session, At: at.Add(time.Second), Reason: "closed"},
		&ledger.Event{At: at, Layer: "exec", Sandbox: "box", What: "ls"}, &ledger.Event{At: at, Layer: "file", Sandbox: "box", What: "write"},
		&ledger.Event{At: at, Layer: "network", Sandbox: "box", What: "dial"}, &ledger.Event{At: at, Layer: "sandbox", Sandbox: "box", What: "up"})

	hash := fmt.Sprintf("sha256:%x", body.Digest)
	for query, want := range map[string]string{
		"SELECT event_id, timestamp, status, call_id, tool_name, arguments, response_preview, origin, transport, server_name, method, request_id, decision, duration_ms, error_message, process_name, bytes_sent, bytes_received, policy_action, policy_rule, policy_reason, trace_id FROM tool_calls WHERE id = 1": string(i.ID) + ` 2026-11-01T12:00:01.000000Z responded 1 create {} {"ok":1} mcp stdio github tools/call 1 allowed 1500 NULL pid 7 7 8 ask r because 01000000000000000000000000000000`,
		"SELECT group_concat(status || ' ' || decision, ', ') FROM (SELECT * FROM tool_calls ORDER BY id)":                                                                                  "responded allowed, error denied, requested allowed, error denied, error denied, error allowed",
		"SELECT timestamp_unix_ms - ?, event_id, event_type, rule_id, rule_action, effective_decision, detection_level, event_json, trace_id FROM security_rule_events WHERE rule_id = 'r'": "0 " + string(i.ID) + ` request r ask allow high {"a":1} 01000000000000000000000000000000`,
		"SELECT timestamp_unix_ms - ?, ask_id, event_id, status, resolver, reason, scope FROM security_ask_events":                                                                          "0 q " + string(i.ID) + " approved ann fine call",
		"SELECT event_id, timestamp, domain, ip, port, decision, process_name, method, path, status_code, bytes_sent, bytes_received, trace_id FROM net_events WHERE domain = 'h'":          string(i.ID) + " 2026-11-01T12:00:00.123456Z h 192.0.2.1 443 allow github GET /p 200 1 2 01000000000000000000000000000000",
		"SELECT group_concat(rule_id || coalesce(trace_id, '-'), ', ') FROM (SELECT * FROM security_rule_events WHERE rule_id <> 'r' ORDER BY id)":                                          "untraced-, of no call-",
		"SELECT group_concat(domain || coalesce(trace_id, '-') || length(event_id), ', ') FROM (SELECT * FROM net_events WHERE domain <> 'h' ORDER BY id)":                                  "of no call-0, untraced-36",
		"PRAGMA user_version": "2",
		"SELECT event_id, source_table, direction, original_bytes, stored_bytes, truncated, body_hash, body FROM event_body_blobs":                                                                      string(i.ID) + " tool_calls request 9000 14 1 " + hash + ` {"whole":true}`,
		"SELECT id, sandbox, ended - started, reason FROM sessions":                                                                                                                                     string(i.Session) + " box 1000000 closed",
		"SELECT group_concat(what, ' ') FROM (SELECT what FROM exec_events UNION ALL SELECT what FROM file_events UNION ALL SELECT what FROM network_events UNION ALL SELECT what FROM sandbox_events)": "ls write dial up",
		"SELECT count(*) FROM calls": "7",
	} {
		if got := b.line(query, at.UnixMilli()); got != want {
			t.Errorf("%s\n got %s\nwant %s", query, got, want)
		}
	}
}

// line returns the only row of a query that another program makes, with its columns
// in one line.
func (b *book) line(query string, arg int64) string {
	b.t.Helper()
	db, err := sql.Open("sqlite", "file:"+b.path+"?mode=ro")
	if err != nil {
		b.t.Fatal(err)
	}
	defer db.Close()
	var args []any
	if strings.Contains(query, "?") {
		args = append(args, arg)
	}
	rows, err := db.QueryContext(b.t.Context(), query, args...)
	if err != nil {
		return err.Error()
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil || !rows.Next() {
		return fmt.Sprintf("no row: %v, %v", err, rows.Err())
	}
	values, into := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return err.Error()
	}
	var texts []string
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			texts = append(texts, "NULL")
		case []byte:
			texts = append(texts, string(v))
		default:
			texts = append(texts, fmt.Sprint(v))
		}
	}
	if rows.Next() {
		texts = append(texts, "and another row")
	}
	return strings.Join(texts, " ")
}
