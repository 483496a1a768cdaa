package sqlite_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"durward"
	"durward/internal/store/sqlite"
	"durward/ledger"
)

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// crowd is many callers.
type crowd struct {
	l               *ledger.Ledger
	passed, refused atomic.Int64
	over            chan struct{}
	all             sync.WaitGroup

	mu    sync.Mutex // guards calls
	calls map[durward.CallID]bool
}

func newCrowd(l *ledger.Ledger) *crowd {
	c := &crowd{l: l, over: make(chan struct{}), calls: map[durward.CallID]bool{}}
	for range 64 {
		c.all.Go(c.caller)
	}
	return c
}

func (c *crowd) caller() {
	for {
		select {
		case <-c.over:
			return
		default:
		}
		call := &durward.Call{ID: durward.NewCallID(), Method: "tools/call", Name: "read", Received: time.Now(), Params: []byte(`{"name":"read"}`)}
		err := c.l.Intent(context.Background(), call, durward.Decision{})
		if err == nil || c.refused.Load() < 10_000 {
			c.mu.Lock()
			c.calls[call.ID] = err == nil
			c.mu.Unlock()
		}
		if err != nil {
			c.refused.Add(1)
			time.Sleep(time.Millisecond) // as a client that tries again would
			continue
		}
		c.passed.Add(1)
		c.l.Outcome(context.Background(), call, durward.Outcome{Status: durward.StatusOK, Result: []byte(`{"ok":true}`), Attempts: 1, Finished: time.Now()})
	}
}

// until waits for something that the callers bring about.
func (c *crowd) until(t *testing.T, f func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			_, err := c.l.State()
			t.Fatalf("%d calls passed, %d were refused, and then nothing; the state of the ledger: %v", c.passed.Load(), c.refused.Load(), err)
		}
	}
}

func (c *crowd) stop() {
	close(c.over)
	c.all.Wait()
}

// check compares what is in the file with what was said of each call.
func (c *crowd) check(t *testing.T, path string) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	must(t, err)
	defer db.Close()
	intents, outcomes := map[durward.CallID]bool{}, map[durward.CallID]durward.Status{}
	readChain(t, db, func(r ledger.Record) {
		switch r := r.(type) {
		case *ledger.Intent:
			intents[r.ID] = true
		case *ledger.Outcome:
			outcomes[r.Call] = r.Status
		}
	})
	for id, passed := range c.calls {
		switch status, ended := outcomes[id]; {
		case passed && (!intents[id] || status != durward.StatusOK):
			t.Fatalf("call %s passed; there is an intent: %v, the outcome is %q", id, intents[id], status)
		case intents[id] && !ended:
			t.Fatalf("call %s was refused and is left open", id)
		}
	}
	if open, err := db.Open(t.Context(), 10); err != nil || len(open) > 0 {
		t.Fatalf("calls are left open: %v, %v", open, err)
	}
}
