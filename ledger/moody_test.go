package ledger_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"durward"
	"durward/ledger"
)

// moody is a store that fails in every way there is: before or after it has written,
// and without being able to say which.
type moody struct {
	shelf
	dice    *rand.Rand
	healthy bool
}

func (m *moody) bad(n int) bool { return !m.healthy && m.dice.IntN(n) == 0 }

func (m *moody) Write(ctx context.Context, b *ledger.Batch) error {
	m.mu.Lock()
	before, after := m.bad(3), m.bad(3)
	m.mu.Unlock()
	if before {
		return errFull
	}
	head, err := m.shelf.Head(ctx)
	if err != nil {
		return err
	}
	if !b.Link.Follows(&head) {
		return durward.Errorf(durward.Conflict, "", "link %d does not follow %d", b.Link.Seq, head.Seq)
	}
	time.Sleep(time.Millisecond)
	if err := m.shelf.Write(ctx, b); err != nil {
		return err
	}
	if after {
		return errFull
	}
	return nil
}

func (m *moody) Head(ctx context.Context) (ledger.Link, error) {
	m.mu.Lock()
	bad := m.bad(2)
	m.mu.Unlock()
	if bad {
		return ledger.Link{}, errFull
	}
	return m.shelf.Head(ctx)
}

// Whatever the store does: a call that may pass is recorded, and has the outcome it
// was given; one that was refused is not there, or has an outcome; nothing is there
// twice; the chain holds.
func TestNothingIsLostOrDoubled(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		seed, callers := rapid.Uint64().Draw(r, "seed"), rapid.IntRange(1, 12).Draw(r, "callers")
		synctest.Test(t, func(t *testing.T) { failingStore(t, seed, callers) })
	})
}

func failingStore(t *testing.T, seed uint64, callers int) {
	m := &moody{dice: rand.New(rand.NewPCG(seed, 1)), healthy: true} //nolint:gosec // to be repeated
	l, err := ledger.Open(t.Context(), ledger.Options{Store: m, Wait: 2 * time.Second, Queue: 4})
	if err != nil {
		t.Fatal(err)
	}
	mood := func(healthy bool) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.healthy = healthy
	}
	mood(false)
	var mu sync.Mutex // guards passed
	passed := map[durward.CallID]bool{}
	var all sync.WaitGroup
	for n := range callers {
		all.Go(func() {
			dice := rand.New(rand.NewPCG(seed, uint64(n)+2)) //nolint:gosec // to be repeated
			for range 12 {
				ctx, cancel := context.WithCancel(t.Context())
				if dice.IntN(3) == 0 {
					ctx, cancel = context.WithTimeout(t.Context(), time.Duration(dice.IntN(2000))*time.Microsecond)
				}
				c := aCall()
				err := l.Intent(ctx, c, durward.Decision{})
				cancel()
				mu.Lock()
				passed[c.ID] = err == nil
				mu.Unlock()
				if err == nil {
					time.Sleep(time.Duration(dice.IntN(3)) * time.Millisecond)
					l.Outcome(t.Context(), c, ended(c))
				} else {
					time.Sleep(time.Duration(dice.IntN(400)) * time.Millisecond)
				}
			}
		})
	}
	all.Wait()
	mood(true)
	time.Sleep(10 * time.Second)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	checkShelf(t, &m.shelf, passed)
}

// checkShelf checks what is in a store against what was said of each call.
func checkShelf(t *testing.T, s *shelf, passed map[durward.CallID]bool) {
	t.Helper()
	intents, outcomes := map[durward.CallID]int{}, map[durward.CallID][]*ledger.Outcome{}
	byLink := map[uint64][]ledger.Record{}
	for _, r := range s.rows {
		byLink[r.link] = append(byLink[r.link], r.record)
		switch r := r.record.(type) {
		case *ledger.Intent:
			intents[r.ID]++
		case *ledger.Outcome:
			outcomes[r.Call] = append(outcomes[r.Call], r)
		}
	}
	var last ledger.Link
	for _, link := range s.links {
		if link != last.Next(link.At, byLink[link.Seq]) {
			t.Fatalf("link %d does not hold", link.Seq)
		}
		last = link
	}
	for id, ok := range passed {
		n := intents[id]
		switch {
		case n > 1 || len(outcomes[id]) != n:
			t.Fatalf("call %s (passed: %v) has %d intents and %d outcomes", id, ok, n, len(outcomes[id]))
		case ok && n == 0:
			t.Fatalf("call %s passed unrecorded", id)
		case ok && outcomes[id][0].Status != durward.StatusOK:
			t.Fatalf("the outcome of call %s: %+v", id, outcomes[id][0])
		case !ok && n == 1 && (outcomes[id][0].Attempts != 0 || outcomes[id][0].Error == ""):
			t.Fatalf("the outcome of call %s, which was refused: %+v", id, outcomes[id][0])
		}
		delete(outcomes, id)
	}
	if len(outcomes) > 0 {
		t.Fatalf("%d outcomes are of no call", len(outcomes))
	}
}
