package ledger_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"durward/ledger"
)

// telling is a store that says what it likes of its last link.
type telling struct {
	ledger.Auditor
	head func() (ledger.Link, error)
	n    int // how often it was asked
}

func (s *telling) Head(context.Context) (ledger.Link, error) {
	s.n++
	return s.head()
}

// steps checks a store, and returns everything that is told of the progress.
func (o *office) steps(t *testing.T, a ledger.Auditor, checkpoints string) (r *ledger.Report, steps [][2]int64) {
	t.Helper()
	opt := ledger.VerifyOptions{Checkpoints: checkpoints, Verifiers: o.verifiers(), Progress: func(done, of int64) {
		steps = append(steps, [2]int64{done, of})
		time.Sleep(time.Second) // so that the next step is told, too
	}}
	synctest.Test(t, func(t *testing.T) {
		var err error
		if r, err = ledger.Verify(t.Context(), a, opt); err != nil {
			t.Fatal(err)
		}
	})
	r.Elapsed = 0
	return r, steps
}

// wantSteps checks that the first step is of so many, and that all lead to the end.
func wantSteps(t *testing.T, r *ledger.Report, steps [][2]int64, of int64) {
	t.Helper()
	if steps[0] != [2]int64{1, of} {
		t.Errorf("first %v, want it of %d", steps[0], of)
	}
	for i, s := range steps[1:] {
		if before := steps[i]; s[0] < before[0] || s[1] != 0 && s[0] > s[1] || s[1] < 0 {
			t.Errorf("%v after %v", s, before)
		}
	}
	all := r.Links + r.Bodies
	if last := steps[len(steps)-1]; last != [2]int64{all, all} || int64(len(steps)) != all+1 {
		t.Errorf("last %v of %d steps, want it of %d", last, len(steps), all)
	}
}

// Without checkpoints only the store can tell how many links there are. Whatever it
// says of its last one, the report is the same and the progress never more than all.
func TestVerifyShowsAnEndWithoutCheckpoints(t *testing.T) {
	o := everything(t) // 18 links
	want, steps := o.steps(t, struct{ ledger.Auditor }{o.store}, "")
	o.want(want, ledger.VerdictUnclear)
	wantSteps(t, want, steps, 0) // who does not know the end does not make one up
	for name, tt := range map[string]struct {
		seq uint64
		err error
		of  int64
	}{
		"as it is":           {seq: 18, of: 18},
		"some came":          {seq: 10, of: 10},
		"more than there is": {seq: 1000, of: 1000},
		"empty":              {},
		"broken":             {seq: 18, err: ledger.ErrDamaged},
		"much":               {seq: 1 << 40, of: 1 << 40},
		"too much":           {seq: 1<<40 + 1},
		"the most that fits": {seq: math.MaxInt64},
		"negative":           {seq: 1 << 63},
		"minus one":          {seq: math.MaxUint64},
	} {
		t.Run(name, func(t *testing.T) {
			store := &telling{Auditor: o.store, head: func() (ledger.Link, error) { return ledger.Link{Seq: tt.seq}, tt.err }}
			r, steps := o.steps(t, store, "")
			wantSteps(t, r, steps, tt.of)
			if !reflect.DeepEqual(r, want) {
				t.Errorf("%+v, want %+v", r, want)
			}
			quiet, err := ledger.Verify(t.Context(), store, ledger.VerifyOptions{Verifiers: o.verifiers()})
			if err != nil || quiet.Verdict != want.Verdict || store.n != 1 {
				t.Error(err, quiet.Verdict, store.n)
			}
		})
	}
}

// With checkpoints the later end counts, theirs or that of the store; what was pruned
// does not.
func TestVerifyShowsTheLaterEnd(t *testing.T) {
	o := everything(t)
	for head, of := range map[uint64]int64{0: 13, 5: 13, 18: 18, math.MaxUint64: 13} {
		r, steps := o.steps(t, &telling{Auditor: o.store, head: func() (ledger.Link, error) { return ledger.Link{Seq: head}, nil }}, o.path())
		o.want(r, ledger.VerdictOK)
		wantSteps(t, r, steps, of)
	}
	o = years(t, 2)
	if k := o.keep(ledger.Retention{Rows: day}); k.Rows == 0 {
		t.Fatalf("%+v", k)
	}
	r, steps := o.steps(t, o.store, o.path())
	o.want(r, ledger.VerdictOK)
	wantSteps(t, r, steps, int64(len(o.store.links)))
	o.must(os.Remove(o.path())) // the links begin in the middle, and nothing says why
	r, steps = o.steps(t, o.store, o.path())
	o.want(r, ledger.VerdictDamaged)
	wantSteps(t, r, steps, int64(len(o.store.links)))
}

