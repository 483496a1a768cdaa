package session

import (
	"container/list"
	"context"
	"crypto/rand"
	"sync"
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
	KeptTotal int64         // limits.resume_total: bytes of that in all sessions, for streams of requests; default 64 MiB
	KeptFor   time.Duration // limits.resume_for: how long after the answer; default 5 min

	// Sealer makes the ids of sessions in the store, which then outlive the process
	// (see [Store.Find]). Default: an id is the identifier itself and dies with the store.
	Sealer Sealer
	// MaxID bounds a sealed id in bytes; default 4 KiB, half of what one header may
	// have. What a client said of itself is left out of an id that would be longer,
	// and its session cannot be brought back.
	MaxID int
}

func (o *Options) defaults() {
	setDefault(&o.Max, 10_000)
	setDefault(&o.Idle, time.Hour)
	setDefault(&o.InFlight, 64)
	setDefault(&o.Asks, 64)
	setDefault(&o.Kept, outbox.Limits{Events: 256, Bytes: 1 << 20})
	setDefault(&o.KeptTotal, 64<<20)
	setDefault(&o.KeptFor, 5*time.Minute)
	setDefault(&o.MaxID, 4<<10)
}

func setDefault[T comparable](at *T, value T) {
	var zero T
	if *at == zero {
		*at = value
	}
}

// Store keeps the legacy sessions. Its methods may be called from any goroutine.
type Store struct {
	opts     Options
	instance instance       // random
	budget   *outbox.Budget // of what is kept of the streams of requests, all sessions

	mu      sync.Mutex // guards everything below
	byID    map[string]*list.Element
	used    *list.List // of *Session, the one used last in front
	revived int        // of those, how many were
	ended   ends
}

// New makes an empty store. Run ends idle sessions.
func New(opts Options) *Store {
	opts.defaults()
	s := &Store{opts: opts, budget: outbox.NewBudget(opts.KeptTotal), byID: make(map[string]*list.Element), used: list.New()}
	rand.Read(s.instance[:]) // never fails since Go 1.24
	return s
}

// Open makes a session for a client that initialized. caller.Session is its
// identifier; what the client names it by is [Session.ID]. The bytes in client are
// copied. At the bound the session of the same principal that was idle longest is
// ended, else the one of anybody; when all are busy the error is of kind
// Unavailable and names the limit.
func (s *Store) Open(caller durward.Caller, route durward.Route, client exchange.Client) (*Session, error) {
	id, err := s.name(caller, route, client)
	if err != nil {
		return nil, err
	}
	fresh := s.Loose(caller, route)
	fresh.id = id
	fresh.Greet(client)
	s.mu.Lock()
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

// admit puts a session into the store. The caller ends the one that had to go for
// it. s.mu is held.
func (s *Store) admit(fresh *Session) (evicted *Session, err error) {
	if s.used.Len() >= s.opts.Max {
		if evicted = s.takeIdle(fresh.caller.Principal); evicted == nil {
			return nil, durward.Errorf(durward.Unavailable, "session",
				"%d sessions are open and all are busy, which is the bound limits.sessions; end one or raise it", s.opts.Max)
		}
	}
	fresh.touch()
	s.byID[fresh.id] = s.used.PushFront(fresh)
	if fresh.revived {
		s.revived++
	}
	return evicted, nil
}

// Loose makes a session that is in no store: that of a connection which is its
// own session. Whoever asked for it ends it.
func (s *Store) Loose(caller durward.Caller, route durward.Route) *Session {
	return newSession(s, caller, route)
}

// Find returns the session that its client names by id, and notes its use. One
// that was begun in another process with the same keys is brought back, which is
// subject to the bounds of Open. A session of another principal or route is not
// found (kind NotFound): that it exists is nobody's business.
func (s *Store) Find(id string, caller durward.Caller, route durward.Route) (*Session, error) {
	s.mu.Lock()
	at, ok := s.byID[id]
	if !ok {
		s.mu.Unlock()
		return s.revive(id, caller, route)
	}
	defer s.mu.Unlock()
	if found := at.Value.(*Session); found.caller.Principal != caller.Principal || found.route != route {
		return nil, unknown()
	}
	return s.use(at), nil
}

// use notes that a session is used. s.mu is held.
func (s *Store) use(at *list.Element) *Session {
	s.used.MoveToFront(at)
	found := at.Value.(*Session)
	found.touch()
	return found
}

// End ends the session and forgets it.
func (s *Store) End(which *Session) {
	s.mu.Lock()
	if at, ok := s.byID[which.id]; ok && at.Value.(*Session) == which {
		s.remove(at)
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
	s.used, s.byID, s.revived = list.New(), make(map[string]*list.Element), 0
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

// remove takes a session out of the store; s.mu is held.
func (s *Store) remove(at *list.Element) *Session {
	session := s.used.Remove(at).(*Session)
	delete(s.byID, session.id)
	if session.revived {
		s.revived--
		s.ended.add(session.caller.Session, time.Now())
	}
	return session
}
