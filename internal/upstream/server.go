package upstream

import (
	"context"
	"errors"
	"sync"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// Key says for whom a call is made; it chooses the connection where a server has
// several, and whom a request of the server itself may be put to.
type Key struct {
	Principal string
	Session   string // of a legacy client
	// Client tells modern clients apart, which have no session, by what they call
	// themselves. That is unverified: it makes one be asked less often, never more.
	Client string
}

// Server is one configured MCP server. It is safe for concurrent use. Whoever
// makes one calls Close, after which nothing of it is left running.
type Server struct {
	opt  Options
	name string
	pin  wire.Era

	ctx    context.Context // the life of the server, not of any call
	cancel context.CancelFunc
	tasks  sync.WaitGroup // every goroutine but the announcer; Go only under mu while !closed
	kick   chan struct{}  // wakes tend
	sub    chan struct{}  // held while a legacy subscription is made or taken back

	events eventQueue

	mu     sync.Mutex // guards everything below, and the links, connections and calls in flight
	closed bool

	state    durward.ServerState
	reason   string
	since    time.Time
	next     time.Time
	restarts int
	oddities map[string]int

	links     map[linkKey]*link
	primary   *link              // links[linkKey{}]
	replaced  map[*conn]struct{} // connections that finish their calls; see renew
	instances durward.Instances  // as configured, or principal after a switch
	switched  bool               // it was: modern connections stay shared, nothing asks there
	probed    wire.Era           // what probing found; EraUnknown: probe again
	noLegacy  bool               // a modern server refused the legacy era
	confined  string

	lastStderr []byte // of the last primary connection that ended

	nextID  uint64
	active  int // calls that have a place
	waiting []*ticket
	free    []*pending

	shelf // what the primary lists

	retained  int
	idleSince time.Time
	nextTick  time.Time

	level     string         // of log messages wanted from legacy servers
	uris      map[string]int // resources subscribed to by the primary
	elsewhere int            // how many are subscribed to by other links
	listen    listenState
}

// New checks the options and makes a server, which does nothing until Start or
// the first call.
func New(opt Options) (*Server, error) {
	opt, err := opt.defaulted()
	if err != nil {
		return nil, err
	}
	s := &Server{
		opt: opt, name: opt.Spec.Name, pin: pinned(opt.Spec.Era),
		kick: make(chan struct{}, 1), sub: make(chan struct{}, 1),
		state: durward.StateConfigured, since: time.Now(), oddities: map[string]int{},
		links: map[linkKey]*link{}, instances: opt.Spec.Instances, uris: map[string]int{}, shelf: newShelf(),
		replaced: map[*conn]struct{}{},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.primary = &link{shelf: &s.shelf}
	s.links[linkKey{}] = s.primary
	if opt.Spec.Disabled {
		s.state, s.reason = durward.StateDisabled, "disabled in the configuration"
	}
	s.listen.changed = make(chan struct{}, 1)
	s.events.start(s)
	s.tasks.Go(s.tend)
	return s, nil
}

// Start begins to connect in the background. A server that is disabled, or that
// is to start on demand, stays as it is.
func (s *Server) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.opt.OnDemand || s.state != durward.StateConfigured || s.primary.busy() {
		s.announceState()
		return
	}
	s.startAttempt(s.primary, "")
}

// Retain says that a downstream session uses the server; such a server is not
// stopped for want of calls.
func (s *Server) Retain() { s.retain(1) }

// Release takes one Retain back.
func (s *Server) Release() { s.retain(-1) }

func (s *Server) retain(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retained += n
	s.idleSince = time.Time{}
}

// EndSession stops the connections that were opened for one downstream session
// (instances: session). Calls in flight on them end with an unknown outcome.
func (s *Server) EndSession(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, l := range s.links {
		if session != "" && k.session == session {
			s.discard(k, l, "the session it belonged to has ended")
		}
	}
}

// Refresh reads the catalog anew and returns once the Observer has it. A server
// that is not connected is tried at once, whatever its back-off says: new
// credentials may be there. The error says what could not be read.
func (s *Server) Refresh(ctx context.Context) error {
	s.mu.Lock()
	if err := s.refusal(); err != nil {
		s.mu.Unlock()
		return err
	}
	if !s.primary.busy() {
		s.primary.forgive()
	}
	s.mu.Unlock()
	c, err := s.primaryConn(ctx)
	if err != nil {
		return err
	}
	return c.refresh(ctx, everyKind())
}

// Restart stops every connection and opens the primary one anew. It returns when
// that is done; calls in flight end with an unknown outcome.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	if err := s.refusal(); err != nil {
		s.mu.Unlock()
		return err
	}
	gone := s.takeDown("it is being restarted")
	s.probed, s.noLegacy = wire.EraUnknown, false
	s.become(durward.StateConfigured, "it is being restarted", time.Time{})
	s.mu.Unlock()
	if err := gone.wait(); err != nil {
		return err
	}
	_, err := s.primaryConn(ctx)
	return err
}

