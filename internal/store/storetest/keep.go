package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"durward"
	"durward/ledger"
)

func nobody(int64, int64) {}

// fill writes links, with calls that end in the next link and bodies of their own.
func (s *shop) fill(links int) (all []stored) {
	s.Helper()
	var last *ledger.Intent
	for range links {
		content := plain(rand.Text() + strings.Repeat("x", 100))
		i := intent(durward.NewCallID())
		i.Body, i.Tool = content.Digest, rand.Text()
		batch := []ledger.Record{i, &ledger.Note{What: "n"}}
		if last != nil {
			batch = append(batch, outcome(last.ID))
		}
		last = i
		s.must(s.try(batch, content))
		all = append(all, stored{s.last, batch})
	}
	return all
}

// holds checks that exactly these links are there, and the bodies they name.
func (s *shop) holds(want []stored) {
	s.Helper()
	got := read(s.T, s, 0)
	if len(got) != len(want) {
		s.Fatalf("%d links, want %d", len(got), len(want))
	}
	named := map[ledger.Digest]bool{}
	for n := range want {
		if got[n].Link != want[n].Link {
			s.Fatalf("link %d instead of %d", got[n].Link.Seq, want[n].Link.Seq)
		}
		same(s.T, want[n].Records, got[n].Records)
		for _, r := range want[n].Records {
			if i, ok := r.(*ledger.Intent); ok && i.Body != (ledger.Digest{}) {
				named[i.Body] = true
			}
		}
	}
	have := bodiesOf(s.T, s)
	for d := range named {
		if _, ok := have[d]; !ok {
			s.Fatalf("body %x is gone and still named", d)
		}
	}
	if len(have) != len(named) {
		s.Fatalf("%d bodies, and %d are named", len(have), len(named))
	}
}

// progress checks what is said of it, of one part after the other.
func progress(t *testing.T) (f func(done, of int64), end func()) {
	last, all := int64(-1), int64(-1)
	return func(done, of int64) {
			if last == all && (done < last || of != all) {
				last, all = -1, -1 // the next part begins
			}
			if done < last || done > of || all >= 0 && of != all {
				t.Errorf("progress %d of %d after %d of %d", done, of, last, all)
			}
			last, all = done, of
		}, func() {
			if last != all {
				t.Errorf("progress ended at %d of %d", last, all)
			}
		}
}

func prune(t *testing.T, s *shop) {
	all := s.fill(2500) // more than one transaction takes
	for _, seq := range []uint64{1, 2, 700, 700, 3, 2400} {
		step, end := progress(t)
		s.must(s.Prune(t.Context(), seq, step))
		end()
		s.holds(all[max(seq, s.first()-1):])
		if got, err := s.Head(t.Context()); err != nil || got != s.last {
			t.Fatalf("head %v, %v", got, err)
		}
	}
	s.reopen()
	s.holds(all[2400:])
	all = append(all[2400:], s.fill(3)...)
	s.holds(all)
}

// first returns the number of the first link that is there.
func (s *shop) first() uint64 { return read(s.T, s, 0)[0].Link.Seq }

func pruneNothing(t *testing.T, s *shop) {
	s.must(s.Prune(t.Context(), 5, nobody))
	s.must(s.PruneBodies(t.Context(), 5, nobody))
	all := s.fill(4)
	s.must(s.Prune(t.Context(), 0, nobody))
	s.holds(all)
	for _, seq := range []uint64{4, 5, 1<<64 - 1} { // the last link stays
		s.must(s.Prune(t.Context(), seq, nobody))
		s.holds(all[3:])
	}
	s.reopen()
	if got, err := s.Head(t.Context()); err != nil || got != s.last {
		t.Fatalf("head %v, %v", got, err)
	}
	s.write(&ledger.Note{What: "goes on"})
}

// pruneAnything prunes random parts of random ledgers between writing.
func pruneAnything(t *testing.T, s *shop) {
	var all []stored
	rapid.Check(t, func(r *rapid.T) {
		all = append(all, s.fill(rapid.IntRange(1, 9).Draw(r, "links"))...)
		upto := rapid.IntRange(0, len(all)).Draw(r, "prune")
		if upto > 0 {
			s.must(s.Prune(t.Context(), all[upto-1].Link.Seq, nobody))
			all = all[min(upto, len(all)-1):]
		}
		if rapid.IntRange(0, 9).Draw(r, "reopen") == 0 {
			s.reopen()
		}
		s.holds(all)
	})
}

