package ledger_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"durward/ledger"
)

// loses is a loss of power in a store that syncs in no order: what was removed stays
// removed, and of what was written only that is left which was synced because it was
// to be signed.
func (o *office) loses() {
	o.t.Helper()
	o.must(o.check.Close())
	if from := slices.IndexFunc(o.store.links, func(l ledger.Link) bool { return l.Seq > o.check.Newest().Seq }); from >= 0 {
		o.store.drop(from, len(o.store.links))
	}
	o.open()
}

// The power fails after everything that was signed has been removed, or a part of
// it. What says so outlasts that: the chain goes on behind it, and never at 1 again.
func TestThePowerFailsAfterRecordsWereRemoved(t *testing.T) {
	broken := errors.New("broken off")
	for steps := range 6 { // all is removed after the fourth
		o := newOffice(t)
		o.fill(3)
		signed := o.check.Newest()
		o.now = o.now.Add(2 * time.Hour)
		n := 0
		o.store.step = func() error {
			if n++; n > steps {
				return broken
			}
			return nil
		}
		_, err := ledger.Keep(t.Context(), o.keeping(ledger.Retention{Rows: time.Hour}))
		o.store.step = nil
		if err != nil && !errors.Is(err, broken) {
			t.Fatal(err)
		}
		if cut, _ := o.check.Truncated(); cut != signed.Seq {
			t.Fatalf("%d steps: removed up to %d, and %d was signed", steps, cut, signed.Seq)
		}
		o.loses()
		if o.chain.Seq <= signed.Seq {
			t.Errorf("%d steps: the store ends at link %d, and links up to %d are removed on record", steps, o.chain.Seq, signed.Seq)
		}
		o.want(o.verify(), ledger.VerdictOK)
		o.fill(int(signed.Seq) + 2) //nolint:gosec // a few: as many as were removed, and then some
		o.restart()
		o.want(o.verify(), ledger.VerdictOK)
		o.keep(ledger.Retention{Rows: 24 * time.Hour}) // what was interrupted is finished
		r := o.verify()
		o.want(r, ledger.VerdictOK)
		if r.From != signed.Seq+1 || o.store.links[0].Seq != r.From || len(r.Findings) > 0 {
			t.Errorf("%d steps: from %d, of %d on: %+v", steps, r.From, o.store.links[0].Seq, r.Findings)
		}
	}
}

// The power fails and takes the last transactions of the store with it, those of a
// removal too, in a store that loses them in order.
func TestThePowerFailsAndUndoesARemoval(t *testing.T) {
	for lost, all := 0, 1; lost <= all; lost++ {
		o := newOffice(t)
		o.store.syncs = true
		o.fill(3)
		signed := o.check.Newest()
		o.now = o.now.Add(2 * time.Hour)
		o.keep(ledger.Retention{Rows: time.Hour})
		i, out := o.call()
		o.must(o.append(i, out))
		o.must(o.check.Close())
		all = len(o.store.past)
		o.store.undo(lost)
		o.open()
		left := o.store.links[0].Seq <= signed.Seq
		r := o.verify()
		o.want(r, ledger.VerdictOK)
		if r.From != signed.Seq+1 || r.Links == 0 || left != (len(r.Findings) == 1) {
			t.Errorf("%d lost: %+v", lost, r)
		}
		if k := o.keep(ledger.Retention{Rows: 24 * time.Hour}); (k.Resumed != 0) != left {
			t.Errorf("%d lost: %+v", lost, k)
		}
		r = o.verify()
		o.want(r, ledger.VerdictOK)
		if len(r.Findings) > 0 || o.store.links[0].Seq != r.From {
			t.Errorf("%d lost: %+v", lost, r)
		}
	}
}

// The power fails while nothing but the note of the removal follows what is removed,
// and the key changes later.
func TestThePowerFailsAndTheKeyIsRotatedAfterRecordsWereRemoved(t *testing.T) {
	o := newOffice(t)
	o.must(o.check.Add(t.Context()))
	first := o.check.Newest().Seq
	o.now = o.now.Add(2 * time.Hour)
	if k := o.keep(ledger.Retention{Rows: time.Hour}); k.Rows != first {
		t.Fatalf("%+v", k)
	}
	o.loses()
	for range 3 {
		o.fill(1)
		_, err := o.check.RotateKey(t.Context())
		o.must(err)
		o.want(o.verify(), ledger.VerdictOK)
	}
	o.restart()
	o.want(o.verify(), ledger.VerdictOK)
}

// Somebody takes the store away after all that was signed has been removed: what
// follows is signed too, so that is seen.
func TestTheStoreIsTakenAwayAfterRecordsWereRemoved(t *testing.T) {
	o := newOffice(t)
	o.fill(3)
	o.now = o.now.Add(2 * time.Hour)
	if k := o.keep(ledger.Retention{Rows: time.Hour}); k.Rows == 0 {
		t.Fatalf("%+v", k)
	}
	o.want(o.verifyStore(&shelf{}), ledger.VerdictDamaged)
	o.must(o.check.Close())
	o.store.drop(0, len(o.store.links))
	o.open()
	o.want(o.verify(), ledger.VerdictDamaged)
}

// A store that is lost, or replaced by an older copy, has the numbers of links that
// were removed. That is said, and what is written from then on is not removed for that.
func TestAStoreBehindATruncationIsNotWhatWasRemoved(t *testing.T) {
	for name, older := range map[string]int{"nothing": 0, "an older copy": 5} {
		o := newOffice(t)
		o.fill(5)
		old := o.store.copied()
		o.fill(10)
		o.now = o.now.Add(2 * time.Hour)
		o.fill(2)
		gone := o.keep(ledger.Retention{Rows: time.Hour, Bodies: time.Hour}).Rows
		if gone < 10 {
			t.Fatal(name, gone)
		}
		o.must(o.check.Close())
		*o.store = shelf{}
		if older > 0 {
			o.store = old
		}
		o.open()
		o.fill(3)
		written := len(o.store.links)
		r := o.verify()
		o.want(r, ledger.VerdictDamaged)
		if r.From != 1 || r.Links != int64(written) || r.Truncated != nil || !strings.Contains(r.Findings[0].Message, "found at the start") {
			t.Errorf("%s: %+v", name, r)
		}
		for _, f := range r.Findings {
			if strings.Contains(f.Message, "pruning was interrupted") {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if k := o.keep(ledger.Retention{Rows: 24 * time.Hour}); *k != (ledger.Kept{}) || len(o.store.links) != written {
			t.Errorf("%s: %+v, and %d of %d links are left", name, k, len(o.store.links), written)
		}
		// Once it is too old for anybody it can be removed, and that is on record as ever.
		o.now = o.now.Add(48 * time.Hour)
		o.fill(1)
		opt := o.keeping(ledger.Retention{Rows: 24 * time.Hour})
		opt.Damaged = true
		k, err := ledger.Keep(t.Context(), opt)
		o.must(err)
		if k.Rows == 0 || k.Rows >= gone {
			t.Errorf("%s: %+v", name, k)
		}
		o.restart()
		r = o.verify()
		o.want(r, ledger.VerdictDamaged) // until what was lost is older than what is kept
		if r.From != k.Rows+1 || r.Truncated == nil || r.Truncated.Seq != k.Rows {
			t.Errorf("%s: %+v", name, r)
		}
		for _, f := range r.Findings {
			if strings.Contains(f.Message, "stands behind a later one") {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}
