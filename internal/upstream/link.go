package upstream

import (
	"context"
	"fmt"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// linkKey is for whom a link is.
type linkKey struct {
	era       wire.Era // EraUnknown: the pinned one, or the one that probing finds
	principal string
	session   string
}

// link is a place for one connection at a time. Its fields are guarded by Server.mu.
type link struct {
	key     linkKey
	up      *conn    // ready for calls
	last    *conn    // ended and perhaps not yet gone; the next attempt sees to that first
	dialing *attempt // under way

	failures int            // in a row; see stableAfter
	quick    bool           // the reconnect without back-off was used up; see stableAfter
	ended    time.Time      // when the last attempt failed; zero when there is nothing to wait for
	retry    time.Time      // when it is tried again without anybody asking; zero: it is not
	why      *durward.Error // of the last failure

	// A shared link of a server with one instance per principal belongs to the
	// first principal that uses it.
	claimed bool
	owner   string

	uris map[string]int // resources subscribed to; of the primary: Server.uris

	capabilities []byte    // for a legacy handshake; nil: Options.Capabilities
	shelf        *shelf    // what its connection lists; nil: it does not list
	idleSince    time.Time // as tend saw it
}

func (l *link) busy() bool { return l.up != nil || l.dialing != nil }

// forgive forgets earlier failures: the next demand is an attempt.
func (l *link) forgive() {
	l.failures, l.quick, l.ended, l.retry, l.why = 0, false, time.Time{}, time.Time{}, nil
}

// attempt is one try to connect, shared by all who wait for it.
type attempt struct {
	cancel  context.CancelFunc
	done    chan struct{} // closed when it is over and nothing of a failure is left running
	err     error         // set before done is closed; nil: the link is up
	aborted string        // why it was called off; guarded by Server.mu
}

func (a *attempt) abort(why string) {
	a.aborted = why
	a.cancel()
}

// errAborted is the result of an attempt that somebody called off. Whoever
// waited looks again: the server may be on its way back.
type errAborted struct{ error }

// Unwrap returns the error, which has a kind.
func (e errAborted) Unwrap() error { return e.error }

// route returns the link for a request; base leaves the requester's era aside. mu is held.
func (s *Server) route(key Key, client *exchange.Client, base bool) (*link, error) {
	var k linkKey
	if !base && s.otherEra(client.Era) {
		k.era = client.Era
	}
	instances := s.instances
	if s.switched && k.era == wire.EraUnknown && s.probed == wire.Modern {
		instances = durward.InstancesShared
	}
	switch instances {
	case durward.InstancesPrincipal:
		if l := s.links[k]; l != nil && l.claimable(key.Principal) {
			return l, nil
		}
		k.principal = key.Principal
	case durward.InstancesSession:
		k.principal, k.session = key.Principal, key.Session
	}
	if l := s.links[k]; l != nil {
		return l, nil
	}
	if len(s.links) > s.opt.Limits.Instances {
		return nil, durward.Errorf(durward.Unavailable, s.op(), "%d connections besides the shared one are open; raise limits.instances or wait until idle ones are stopped", s.opt.Limits.Instances)
	}
	l := &link{key: k}
	if k == (linkKey{era: wire.Legacy}) { // another process than the primary's: its lists may differ
		own := newShelf()
		l.shelf = &own
	}
	if k.session != "" && client.Era == wire.Legacy {
		l.capabilities = client.Capabilities
	}
	s.links[k] = l
	return l, nil
}

func (l *link) claimable(principal string) bool {
	if !l.claimed {
		l.claimed, l.owner = true, principal
	}
	return l.owner == principal
}

// otherEra reports whether a requester of this era is worth a connection of its
// own. Probing prefers modern, so that a server found legacy has no other era.
func (s *Server) otherEra(era wire.Era) bool {
	switch s.opt.Spec.Transport {
	case durward.TransportStdio, durward.TransportHTTP:
		return era == wire.Legacy && s.pin == wire.EraUnknown && s.probed == wire.Modern && !s.noLegacy
	default:
		return false
	}
}

// demand returns an attempt to wait for, or why there is none now. mu is held.
func (s *Server) demand(l *link) (*attempt, error) {
	if l.dialing != nil {
		return l.dialing, nil
	}
	patience := earlyAfter
	if l.why != nil && l.why.Kind == durward.Unauthenticated {
		patience = earlyAuthAfter
	}
	if l.ended.IsZero() || time.Since(l.ended) >= patience {
		return s.startAttempt(l, ""), nil
	}
	return nil, s.unavailable(l)
}

// unavailable says why a link cannot be used and when it is tried again. mu is held.
func (s *Server) unavailable(l *link) error {
	if l.why == nil {
		return durward.Errorf(durward.Unavailable, s.op(), "the server is not connected")
	}
	if l.retry.IsZero() {
		return durward.Errorf(l.why.Kind, s.op(), "the server is not available: %s", l.why.Message)
	}
	left := max(0, time.Until(l.retry)).Round(100 * time.Millisecond)
	return durward.Errorf(l.why.Kind, s.op(), "the server is not available: %s (next attempt in %s)", l.why.Message, left)
}

// startAttempt begins to connect. mu is held and nothing is under way.
func (s *Server) startAttempt(l *link, reason string) *attempt {
	ctx, cancel := context.WithCancel(s.ctx)
	a := &attempt{cancel: cancel, done: make(chan struct{})}
	l.dialing, l.retry = a, time.Time{}
	if l == s.primary {
		s.become(durward.StateConnecting, reason, time.Time{})
	}
	s.tasks.Go(func() { s.connect(ctx, l, a) })
	return a
}

// connect makes one attempt. It owns it.
func (s *Server) connect(ctx context.Context, l *link, a *attempt) {
	defer close(a.done)
	defer a.cancel()
	s.clearLast(l)
	c, f := s.open(ctx, l)
	s.mu.Lock()
	l.dialing = nil
	switch {
	case a.aborted != "":
		a.err = errAborted{durward.Errorf(durward.Unavailable, s.op(), "not connected: %s", a.aborted)}
		if c != nil {
			s.end(c, stopped(a.aborted))
		}
	case f == nil && c.closed != nil: // it died as soon as it was ready
		l.last = c
		s.refused(l, failureOf(&c.closed.Fault))
		a.err = s.unavailable(l)
		s.tasks.Go(func() { s.autopsy(l, c) })
	case f != nil:
		s.refused(l, f)
		a.err = s.unavailable(l)
	default:
		s.connected(l, c)
	}
	lost := a.err != nil && c != nil && l.last != c
	s.mu.Unlock()
	if lost {
		s.retire(c, deathGrace)
	}
	s.poke()
}

// clearLast waits until what was there before is gone, so that two processes of
// one server never run side by side, and learns how it ended.
func (s *Server) clearLast(l *link) {
	s.mu.Lock()
	c := l.last
	s.mu.Unlock()
	if c == nil {
		return
	}
	diagnosis := s.retire(c, deathGrace)
	s.mu.Lock()
	defer s.mu.Unlock()
	l.last = nil
	if l == s.primary && s.state == durward.StateConnecting && diagnosis != "" {
		s.become(durward.StateConnecting, explain(c.closed.Fault.Message, diagnosis), time.Time{})
	}
}

// connected takes a fresh connection into use. mu is held.
func (s *Server) connected(l *link, c *conn) {
	l.up, l.ended, l.retry, l.why, l.idleSince = c, time.Time{}, time.Time{}, nil, time.Time{}
	c.since = time.Now()
	if l.key.era == wire.EraUnknown && s.pin == wire.EraUnknown {
		s.probed = c.opened.Era
		s.noLegacy = c.opened.Era == wire.Modern && !c.opened.LegacyToo
	}
	if c.opened.Era == wire.Legacy {
		s.tasks.Go(c.setUpLegacy)
	}
	if l.shelf != nil {
		s.tasks.Go(c.listLoop)
	}
	if l != s.primary {
		return
	}
	s.confined = c.wire.Confined()
	s.idleSince = time.Time{}
	if s.listed {
		s.settleState()
	}
	if c.opened.Era == wire.Modern {
		s.tasks.Go(c.listenLoop)
	}
}

// refused notes an attempt that failed and when the next one is due. mu is held.
func (s *Server) refused(l *link, f *failure) {
	l.failures++
	l.why = durward.Errorf(f.kind, s.op(), "%s", f.message)
	l.ended = time.Now()
	if l.key.era == wire.EraUnknown {
		s.probed, s.noLegacy = wire.EraUnknown, false
	} else if f.refused == l.key.era {
		s.noLegacy = true
		delete(s.links, l.key)
	}
	s.backOff(l)
}

// backOff schedules the next attempt of a link that failed. Only the primary is
// tried without anybody asking, and not while it waits for new credentials. mu is held.
func (s *Server) backOff(l *link) {
	if l != s.primary {
		return
	}
	if l.why.Kind != durward.Unauthenticated {
		l.retry = time.Now().Add(s.delay(l.failures))
	}
	s.become(durward.StateBackoff, l.why.Message, l.retry)
	s.poke()
}

// delay is the back-off after so many failures in a row.
func (s *Server) delay(failures int) time.Duration {
	first, most := s.opt.Limits.BackoffFirst, s.opt.Limits.BackoffMost
	d := most
	if n := failures - 1; n < 16 { // more would overflow, and be over the most by far
		d = min(most, first<<max(0, n))
	}
	return time.Duration(float64(d) * (1 + backoffJitter*(2*s.opt.Jitter()-1)))
}

// lost acts on the end of a connection that was ready. mu is held, l.up is nil already.
func (s *Server) lost(l *link, c *conn) {
	if c.closed.Phase == exchange.PhaseStopped || s.closed || s.state == durward.StateDisabled {
		return
	}
	f := failureOf(&c.closed.Fault)
	if s.succeed(l, c, f, c.closed.Fault.NoSession) {
		s.tasks.Go(func() { s.autopsy(l, c) })
		return
	}
	if l.dialing == nil {
		s.tasks.Go(func() { s.retire(c, deathGrace) })
	}
}

// succeed sees to a successor of a connection that is over: the first time it is
// opened at once, after that with back-off, which it reports. One whose session
// expired is replaced at once unless that happens all the time. A link besides
// the primary gets its successor when somebody wants it. mu is held.
func (s *Server) succeed(l *link, c *conn, f *failure, expired bool) (backedOff bool) {
	s.restarts++
	age := time.Since(c.since)
	if age >= stableAfter {
		l.failures, l.quick = 0, false
	}
	l.why = durward.Errorf(f.kind, s.op(), "%s", f.message)
	expired = expired && age >= earlyAfter
	if f.kind != durward.Unauthenticated && (expired || !l.quick) {
		l.quick = l.quick || !expired
		if l == s.primary || len(l.uris) > 0 { // somebody listens
			s.startAttempt(l, f.message)
		}
		return false
	}
	l.failures++
	l.ended = time.Now()
	s.backOff(l)
	return true
}

// autopsy adds to the reason of a back-off how the process ended, once it is known.
func (s *Server) autopsy(l *link, c *conn) {
	diagnosis := s.retire(c, deathGrace)
	s.mu.Lock()
	defer s.mu.Unlock()
	if diagnosis == "" || l.last != c || l.why == nil || l.dialing != nil || s.closed {
		return
	}
	l.why = durward.Errorf(l.why.Kind, s.op(), "%s", explain(l.why.Message, diagnosis))
	if l == s.primary && s.state == durward.StateBackoff {
		s.become(durward.StateBackoff, l.why.Message, s.next)
	}
}

// failure says why there is no connection.
type failure struct {
	kind        durward.Kind
	message     string
	refused     wire.Era
	retryLegacy bool
}

func failureOf(f *exchange.Fault) *failure {
	out := &failure{kind: durward.Kind(f.Kind), message: f.Message}
	switch out.kind {
	case durward.Unauthenticated, durward.Invalid, durward.Denied:
	default:
		out.kind = durward.Unavailable // nothing of what comes next was executed
	}
	if out.message == "" {
		out.message = "the connection ended without a reason"
	}
	return out
}

// explain puts a server's last words behind a message.
func explain(message, diagnosis string) string {
	if diagnosis == "" {
		return message
	}
	if len(diagnosis) > reasonMost {
		diagnosis = "…" + diagnosis[len(diagnosis)-reasonMost:]
	}
	return fmt.Sprintf("%s; %s", message, diagnosis)
}
