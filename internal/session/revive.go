package session

import (
	"time"

	"durward"
)

// A sealed id holds what its client said at initialize. So a session whose
// process is gone, or that another replica has, can be brought back by its id
// alone: same identifier, same client. What only memory held is not: calls and
// questions in flight, streams, the log level, subscriptions.
//
// What ended here stays ended. Of a session of this process it is enough that it
// is not in the store. Of one of another process that was revived here, its end
// has to be remembered. No memory is shared, so there are limits: a session that
// was ended in one process can be revived in another that has the keys, and after
// a restart. It is its owner's own id, which opens for nobody else.

// endedFor is how long the end of a revived session is remembered. A client that
// was told of the end has begun a new session long before.
const endedFor = 24 * time.Hour

// revive brings back the session with that id, or returns the one that somebody
// else has brought back meanwhile.
func (s *Store) revive(id string, caller durward.Caller, route durward.Route) (*Session, error) {
	if s.opts.Sealer == nil || len(id) > s.opts.MaxID {
		return nil, unknown()
	}
	raw, err := s.opts.Sealer.Open(bound(caller.Principal, route), id)
	if err != nil {
		return nil, unknown() // why is nobody's business
	}
	st, ok := readState(raw)
	if !ok || !st.whole || st.issuer == s.instance {
		return nil, unknown()
	}
	caller.Session = st.session
	fresh := s.Loose(caller, route)
	fresh.id, fresh.revived = id, true
	fresh.Greet(st.client)

	s.mu.Lock()
	if at, ok := s.byID[id]; ok {
		found := s.use(at)
		s.mu.Unlock()
		return found, nil
	}
	if !s.mayRevive(st.session, time.Now()) {
		s.mu.Unlock()
		return nil, unknown()
	}
	evicted, err := s.admit(fresh)
	s.mu.Unlock()
	if evicted != nil {
		evicted.End()
	}
	if err != nil {
		return nil, err
	}
	return fresh, nil
}

// mayRevive reports whether a session of another process may be brought back: it
// has not ended here, and there is room to remember that it did. Better no
// session than one that comes back after its end. s.mu is held.
func (s *Store) mayRevive(which durward.SessionID, now time.Time) bool {
	s.ended.forget(now.Add(-endedFor))
	return !s.ended.has(which) && s.revived+len(s.ended.queue) < 2*s.opts.Max
}

// ends are the revived sessions that have ended, in the order of their ends.
type ends struct {
	known map[durward.SessionID]struct{}
	queue []end
}

type end struct {
	of durward.SessionID
	at time.Time
}

func (e *ends) has(which durward.SessionID) bool {
	_, ok := e.known[which]
	return ok
}

func (e *ends) add(which durward.SessionID, now time.Time) {
	if e.known == nil {
		e.known = make(map[durward.SessionID]struct{})
	}
	e.known[which] = struct{}{}
	e.queue = append(e.queue, end{which, now})
}

// forget drops those that ended before a time.
func (e *ends) forget(before time.Time) {
	n := 0
	for n < len(e.queue) && e.queue[n].at.Before(before) {
		delete(e.known, e.queue[n].of)
		n++
	}
	if e.queue = e.queue[n:]; len(e.queue) == 0 {
		e.queue, e.known = nil, nil
	}
}

// ID returns what the client of a session in a store names it by
// (Mcp-Session-Id): visible ASCII, of at most Options.MaxID bytes when it is sealed.
func (s *Session) ID() string { return s.id }

// Attached reports whether Attach was called and has returned.
func (s *Session) Attached() bool { return s.attached.Load() }

// Attach calls f, the first time; whoever calls it meanwhile waits until f has
// returned. It is how a session is made known to who serves it, once: revived
// says that its client had it before, in another process.
func (s *Session) Attach(f func(revived bool)) {
	s.attach.Do(func() {
		f(s.revived)
		s.attached.Store(true)
	})
}

// unknown is the answer to every id that names no session, whatever the reason.
func unknown() error {
	return durward.Errorf(durward.NotFound, "session", "unknown or expired session; send initialize to begin a new one")
}
