package upstream

import (
	"time"

	"durward"
)

const sessionLost = "the server did not know its session any more"

// renew replaces a connection whose session the server does not know any more.
// The first caller that notices does it for all (B4): the link is dialled anew,
// and calls that are still under way on the old connection are left to end on
// it, each with the server's own word on whether it was executed.
func (s *Server) renew(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := c.link
	if l.up != c || s.closed {
		return
	}
	l.up = nil
	s.replaced[c] = struct{}{}
	close(c.left)
	done := make(chan struct{})
	if c.busy == 0 {
		close(done)
	} else {
		c.drained = done
	}
	s.tasks.Go(func() { s.drain(c, done) })
	s.succeed(l, c, &failure{kind: durward.Unavailable, message: sessionLost}, true)
}

// drain waits until the calls on a replaced connection have ended, at most for
// the time-out of a request, and closes it.
func (s *Server) drain(c *conn, done <-chan struct{}) {
	timer := time.NewTimer(s.opt.Spec.Timeout)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-c.gone:
	}
	s.mu.Lock()
	s.end(c, stopped("the connection was replaced"))
	delete(s.replaced, c)
	s.mu.Unlock()
	s.retire(c, deathGrace)
}
