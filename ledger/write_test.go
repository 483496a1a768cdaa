package ledger_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/ledger"
)

// door is a store whose writes wait while it is shut.
type door struct {
	shelf
	shut chan struct{} // nil: open
	in   atomic.Int64  // writes that began
}

func (d *door) Write(ctx context.Context, b *ledger.Batch) error {
	d.in.Add(1)
	if d.shut != nil {
		<-d.shut
	}
	return d.shelf.Write(ctx, b)
}

func (d *door) setFail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = err
}

// of returns the records of a kind.
func of[T ledger.Record](d *door) (all []T) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.rows {
		if r, ok := r.record.(T); ok {
			all = append(all, r)
		}
	}
	return all
}

func open(t *testing.T, d *door) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(t.Context(), ledger.Options{Store: d})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func aCall() *durward.Call {
	return &durward.Call{ID: durward.NewCallID(), Method: "tools/call", Received: time.Now(), Params: []byte(`{"name":"x"}`)}
}

func ended(c *durward.Call) durward.Outcome {
	return durward.Outcome{Status: durward.StatusOK, Result: []byte(`{}`), Attempts: 1, Finished: time.Now()}
}

var errFull = durward.Errorf(durward.Unavailable, "ledger", "the disk is full")

// A call that is given up while its intent is written is not left without an outcome;
// one that waits to be written is taken back.
func TestARequesterThatLeavesLeavesNoOpenCall(t *testing.T) {
	for _, leaves := range []bool{true, false} { // or has waited too long (limits.ledger_wait)
		synctest.Test(t, func(t *testing.T) {
			d := &door{shut: make(chan struct{})}
			l := open(t, d)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			given, refused := aCall(), make(chan error, 2)
			go func() { refused <- l.Intent(ctx, given, durward.Decision{}) }() // takes the writer
			synctest.Wait()
			go func() { refused <- l.Intent(ctx, aCall(), durward.Decision{}) }()
			synctest.Wait()
			if d.in.Load() != 1 {
				t.Fatalf("%d writes", d.in.Load())
			}
			want := durward.StatusError
			if leaves {
				leave()
				want = durward.StatusCancelled
			}
			for range 2 {
				if err := <-refused; durward.KindOf(err) != durward.Unavailable {
					t.Errorf("who left got %v", err)
				}
			}
			close(d.shut)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			intents, outcomes := of[*ledger.Intent](d), of[*ledger.Outcome](d)
			if len(intents) != 1 || len(outcomes) != 1 || intents[0].ID != given.ID {
				t.Fatalf("%d intents, %d outcomes", len(intents), len(outcomes))
			}
			if o := outcomes[0]; o.Call != given.ID || o.Attempts != 0 || !o.Dispatched.IsZero() || o.Error == "" || o.Status != want {
				t.Errorf("%+v", o)
			}
		})
	}
}

// What a person said, and a change, of which it was said that it could not be recorded is
// not left on record as if it held.
func TestWhatIsRecordedTooLateIsTakenBackOnRecord(t *testing.T) {
	for status, undone := range map[string]bool{"pending": true, "approved": true, "denied": false, "expired": false, "cancelled": false, "": true} {
		synctest.Test(t, func(t *testing.T) {
			d := &door{shut: make(chan struct{})}
			l := open(t, d)
			var r ledger.Record = &ledger.Approval{ID: "a", Call: "c", At: time.Now(), Status: status, By: "ann", Scope: "session"}
			if status == "" {
				r = &ledger.Change{At: time.Now(), Who: "ann", What: "server add", Target: "s"}
			}
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			refused := make(chan error)
			go func() { refused <- l.Append(ctx, r) }()
			synctest.Wait()
			leave()
			if err := <-refused; durward.KindOf(err) != durward.Unavailable {
				t.Errorf("who left got %v", err)
			}
			close(d.shut)
			synctest.Wait()
			d.setFail(errFull) // what is to follow waits for the store, too
			time.Sleep(time.Minute)
			d.setFail(nil)
			time.Sleep(time.Minute)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			all, notes := of[*ledger.Approval](d), of[*ledger.Note](d)
			switch {
			case len(d.rows) != map[bool]int{true: 3, false: 1}[undone]: // with a note of the gap
				t.Errorf("%q: %d records", status, len(d.rows))
			case status == "":
				if !strings.Contains(notes[0].Detail, `"server add" of "s" by ann`) {
					t.Errorf("%+v", notes[0])
				}
			case undone:
				if a := all[1]; a.ID != "a" || a.Call != "c" || a.Status != "denied" || a.By != "durward" || a.Scope != "session" || a.Reason == "" {
					t.Errorf("%q: %+v", status, a)
				}
			}
		})
	}
}

