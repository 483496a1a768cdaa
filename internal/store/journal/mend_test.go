package journal_test

import (
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"durward/internal/store/journal"
)

// A file that is removed, and made anew, while the other is to be emptied gets its turn
// at once. The other is not emptied then, if the store lacks something of it.
func TestTurnWhileTheOtherIsToBeEmptied(t *testing.T) {
	sizes := journal.SmallSizes()
	sizes.Never()
	k := newKeeper(t, smallDir(t), journal.WithSizes(journal.Options{}, sizes))
	for k.j.Ends()[1] < 2<<10 {
		k.fill(1)
	}
	syncs, goOn := make(chan struct{}), make(chan struct{})
	var begun atomic.Bool
	pause := func() {
		if begun.CompareAndSwap(false, true) {
			close(syncs)
			<-goOn
		}
	}
	k.store.change(func() { k.store.syncing = pause })
	var flush sync.WaitGroup
	flush.Go(func() { _ = k.j.Flush(t.Context()) })
	<-syncs // the first file is to be emptied
	must(t, os.Remove(journal.Names(k.opt.Path)[0]))
	k.fill(3) // into the second, and then the first
	k.store.set(refuses)
	close(goOn)
	k.j.Kill()
	flush.Wait()
	k.reopen()
	k.holds()
	must(t, k.j.Close())
}

// replaceFiles puts files of another in place of the journal's.
func (k *keeper) replaceFiles() {
	k.t.Helper()
	for _, name := range journal.Names(k.opt.Path) {
		must(k.t, os.Remove(name))
		must(k.t, os.WriteFile(name, []byte("another's"), 0o600))
	}
}

// leavesFiles checks that those are as they were.
func (k *keeper) leavesFiles() {
	k.t.Helper()
	for _, name := range journal.Names(k.opt.Path) {
		if got, err := os.ReadFile(name); err != nil || string(got) != "another's" {
			k.t.Fatalf("%s: %.20q, %v", name, got, err)
		}
	}
}

// While the store is not where it was, nor are the files: what is there now is another's.
func TestFilesBesideAnotherStore(t *testing.T) {
	k := newKeeper(t, smallDir(t), slow())
	k.fill(3)
	k.store.change(func() { k.store.gone, k.store.mood = errMood, refuses })
	k.replaceFiles()
	for range 3 {
		if k.write("x") == nil || k.j.Flush(t.Context()) == nil {
			t.Error("it goes on")
		}
	}
	k.leavesFiles()
	k.store.change(func() { k.store.gone, k.store.mood = nil, works })
	k.fill(3)
	k.j.Kill()
	k.reopen()
	k.holds()
	must(t, k.j.Close())
}

// The same when that happens while a write waits for room.
func TestFilesBesideAnotherStoreMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, end := roomless(t)
		var writing sync.WaitGroup
		writing.Go(func() {
			if err := k.write("waits for room"); !errors.Is(err, errMood) {
				t.Error(err)
			}
		})
		synctest.Wait()
		k.store.change(func() { k.store.gone = errMood })
		k.replaceFiles()
		end()
		writing.Wait()
		k.leavesFiles()
		must(t, k.j.Close())
		k.holds()
	})
}

// A file that cannot be made anew is told of once, however long that takes.
func TestNoWayToMendIsToldOnce(t *testing.T) {
	k := newKeeper(t, smallDir(t), slow())
	k.fill(3)
	k.store.set(refuses)
	name := journal.Names(k.opt.Path)[0]
	must(t, os.Remove(name))
	must(t, os.Mkdir(name, 0o700))
	for range 10 {
		if k.j.Flush(t.Context()) == nil {
			t.Error("it was taken")
		}
	}
	must(t, os.Remove(name))
	k.store.set(works)
	must(t, k.j.Close())
	if n := strings.Count(k.log.String(), "cannot be made anew"); n != 1 {
		t.Errorf("it is told %d times: %s", n, k.log.String())
	}
	k.holds()
}

// A file that is made anew has only what the store lacks, so the store has the rest on
// its disk by then.
func TestMadeAnewAfterASync(t *testing.T) {
	for name, full := range map[string]bool{"normal": false, "full": true} {
		t.Run(name, func(t *testing.T) {
			opt := slow()
			opt.Full = full
			k := newKeeper(t, smallDir(t), opt)
			k.fill(3)
			must(t, k.j.Flush(t.Context()))
			if k.store.outlasting() > 0 {
				t.Fatal("it is synced already")
			}
			must(t, os.Remove(journal.Names(k.opt.Path)[0]))
			k.fill(1)
			if n := k.store.outlasting(); n != 3 {
				t.Errorf("%d batches outlast a loss of power, the file has one, and 4 were accepted", n)
			}
			must(t, k.j.Close())
		})
	}
}

// A file that is cut short anywhere is noticed when the store has taken what waited, if
// not before.
func TestCutShortAnywhere(t *testing.T) {
	for name, window := range map[string]int64{"not in memory": 0, "in memory": 1 << 16} {
		t.Run(name, func(t *testing.T) {
			sizes := journal.SmallSizes()
			sizes.Never()
			sizes.TurnAt(1 << 20)
			sizes.Window(window)
			k := newKeeper(t, smallDir(t), journal.WithSizes(journal.Options{}, sizes))
			k.fill(3)
			must(t, os.Truncate(journal.Names(k.opt.Path)[0], k.j.Ends()[0]-100))
			must(t, k.j.Flush(t.Context()))
			must(t, k.j.Rest(t.Context())) // else who writes may be first, and does not look when no name is new
			k.fill(2)
			k.j.Kill()
			k.reopen()
			k.holds()
			if aside := k.j.Aside(); len(aside) > 0 {
				t.Error("kept aside: ", aside)
			}
			must(t, k.j.Close())
		})
	}
}