// The damage is in the last link itself: it is found, and the progress is of no use.
func TestVerifyFindsALastLinkThatLies(t *testing.T) {
	o := everything(t)
	for _, seq := range []uint64{1 << 39, math.MaxInt64, 1 << 62} {
		store := o.store.copied()
		store.links[len(store.links)-1].Seq = seq
		r, steps := o.steps(t, store, "")
		o.want(r, ledger.VerdictDamaged)
		if last := steps[len(steps)-1]; last != [2]int64{r.Links + r.Bodies, r.Links + r.Bodies} {
			t.Error(last)
		}
		for _, s := range steps {
			if s[1] < 0 || s[1] > 0 && s[0] > s[1] {
				t.Error(s)
			}
		}
	}
}

// What ends the check while the end is asked for is said as ever.
func TestVerifyIsInterruptedWhileItAsksForTheEnd(t *testing.T) {
	o := everything(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	store := &telling{Auditor: o.store, head: func() (ledger.Link, error) {
		cancel(errors.New("enough"))
		return ledger.Link{}, ctx.Err()
	}}
	if r, err := ledger.Verify(ctx, store, ledger.VerifyOptions{Verifiers: o.verifiers(), Progress: func(int64, int64) {}}); r != nil || err == nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// copier is a store that tells nonsense of how far it is.
type copier func(progress func(done, of int64))

func (c copier) Backup(_ context.Context, _ string, progress func(done, of int64)) error {
	c(progress)
	return nil
}

func TestProgressIsNeverLessThanNothing(t *testing.T) {
	for _, tt := range []struct{ done, of, wantDone, wantOf int64 }{
		{1, 2, 1, 2}, {3, 2, 3, 3}, {3, 0, 3, 0}, {-1, 2, 0, 2}, {3, -1, 3, 0}, {math.MinInt64, math.MinInt64, 0, 0}, {math.MaxInt64, 1, math.MaxInt64, math.MaxInt64},
	} {
		first := true
		err := ledger.Backup(t.Context(), copier(func(progress func(done, of int64)) { progress(tt.done, tt.of) }), ledger.BackupOptions{
			To: filepath.Join(t.TempDir(), "copy"), Progress: func(done, of int64) {
				if first && (done != tt.wantDone || of != tt.wantOf) {
					t.Errorf("%d of %d: %d of %d", tt.done, tt.of, done, of)
				}
				first = false
			},
		})
		if err != nil || first {
			t.Error(err, first)
		}
	}
}

// What may be removed is read first, which takes as long: it is told, too, of the time
// or of the links that are to go.
func TestProgressOfALookForWhatMayGo(t *testing.T) {
	for name, tt := range map[string]struct {
		keep ledger.Retention
		of   int64
	}{
		"age":  {ledger.Retention{Rows: 2 * day}, (2 * day).Milliseconds()},
		"size": {ledger.Retention{MaxSize: 1 << 20}, 0},
	} {
		o := years(t, 4)
		for seq := range o.store.grow {
			o.store.grow[seq] = 20_000
		}
		opt, steps := o.keeping(tt.keep), [][2]int64(nil)
		opt.Progress = func(done, of int64) {
			steps = append(steps, [2]int64{done, of})
			time.Sleep(time.Second)
		}
		synctest.Test(t, func(t *testing.T) {
			if k, err := ledger.Keep(t.Context(), opt); err != nil || k.Rows == 0 {
				t.Errorf("%s: %+v, %v", name, k, err)
			}
		})
		looked := 0
		for _, s := range steps {
			if s[0] < 0 || s[0] > s[1] {
				t.Errorf("%s: %v", name, s)
			}
			if s[1] > 1 && (tt.of == 0 || s[1] == tt.of) {
				looked++
			}
		}
		if looked < 20 {
			t.Errorf("%s: %d steps of the look: %v", name, looked, steps)
		}
	}
}
