package main

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"
)

// dice are random numbers that depend on the seed and on who throws them, so
// that a run can be made again as nearly as concurrency permits. They may be
// thrown from any goroutine.
type dice struct {
	mu  sync.Mutex // guards rng
	rng *rand.Rand
}

func newDice(seed uint64, who string) *dice {
	h := fnv.New64a()
	_, _ = h.Write([]byte(who))
	return &dice{rng: rand.New(rand.NewPCG(seed, h.Sum64()))}
}

// n returns a number from 0 to below n; 0 when n is no more than 1.
func (d *dice) n(n int) int {
	if n <= 1 {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rng.IntN(n)
}

// percent is true so often.
func (d *dice) percent(p int) bool { return d.n(100) < p }

// between returns a time between two.
func (d *dice) between(from, to time.Duration) time.Duration {
	return from + time.Duration(d.n(int(to-from)))
}

func pick[T any](d *dice, from []T) T { return from[d.n(len(from))] }

// sleep waits, or until ctx ends, which it reports by false.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
