package upstream

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// conn is one connection, from its opening to its end. It is the Sink of the
// connection, so that what an old one still says is never taken for the new one's.
// Fields without a note of their own are guarded by Server.mu.
type conn struct {
	s    *Server
	link *link

	attached chan struct{} // closed when wire is set, or never will be
	wire     Connection    // nil if it could not be opened; read after attached
	hello    chan struct{} // closed when opened is set
	opened   *exchange.Opened
	gone     chan struct{} // closed when closed is set
	closed   *exchange.Closed
	since    time.Time // when it was taken into use

	calls map[uint64]*pending
	busy  int // calls whose answer somebody waits for
	tools int // of them, tools/call
	asks  map[uint64]*asking

	health health
	lister lister
	ghost  ghost
	visits visits
	levels levels

	missed     bool // lists may have changed since they were read, unheard
	silentEnds bool // the server does not answer a listen that is cancelled

	left    chan struct{} // closed when no more calls are put on it: it is over or replaced
	drained chan struct{} // set while it is replaced and finishes its calls; closed when it has

	user  string // the first principal that called
	mixed bool   // others did, too
	hung  bool   // it has to be killed rather than asked to end

	retiring  sync.Once
	diagnosis string // after retiring
	stopErr   error  // after retiring
}

func newConn(s *Server, l *link) *conn {
	return &conn{
		s: s, link: l, attached: make(chan struct{}), hello: make(chan struct{}), gone: make(chan struct{}),
		left:  make(chan struct{}),
		calls: map[uint64]*pending{}, asks: map[uint64]*asking{}, lister: newLister(), missed: true,
	}
}

// open opens a connection for l: probing as needed, within the start time-out.
func (s *Server) open(ctx context.Context, l *link) (*conn, *failure) {
	ctx, cancel := context.WithTimeout(ctx, s.opt.Spec.StartTimeout)
	defer cancel()
	spec := s.linkSpec(l)
	c, f := s.openOnce(ctx, l, spec)
	if f != nil && f.retryLegacy && spec.Era == wire.EraUnknown && ctx.Err() == nil {
		spec.Era = wire.Legacy
		return s.openOnce(ctx, l, spec)
	}
	return c, f
}

func (s *Server) linkSpec(l *link) exchange.LinkSpec {
	s.mu.Lock()
	defer s.mu.Unlock()
	spec := exchange.LinkSpec{
		Server: s.name, Era: l.key.era, ClientInfo: s.opt.ClientInfo, Capabilities: l.capabilities,
		InitTimeout: s.opt.Spec.StartTimeout, URL: s.opt.Spec.URL, Headers: s.opt.Spec.Headers,
		ProbeTimeout: min(3*time.Second, s.opt.Spec.StartTimeout/2),
	}
	if spec.Era == wire.EraUnknown {
		spec.Era = s.pin
	}
	if spec.Era == wire.EraUnknown {
		spec.Era = s.probed
	}
	if spec.Capabilities == nil {
		spec.Capabilities = s.opt.Capabilities
	}
	return spec
}

// openOnce returns a connection whose handshake is done, or why there is none,
// in which case nothing of it is left running.
func (s *Server) openOnce(ctx context.Context, l *link, spec exchange.LinkSpec) (*conn, *failure) {
	c := newConn(s, l)
	var err error
	c.wire, err = s.opt.Opener.Open(ctx, s.opt.Spec, spec, c)
	close(c.attached)
	if err != nil {
		return nil, &failure{kind: kindOfOpen(err), message: messageOf(err)}
	}
	f := c.awaitHello(ctx)
	if f == nil {
		return c, nil
	}
	s.mu.Lock()
	s.end(c, stopped("the handshake failed"))
	s.mu.Unlock()
	f.message = explain(f.message, s.retire(c, deathGrace))
	return nil, f
}

