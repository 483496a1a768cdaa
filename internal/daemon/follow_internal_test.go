package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"durward"
	"durward/client"
	"durward/ledger"
)

// chain is a store that holds links in memory.
type chain struct {
	ledger.Auditor
	ledger.Reader
	mu     sync.Mutex // guards links
	links  []ledger.Link
	record map[uint64][]ledger.Record
}

func (c *chain) Links(_ context.Context, from uint64, f func(ledger.Link, []ledger.Record) error) error {
	c.mu.Lock()
	links := slices.Clone(c.links)
	c.mu.Unlock()
	for _, l := range links {
		if l.Seq < from {
			continue
		}
		c.mu.Lock()
		records := c.record[l.Seq]
		c.mu.Unlock()
		if err := f(l, records); err != nil {
			return err
		}
	}
	return nil
}

func (c *chain) Call(_ context.Context, id string) (*ledger.Story, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &ledger.Story{}
	for _, records := range c.record {
		for _, r := range records {
			switch r := r.(type) {
			case *ledger.Intent:
				if string(r.ID) == id {
					s.Intent = *r
				}
			case *ledger.Outcome:
				if string(r.Call) == id {
					s.Outcome = r
				}
			}
		}
	}
	if s.Intent.ID == "" {
		return nil, durward.Errorf(durward.NotFound, "", "no such call")
	}
	return s, nil
}

// commit stores a link, and tells of it later if told to.
func (c *chain) commit(records ...ledger.Record) (ledger.Link, []ledger.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := ledger.Link{Seq: uint64(len(c.links)) + 1, Records: len(records)}
	c.links = append(c.links, l)
	if c.record == nil {
		c.record = map[uint64][]ledger.Record{}
	}
	c.record[l.Seq] = records
	return l, records
}

func begun(id int) *ledger.Intent {
	return &ledger.Intent{ID: durward.CallID(fmt.Sprint("c", id)), Server: fmt.Sprint("s", id%3), Method: "tools/call"}
}

func ended(id int) *ledger.Outcome {
	return &ledger.Outcome{Call: durward.CallID(fmt.Sprint("c", id)), Status: durward.StatusOK}
}

func names(some []client.Followed) (all []string) {
	for _, e := range some {
		if e.Call == nil {
			all = append(all, "behind "+e.Cursor)
		} else {
			all = append(all, string(e.Call.ID))
		}
	}
	return all
}

func next(t *testing.T, f *follower) string {
	t.Helper()
	some, err := f.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names(some), " ")
}

