package sqlite_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"durward/internal/store/sqlite"
)

// inspected returns what is found in a file.
func inspected(t *testing.T, path string) (all []string) {
	t.Helper()
	r, err := sqlite.OpenReader(t.Context(), path)
	must(t, err)
	defer func() { must(t, r.Close()) }()
	must(t, r.Inspect(t.Context(), func(where, what string) { all = append(all, where+": "+what) }, func(int64, int64) {}))
	return all
}

// A ledger that an older version made is not damaged for that.
func TestInspectsAnOlderLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	h := newHand(t, path)
	h.fill(3)
	must(t, h.db.Close())
	first, err := os.ReadFile("migrations/00001_ledger.sql")
	must(t, err)
	older := "DELETE FROM goose_db_version WHERE version_id = 2;"
	for _, view := range []string{"tool_calls", "security_rule_events", "net_events"} { // that the second made anew
		_, text, _ := strings.Cut(string(first), "CREATE VIEW "+view+" AS")
		text, _, _ = strings.Cut(text, ";")
		older += "DROP VIEW " + view + "; CREATE VIEW " + view + " AS" + text + ";"
	}
	script(t, path, older)
	if all := inspected(t, path); len(all) > 0 {
		t.Errorf("%q", all)
	}
	script(t, path, "DROP VIEW net_events")
	if all := inspected(t, path); !slices.Equal(all, []string{"view net_events: it is missing"}) {
		t.Errorf("%q", all)
	}
}

// Names of tables may be anything: who changed the file has chosen them.
func TestInspectsNamesWithQuotes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	h := newHand(t, path)
	h.fill(3)
	must(t, h.db.Close())
	script(t, path, "CREATE TABLE \"it's\" (x)")
	if all := inspected(t, path); !slices.Equal(all, []string{"table it's: it was not made by Durward"}) {
		t.Errorf("%q", all)
	}
}

// That a file does not say its version any more is damage, and not the end of the check.
func TestInspectsWhatSaysNoVersion(t *testing.T) {
	h := newHand(t, filepath.Join(t.TempDir(), "ledger.db"))
	h.fill(3)
	script(t, h.db.Path(), "DROP TABLE goose_db_version")
	var all []string
	must(t, h.db.Inspect(t.Context(), func(where, what string) { all = append(all, where+": "+what) }, func(int64, int64) {}))
	if !slices.Equal(all, []string{"table goose_db_version: it is missing"}) {
		t.Errorf("%q", all)
	}
}
