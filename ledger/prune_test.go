package ledger_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/ledger"
)

// years makes a ledger of calls with bodies, one an hour, of so many days.
func years(t testing.TB, days int) *office {
	o := newOffice(t)
	o.store.grow = map[uint64]int64{}
	for range 24 * days {
		i, out := o.call()
		i.Body = o.body(strings.Repeat("request ", 300) + string(i.ID))
		out.Body = o.body(strings.Repeat("often ", 300) + string(rune('a'+o.synth%3)))
		o.must(o.append(i))
		o.must(o.append(out))
		o.store.grow[o.chain.Seq-1], o.store.grow[o.chain.Seq] = 1000, 1000
		o.must(o.check.Add(t.Context()))
		o.now = o.now.Add(time.Hour)
	}
	return o
}

func (o *office) keeping(r ledger.Retention) ledger.KeepOptions {
	return ledger.KeepOptions{Retention: r, Store: o.store, Checkpoints: o.check, Now: func() time.Time { return o.now }}
}

func (o *office) keep(r ledger.Retention) *ledger.Kept {
	o.t.Helper()
	k, err := ledger.Keep(context.Background(), o.keeping(r))
	o.must(err)
	return k
}

const day = 24 * time.Hour

func TestOldRecordsAreRemovedOnRecord(t *testing.T) {
	t.Parallel() // most of it waits for the disk
	o := years(t, 10)
	k := o.keep(ledger.Retention{Rows: 4 * day, Bodies: 2 * day})
	first := o.store.links[0]
	if k.Rows == 0 || first.Seq != k.Rows+1 || k.Bodies <= k.Rows || k.Resumed != 0 {
		t.Fatalf("%+v, %+v", k, first)
	}
	if age := o.now.Sub(first.At); age > 4*day || age < 4*day-2*time.Hour {
		t.Error(age)
	}
	if n := len(o.store.bodies); n < 2*24+3-2 || n > 2*24+3 {
		t.Error("bodies:", n)
	}
	r := o.verify()
	o.want(r, ledger.VerdictOK)
	if r.Truncated == nil || r.Truncated.Seq != k.Rows || r.Truncated.Why != "older than 96h0m0s" || r.BodiesGone == nil || r.BodiesGone.Seq != k.Bodies || r.From != k.Rows+1 || len(r.Findings) > 0 {
		t.Errorf("%+v", r)
	}
	if links, bodies := o.check.Truncated(); links != k.Rows || bodies != k.Bodies {
		t.Error(links, bodies)
	}
	if newest, links, bodies, err := ledger.Signed(o.path(), o.verifiers()); err != nil || newest != o.check.Newest() || links != k.Rows || bodies != k.Bodies {
		t.Error(newest, links, bodies, err)
	}
	if newest, links, bodies, err := ledger.Signed(o.path(), nil); err != nil || newest != (ledger.Checkpoint{}) || links != 0 || bodies != 0 {
		t.Error("without a key:", newest, links, bodies, err)
	}
	if s := o.store.notes(); !strings.Contains(s, "truncated: links up to ") || !strings.Contains(s, "bodies removed: bodies of links up to ") {
		t.Error(s)
	}
	// What is gone cannot be pruned again, and a minute later nothing is worth while.
	o.now = o.now.Add(time.Minute)
	if again := o.keep(ledger.Retention{Rows: 4 * day, Bodies: 2 * day}); again.Rows != 0 || again.Bodies != 0 {
		t.Errorf("%+v", again)
	}
	o.now = o.now.Add(2 * time.Hour)
	o.must(o.check.Add(t.Context()))
	if again := o.keep(ledger.Retention{Rows: 4 * day, Bodies: 2 * day}); again.Rows <= k.Rows || again.Bodies <= k.Bodies {
		t.Errorf("%+v", again)
	}
	o.restart()
	o.fill(2)
	o.want(o.verify(), ledger.VerdictOK)
	// The truncation cannot be forged or taken back.
	whole := read(t, o.path())
	write(t, o.path(), []byte(strings.Replace(string(whole), "\ntruncated ", "\nbodies ", 1)))
	o.want(o.verify(), ledger.VerdictDamaged)
	file := ""
	for _, e := range ledger.ParseSheet(whole).Raw {
		if !strings.Contains(string(e), "\ntruncated ") {
			file += string(e)
		}
	}
	write(t, o.path(), []byte(file))
	o.want(o.verify(), ledger.VerdictDamaged)
}