func TestAFollowerIsToldOfCallsThatEnd(t *testing.T) {
	var h hub
	c := &chain{}
	h.committed(c.commit(begun(0), begun(1)))
	f, err := h.follow(c, c, ledger.Filter{}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	quiet, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if some, err := f.Next(quiet); !errors.Is(err, context.DeadlineExceeded) || some != nil {
		t.Errorf("%v %v", some, err)
	}
	h.committed(c.commit(begun(2), &ledger.Note{}, ended(2), ended(0))) // of the other it learns from the store
	if got := next(t, f); got != "c2 c0" {
		t.Error(got)
	}
	h.committed(c.commit(ended(7))) // of nothing that there is
	h.committed(c.commit(begun(3)))
	h.committed(c.commit(ended(3), ended(1)))
	if got := next(t, f); got != "c3 c1" {
		t.Error(got)
	}
	starts, err := h.follow(c, c, ledger.Filter{Status: client.StatusDispatched, Server: "s1"}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer starts.Close()
	h.committed(c.commit(begun(4), begun(5), ended(4)))
	if got := next(t, starts); got != "c4" {
		t.Error(got)
	}
	h.close()
	if got := next(t, f); got != "c4" { // what came before the end
		t.Error(got)
	}
	if _, err := f.Next(t.Context()); durward.KindOf(err) != durward.Unavailable {
		t.Error(err)
	}
}

// Who goes on after a cursor gets all that came after it, once or more, even if it
// had read only a part of a batch.
func TestAFollowerGoesOnAfterItsCursor(t *testing.T) {
	var h hub
	c := &chain{}
	for i := range 10 {
		h.committed(c.commit(begun(2*i), begun(2*i+1), ended(2*i), ended(2*i+1)))
	}
	f, err := h.follow(c, c, ledger.Filter{}, "0")
	if err != nil {
		t.Fatal(err)
	}
	some, err := f.Next(t.Context())
	f.Close()
	if err != nil || len(some) != 20 || some[2].Cursor != "1" || some[3].Cursor != "2" || some[19].Cursor != "10" {
		t.Fatalf("%v %v", names(some), err)
	}
	f, err = h.follow(c, c, ledger.Filter{}, some[18].Cursor)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := next(t, f); got != "c18 c19" {
		t.Error(got)
	}
	for _, wrong := range []string{"11", "x", "-1"} {
		if _, err := h.follow(c, c, ledger.Filter{}, wrong); durward.KindOf(err) != durward.Invalid {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

func TestAFollowerThatIsTooSlowIsToldWhereItWas(t *testing.T) {
	var h hub
	c := &chain{}
	f, err := h.follow(c, c, ledger.Filter{}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	quiet, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := f.Next(quiet); !f.live { // it has caught up now
		t.Fatal(err)
	}
	h.committed(c.commit(begun(0), ended(0)))
	if got := next(t, f); got != "c0" {
		t.Error(got)
	}
	for i := 1; i <= followQueue; i++ {
		h.committed(c.commit(begun(i), ended(i)))
	}
	if got := next(t, f); got != "behind 1" {
		t.Error(got)
	}
	if f.waiting > followQueue || f.queue != nil {
		t.Errorf("%d wait", f.waiting)
	}
}

func TestFollowersAreBounded(t *testing.T) {
	var h hub
	c := &chain{}
	var first *follower
	for i := range followers {
		f, err := h.follow(c, c, ledger.Filter{}, "")
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = f
		}
	}
	if _, err := h.follow(c, c, ledger.Filter{}, ""); durward.KindOf(err) != durward.Unavailable {
		t.Error(err)
	}
	first.Close()
	if _, err := h.follow(c, c, ledger.Filter{}, ""); err != nil {
		t.Error(err)
	}
}

// Whatever a follower is faster or slower than, it is told of every call once and
// in order, up to where it is cut off.
func TestNoCallIsLeftOutOrToldTwice(t *testing.T) {
	before := goleak.IgnoreCurrent()
	defer func() {
		for end := time.Now().Add(30 * time.Second); goleak.Find(before) != nil && time.Now().Before(end); { // Find waits, too
		}
		goleak.VerifyNone(t, before)
	}()
	rapid.Check(t, func(rt *rapid.T) {
		var h hub
		c := &chain{}
		before := rapid.IntRange(0, 30).Draw(rt, "before")
		after := rapid.IntRange(0, 30).Draw(rt, "after")
		total := before + after
		batch := func(i int) { h.committed(c.commit(begun(i), ended(i))) }
		for i := range before {
			batch(i)
		}
		from := rapid.IntRange(0, before).Draw(rt, "from")
		f, err := h.follow(c, c, ledger.Filter{}, cursor(uint64(from)))
		if err != nil {
			rt.Fatal(err)
		}
		defer f.Close()
		var writer sync.WaitGroup
		writer.Go(func() {
			for i := before; i < total; i++ {
				batch(i)
			}
			h.close()
		})
		var got []string
		for {
			some, err := f.Next(t.Context())
			if err != nil {
				break
			}
			got = append(got, names(some)...)
		}
		writer.Wait()
		var want []string
		for i := from; i < total; i++ {
			want = append(want, fmt.Sprint("c", i))
		}
		if !slices.Equal(got, want) {
			rt.Errorf("got %v, wanted %v", got, want)
		}
	})
}
