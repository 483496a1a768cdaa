package upstream

import (
	"context"
	"errors"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// health is what is known of whether a connection lives. Guarded by Server.mu.
type health struct {
	silent    int  // ticks without any message while one was due
	alive     bool // a message came since the probe was sent
	abandoned bool // a call was given up and nothing was heard since: an answer may still be due
	suspected bool // calls fail: probe without waiting for silence
	probing   bool
}

// Two ticks make one health interval; a connection that was silent for a whole
// one is probed.
const ticksBeforeProbe = 3

// tick is the step of the maintenance: as coarse as the configured times permit.
func (s *Server) tick() time.Duration {
	d := s.opt.Spec.HealthEvery / 2
	if s.stopsIdle() {
		d = min(d, s.opt.Spec.IdleStop/2)
	}
	return max(d, time.Millisecond)
}

// tend does what time demands: retries, probes, idle stops. It is the only timer
// of a server besides those of calls.
func (s *Server) tend() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.kick:
		case <-timer.C:
		}
		timer.Reset(s.survey(time.Now()))
	}
}

// survey acts on what is due and returns when to look again.
func (s *Server) survey(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.state == durward.StateDisabled {
		return time.Hour
	}
	next := now.Add(time.Hour)
	if l := s.primary; !l.busy() && !l.retry.IsZero() {
		if now.Before(l.retry) {
			next = l.retry
		} else {
			s.startAttempt(l, l.why.Message)
		}
	}
	due := false
	ticking := !now.Before(s.nextTick)
	if ticking {
		s.nextTick = now.Add(s.tick())
	}
	for k, l := range s.links {
		if l.up == nil {
			continue
		}
		due = true
		s.examine(l.up, ticking)
		if ticking {
			s.stopIdle(k, l, now)
		}
	}
	if due && s.nextTick.Before(next) {
		next = s.nextTick
	}
	return time.Until(next)
}

// examine looks at one connection and probes it when it should have said
// something and did not, or when calls on it fail. A server that waits for the
// answer of a requester has nothing to say. mu is held.
func (s *Server) examine(c *conn, ticking bool) {
	h := &c.health
	if (c.busy == 0 && !h.abandoned || len(c.asks) > 0) && !h.suspected {
		h.silent = 0
		return
	}
	if ticking {
		h.silent++
	}
	if h.probing || !(h.suspected || ticking && h.silent >= ticksBeforeProbe) {
		return
	}
	h.probing, h.suspected, h.alive = true, false, false
	s.tasks.Go(func() { s.probe(c) })
}

// suspect has a connection probed whose calls fail in a way that may mean that
// the server is down. The failure of a call alone marks nothing (B30). Pipes
// report their end themselves.
func (s *Server) suspect(c *conn, f *exchange.Fault) {
	switch kind := durward.Kind(f.Kind); {
	case s.opt.Spec.Transport == durward.TransportStdio:
		return
	case kind != durward.Unavailable && kind != durward.Unauthenticated && !f.Again:
		return
	}
	s.mu.Lock()
	c.health.suspected = true
	s.mu.Unlock()
	s.poke()
}

// probe asks twice. One answer of any kind is enough to be alive; a probe that
// fails fails nobody's call.
func (s *Server) probe(c *conn) {
	first := s.probeOnce(c)
	err := first
	if first != nil {
		pause(c, probePause)
		err = s.probeOnce(c)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.health.probing = false
	if err == nil || c.health.alive || c.closed != nil {
		return
	}
	if len(c.asks) > 0 && durward.KindOf(err) == durward.Timeout {
		return // it may not read anything but the answer it waits for
	}
	if silence := time.Duration(c.health.silent) * s.tick(); c.tools > 0 && durward.KindOf(err) == durward.Timeout && silence < silentFor*s.opt.Spec.HealthEvery {
		return // a tool that keeps a single-threaded server busy; see silentFor
	}
	c.hung = true
	fault := exchange.Fault{Kind: uint8(durward.Unavailable), Delivered: true, Message: "the server answered neither of two health probes and was stopped: " + err.Error()}
	if durward.KindOf(err) == durward.Unauthenticated {
		fault.Kind, fault.Message = uint8(durward.Unauthenticated), err.Error()
	}
	s.end(c, &exchange.Closed{Phase: exchange.PhaseReady, Fault: fault})
}

// pause waits, or until the connection is over.
func pause(c *conn, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.gone:
	}
}

// probeOnce asks a legacy server by ping and a modern one by server/discover. An
// error the server answers with is a sign of life, and so is that it is busy.
func (s *Server) probeOnce(c *conn) error {
	method := wire.MethodPing
	if c.opened.Era == wire.Modern {
		method = wire.MethodDiscover
	}
	limit := min(probeEach, s.opt.Spec.HealthEvery)
	_, err := c.callWithin(context.Background(), method, nil, time.Now().Add(limit))
	if isCode(err) || errors.Is(err, errPutOff) {
		return nil
	}
	return err
}

// stopsIdle reports whether the server is stopped when nobody uses it.
func (s *Server) stopsIdle() bool {
	return s.opt.Spec.Transport == durward.TransportStdio && s.opt.Spec.IdleStop > 0
}

// stopIdle stops a connection that nobody has used for a while: the primary of a
// stdio server when nothing needs it, another one when it has no calls. mu is held.
func (s *Server) stopIdle(k linkKey, l *link, now time.Time) {
	since := &s.idleSince
	used := s.active > 0 || len(s.waiting) > 0 || s.retained > 0 || len(s.uris)+len(s.listen.tasks) > 0 || !s.stopsIdle()
	if l != s.primary {
		since = &l.idleSince
		used = s.opt.Spec.IdleStop < 0 || len(l.uris) > 0 || l.shelf != nil && s.retained > 0 // sessions live in that process, too
	}
	if used || l.up.busy > 0 {
		*since = time.Time{}
		return
	}
	if since.IsZero() {
		*since = now
	}
	if now.Sub(*since) < s.opt.Spec.IdleStop {
		return
	}
	why := "stopped after " + s.opt.Spec.IdleStop.String() + " without use (servers." + s.name + ".idle_stop); the next call starts it"
	if l != s.primary {
		s.discard(k, l, why)
		return
	}
	c := l.up
	l.up, l.last = nil, c
	l.forgive()
	s.become(durward.StateConfigured, why, time.Time{})
	s.end(c, stopped(why))
	s.tasks.Go(func() { s.retire(c, stopGrace) })
}