// The body of a call that is taken back is not kept, however long the store takes,
// unless another record names it.
func TestBodiesOfCallsThatAreTakenBackAreNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &door{shut: make(chan struct{})}
		l, err := ledger.Open(t.Context(), ledger.Options{Store: d, Bodies: true})
		if err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		refused := make(chan error)
		intent := func(body string) *durward.Call {
			c := aCall()
			c.Params = []byte(`{"name":"` + strings.Repeat(body, ledger.PreviewMost) + `"}`)
			go func() { refused <- l.Intent(ctx, c, durward.Decision{}) }()
			synctest.Wait()
			return c
		}
		first := intent("a") // takes the writer
		l.Outcome(t.Context(), first, durward.Outcome{Status: durward.StatusOK, Result: intent("b").Params, Finished: time.Now()})
		intent("c")
		intent("c")
		leave()
		for range 4 {
			if err := <-refused; durward.KindOf(err) != durward.Unavailable {
				t.Errorf("who left got %v", err)
			}
		}
		close(d.shut)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		kept := map[ledger.Digest]bool{}
		for _, b := range d.bodies {
			kept[b.Digest] = true
		}
		intents, outcomes := of[*ledger.Intent](d), of[*ledger.Outcome](d)
		if len(intents) != 1 || len(outcomes) == 0 || !kept[intents[0].Body] || !kept[outcomes[0].Body] || len(kept) != 2 {
			t.Errorf("%d intents, %d outcomes, %d bodies", len(intents), len(outcomes), len(kept))
		}
	})
}

// blind is a store that commits a batch, and then can say nothing for a while.
type blind struct {
	door
	commits, says atomic.Bool
}

func (b *blind) Write(ctx context.Context, batch *ledger.Batch) error {
	if b.says.Load() {
		return b.door.Write(ctx, batch)
	}
	if b.commits.Swap(false) {
		_ = b.door.Write(ctx, batch) // it does not fail
	}
	return errFull
}

func (b *blind) Head(ctx context.Context) (ledger.Link, error) {
	if !b.says.Load() {
		return ledger.Link{}, errFull
	}
	return b.door.Head(ctx)
}

// While a store takes nothing, large results do not fill the memory. Records without
// their bodies do not name them, and none is changed that the store may have already.
func TestBodiesThatWaitAreBounded(t *testing.T) {
	for _, commits := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := &blind{}
			b.says.Store(true)
			l, err := ledger.Open(t.Context(), ledger.Options{Store: b, Bodies: true})
			if err != nil {
				t.Fatal(err)
			}
			var calls []*durward.Call
			for range 8 {
				c := aCall()
				if err := l.Intent(t.Context(), c, durward.Decision{}); err != nil {
					t.Fatal(err)
				}
				calls = append(calls, c)
			}
			b.says.Store(false)
			b.commits.Store(commits)
			dice := rand.NewChaCha8([32]byte{})
			for _, c := range calls {
				o := ended(c)
				o.Result = make([]byte, ledger.BodyMost-1)
				_, _ = dice.Read(o.Result)
				l.Outcome(t.Context(), c, o)
			}
			time.Sleep(time.Minute)
			b.says.Store(true)
			time.Sleep(time.Minute)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			passed := map[durward.CallID]bool{}
			for _, c := range calls {
				passed[c.ID] = true
			}
			checkShelf(t, &b.shelf, passed)
			named := 0
			for _, o := range of[*ledger.Outcome](&b.door) {
				if o.Body == (ledger.Digest{}) {
					continue
				}
				named++
				if !slices.ContainsFunc(b.bodies, func(have ledger.Body) bool { return have.Digest == o.Body }) {
					t.Errorf("commits %v: a body that is named is not there", commits)
				}
			}
			if want := map[bool]int{false: 6, true: 8}[commits]; named != want {
				t.Errorf("commits %v: %d bodies are named, want %d", commits, named, want)
			}
		})
	}
}

