package worker

import (
	"context"
	"sync"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// Bounds of one connection over HTTP.
const (
	maxTells    = 256              // notifications and answers of ours under way
	tellTime    = 30 * time.Second // for one of them
	leaveTime   = 2 * time.Second  // to say good-bye
	rememberIDs = 256              // of calls that ended not long ago
)

// carrier is a form of MCP over HTTP. Its methods but leave end when ctx does.
type carrier interface {
	// open does the handshake, to the point where calls may be sent. Exactly one result is set.
	open(ctx context.Context) (*exchange.Opened, *exchange.Closed)
	// listen hands on what the server says by itself, until ctx ends. It begins to
	// once begun is closed, and closes heard as soon as it hears, or never will.
	listen(ctx context.Context, begun <-chan struct{}, heard func())
	// call sends a call and waits for its answer; nil if it was answered elsewhere.
	call(ctx context.Context, c *webCall) *exchange.Response
	// tell sends a notification or a response.
	tell(ctx context.Context, body []byte) *exchange.Fault
	// leave ends what the server keeps for us.
	leave(ctx context.Context)
}

// webLink is a connection to a server over HTTP in either form: it keeps the
// calls in flight and makes sure that each is answered once, and that Closed comes last.
type webLink struct {
	spec   exchange.LinkSpec
	remote *remote
	peer   *peer
	via    carrier
	// oneStream: all answers come on one stream, not each on that of its call.
	oneStream bool

	life      context.Context // of the whole connection; ended by die
	die       context.CancelFunc
	handshake context.Context // of open; ended by abort, which endAs calls
	abort     context.CancelFunc
	wg        sync.WaitGroup // every goroutine but run; Add only with mu held and state below webEnding

	mu     sync.Mutex // guards the fields below
	state  webState
	era    wire.Era // set once, before the first call
	calls  map[uint64]*webCall
	ended  [rememberIDs]uint64 // a ring of the ids of calls that ended
	oldest int
	tells  int
	closed *exchange.Closed // why the connection ends
	ending chan struct{}    // closed together with setting closed
}

type webState uint8

const (
	webOpening webState = iota
	webReady
	webEnding
)

// webCall is a call in flight.
type webCall struct {
	id       uint64
	request  *exchange.Request
	deadline time.Time // zero: none
	cancel   context.CancelCauseFunc
	done     chan struct{} // closed when it is off the table
	asked    bool          // the server asked something during it; guarded by webLink.mu
}

func newWebLink(spec exchange.LinkSpec, r *remote, sink exchange.Sink) *webLink {
	l := &webLink{spec: spec, remote: r, peer: newPeer(sink), calls: map[uint64]*webCall{}, ending: make(chan struct{})}
	l.life, l.die = context.WithCancel(context.Background())
	l.handshake, l.abort = context.WithCancel(l.life)
	return l
}

// brokenLink reports by Closed that spec cannot be used.
func brokenLink(spec exchange.LinkSpec, sink exchange.Sink, err error) exchange.Link {
	l := newWebLink(spec, nil, sink)
	l.end(exchange.PhaseHandshake, faultOf(err, false))
	go l.finish()
	return l
}

// run is the life of the connection.
func (l *webLink) run() {
	defer l.finish()
	opened, closed := l.via.open(l.handshake)
	if closed != nil {
		l.endAs(closed)
		return
	}
	if l.ready(opened) {
		<-l.ending
	}
}

// listenGrace is how long calls wait for the server's own stream to stand, so
// that nothing it says after the first call is lost.
const listenGrace = 250 * time.Millisecond

// ready lets calls in and says so; false if the connection ends already.
func (l *webLink) ready(opened *exchange.Opened) bool {
	begun, heard := make(chan struct{}), make(chan struct{})
	defer close(begun)
	ok := l.start(func() {
		var once sync.Once
		tell := func() { once.Do(func() { close(heard) }) }
		defer tell()
		l.via.listen(l.life, begun, tell)
	})
	if !ok {
		return false
	}
	timer := time.NewTimer(listenGrace)
	defer timer.Stop()
	select {
	case <-heard:
	case <-timer.C:
	case <-l.ending:
		return false
	}
	if !l.admit(opened.Era) {
		return false
	}
	l.peer.emit(opened)
	return true
}

func (l *webLink) admit(era wire.Era) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == webEnding {
		return false
	}
	l.state, l.era = webReady, era
	return true
}

// start runs f in a goroutine the connection waits for, unless it is ending.
func (l *webLink) start(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == webEnding {
		return false
	}
	l.wg.Go(f)
	return true
}

// finish ends everything and says so.
func (l *webLink) finish() {
	l.letSessionEnd()
	l.die()
	l.wg.Wait()
	l.mu.Lock()
	closed := l.closed
	l.mu.Unlock()
	if l.via != nil && !closed.Fault.NoSession {
		ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
		l.via.leave(ctx)
		cancel()
	}
	l.peer.flush()
	l.peer.emit(closed)
}

// lostGrace is how long calls that were sent with a session the server forgot
// have to find that out for themselves.
const lostGrace = 2 * time.Second

// letSessionEnd waits, when the session is lost, for the answers to the other
// calls that are under way: each will be told by the server that it was not
// executed either, which nobody could know if the connection were cut (B4).
func (l *webLink) letSessionEnd() {
	l.mu.Lock()
	var under []*webCall
	if l.closed.Fault.NoSession {
		for _, c := range l.calls {
			under = append(under, c)
		}
	}
	l.mu.Unlock()
	timer := time.NewTimer(lostGrace)
	defer timer.Stop()
	for _, c := range under {
		select {
		case <-c.done:
		case <-timer.C:
			return
		}
	}
}

