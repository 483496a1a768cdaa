package journal_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/internal/store/journal"
	"durward/ledger"
)

// A store that takes nothing makes Write fail with its own words, until it takes
// something again; then nothing is lost.
func TestStoreThatFails(t *testing.T) {
	for name, m := range map[string]mood{"refuses": refuses, "fails after all": fails, "is silent": isSilent} {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t, smallDir(t), slow())
			k.fill(3)
			k.store.set(m)
			err := k.j.Flush(t.Context())
			if m == fails {
				must(t, err) // the store has it, and says so when it is asked
				k.holds()
			} else if durward.KindOf(err) != durward.Unavailable || !strings.Contains(err.Error(), "in a mood") {
				t.Error("flush:", err)
			}
			for range 5 {
				err := k.write("x")
				if m == fails {
					must(t, err)
				} else if durward.KindOf(err) != durward.Unavailable || !strings.Contains(err.Error(), "in a mood") {
					t.Error(err)
				}
			}
			k.store.set(works)
			k.fill(3)
			must(t, k.j.Sync(t.Context()))
			k.holds()
			errors, infos := strings.Count(k.log.String(), "level=ERROR"), strings.Count(k.log.String(), "level=INFO")
			if want := map[bool]int{true: 0, false: 1}[m == fails]; errors != want || infos != want {
				t.Errorf("the log says %d times that it fails, %d times that it goes on, want %d: %s", errors, infos, want, k.log.String())
			}
			must(t, k.j.Close())
		})
	}
}

// A store that has taken a part of what waits, and could not say so, is given the rest.
func TestStoreThatTookAPart(t *testing.T) {
	k := newKeeper(t, smallDir(t), slow())
	k.fill(2)
	reached, end := k.store.block()
	ctx, cancel := context.WithCancel(t.Context())
	flushed := make(chan error)
	go func() { flushed <- k.j.Flush(ctx) }()
	<-reached
	cancel()
	if err := <-flushed; err == nil {
		t.Fatal("it was not blocked")
	}
	k.fill(2) // which are for the next attempt
	k.store.set(isSilent)
	end()
	for end := time.Now().Add(time.Minute); len(k.store.all()) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it took nothing")
		}
	}
	if err := k.j.Flush(t.Context()); err == nil {
		t.Error("it was not silent")
	}
	k.store.set(works)
	must(t, k.write("it goes on"))
	must(t, k.j.Close())
	k.holds()
}

// A store that loses what it has not synced is given it again.
func TestStoreThatLosesWhatItHad(t *testing.T) {
	for name, synced := range map[string]int{"all": 0, "a part": 3} {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t, smallDir(t), slow())
			k.fill(synced)
			must(t, k.j.Sync(t.Context()))
			k.fill(5)
			must(t, k.j.Flush(t.Context()))
			k.store.lose()
			if n := len(k.store.all()); n != synced {
				t.Fatalf("%d batches are left", n)
			}
			must(t, k.write("it is not known yet"))
			if err := k.j.Flush(t.Context()); durward.KindOf(err) != durward.Conflict {
				t.Errorf("the first attempt: %v", err)
			}
			k.fill(3)
			must(t, k.j.Sync(t.Context()))
			k.holds()
			if !strings.Contains(k.log.String(), "links=5") {
				t.Errorf("the log: %s", k.log.String())
			}
			must(t, k.j.Close())
		})
	}
}

// When nobody writes the store is tried again all the same.
func TestStoreIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, t.TempDir(), journal.Options{})
		k.store.set(refuses)
		k.fill(3)
		time.Sleep(time.Minute)
		if len(k.store.all()) > 0 || k.write("x") == nil {
			t.Error("it was written")
		}
		k.store.set(works)
		time.Sleep(2 * time.Second)
		k.holds()
		must(t, k.j.Close())
	})
}

// What waits is taken a moment later, also when it is little.
func TestTakenAMomentLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, t.TempDir(), journal.Options{})
		for range 5 {
			k.fill(1)
			if len(k.store.all()) == len(k.accepted) {
				t.Error("it was taken at once")
			}
			time.Sleep(30 * time.Millisecond)
			k.holds()
		}
		must(t, k.j.Close())
	})
}