// Pruning is interrupted at each of its steps, by a failure and by a kill: the
// ledger can be verified at any moment, and the next time it goes on.
func TestRemovalIsInterruptedAnywhere(t *testing.T) {
	t.Parallel() // most of it waits for the disk
	broken := errors.New("broken off")
	steps := 0
	for at := 0; ; at++ {
		o := years(t, 1)
		n := 0
		o.store.step = func() error {
			if n++; n > at {
				return broken
			}
			return nil
		}
		opt := o.keeping(ledger.Retention{Rows: 20 * time.Hour, Bodies: 10 * time.Hour})
		_, err := ledger.Keep(t.Context(), opt)
		o.store.step = nil
		r := o.verify()
		o.want(r, ledger.VerdictOK)
		if err == nil {
			break
		}
		if !errors.Is(err, broken) {
			t.Fatal(err)
		}
		steps++
		left := o.store.links[0].Seq <= r.Truncated.Seq
		if left != (len(r.Findings) == 1) || left && !strings.Contains(r.Findings[0].Message, "pruning was interrupted") {
			t.Errorf("%d: %v %+v", at, left, r.Findings)
		}
		o.restart()
		k := o.keep(opt.Retention)
		if (k.Resumed != 0) != left {
			t.Errorf("%d: %+v", at, k)
		}
		r = o.verify()
		o.want(r, ledger.VerdictOK)
		if len(r.Findings) != 0 || o.store.links[0].Seq != r.Truncated.Seq+1 {
			t.Errorf("%d: %+v", at, r.Findings)
		}
		if n := o.overdue(); n > 0 {
			t.Errorf("%d: %d bodies are there that are on record as removed", at, n)
		}
	}
	if steps < 20 {
		t.Error("only interrupted at", steps)
	}
}

// overdue counts the bodies that only links name of which bodies are removed.
func (o *office) overdue() (n int) {
	links, gone := o.check.Truncated()
	for _, b := range o.store.bodies {
		if !slices.ContainsFunc(o.store.rows, func(r shelfRow) bool { return r.link > max(links, gone) && bodyOf(r.record) == b.Digest }) {
			n++
		}
	}
	return n
}

// A removal that failed is finished by the next look, also in the same process.
func TestAFailedRemovalOfBodiesIsFinished(t *testing.T) {
	t.Parallel() // most of it waits for the disk
	o := years(t, 3)
	broken, n := errors.New("broken off"), 0
	o.store.step = func() error {
		if n++; n > 5 {
			return broken
		}
		return nil
	}
	opt := o.keeping(ledger.Retention{Bodies: day})
	if _, err := ledger.Keep(t.Context(), opt); !errors.Is(err, broken) || o.overdue() == 0 {
		t.Fatal(err, o.overdue())
	}
	o.store.step = nil
	o.keep(opt.Retention)
	if n := o.overdue(); n > 0 {
		t.Errorf("%d bodies are there that are on record as removed", n)
	}
	n, o.store.step = 0, func() error { n++; return nil }
	if o.keep(opt.Retention); n > 0 {
		t.Errorf("%d steps when there was nothing to do", n)
	}
}

// The removal fails to be put on record: nothing is removed.
func TestNothingIsRemovedThatIsNotOnRecord(t *testing.T) {
	o := years(t, 3)
	before := len(o.store.links)
	o.store.fail = durward.Errorf(durward.Unavailable, "", "disk full")
	if _, err := ledger.Keep(t.Context(), o.keeping(ledger.Retention{Rows: day})); durward.KindOf(err) != durward.Unavailable {
		t.Error(err)
	}
	if len(o.store.links) != before {
		t.Error("removed without a record")
	}
	o.store.fail = nil
	o.must(o.check.Close())
	opt := o.options()
	opt.Note = func(context.Context, ledger.Record) error { return errors.New("no ledger") }
	opt.Sync = nil
	check, err := ledger.OpenCheckpoints(t.Context(), opt)
	o.must(err)
	keep := o.keeping(ledger.Retention{Rows: day})
	keep.Checkpoints = check
	if _, err := ledger.Keep(t.Context(), keep); err == nil || len(o.store.links) != before {
		t.Error(err)
	}
	o.must(check.Close())
	o.open()
	o.want(o.verify(), ledger.VerdictOK)
}

func TestTheSizeIsKept(t *testing.T) {
	t.Parallel() // most of it waits for the disk
	o := years(t, 20)
	for seq := range o.store.grow {
		o.store.grow[seq] = 12000
	}
	k := o.keep(ledger.Retention{MaxSize: 4 << 20})
	if k.Over || k.Size > 4<<20 || k.Size < 3<<20 || k.Rows == 0 {
		t.Errorf("%+v", k)
	}
	r := o.verify()
	o.want(r, ledger.VerdictOK)
	if !strings.Contains(r.Truncated.Why, "bytes are more than 4194304") {
		t.Error(r.Truncated)
	}
	// What is young stays, however big it is.
	o.store.grow[o.chain.Seq] = 40 << 20
	young := o.now.Add(-pruneYoung)
	k = o.keep(ledger.Retention{MaxSize: 4 << 20})
	if !k.Over || len(o.store.links) == 0 {
		t.Errorf("%+v", k)
	}
	for _, l := range o.store.links {
		if l.At.Before(young) && l.Seq <= o.check.Newest().Seq && l.Seq > k.Rows {
			t.Error("left:", l)
		}
	}
	o.want(o.verify(), ledger.VerdictOK)
}