// Disable stops the server and refuses calls until Enable. What it offered is
// taken back: the Observer gets an empty catalog. It returns when all processes
// are gone; the error says what could not be stopped.
func (s *Server) Disable() error {
	s.mu.Lock()
	if s.closed || s.state == durward.StateDisabled {
		s.mu.Unlock()
		return nil
	}
	gone := s.takeDown("the server was disabled")
	s.dropQueue("the server was disabled")
	s.become(durward.StateDisabled, "disabled by the operator", time.Time{})
	s.listed, s.failed = false, [kindCount]string{}
	s.publish(&s.shelf, &Listing{Complete: true})
	s.mu.Unlock()
	return gone.wait()
}

// Enable takes Disable back and begins to connect.
func (s *Server) Enable() {
	s.mu.Lock()
	if !s.closed && s.state == durward.StateDisabled {
		s.become(durward.StateConfigured, "", time.Time{})
	}
	s.mu.Unlock()
	s.Start()
}

// Close refuses new calls, ends those in flight, stops every connection and
// returns when all processes and goroutines are gone. The error joins what could
// not be stopped. It is idempotent.
func (s *Server) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	var gone departure
	if first {
		gone = s.takeDown("the gateway is stopping")
		s.dropQueue("the gateway is stopping")
		s.become(durward.StateConfigured, "stopped", time.Time{})
		s.cancel()
	}
	s.mu.Unlock()
	err := gone.wait()
	s.tasks.Wait()
	s.events.stop()
	return err
}

// refusal says why no call is taken now; nil if calls are taken. mu is held.
func (s *Server) refusal() error {
	switch {
	case s.closed:
		return durward.Errorf(durward.Unavailable, s.op(), "the server is being removed or the gateway is stopping")
	case s.state == durward.StateDisabled:
		return durward.Errorf(durward.Unavailable, s.op(), "the server is disabled: %s; enable it to use it", s.reason)
	default:
		return nil
	}
}

// departure is what has to be gone before a stop is complete.
type departure struct {
	conns    []*conn
	attempts []*attempt
}

func (d departure) wait() error {
	errs := make([]error, len(d.conns))
	var all sync.WaitGroup
	for i, c := range d.conns {
		all.Go(func() { _, errs[i] = c.retire(stopGrace) })
	}
	for _, a := range d.attempts {
		<-a.done
	}
	all.Wait()
	return errors.Join(errs...)
}

// takeDown ends every connection and attempt; the caller waits for the rest
// without mu, which is held here.
func (s *Server) takeDown(why string) (gone departure) {
	for k, l := range s.links {
		if l.dialing != nil {
			l.dialing.abort(why)
			gone.attempts = append(gone.attempts, l.dialing)
		}
		if c := l.up; c != nil {
			l.up, l.last = nil, c
			s.end(c, stopped(why))
		}
		if l.last != nil {
			gone.conns = append(gone.conns, l.last)
		}
		l.forgive()
		if l != s.primary {
			delete(s.links, k)
		}
	}
	for c := range s.replaced {
		s.end(c, stopped(why))
		gone.conns = append(gone.conns, c)
	}
	return gone
}

// discard ends one link for good. mu is held.
func (s *Server) discard(k linkKey, l *link, why string) {
	delete(s.links, k)
	if l.dialing != nil {
		l.dialing.abort(why)
	}
	if c := l.up; c != nil {
		l.up, l.last = nil, c
		s.end(c, stopped(why))
	}
	if c := l.last; c != nil && !s.closed {
		s.tasks.Go(func() { s.retire(c, stopGrace) })
	}
}

// retire stops what is behind c and notes if that failed.
func (s *Server) retire(c *conn, grace time.Duration) string {
	diagnosis, err := c.retire(grace)
	if err != nil {
		s.count("not-stopped", 1)
		s.opt.Log.Warn("a connection could not be stopped", "server", s.name, "error", err)
	}
	return diagnosis
}

func stopped(why string) *exchange.Closed {
	return &exchange.Closed{Phase: exchange.PhaseStopped, Fault: exchange.Fault{Kind: uint8(durward.Unknown), Message: why, Delivered: true}}
}

func (s *Server) op() string { return "upstream " + s.name }

// poke lets tend look at what has changed.
func (s *Server) poke() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}
