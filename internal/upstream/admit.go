package upstream

import (
	"context"
	"slices"
	"time"

	"durward"
)

// ticket is a call that waits for a place.
type ticket struct {
	ready chan struct{} // closed when it got one, or never will
	why   string        // why not; guarded by Server.mu
}

// admit waits for one of the places for calls in flight. Places are given in the
// order of arrival; leave gives one back.
func (s *Server) admit(ctx context.Context, deadline time.Time) error {
	s.mu.Lock()
	s.idleSince = time.Time{}
	if err := s.refusal(); err != nil {
		s.mu.Unlock()
		return err
	}
	limit := s.opt.Spec.Concurrency
	if s.active < limit {
		s.active++
		s.mu.Unlock()
		return nil
	}
	if len(s.waiting) >= limit {
		s.mu.Unlock()
		return durward.Errorf(durward.Unavailable, s.op(), "%d calls are in flight and as many wait; call less at the same time or raise servers.%s.concurrency", limit, s.name)
	}
	t := &ticket{ready: make(chan struct{})}
	s.waiting = append(s.waiting, t)
	s.mu.Unlock()
	return s.queue(ctx, t, deadline)
}

func (s *Server) queue(ctx context.Context, t *ticket, deadline time.Time) error {
	var expired <-chan time.Time
	if !deadline.IsZero() {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-t.ready:
	case <-ctx.Done():
	case <-expired:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.why != "" {
		return durward.Errorf(durward.Unavailable, s.op(), "%s; nothing was executed", t.why)
	}
	if i := slices.Index(s.waiting, t); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
		return durward.Errorf(durward.Timeout, s.op(), "the call ended in the queue behind %d others (servers.%s.concurrency); nothing was executed", s.opt.Spec.Concurrency, s.name)
	}
	return nil // it has a place, even if its time is over as well: the next step notices
}

// leave gives a place back, to the call that waits longest if there is one.
func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idleSince = time.Time{}
	if len(s.waiting) == 0 {
		s.active--
		return
	}
	t := s.waiting[0]
	s.waiting = slices.Delete(s.waiting, 0, 1)
	close(t.ready)
}

// dropQueue tells those who wait for a place that there will be none. mu is held.
func (s *Server) dropQueue(why string) {
	for _, t := range s.waiting {
		t.why = why
		close(t.ready)
	}
	s.waiting = nil
}