// A store that takes its time makes Write wait when enough waits, so that memory is
// bounded.
func TestMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sizes := journal.SmallSizes()
		sizes.WaitMost(10 << 10)
		k := newKeeper(t, t.TempDir(), journal.WithSizes(journal.Options{}, sizes))
		_, end := k.store.block()
		var writing sync.WaitGroup
		writing.Go(func() {
			for range 100 {
				if err := k.write(strings.Repeat("x", 1000)); err != nil {
					t.Error(err)
				}
			}
		})
		synctest.Wait()
		if n, bytes := k.j.Waits(); n == 0 || n > 12 || bytes > 12<<10 {
			t.Errorf("%d batches with %d bytes wait", n, bytes)
		}
		end()
		writing.Wait()
		must(t, k.j.Close())
		k.holds()
	})
}

// Files that cannot be emptied do not grow for ever.
func TestFilesAreBounded(t *testing.T) {
	for name, full := range map[string]bool{"normal": false, "full": true} {
		t.Run(name, func(t *testing.T) {
			sizes := journal.SmallSizes()
			sizes.FileMost(50 << 10)
			k := newKeeper(t, smallDir(t), journal.WithSizes(journal.Options{Full: full}, sizes))
			k.store.change(func() { k.store.syncErr = durward.Errorf(durward.Unavailable, "ledger", "the disk is tired") })
			var err error
			for range 1000 {
				if err = k.write(strings.Repeat("x", 500)); err != nil {
					break
				}
				must(t, k.j.Flush(t.Context()))
			}
			if durward.KindOf(err) != durward.Unavailable || !strings.Contains(err.Error(), "tired") {
				t.Fatal(err)
			}
			names := journal.Names(k.opt.Path)
			if n := size(t, names[0]) + size(t, names[1]); n > 60<<10 {
				t.Errorf("%d bytes", n)
			}
			if n := strings.Count(k.log.String(), "level=ERROR"); n != 1 {
				t.Errorf("%d errors: %s", n, k.log.String())
			}
			k.store.change(func() { k.store.syncErr = nil })
			for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
				if err = k.write("it goes on"); err == nil {
					break
				}
				if time.Now().After(end) {
					t.Fatal(err)
				}
			}
			must(t, k.j.Close())
			k.holds()
		})
	}
}

// distracted is a context of somebody who does something else when the waiting begins.
type distracted struct {
	context.Context //nolint:containedctx // it is one
	once            sync.Once
	do              func()
}

func (d *distracted) Done() <-chan struct{} {
	d.once.Do(d.do)
	return d.Context.Done()
}

// Whoever waits until the store has something is not told of what went wrong once it had.
func TestWhatIsLaterIsNotFlushed(t *testing.T) {
	for name, later := range map[string]func(k *keeper){
		"a failure": func(k *keeper) {
			must(t, k.j.Flush(t.Context()))
			k.store.set(refuses)
			must(t, k.write("later"))
			if err := k.j.Flush(t.Context()); !errors.Is(err, errMood) {
				t.Error(err)
			}
		},
		"the end": func(k *keeper) { must(t, k.j.Close()) },
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 { // of several ends of the waiting any may be seen
				k := newKeeper(t, smallDir(t), slow())
				k.fill(3)
				must(t, k.j.Flush(&distracted{Context: t.Context(), do: func() { later(k) }}))
				k.store.set(works)
				must(t, k.j.Close())
				k.holds()
			}
		})
	}
}

// Close waits for who writes, and nobody waits for ever.
func TestCloseWhileOthersWait(t *testing.T) {
	for range 20 {
		sizes := journal.SmallSizes()
		sizes.WaitMost(2 << 10)
		k := newKeeper(t, smallDir(t), journal.WithSizes(journal.Options{}, sizes))
		_, end := k.store.block()
		must(t, k.write(strings.Repeat("x", 3000)))
		var all sync.WaitGroup
		var wrote, flushed error
		all.Go(func() { wrote = k.write("waits for room") })
		all.Go(func() { flushed = k.j.Flush(t.Context()) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if err := k.j.Flush(ctx); durward.KindOf(err) != durward.Unavailable {
			t.Error("flush with a context that ended:", err)
		}
		cancel()
		closed := make([]error, 3)
		for i := range closed {
			all.Go(func() { closed[i] = k.j.Close() })
		}
		end()
		all.Wait()
		for _, err := range []error{closed[0], closed[1], closed[2], flushed} {
			if err != nil {
				t.Error(err)
			}
		}
		if wrote != nil && durward.KindOf(wrote) != durward.Unavailable {
			t.Error(wrote)
		}
		if err := k.write("y"); durward.KindOf(err) != durward.Unavailable {
			t.Error("after Close:", err)
		}
		if _, err := k.j.Head(t.Context()); durward.KindOf(err) != durward.Unavailable {
			t.Error("after Close:", err)
		}
		must(t, k.j.Sync(t.Context())) // what is signed at the end
		k.holds()
	}
}

// roomless returns a journal in which a batch waits for a store that takes its time: the
// next one waits for room, until end is called.
func roomless(t *testing.T) (k *keeper, end func()) {
	t.Helper()
	sizes := journal.SmallSizes()
	sizes.WaitMost(1)
	k = newKeeper(t, t.TempDir(), journal.WithSizes(journal.Options{}, sizes))
	_, end = k.store.block()
	must(t, k.write("x"))
	return k, end
}

// A context that ends while Write waits for room ends the waiting, and what was refused
// is nowhere.
func TestWriteThatIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, end := roomless(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		b := k.next("y")
		if err := k.j.Write(ctx, b); durward.KindOf(err) != durward.Unavailable {
			t.Error(err)
		}
		if err := k.j.Write(ctx, b); durward.KindOf(err) != durward.Unavailable {
			t.Error("with a context that has ended:", err)
		}
		end()
		must(t, k.j.Close())
		k.holds()
	})
}