// What rules say of calls that are refused does not fill the memory while the store
// takes very long.
func TestMatchesOfRefusedCallsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &door{shut: make(chan struct{})}
		l, err := ledger.Open(t.Context(), ledger.Options{Store: d, Queue: 10, Wait: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		match := []durward.Match{{Rule: "r"}}
		for range 100 {
			c := aCall()
			l.Matched(c, match)
			if err := l.Intent(t.Context(), c, durward.Decision{}); durward.KindOf(err) != durward.Unavailable {
				t.Errorf("who waited got %v", err)
			}
		}
		if n := l.Queued(); n != 20 {
			t.Errorf("%d records wait in a queue of 10", n)
		}
		close(d.shut)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// While the store takes nothing calls are refused at once, outcomes are kept, and
// when it does again all goes on, whether anything waited for that or not.
func TestAFaultEndsByItself(t *testing.T) {
	for name, underWay := range map[string]bool{"with a call under way": true, "with nothing to write": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &door{}
				l := open(t, d)
				first := aCall()
				if err := l.Intent(t.Context(), first, durward.Decision{}); err != nil {
					t.Fatal(err)
				}
				if !underWay {
					l.Outcome(t.Context(), first, ended(first))
					time.Sleep(time.Second) // until it is written
				}
				d.setFail(errFull)
				for range 3 {
					if err := l.Intent(t.Context(), aCall(), durward.Decision{}); durward.KindOf(err) != durward.Unavailable || !errors.Is(err, errFull) {
						t.Errorf("during the fault: %v", err)
					}
				}
				if underWay {
					l.Outcome(t.Context(), first, ended(first))
				}
				before := d.in.Load()
				time.Sleep(time.Minute)
				if tries := d.in.Load() - before; tries < 5 || tries > 30 {
					t.Errorf("%d attempts in a minute", tries)
				}
				if since, err := l.State(); !errors.Is(err, errFull) || since.IsZero() {
					t.Errorf("state: %v, %v", err, since)
				}
				d.setFail(nil)
				time.Sleep(6 * time.Second)
				if _, err := l.State(); err != nil {
					t.Fatalf("after the fault: %v", err)
				}
				if err := l.Intent(t.Context(), aCall(), durward.Decision{}); err != nil {
					t.Error(err)
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
				if i, o, n := len(of[*ledger.Intent](d)), len(of[*ledger.Outcome](d)), of[*ledger.Note](d); i != 2 || o != 1 || len(n) != 1 || n[0].What != "gap" {
					t.Errorf("%d intents, %d outcomes, notes %v", i, o, n)
				}
			})
		})
	}
}

// What cannot be written when the service stops holds it up for a moment only, and
// is said.
func TestClosingDuringAFault(t *testing.T) {
	for name, underWay := range map[string]time.Duration{"with a call under way": 6 * time.Second, "with nothing to write": 100 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &door{}
				l := open(t, d)
				c := aCall()
				if err := l.Intent(t.Context(), c, durward.Decision{}); err != nil {
					t.Fatal(err)
				}
				if underWay < time.Second {
					l.Outcome(t.Context(), c, ended(c))
					time.Sleep(time.Second) // until it is written
				}
				d.setFail(errFull)
				if err := l.Intent(t.Context(), aCall(), durward.Decision{}); err == nil {
					t.Error("recorded")
				}
				if underWay > time.Second {
					l.Outcome(t.Context(), c, ended(c))
				}
				begun := time.Now()
				if err := l.Close(); !errors.Is(err, errFull) || time.Since(begun) > underWay {
					t.Errorf("after %s: %v", time.Since(begun), err)
				}
			})
		})
	}
}
