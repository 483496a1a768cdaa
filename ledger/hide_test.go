package ledger_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/ledger"
)

// Whoever chooses a text, and wherever it is recorded: there is no secret in it, not
// even the beginning of one where a text is cut.
func TestNothingIsRecordedWithASecretInIt(t *testing.T) {
	const secret = "the-secret-value"
	d := &door{}
	l, err := ledger.Open(t.Context(), ledger.Options{Store: d, Wait: time.Minute, Redact: func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte(secret), []byte("***"))
	}})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", ledger.PreviewMost-5) + secret
	c := &durward.Call{
		ID: durward.NewCallID(), Received: time.Now(), Method: secret, Name: long, FullName: "x" + secret, RequestID: []byte(`"` + secret + `"`),
		Params: []byte(`{"x":"` + secret + long + `"}`), Caller: durward.Caller{Client: durward.ClientInfo{Name: secret, Version: secret}},
		Route: durward.Route{Kind: durward.RouteServer, Name: secret},
	}
	if err := l.Intent(t.Context(), c, durward.Decision{Reason: secret}); err != nil {
		t.Fatal(err)
	}
	l.Outcome(t.Context(), c, durward.Outcome{Error: []byte(long), Finished: time.Now()})
	client := durward.ClientInfo{Name: secret, Version: long}
	for _, r := range []ledger.Record{
		&ledger.SessionStart{ID: "s", Client: client, Route: "/servers/" + secret + "/mcp"}, &ledger.SessionEnd{ID: "s", Reason: secret}, &ledger.Decision{Call: c.ID, Detail: secret},
		&ledger.Approval{ID: "a", Call: c.ID, Reason: secret, By: "the client " + secret + " of ann"}, &ledger.Change{Target: secret, Detail: secret},
		&ledger.Flow{Host: secret, Path: "/" + secret}, &ledger.Event{Detail: secret}, &ledger.Event{What: secret}, &ledger.Note{Detail: secret},
	} {
		if err := l.Append(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	hidden := 0
	for _, r := range of[ledger.Record](d) {
		text := fmt.Sprintf("%+v", r)
		if strings.Contains(text, "the-s") {
			t.Errorf("%s", text)
		}
		if strings.Contains(text, "***") {
			hidden++
		}
	}
	if hidden != 11 {
		t.Errorf("something is hidden in %d records, want 11", hidden)
	}
}