const pruneYoung = 5 * time.Minute

// A store that does not shrink is not emptied in vain.
func TestAStoreThatDoesNotShrink(t *testing.T) {
	t.Parallel() // most of it waits for the disk
	o := years(t, 8)
	o.store.grow = map[uint64]int64{o.chain.Seq: 16 << 20} // all of it in the last link
	before := len(o.store.links)
	_, err := ledger.Keep(t.Context(), o.keeping(ledger.Retention{MaxSize: 15 << 20}))
	if durward.KindOf(err) != durward.Unavailable || !strings.Contains(err.Error(), "ledger.keep.max_size") {
		t.Error(err)
	}
	if len(o.store.links) < before/2 {
		t.Errorf("%d of %d links are left", len(o.store.links), before)
	}
	o.want(o.verify(), ledger.VerdictOK)
}

func TestCallsUnderWayStay(t *testing.T) {
	o := newOffice(t)
	o.store.grow = map[uint64]int64{}
	o.fill(5)
	i, out := o.call()
	o.must(o.append(i))
	open := o.chain.Seq
	o.fill(50)
	for _, l := range o.store.links {
		o.store.grow[l.Seq] = 1 << 20
	}
	k := o.keep(ledger.Retention{MaxSize: 1 << 20})
	if k.Rows != open-1 || !k.Over {
		t.Errorf("%+v; the open call is in link %d", k, open)
	}
	o.now = o.now.Add(day)
	o.must(o.check.Add(t.Context()))
	k = o.keep(ledger.Retention{MaxSize: 1 << 20})
	if k.Rows <= open {
		t.Errorf("%+v; after a day a call is not under way", k)
	}
	o.must(o.append(out)) // it was, after all
	o.fill(1)
	o.want(o.verify(), ledger.VerdictOK)
}

// A clock that was wrong for a while keeps nothing for ever, and removes nothing early.
func TestTheClockWasWrong(t *testing.T) {
	o := newOffice(t)
	o.fill(3)
	good := o.now
	o.now = good.Add(1000 * day)
	o.fill(2)
	o.now = good
	o.fill(3)
	o.now = good.Add(day)
	o.fill(3)
	k := o.keep(ledger.Retention{Rows: 12 * time.Hour})
	if k.Rows != 9 { // the first is a note
		t.Errorf("%+v", k)
	}
	o.want(o.verify(), ledger.VerdictOK)
}

// What is damaged is kept until somebody has seen it.
func TestDamagedRecordsAreNotRemoved(t *testing.T) {
	t.Parallel() // most of it waits for the disk
	for name, do := range map[string]func(*shelf){
		"changed":       func(s *shelf) { s.rows[20].record = &ledger.Note{What: "other"} },
		"removed":       func(s *shelf) { s.drop(10, 11) },
		"computed anew": func(s *shelf) { s.links[5].At = s.links[5].At.Add(time.Second); s.relink(5) },
	} {
		o := years(t, 3)
		do(o.store)
		o.want(o.verify(), ledger.VerdictDamaged)
		before := len(o.store.links)
		opt := o.keeping(ledger.Retention{Rows: day, Bodies: day, MaxSize: 1 << 20})
		if _, err := ledger.Keep(t.Context(), opt); durward.KindOf(err) != durward.Conflict || !strings.Contains(err.Error(), "is damaged") {
			t.Errorf("%s: %v", name, err)
		}
		if len(o.store.links) != before {
			t.Errorf("%s: the evidence is gone", name)
		}
		opt.Damaged = true
		if k, err := ledger.Keep(t.Context(), opt); err != nil || k.Rows == 0 {
			t.Errorf("%s: %+v, %v", name, k, err)
		}
	}
}

// Who comes meanwhile is told to come again, and not, as Conflict does, that something is
// damaged: the advice for that is to remove what is damaged.
func TestRemovalsTakeTurns(t *testing.T) {
	o := years(t, 2)
	opt := o.keeping(ledger.Retention{Rows: day})
	other := error(nil)
	opt.Progress = func(int64, int64) {
		if other == nil {
			_, other = ledger.Keep(context.Background(), opt)
		}
	}
	if _, err := ledger.Keep(t.Context(), opt); err != nil || durward.KindOf(other) != durward.Unavailable {
		t.Error(err, other)
	}
}