// Close implements exchange.Link.
func (l *webLink) Close() {
	l.end(exchange.PhaseStopped, fault(durward.Unavailable, false, "the connection was closed"))
}

// end begins the end of the connection, once.
func (l *webLink) end(phase exchange.Phase, why exchange.Fault) {
	l.endAs(&exchange.Closed{Phase: phase, Fault: why})
}

func (l *webLink) endAs(closed *exchange.Closed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == webEnding {
		return
	}
	l.state, l.closed = webEnding, closed
	l.abort()
	close(l.ending)
}

// phase says how far the connection has come.
func (l *webLink) phase() exchange.Phase {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == webOpening {
		return exchange.PhaseHandshake
	}
	return exchange.PhaseReady
}

// sessionLost ends the connection because the server forgot it, and returns the
// fault of the request that found out (legacy, transports "Session management").
// During the handshake it is a failure like others.
func (l *webLink) sessionLost() *exchange.Fault {
	f := l.remote.fault(durward.Unavailable, false, "does not know our session any more (HTTP 404); a new one is needed")
	if l.phase() == exchange.PhaseReady {
		f.NoSession = true
		l.end(exchange.PhaseReady, *f)
	}
	return f
}

// Send implements exchange.Link.
func (l *webLink) Send(m exchange.Message) error {
	switch m := m.(type) {
	case *exchange.Call:
		return l.sendCall(m)
	case *exchange.Cancel:
		return l.sendCancel(m)
	case *exchange.Notification:
		return l.sendTell(appendNote(nil, m.Method, m.Params))
	case *exchange.Response:
		body, _, err := l.peer.answered(m)
		if err != nil {
			return err
		}
		return l.sendTell(body)
	default:
		return durward.Errorf(durward.Internal, "", "a connection does not take a %T", m)
	}
}

func (l *webLink) sendCall(m *exchange.Call) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.state != webReady:
		return durward.Errorf(durward.Unavailable, "", "the connection is not open")
	case l.calls[m.ID] != nil:
		return durward.Errorf(durward.Internal, "", "call id %d is in use on this connection", m.ID)
	}
	ctx, cancel := context.WithCancelCause(l.life)
	c := &webCall{id: m.ID, request: &m.Request, deadline: m.Deadline, cancel: cancel, done: make(chan struct{})}
	l.calls[m.ID] = c
	l.wg.Go(func() {
		defer cancel(nil)
		if !c.deadline.IsZero() {
			timer := time.AfterFunc(time.Until(c.deadline), func() { l.expire(c) })
			defer timer.Stop()
		}
		if resp := l.via.call(ctx, c); resp != nil {
			l.answer(c.id, resp)
		}
	})
	return nil
}

// expire ends a call whose deadline has passed. One during which the server asked
// something is left to the core, which knows how long the answers took: that time
// is not the server's.
func (l *webLink) expire(c *webCall) {
	l.mu.Lock()
	asked := c.asked
	l.mu.Unlock()
	if !asked {
		c.cancel(context.DeadlineExceeded)
	}
}

// noteAsked notes that the server asked something during a call; 0: during any.
func (l *webLink) noteAsked(related uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, c := range l.calls {
		if related == 0 || related == id {
			c.asked = true
		}
	}
}

// sendCancel ends a call. A legacy server is told; to a modern one the end of
// the stream says it.
func (l *webLink) sendCancel(m *exchange.Cancel) error {
	c := l.takeOff(m.ID)
	if c == nil {
		return nil // answered in between
	}
	c.cancel(nil)
	l.peer.forgetAsked(m.ID)
	return l.tellCancelled(m.ID, m.Reason)
}

func (l *webLink) tellCancelled(id uint64, reason string) error {
	if l.era == wire.Modern {
		return nil
	}
	return l.sendTell(appendCancel(nil, id, reason))
}

// sendTell sends body in the background.
func (l *webLink) sendTell(body []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.state != webReady:
		return durward.Errorf(durward.Unavailable, "", "the connection is not open")
	case l.tells >= maxTells:
		return durward.Errorf(durward.Unavailable, "", "%d notifications and answers to the server are under way, which is the limit", maxTells)
	}
	l.tells++
	l.wg.Go(func() {
		ctx, cancel := context.WithTimeout(l.life, tellTime)
		defer cancel()
		if f := l.via.tell(ctx, body); f != nil && l.life.Err() == nil {
			l.peer.anomaly(anomalyRefusedTell, []byte(f.Message))
		}
		l.mu.Lock()
		l.tells--
		l.mu.Unlock()
	})
	return nil
}

// anomalyRefusedTell: a notification or answer of ours did not get through.
const anomalyRefusedTell = "message-refused"

// takeOff takes a call off the table; nil if it is not there.
func (l *webLink) takeOff(id uint64) *webCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.calls[id]
	if c != nil {
		delete(l.calls, id)
		close(c.done)
		l.ended[l.oldest] = id
		l.oldest = (l.oldest + 1) % len(l.ended)
	}
	return c
}

// answer answers a call and returns it; nil if somebody did before or it was cancelled.
func (l *webLink) answer(id uint64, resp *exchange.Response) *webCall {
	c := l.takeOff(id)
	if c == nil {
		return nil
	}
	l.peer.forgetAsked(id)
	l.peer.emit(resp)
	return c
}

// knows reports whether id is a call in flight, or was one not long ago.
func (l *webLink) knows(id uint64) (inFlight, recent bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls[id] != nil {
		return true, true
	}
	for _, gone := range l.ended {
		if gone == id && gone != 0 {
			return false, true
		}
	}
	return false, false
}

var _ exchange.Link = (*webLink)(nil)
