package ledger_test

import (
	"testing"

	"durward/ledger"
)

// Without checkpoints nobody knows how many links there are before all were seen: what
// is told must not look like the end.
func TestProgressWithoutCheckpointsSaysThatItKnowsNoEnd(t *testing.T) {
	o := everything(t)
	var steps [][2]int64
	r, err := ledger.Verify(t.Context(), o.store, ledger.VerifyOptions{
		Verifiers: o.verifiers(), Progress: func(done, of int64) { steps = append(steps, [2]int64{done, of}) },
	})
	o.must(err)
	o.want(r, ledger.VerdictUnclear)
	all := r.Links + r.Bodies
	if first := steps[0]; first != [2]int64{1, 0} {
		t.Errorf("first %v", first)
	}
	if last := steps[len(steps)-1]; last != [2]int64{all, all} {
		t.Errorf("last %v of %d", last, all)
	}
}