func TestRetentionIsChecked(t *testing.T) {
	o := newOffice(t)
	for _, r := range []ledger.Retention{{Rows: -1}, {Rows: time.Minute}, {Bodies: time.Minute}, {Bodies: -1}, {MaxSize: -1}, {MaxSize: 100}} {
		if _, err := ledger.Keep(t.Context(), o.keeping(r)); durward.KindOf(err) != durward.Invalid || !strings.Contains(err.Error(), "ledger.keep") {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if _, err := ledger.NewHousekeeper(ledger.HousekeeperOptions{}); durward.KindOf(err) != durward.Invalid {
		t.Error(err)
	}
}

func TestKeepIsCancelled(t *testing.T) {
	t.Parallel() // most of it waits for the disk
	o := years(t, 4)
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	o.store.step = func() error {
		if n++; n == 5 {
			cancel()
		}
		return nil
	}
	_, err := ledger.Keep(ctx, o.keeping(ledger.Retention{Rows: day}))
	o.store.step = nil
	if durward.KindOf(err) != durward.Unavailable || !strings.Contains(err.Error(), "interrupted") {
		t.Error(err)
	}
	o.want(o.verify(), ledger.VerdictOK)
	if k := o.keep(ledger.Retention{Rows: day}); k.Resumed == 0 {
		t.Errorf("%+v", k)
	}
}

func TestTheHousekeeperWorksEveryHour(t *testing.T) {
	o := years(t, 2)
	o.must(o.check.Close())
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards o
		o.store, o.chain = &shelf{}, ledger.Link{}
		add := func(r ...ledger.Record) error {
			mu.Lock()
			defer mu.Unlock()
			o.now = time.Now()
			return o.append(r...)
		}
		check, err := ledger.OpenCheckpoints(t.Context(), ledger.CheckpointsOptions{
			Path: o.path() + "2", Key: o.key() + "2", Links: o.store,
			Head: func() ledger.Link {
				mu.Lock()
				defer mu.Unlock()
				return o.chain
			},
			Note: func(_ context.Context, r ledger.Record) error { return add(r) },
		})
		o.must(err)
		defer check.Close()
		opt := ledger.KeepOptions{Retention: ledger.Retention{Rows: time.Hour}, Store: o.store, Checkpoints: check}
		h, err := ledger.NewHousekeeper(ledger.HousekeeperOptions{Keep: opt})
		o.must(err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- h.Run(ctx) }()
		for range 5 {
			id := durward.NewCallID()
			o.must(add(&ledger.Intent{ID: id, At: time.Now()}, &ledger.Outcome{Call: id, At: time.Now()}))
			o.must(check.Add(ctx))
			time.Sleep(30 * time.Minute)
			synctest.Wait()
		}
		if cut, _ := check.Truncated(); cut == 0 {
			t.Error("nothing was removed")
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		nothing, err := ledger.NewHousekeeper(ledger.HousekeeperOptions{Keep: ledger.KeepOptions{Store: o.store, Checkpoints: check}})
		o.must(err)
		if err := nothing.Run(ctx); err != nil {
			t.Error(err)
		}
	})
}

// pruned is a store that is pruned while it is copied.
type pruned struct{ *office }

func (p pruned) Backup(_ context.Context, path string, _ func(done, of int64)) error {
	p.keep(ledger.Retention{Rows: day})
	return os.WriteFile(path, nil, 0o600)
}

func TestNoCopyIsMadeOfWhatIsBeingRemoved(t *testing.T) {
	o := years(t, 2)
	to := filepath.Join(t.TempDir(), "copy")
	err := ledger.Backup(t.Context(), pruned{o}, ledger.BackupOptions{To: to, Checkpoints: o.path(), Verifiers: o.verifiers()})
	if left, _ := filepath.Glob(to + "*"); durward.KindOf(err) != durward.Unavailable || !strings.Contains(err.Error(), "removed while") || len(left) > 0 {
		t.Error(err, left)
	}
	// There is nothing more to remove now.
	if err := ledger.Backup(t.Context(), pruned{o}, ledger.BackupOptions{To: to, Checkpoints: o.path(), Verifiers: o.verifiers()}); err != nil {
		t.Error(err)
	}
}

// faster is a store that finds that somebody else has begun a copy meanwhile.
type faster struct{ *office }

func (f faster) Backup(_ context.Context, path string, _ func(done, of int64)) error {
	write(f.t, path, []byte("another's"))
	return durward.Errorf(durward.Conflict, "ledger", "the backup would replace what is there")
}

func TestACopyOfSomebodyElseStays(t *testing.T) {
	o := newOffice(t)
	to := filepath.Join(t.TempDir(), "copy")
	err := ledger.Backup(t.Context(), faster{o}, ledger.BackupOptions{To: to, Checkpoints: o.path(), Verifiers: o.verifiers()})
	if durward.KindOf(err) != durward.Conflict || string(read(t, to)) != "another's" {
		t.Error(err)
	}
}
