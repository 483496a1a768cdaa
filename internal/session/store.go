package session

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/exchange/outbox"
)

// Options bound a store. Zero values mean the defaults.
type Options struct {
	Max      int           // limits.sessions: legacy sessions at a time; default 10,000
	Idle     time.Duration // limits.session_idle: a session without use is ended; default 1 h
	InFlight int           // limits.in_flight: requests of one session running at a time, and as many more waiting; default 64
	Asks     int           // limits.asks: our requests a client has not answered; default 64

	Kept      outbox.Limits // limits.resume_events and limits.resume: per session, what a client may ask for again; default 256 events, 1 MiB
	KeptTotal int64         // limits.resume_total: bytes of that in all sessions; default 64 MiB
	KeptFor   time.Duration // limits.resume_for: how long after the answer; default 5 min
}

func (o *Options) defaults() {
	setDefault(&o.Max, 10_000)
	setDefault(&o.Idle, time.Hour)
	setDefault(&o.InFlight, 64)
	setDefault(&o.Asks, 64)
	setDefault(&o.Kept, outbox.Limits{Events: 256, Bytes: 1 << 20})
	setDefault(&o.KeptTotal, 64<<20)
	setDefault(&o.KeptFor, 5*time.Minute)
}

func setDefault[T comparable](at *T, value T) {
	var zero T
	if *at == zero {
		*at = value
	}
}

// Store keeps the legacy sessions. Its methods may be called from any goroutine.
type Store struct {
	opts  Options
	total atomic.Int64 // bytes kept for resumption, all sessions

	mu   sync.Mutex // guards everything below
	byID map[durward.SessionID]*list.Element
	used *list.List // of *Session, the one used last in front
}

// New makes an empty store. Run ends idle sessions.
func New(opts Options) *Store {
	opts.defaults()
	return &Store{opts: opts, byID: make(map[durward.SessionID]*list.Element), used: list.New()}
}

// Open makes a session for a client that initialized. caller.Session is its
// identifier; the bytes in client are copied. At the bound the session of the
// same principal that was idle longest is ended, else the one of anybody; when
// all are busy the error is of kind Unavailable and names the limit.
func (s *Store) Open(caller durward.Caller, route durward.Route, client exchange.Client) (*Session, error) {
	fresh := s.Loose(caller, route)
	fresh.Greet(client)
	s.mu.Lock()
	var evicted *Session
	if s.used.Len() >= s.opts.Max {
		if evicted = s.takeIdle(caller.Principal); evicted == nil {
			s.mu.Unlock()
			return nil, durward.Errorf(durward.Unavailable, "session",
				"%d sessions are open and all are busy, which is the bound limits.sessions; end one or raise it", s.opts.Max)
		}
	}
	fresh.touch()
	s.byID[caller.Session] = s.used.PushFront(fresh)
	s.mu.Unlock()
	if evicted != nil {
		evicted.End()
	}
	return fresh, nil
}

// Loose makes a session that is in no store: that of a connection which is its
// own session. Whoever asked for it ends it.
func (s *Store) Loose(caller durward.Caller, route durward.Route) *Session {
	return newSession(s, caller, route)
}

// Find returns the session with that identifier and notes its use. A session of
// another principal or route is not found (kind NotFound): that it exists is
// nobody's business.
func (s *Store) Find(id string, principal string, route durward.Route) (*Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.byID[durward.SessionID(id)]
	if ok {
		if found := at.Value.(*Session); found.caller.Principal == principal && found.route == route {
			found.touch()
			s.used.MoveToFront(at)
			return found, nil
		}
	}
	return nil, durward.Errorf(durward.NotFound, "session", "unknown or expired session; send initialize to begin a new one")
}

// End ends the session and forgets it.
func (s *Store) End(which *Session) {
	s.mu.Lock()
	if at, ok := s.byID[which.caller.Session]; ok && at.Value.(*Session) == which {
		delete(s.byID, which.caller.Session)
		s.used.Remove(at)
	}
	s.mu.Unlock()
	which.End()
}

// Len returns how many sessions are open.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used.Len()
}

// Run ends idle sessions and forgets what was kept long enough, until ctx ends;
// then it ends all sessions. It returns nil.
func (s *Store) Run(ctx context.Context) error {
	tick := time.NewTicker(min(s.opts.Idle, s.opts.KeptFor)/4 + time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			s.sweep(now)
		case <-ctx.Done():
			s.endAll()
			return nil
		}
	}
}

func (s *Store) sweep(now time.Time) {
	var expired []*Session
	s.mu.Lock()
	for at := s.used.Back(); at != nil; {
		session, before := at.Value.(*Session), at.Prev()
		session.forget(now.Add(-s.opts.KeptFor))
		if now.Sub(session.lastUse()) >= s.opts.Idle && !session.busy() {
			expired = append(expired, session)
			s.remove(at)
		}
		at = before
	}
	s.mu.Unlock()
	for _, session := range expired {
		session.End()
	}
}

func (s *Store) endAll() {
	s.mu.Lock()
	all := s.used
	s.used, s.byID = list.New(), make(map[durward.SessionID]*list.Element)
	s.mu.Unlock()
	for at := all.Front(); at != nil; at = at.Next() {
		at.Value.(*Session).End()
	}
}

// takeIdle removes and returns the session that was idle longest, preferably of principal.
func (s *Store) takeIdle(principal string) *Session {
	var other *list.Element
	for at := s.used.Back(); at != nil; at = at.Prev() {
		session := at.Value.(*Session)
		if session.busy() {
			continue
		}
		if session.caller.Principal == principal {
			return s.remove(at)
		}
		if other == nil {
			other = at
		}
	}
	if other == nil {
		return nil
	}
	return s.remove(other)
}

func (s *Store) remove(at *list.Element) *Session {
	session := s.used.Remove(at).(*Session)
	delete(s.byID, session.caller.Session)
	return session
}
