package sqlite_test

import (
	"math"
	"path/filepath"
	"strconv"
	"testing"

	"durward/internal/store/sqlite"
	"durward/ledger"
)

// A check without checkpoints shows how far it is by the last link of the file. One that
// is damaged spoils what is shown, never what is found.
func TestVerifyShowsAnEndThatMayLie(t *testing.T) {
	t.Parallel() // most of it waits for the disk
	const last = "(SELECT max(seq) FROM chain)"
	for name, tt := range map[string]struct {
		sql     string
		of      int64 // of the first step
		verdict ledger.Verdict
	}{
		"as it was written": {"", 50, ledger.VerdictUnclear},
		"far":               {"UPDATE chain SET seq = 1000 WHERE seq = " + last, 1000, ledger.VerdictDamaged},
		"huge":              {"UPDATE chain SET seq = " + strconv.Itoa(math.MaxInt64) + " WHERE seq = " + last, 0, ledger.VerdictDamaged},
		"negative":          {"UPDATE chain SET seq = -50 WHERE seq = " + last, 49, ledger.VerdictDamaged},
		"no link":           {"UPDATE chain SET digest = x'00' WHERE seq = " + last, 0, ledger.VerdictDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ledger.db")
			h := newHand(t, path)
			h.fill(50)
			must(t, h.db.Close())
			script(t, path, tt.sql)
			r, err := sqlite.OpenReader(t.Context(), path)
			must(t, err)
			defer func() { must(t, r.Close()) }()
			var steps [][2]int64
			report, err := ledger.Verify(t.Context(), r, ledger.VerifyOptions{Progress: func(done, of int64) { steps = append(steps, [2]int64{done, of}) }})
			must(t, err)
			all := report.Links + report.Bodies
			told := len(steps) > 0 && (all == 0 || steps[0] == [2]int64{1, tt.of})
			if report.Verdict != tt.verdict || !told || steps[len(steps)-1][0] != steps[len(steps)-1][1] { // of the indexes, in the end
				t.Errorf("%s of %d, %v: %+v", report.Verdict, all, steps, report.Findings)
			}
		})
	}
}