// A store that fails to take what waits keeps it from being closed well; then it stays.
func TestCloseOfAStoreThatFails(t *testing.T) {
	k := newKeeper(t, smallDir(t), slow())
	k.fill(5)
	k.store.set(refuses)
	for range 2 {
		if err := k.j.Close(); durward.KindOf(err) != durward.Unavailable {
			t.Error(err)
		}
	}
	if len(files(t, k.opt.Path)) != 2 {
		t.Error("the files are gone")
	}
	if pending, err := journal.Pending(k.opt.Path); err != nil || !pending {
		t.Error(pending, err)
	}
	k.reopen()
	k.holds()
	must(t, k.j.Close())
	if pending, err := journal.Pending(k.opt.Path); err != nil || pending {
		t.Error(pending, err)
	}
}

// Many write, flush and read the head at once, one after the other as a ledger does.
func TestManyAtOnce(t *testing.T) {
	k := newKeeper(t, smallDir(t), journal.WithSizes(journal.Options{Full: true}, journal.SmallSizes()))
	stop := make(chan struct{})
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				var err error
				switch n {
				case 0:
					err = k.j.Flush(context.Background())
				case 1:
					_, err = k.j.Head(context.Background())
				case 2:
					err = k.j.Sync(context.Background())
				default:
					_, err = k.j.Open(context.Background(), 10)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 3000 {
		must(t, k.write("some text"))
	}
	close(stop)
	all.Wait()
	must(t, k.j.Close())
	k.holds()
}

// Calls that do not fit together are refused, and leave no trace.
func TestCallsThatDoNotFit(t *testing.T) {
	k := newKeeper(t, smallDir(t), slow())
	a, b := &ledger.Intent{ID: durward.NewCallID()}, &ledger.Intent{ID: durward.NewCallID()}
	ends := func(i *ledger.Intent) ledger.Record { return &ledger.Outcome{Call: i.ID} }
	try := func(records ...ledger.Record) error {
		batch := &ledger.Batch{Records: records, Link: k.head.Next(time.Now(), records)}
		err := k.j.Write(t.Context(), batch)
		if err == nil {
			k.head, k.accepted = batch.Link, append(k.accepted, batch.Link)
		}
		return err
	}
	for _, records := range [][]ledger.Record{{ends(a)}, {a, a}, {a, ends(a), ends(a)}, {ends(a), a}, {a, ends(b)}} {
		if err := try(records...); durward.KindOf(err) != durward.Conflict {
			t.Error(err)
		}
	}
	must(t, try(a, b, ends(b)))
	for _, records := range [][]ledger.Record{{a}, {ends(b)}, {ends(a), ends(a)}} {
		if err := try(records...); durward.KindOf(err) != durward.Conflict {
			t.Error(err)
		}
	}
	must(t, try(ends(a)))
	must(t, k.j.Close())
	k.holds()
}

// Whoever wrote a batch may use it for another: what was accepted stays what it was.
func TestBatchesAreOfWhoWritesThem(t *testing.T) {
	k := newKeeper(t, smallDir(t), slow())
	b := k.next("some text")
	must(t, k.j.Write(t.Context(), b))
	k.accepted = append(k.accepted, b.Link)
	*b = ledger.Batch{}
	must(t, k.j.Close())
	k.holds()
}
