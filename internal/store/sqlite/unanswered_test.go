package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"durward"
	"durward/internal/store/sqlite"
	"durward/ledger"
)

// A killed process leaves calls open. One that waited for a person was not made, and
// its question is denied; of all others nobody knows.
func TestWhatWaitedForAPersonIsDeniedAfterAKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]durward.CallID{}
	var records []ledger.Record
	for _, name := range []string{"waits", "was let pass", "asked nobody"} {
		ids[name] = durward.NewCallID()
		records = append(records, &ledger.Intent{ID: ids[name], Action: durward.Ask})
	}
	records = append(records,
		&ledger.Approval{ID: "one", Call: ids["waits"], Status: "pending", Scope: "call"},
		&ledger.Approval{ID: "two", Call: ids["was let pass"], Status: "pending"}, &ledger.Approval{ID: "two", Call: ids["was let pass"], Status: "approved"},
	)
	if err := db.Write(t.Context(), &ledger.Batch{Records: records, Link: (&ledger.Link{}).Next(time.Now(), records)}); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(t.Context(), ledger.Options{Store: db})
	if err != nil {
		t.Fatal(err)
	}
	if left, err := db.Unanswered(t.Context(), 10); err != nil || len(left) != 0 {
		t.Errorf("still unanswered: %v %v", left, err)
	}
	reader, err := sqlite.OpenReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for name, want := range map[string]durward.Status{
		"waits": durward.StatusDenied, "was let pass": durward.StatusUnknown, "asked nobody": durward.StatusUnknown,
	} {
		story, err := reader.Call(t.Context(), string(ids[name]))
		if err != nil || story.Outcome == nil || story.Outcome.Status != want {
			t.Errorf("%s: %v %v, wanted %s", name, story, err, want)
		}
		if n := len(story.Approvals); name == "waits" && (n != 2 || story.Approvals[n-1].Status != "denied" || story.Approvals[n-1].Scope != "call") {
			t.Errorf("%s: %+v", name, story.Approvals)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
