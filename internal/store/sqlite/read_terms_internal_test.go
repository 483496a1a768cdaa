package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"durward"
	"durward/ledger"
)

// termsFile makes a ledger of 300 calls in segments of 50, and 30 in none; every third
// call is of session s.
func termsFile(t *testing.T) *Reader {
	t.Helper()
	db, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "ledger.db"), sizes: segmentSizes{50, 50, 50}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var head ledger.Link
	for n := range 330 {
		at := time.Date(2026, 11, 1, 0, 0, n, 0, time.UTC)
		i := &ledger.Intent{ID: durward.CallID(fmt.Sprintf("01970000-0000-7000-8000-%012x", n)), At: at, TraceID: [16]byte{1}}
		if n%3 == 0 {
			i.Session = "s"
		}
		records := []ledger.Record{i, &ledger.Outcome{Call: i.ID, At: at, Status: durward.StatusOK}}
		head = head.Next(at, records)
		if err := db.Write(t.Context(), &ledger.Batch{Records: records, Link: head}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := db.OpenReader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// In whatever order calls are asked for, and whatever has to be forgotten meanwhile, the
// answer is what their rows say.
func TestTermsOfCallsAreThoseOfTheirRows(t *testing.T) {
	r := termsFile(t)
	rapid.Check(t, func(rt *rapid.T) {
		full := rapid.Bool().Draw(rt, "full")
		seqs := rapid.SliceOfN(rapid.Int64Range(1, 660), 80, 80).Draw(rt, "seqs")
		wrong := ""
		err := r.view(t.Context(), func(v *view) (err error) { // is left regularly, so that its state ends
			wrong, err = askTerms(v, seqs, full)
			return err
		})
		if err != nil || wrong != "" {
			rt.Fatal(wrong, err)
		}
	})
}

// askTerms asks for calls and says what is wrong with the answers. full is as after a
// long search.
func askTerms(v *view, seqs []int64, full bool) (wrong string, err error) {
	c := &termCalls{}
	if any, err := c.begin(v, []wantTerm{{fieldTrace, string([]byte{0: 1, 15: 0})}, {fieldSession, "s"}}); err != nil || !any {
		return "there are none", err
	}
	for _, seq := range seqs {
		if full {
			c.kept = callsKeptMost
			for len(c.runs) < callRunsMost {
				c.runs = append(c.runs, &callRun{first: 1, last: 0})
			}
		}
		want := seq%6 == 1 // intents are every other record
		if got, err := c.has(seq); err != nil || got != want {
			return fmt.Sprintf("call %d: %v, wanted %v", seq, got, want), err
		}
		if len(c.runs) > callRunsMost || c.kept > callsKeptMost {
			return fmt.Sprintf("%d runs with %d calls are kept", len(c.runs), c.kept), nil
		}
	}
	return "", nil
}
