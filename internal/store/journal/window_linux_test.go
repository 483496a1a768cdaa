package journal_test

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"durward/internal/store/journal"
)

// newMapped returns a keeper whose files are in memory, and are taken from only when
// somebody waits for it.
func newMapped(t *testing.T) *keeper {
	t.Helper()
	sizes := journal.SmallSizes()
	sizes.Never()
	sizes.TurnAt(1 << 20)
	sizes.Window(1 << 16)
	return newKeeper(t, smallDir(t), journal.WithSizes(journal.Options{}, sizes))
}

// survives kills the journal and checks that nothing is missing when it is opened again.
func (k *keeper) survives() {
	k.t.Helper()
	k.j.Kill()
	k.reopen()
	k.holds()
	must(k.t, k.j.Close())
}

// A file that somebody cuts short while it is in use is noticed, and made anew with all
// that the store has not taken.
func TestCutShortWhileInUse(t *testing.T) {
	for _, left := range []int64{0, 4096} {
		k := newMapped(t)
		for k.j.Ends()[0] < 8192 {
			k.fill(1)
		}
		must(t, os.Truncate(journal.Names(k.opt.Path)[0], left))
		k.fill(1)
		if !strings.Contains(k.log.String(), "cut short") {
			t.Error(k.log.String())
		}
		k.fill(3)
		k.survives()
	}
}

// A file that is cut short and cannot be made anew takes nothing until it can, and
// nothing of what was accepted is missing then.
func TestCutShortAndNoWayToMend(t *testing.T) {
	k := newMapped(t)
	k.fill(3)
	name := journal.Names(k.opt.Path)[0]
	must(t, os.Truncate(name, 0))
	must(t, os.Rename(name, name+".away"))
	must(t, os.Mkdir(name, 0o700))
	for range 3 {
		if err := k.write("x"); err == nil {
			t.Fatal("it was accepted")
		}
	}
	must(t, os.Remove(name))
	must(t, os.Rename(name+".away", name))
	k.fill(2)
	k.survives()
}

// A file that is removed while it is emptied is made anew only after that: the memory
// that is wiped must be the file's to the end.
func TestRemovedWhileItIsEmptied(t *testing.T) {
	k := newMapped(t)
	k.fill(3)
	ended := k.j.Emptying()
	for _, name := range journal.Names(k.opt.Path) {
		must(t, os.Remove(name))
	}
	var emptied atomic.Bool
	written := make(chan error)
	go func() {
		err := k.write("x")
		if !emptied.Load() {
			err = errors.New("a file was made anew while one was emptied")
		}
		written <- err
	}()
	for range 1000 {
		runtime.Gosched() // enough for it to get there, if nothing kept it
	}
	emptied.Store(true)
	ended()
	must(t, <-written)
	k.survives()
}

// A file that is cut short and then emptied is as empty as any.
func TestCutShortAndEmptied(t *testing.T) {
	sizes := journal.SmallSizes()
	sizes.Never()
	sizes.EmptyAt(512)
	sizes.TurnAt(1 << 20)
	sizes.Window(1 << 16)
	k := newKeeper(t, smallDir(t), journal.WithSizes(journal.Options{}, sizes))
	for k.j.Ends()[0] < 8192 {
		must(t, k.write(strings.Repeat("x", 3000))) // few enough to be taken at once
	}
	must(t, os.Truncate(journal.Names(k.opt.Path)[0], 4096))
	must(t, k.j.Flush(t.Context()))
	must(t, k.j.Rest(t.Context())) // who writes before it is emptied finds it cut short
	k.fill(3)
	k.survives()
	if log := k.log.String(); strings.Contains(log, "ERROR") || strings.Contains(log, "cut short") { // it is not any more when somebody looks
		t.Error(log)
	}
}