// messageOf leaves out where an error arose when that is said already.
func messageOf(err error) string {
	var e *durward.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

func kindOfOpen(err error) durward.Kind {
	switch kind := durward.KindOf(err); kind {
	case durward.Unauthenticated, durward.Invalid, durward.Denied:
		return kind
	default:
		return durward.Unavailable
	}
}

func (c *conn) awaitHello(ctx context.Context) *failure {
	select {
	case <-c.hello:
		return nil
	case <-c.gone:
		f := failureOf(&c.closed.Fault)
		f.refused, f.retryLegacy = c.closed.EraRefused, c.closed.RetryLegacy
		return f
	case <-ctx.Done():
		return &failure{kind: durward.Unavailable, message: "the server did not come up within " +
			c.s.opt.Spec.StartTimeout.String() + " (servers." + c.s.name + ".start_timeout)"}
	}
}

// Receive takes what the connection says.
func (c *conn) Receive(m exchange.Message) {
	switch m := m.(type) {
	case *exchange.Response:
		c.answered(m)
	case *exchange.Notification:
		c.notified(m)
	case *exchange.ServerRequest:
		c.asked(m)
	case *exchange.Anomaly:
		c.s.mu.Lock()
		c.heard()
		c.s.tally(m.Kind, max(1, m.Count))
		c.s.mu.Unlock()
	case *exchange.Opened:
		c.s.mu.Lock()
		if c.opened == nil && c.closed == nil {
			c.opened = m
			close(c.hello)
		}
		c.s.mu.Unlock()
	case *exchange.Closed:
		c.s.mu.Lock()
		c.s.end(c, m)
		c.s.mu.Unlock()
	}
}

// answered hands a response to its call.
func (c *conn) answered(r *exchange.Response) {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Fault == nil { // a fault is the connection's word, not the server's
		c.heard()
	}
	p := c.calls[r.ID]
	if p == nil {
		s.tally("late-response", 1) // its call was given up
		return
	}
	c.remove(p)
	c.hand(p, r)
}

// hand gives r to whoever waits for p, who is on the table no more. mu is held.
func (c *conn) hand(p *pending, r *exchange.Response) {
	if p.kind == telling {
		c.toldLevel(p)
		return
	}
	p.answer <- r // there is room: one message per stay on the table
}

// end marks c as over, once. What the connection left unanswered ends with an
// unknown outcome; what it knew not to be delivered it has said before. mu is held.
func (s *Server) end(c *conn, m *exchange.Closed) {
	if c.closed != nil {
		return
	}
	c.closed = m
	close(c.gone)
	if !c.since.IsZero() && c.opened.Era == wire.Legacy {
		s.opt.SessionEnded(Session{
			Server: s.name, Transport: s.opt.Spec.Transport, Revision: c.opened.Revision, Lasted: time.Since(c.since), Failed: m.Phase != exchange.PhaseStopped,
		})
	}
	if _, replaced := s.replaced[c]; !replaced {
		close(c.left)
	}
	for id, p := range c.calls {
		c.remove(p)
		c.hand(p, &exchange.Response{ID: id, Fault: &exchange.Fault{
			Kind: uint8(durward.Unknown), Delivered: true, Message: "the connection ended: " + m.Fault.Message,
			Again: m.Phase == exchange.PhaseReady, // it was not us who ended it
		}})
	}
	for id, a := range c.asks {
		delete(c.asks, id)
		a.cancel()
	}
	if l := c.link; l.up == c {
		l.up, l.last = nil, c
		s.lost(l, c)
	}
}

// retire ends what is behind the connection and waits until it is gone. It
// returns how the server ended. After a first call all others return the same.
func (c *conn) retire(grace time.Duration) (string, error) {
	c.retiring.Do(func() {
		<-c.attached
		if c.wire == nil {
			return
		}
		c.s.mu.Lock()
		if c.hung {
			grace = 0
		}
		c.s.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		c.stopErr = c.wire.Stop(ctx)
		c.diagnosis = c.wire.Diagnose()
		c.keepStderr()
	})
	return c.diagnosis, c.stopErr
}

// setUpLegacy tells a legacy server what it has to know besides the handshake:
// the log level and the subscriptions a connection before it had.
func (c *conn) setUpLegacy() {
	s := c.s
	s.mu.Lock()
	uris := slices.Sorted(maps.Keys(s.subscriptions(c.link)))
	s.mu.Unlock()
	c.tellLevel()
	for _, uri := range uris {
		if _, err := c.call(s.ctx, wire.MethodSubscribe, uriParams(uri)); err != nil {
			s.count("resubscribe-failed", 1)
		}
	}
}

func uriParams(uri string) []byte { return []byte(`{"uri":` + wire.Quote(uri) + `}`) }

// heard notes a sign of life. mu is held.
func (c *conn) heard() { c.health.silent, c.health.alive, c.health.abandoned = 0, true, false }

// declares reports whether the server declared a capability.
func (c *conn) declares(capability, member string) bool {
	value := wire.Get(c.opened.Capabilities, capability)
	if member == "" {
		return value != nil
	}
	return string(wire.Get(value, member)) == "true"
}
