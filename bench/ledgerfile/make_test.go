package ledgerfile_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/bench/ledgerfile"
	"durward/internal/store/sqlite"
	"durward/ledger"
)

// A made ledger is one: its chain holds, and it has what its questions look for.
func TestAMadeLedgerIsOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "ledger.db")
	shape := ledgerfile.Shape{Rows: 12_000, Until: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), Batch: 300}
	if err := ledgerfile.Make(t.Context(), path, shape); err != nil {
		t.Fatal(err)
	}
	if err := ledgerfile.Make(t.Context(), path, shape); durward.KindOf(err) != durward.Conflict {
		t.Errorf("made over another: %v", err)
	}
	r, err := sqlite.OpenReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var before ledger.Link
	records := 0
	err = r.Links(t.Context(), 1, func(l ledger.Link, all []ledger.Record) error {
		if next := before.Next(l.At, all); !l.Follows(&before) || next != l {
			t.Fatalf("link %d does not follow", l.Seq)
		}
		before, records = l, records+len(all)
		return nil
	})
	if err != nil || records < 2*shape.Rows {
		t.Fatalf("%d records, %v", records, err)
	}
	s, err := r.Stats(t.Context(), ledger.Filter{})
	if err != nil || s.Calls != int64(shape.Rows) || s.ByStatus["dispatched"] != 5 || len(s.ByStatus) < 6 {
		t.Errorf("%+v %v", s, err)
	}
	results, err := ledgerfile.Measure(t.Context(), path, shape, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range results {
		empty := strings.HasPrefix(v.Name, "empty-") || strings.HasSuffix(v.Name, "-absent") || v.Name == "longer-than-1h"
		seldom := slices.Contains([]string{"seldom-old-principal-rule", "status-unknown", "timeline-sandbox"}, v.Name)
		if empty != (v.Rows == 0) && !seldom {
			t.Errorf("%s gave %d rows", v.Name, v.Rows)
		}
	}
}