func pruneInterrupted(t *testing.T, s *shop) {
	all := s.fill(3000)
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Prune(ctx, 2900, func(done, of int64) {
		if 0 < done && done < of {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
	left := read(t, s, 0)
	if len(left) == len(all) || len(left) <= 100 {
		t.Fatalf("it was not interrupted in the middle: %d links are left", len(left))
	}
	chained(t, left, all[len(all)-len(left)-1].Link)
	s.reopen()
	s.must(s.Prune(t.Context(), 2900, nobody))
	s.holds(all[2900:])
}

// pruneOpenCalls removes the intents of calls that go on.
func pruneOpenCalls(t *testing.T, s *shop) {
	odd := intent("an odd id")
	ended, going := intent(durward.NewCallID()), intent(durward.NewCallID())
	s.write(ended, going, odd)
	s.write(outcome(ended.ID))
	s.write(&ledger.Note{What: "n"})
	s.must(s.Prune(t.Context(), 1, nobody))
	all := read(t, s, 0)
	if len(all) != 2 {
		t.Fatalf("%d links", len(all))
	}
	same(t, []ledger.Record{outcome(ended.ID)}, all[0].Records)
	if err := s.try([]ledger.Record{outcome(ended.ID)}); durward.KindOf(err) != durward.Conflict {
		t.Errorf("a second outcome for a call that was pruned: %v", err)
	}
	for range 2 {
		if open, err := s.Store.Open(t.Context(), 9); err != nil || !slices.Equal(open, []durward.CallID{going.ID, odd.ID}) {
			t.Fatalf("open %v, %v", open, err)
		}
		s.reopen()
	}
	s.write(outcome(odd.ID), outcome(going.ID))
	last := read(t, s, s.last.Seq)
	same(t, []ledger.Record{outcome(odd.ID), outcome(going.ID)}, last[0].Records)
	chained(t, read(t, s, 3), all[0].Link)
	if open, err := s.Store.Open(t.Context(), 9); err != nil || len(open) > 0 {
		t.Fatalf("open %v, %v", open, err)
	}
	s.write(&ledger.Note{What: "n"})
	s.must(s.Prune(t.Context(), s.last.Seq-1, nobody))
	if err := s.try([]ledger.Record{outcome(odd.ID)}); durward.KindOf(err) != durward.Conflict {
		t.Errorf("an outcome for a call of which nothing is left: %v", err)
	}
}

func pruneBodies(t *testing.T, s *shop) {
	once, twice, later := body(strings.Repeat("once", 50)), body(strings.Repeat("twice", 50)), body(strings.Repeat("later", 50))
	call := func(request, response ledger.Digest) []ledger.Record {
		i := intent(durward.NewCallID())
		o := outcome(i.ID)
		i.Body, o.Body = request, response
		return []ledger.Record{i, o}
	}
	s.must(s.try(call(once.Digest, twice.Digest), once, twice)) // link 1
	s.must(s.try(call(ledger.Digest{}, ledger.Digest{})))
	s.must(s.try(call(ledger.Digest{}, twice.Digest))) // link 3 names it again, without bringing it
	s.must(s.try(call(later.Digest, ledger.Digest{}), later))
	whole := read(t, s, 0)
	for _, step := range []struct {
		seq  uint64
		want []ledger.Body
	}{{0, []ledger.Body{once, twice, later}}, {1, []ledger.Body{twice, later}}, {2, []ledger.Body{twice, later}}, {3, []ledger.Body{later}}, {4, nil}} {
		progressed, end := progress(t)
		s.must(s.PruneBodies(t.Context(), step.seq, progressed))
		end()
		have := bodiesOf(t, s)
		if len(have) != len(step.want) {
			t.Fatalf("up to %d: %d bodies, want %d", step.seq, len(have), len(step.want))
		}
		for _, b := range step.want {
			if _, ok := have[b.Digest]; !ok {
				t.Fatalf("up to %d: a body is gone that is named later", step.seq)
			}
		}
		s.reopen()
	}
	got := read(t, s, 0)
	for n := range whole {
		same(t, whole[n].Records, got[n].Records)
	}
	s.must(s.try(call(once.Digest, ledger.Digest{}), once)) // it may come again
	if have := bodiesOf(t, s); len(have) != 1 {
		t.Fatalf("%d bodies", len(have))
	}
}

// bodiesNamedAgain brings bodies again while they are being removed.
func bodiesNamedAgain(t *testing.T, s *shop) {
	const n = 300 // more than one transaction takes
	var all []ledger.Body
	for k := range n {
		all = append(all, body(strings.Repeat(fmt.Sprintf("body %d ", k), 50)))
	}
	for _, b := range all {
		i := intent(durward.NewCallID())
		i.Body = b.Digest
		s.must(s.try([]ledger.Record{i}, b))
	}
	upTo, again := s.last.Seq, false
	s.must(s.PruneBodies(t.Context(), upTo, func(int64, int64) {
		if again {
			return
		}
		again = true
		for k := 0; k < n; k += 2 {
			i := intent(durward.NewCallID())
			i.Body = all[k].Digest
			s.must(s.try([]ledger.Record{i}, all[k]))
		}
	}))
	if !again {
		t.Fatal("nothing was removed")
	}
	have := bodiesOf(t, s)
	for k := range n {
		if _, ok := have[all[k].Digest]; ok != (k%2 == 0) {
			t.Errorf("body %d is there: %v", k, ok)
		}
	}
}

// bodiesBroughtAgain brings a body again with a batch that does not name it, because who
// wanted that left: it is there for records that come a moment later.
func bodiesBroughtAgain(t *testing.T, s *shop) {
	b := body(strings.Repeat("again", 50))
	i := intent(durward.NewCallID())
	i.Body = b.Digest
	s.must(s.try([]ledger.Record{i}, b))
	old := s.last.Seq
	s.must(s.try([]ledger.Record{&ledger.Note{What: "x"}}, b))
	s.must(s.PruneBodies(t.Context(), old, nobody))
	i = intent(durward.NewCallID())
	i.Body = b.Digest
	s.must(s.try([]ledger.Record{i}))
	for range 2 {
		if _, ok := bodiesOf(t, s)[b.Digest]; !ok {
			t.Fatal("a body is gone that was just brought")
		}
		s.must(s.PruneBodies(t.Context(), s.last.Seq-1, nobody))
		s.reopen()
	}
}

func size(t *testing.T, s *shop) {
	empty, err := s.Size(t.Context())
	s.must(err)
	for range 20 {
		s.fill(100)
		noise := make([]byte, 100_000)
		rand.Read(noise)
		s.must(s.try(nil, ledger.Body{Digest: ledger.Digest(noise), Original: len(noise), Data: noise}))
	}
	full, err := s.Size(t.Context())
	s.must(err)
	if full < empty+2_000_000 {
		t.Errorf("%d bytes with 2 MB in it, %d without", full, empty)
	}
	s.must(s.Prune(t.Context(), s.last.Seq, nobody))
	pruned, err := s.Size(t.Context())
	s.must(err)
	if pruned > full/4 {
		t.Errorf("%d bytes with nothing in it, %d before", pruned, full)
	}
}

func backup(t *testing.T, s *shop) {
	all := s.fill(500)
	path := s.copyPath()
	step, end := progress(t)
	s.must(s.Store.Backup(t.Context(), path, step))
	end()
	if info, err := os.Lstat(path); err != nil || info.Mode() != 0o600 {
		t.Error(info, err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Error("more than the copy was made:", left, err)
	}
	if err := s.Store.Backup(t.Context(), path, nobody); durward.KindOf(err) != durward.Conflict || !strings.Contains(err.Error(), path) {
		t.Errorf("a file was replaced: %v", err)
	}
	s.write(&ledger.Note{What: "later"})
	other := &shop{T: t, open: s.open, dir: filepath.Dir(path)}
	other.adopt(path)
	other.holds(all)
	other.last = all[len(all)-1].Link
	other.write(&ledger.Note{What: "it can be used"})
}

// adopt opens a copy as the store of its directory.
func (s *shop) adopt(path string) {
	s.Helper()
	probe := s.open(s.T, s.TempDir())
	named, ok := probe.(interface{ Path() string })
	s.must(probe.Close())
	if !ok {
		s.Fatal("the store does not say where it is (Path)")
	}
	s.must(os.Rename(path, filepath.Join(s.dir, filepath.Base(named.Path()))))
	s.Store = s.open(s.T, s.dir)
	s.Cleanup(func() { _ = s.Close() })
}

// backupWhileWriting copies a store that is written to without a pause.
func backupWhileWriting(t *testing.T, s *shop) {
	s.fill(1500)
	stop, wrote := make(chan struct{}), make(chan struct{}, 1)
	var writing sync.WaitGroup
	writing.Go(func() {
		defer close(wrote)
		for {
			select {
			case <-stop:
				return
			default:
			}
			i := intent(durward.NewCallID())
			if err := s.try([]ledger.Record{i, outcome(i.ID)}); err != nil {
				t.Error(err)
				return
			}
			select {
			case wrote <- struct{}{}:
			default:
			}
		}
	})
	path := s.copyPath()
	err := s.Store.Backup(t.Context(), path, func(int64, int64) {
		for range 3 { // the third is of what began to be written after this step at least
			<-wrote
		}
	})
	close(stop)
	writing.Wait()
	s.must(err)
	other := &shop{T: t, open: s.open, dir: filepath.Dir(path)}
	other.adopt(path)
	all := read(t, other, 0)
	chained(t, all, ledger.Link{})
	if len(all) < 1500 || len(all) >= int(s.last.Seq) {
		t.Errorf("%d links in the copy, %d in the end", len(all), s.last.Seq)
	}
}

func backupInterrupted(t *testing.T, s *shop) {
	s.fill(3000)
	path := s.copyPath()
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Store.Backup(ctx, path, func(done, of int64) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 0 {
		t.Error("something is left:", left, err)
	}
	missing := filepath.Join(t.TempDir(), "no", "such", "directory")
	if err := s.Store.Backup(t.Context(), missing, nobody); durward.KindOf(err) != durward.Unavailable || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into no directory: %v", err)
	}
}
