package upstream

import (
	"context"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// Modern servers are told with each request which log messages it wants. A legacy
// server is told once, by a request of its own, and nothing orders that before the
// call which wants them: over HTTP the two travel on connections of their own, and
// a server may work at both at the same time. So a call that wants messages waits
// until the server has said that it heard.

// levels is what one legacy server knows of the level. Guarded by Server.mu.
type levels struct {
	told    string        // the last one it was told, or would have been if it knew of levels
	telling chan struct{} // closed when it has answered; nil when nothing is under way
	deaf    bool          // it did not answer in time: nobody else waits for that
}

// levelWait is the longest that a call waits for the answer: a server that never
// gives one is asked all the same, and what it logs comes or does not.
const levelWait = 3 * time.Second

// wanted reports whether the requester asked for messages of this severity. A
// modern one gets none it did not ask for; a legacy one that never set a level
// gets what the server sends (2025-11-25, server/utilities/logging).
func wanted(p *pending, params []byte) bool {
	if p.level == "" {
		return p.legacy
	}
	level, _ := wire.Unquote(wire.Get(params, "level"))
	return severity(level) >= severity(p.level)
}

// severity orders the levels of RFC 5424; an unknown one is the most severe, so
// that nothing is lost.
func severity(level string) int {
	switch level {
	case "debug":
		return 0
	case "info":
		return 1
	case "notice":
		return 2
	case "warning":
		return 3
	case "error":
		return 4
	case "critical":
		return 5
	case "alert":
		return 6
	default:
		return 7
	}
}

// SetLevel tells legacy servers to send log messages of this level and above. One
// that is less verbose than another before changes nothing: somebody wants more.
func (s *Server) SetLevel(level string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.want(level)
	if s.closed {
		return
	}
	for _, l := range s.links {
		if c := l.up; c != nil && c.opened.Era == wire.Legacy {
			s.tasks.Go(c.tellLevel)
		}
	}
}

// want notes that somebody wants messages of this level. mu is held.
func (s *Server) want(level string) {
	if s.level == "" || severity(level) < severity(s.level) {
		s.level = level
	}
}

// mute reports whether the server does not know yet that somebody wants messages
// of this level; "" wants none. mu is held.
func (c *conn) mute(level string) bool {
	if level == "" || c.opened.Era != wire.Legacy {
		return false
	}
	c.s.want(level)
	if c.levels.telling != nil {
		return !c.levels.deaf
	}
	return c.levels.told == "" || severity(level) < severity(c.levels.told)
}

// tellLevel tells the server the level that is wanted, unless it knows. While an
// answer is awaited the next is not sent, which could overtake it.
func (c *conn) tellLevel() {
	s := c.s
	s.mu.Lock()
	if s.level == "" || s.level == c.levels.told || c.levels.telling != nil || c.closed != nil {
		s.mu.Unlock()
		return
	}
	c.levels.told = s.level
	if !c.declares("logging", "") {
		s.mu.Unlock()
		return
	}
	c.levels.telling = make(chan struct{})
	p := s.enter(c, telling)
	id := p.id
	params := []byte(`{"level":` + wire.Quote(s.level) + `}`)
	s.mu.Unlock()
	if c.wire.Send(&exchange.Call{ID: id, Request: s.request(c, wire.MethodSetLevel, params)}) == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.calls[id] == p {
		c.remove(p)
		c.toldLevel(p)
	}
}

// toldLevel ends the wait for an answer, whatever it was: a server that refuses a
// level refuses it the next time, too. mu is held.
func (c *conn) toldLevel(p *pending) {
	s := c.s
	s.recycle(p)
	close(c.levels.telling)
	c.levels.telling, c.levels.deaf = nil, false
	if s.level != c.levels.told && c.closed == nil && !s.closed {
		s.tasks.Go(c.tellLevel)
	}
}

// awaitLevel returns when the server knows which messages e wants, when it takes
// too long to say so, and when the connection is over.
func (c *conn) awaitLevel(ctx context.Context, e *errand) error {
	s := c.s
	limit := time.NewTimer(levelWait)
	defer limit.Stop()
	var expired <-chan time.Time
	if !e.deadline.IsZero() {
		t := time.NewTimer(time.Until(e.deadline))
		defer t.Stop()
		expired = t.C
	}
	for {
		c.tellLevel()
		s.mu.Lock()
		telling := c.levels.telling
		mute := c.mute(e.req.LogLevel)
		s.mu.Unlock()
		if telling == nil || !mute {
			return nil
		}
		select {
		case <-telling:
		case <-limit.C:
			s.mu.Lock()
			c.levels.deaf = c.levels.telling != nil
			s.mu.Unlock()
			return nil
		case <-ctx.Done():
			return durward.Errorf(durward.Unavailable, s.op(), "the requester left before the call was sent; nothing was executed")
		case <-expired:
			return durward.Errorf(durward.Timeout, s.op(), "the deadline passed before the call was sent, while the server was told the log level; nothing was executed")
		}
	}
}
