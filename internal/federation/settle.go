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
//
// One of whose lists only some are there is still coming up: what a client wants may
// be in the others. It is not waited for longer than settleRest after the first of
// them, as one list may hang while the others are good (B1).
const (
	settleLimit = 10 * time.Second
	settleQuiet = 750 * time.Millisecond
	settleRest  = 2 * time.Second
)

// pace is what the coming up of a server says about the others.
type pace bool

const (
	ofServers pace = true  // they may be about to come up as well
	ofOurs    pace = false // nothing: it runs in this process, and is there at once
)

// arrival is a server that has not yet come up or failed.
type arrival struct {
	pace pace
	rest *time.Timer // ends the wait for its other lists; nil before the first is there
}

// settling knows which servers have not yet come up or failed for the first time.
type settling struct {
	mu      sync.Mutex // guards all below
	waiting map[string]*arrival
	began   time.Time     // when the first of those waiting was added
	last    time.Time     // when one that says something came up or failed; zero before the first
	moved   chan struct{} // closed and replaced whenever a server settles
}

func newSettling() *settling {
	return &settling{waiting: map[string]*arrival{}, moved: make(chan struct{})}
}

func (s *settling) expect(name string, p pace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		s.began, s.last = time.Now(), time.Time{}
	}
	s.waiting[name] = &arrival{pace: p}
}

// partly says that some of a server's lists are there.
func (s *settling) partly(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.waiting[name]; a != nil && a.rest == nil {
		a.rest = time.AfterFunc(settleRest, func() { s.settled(name) })
	}
}

func (s *settling) settled(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.waiting[name]; a != nil {
		delete(s.waiting, name)
		if a.rest != nil {
			a.rest.Stop()
		}
		if a.pace == ofServers {
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
