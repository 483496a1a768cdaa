package federation

import (
	"context"
	"sync"
	"time"
)

// A client that lists right after the start should see the servers that are
// about to be ready, and must not wait for one that hangs. So a list waits while
// servers keep coming up: at most settleLimit in all, and no longer than
// settleQuiet after the last one that did.
const (
	settleLimit = 10 * time.Second
	settleQuiet = 750 * time.Millisecond
)

// pace is what the coming up of a server says about the others.
type pace bool

const (
	ofServers pace = true  // they may be about to come up as well
	ofOurs    pace = false // nothing: it runs in this process, and is there at once
)

// settling knows which servers have not yet come up or failed for the first time.
type settling struct {
	mu      sync.Mutex // guards all below
	waiting map[string]pace
	began   time.Time     // when the first of those waiting was added
	last    time.Time     // when one that says something came up or failed; zero before the first
	moved   chan struct{} // closed and replaced whenever a server settles
}

func newSettling() *settling {
	return &settling{waiting: map[string]pace{}, moved: make(chan struct{})}
}

func (s *settling) expect(name string, p pace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		s.began, s.last = time.Now(), time.Time{}
	}
	s.waiting[name] = p
}

func (s *settling) settled(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, waits := s.waiting[name]; waits {
		delete(s.waiting, name)
		if p == ofServers {
			s.last = time.Now()
		}
		close(s.moved)
		s.moved = make(chan struct{})
	}
}

// patience says how long it is still worth waiting for anybody; 0 when it is not.
func (s *settling) patience() (time.Duration, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return 0, nil
	}
	left := time.Until(s.began.Add(settleLimit))
	if !s.last.IsZero() {
		left = min(left, time.Until(s.last.Add(settleQuiet)))
	}
	return left, s.moved
}

func (s *settling) await(ctx context.Context) {
	for {
		left, moved := s.patience()
		if left <= 0 {
			return
		}
		timer := time.NewTimer(left)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-moved:
			timer.Stop()
		case <-timer.C:
		}
	}
}

func (s *settling) awaitOne(ctx context.Context, name string) {
	for {
		s.mu.Lock()
		_, waiting := s.waiting[name]
		moved := s.moved
		s.mu.Unlock()
		if !waiting {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-moved:
		}
	}
}
