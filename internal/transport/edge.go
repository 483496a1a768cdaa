package transport

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"sync"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/exchange/outbox"
	"durward/internal/wire"
)

// Authenticator says who sends an HTTP request. Errors of kind Denied become
// 403, of kind Unauthenticated 401.
type Authenticator interface {
	Admit(r *http.Request) (durward.Caller, error)
	// AllowsOrigin reports whether pages of a foreign origin may read answers (CORS).
	AllowsOrigin(origin string) bool
}

// Sessions keeps the legacy sessions. [SessionsOf] makes one of a store of concrete sessions.
type Sessions interface {
	// Open makes a session whose identifier is caller.Session. It copies what it keeps of client.
	Open(caller durward.Caller, route durward.Route, client exchange.Client) (Session, error)
	// Find returns the session that its client names by id, if it is of that caller's
	// principal and of the route, else an error of kind NotFound. It may be one that
	// was begun in another process, see [Attachable].
	Find(id string, caller durward.Caller, route durward.Route) (Session, error)
	// End ends a session.
	End(which Session)
	// Loose makes a session that cannot be found: that of one connection.
	Loose(caller durward.Caller, route durward.Route) Session
}

// Session is one conversation with a client.
type Session interface {
	Attachable
	Greeted
	Calls
	Asks
	Boxes
	// OnEnd has f called once when the session ends.
	OnEnd(f func())
	// End ends the session: what is in flight is cancelled, OnEnd's are called.
	End()
}

// Attachable is a session that its client names, and that is made known to the
// core once, by whichever request comes first.
type Attachable interface {
	// ID is what the client sends as Mcp-Session-Id: visible ASCII.
	ID() string
	// Attached reports whether Attach was called and has returned.
	Attached() bool
	// Attach calls f the first time; others wait until it has returned. Revived says
	// that the client had the session before, in another process.
	Attach(f func(revived bool))
}

// Greeted is what a legacy client said of itself.
type Greeted interface {
	Greet(client exchange.Client)
	Caller() durward.Caller // with Session and Client
	Client() exchange.Client
	Level() string // of log messages; "" while the client never said
	SetLevel(level string)
}

// Calls are the requests in flight, by their raw ids.
type Calls interface {
	// Enter notes a request. It may run when turn, if it is not nil, is closed. Leave must follow success.
	Enter(ctx context.Context, id []byte) (inner context.Context, turn <-chan struct{}, err error)
	// Leave reports whether the client cancelled the request and wants no answer.
	Leave(id []byte) (cancelled bool)
	// Cancel ends a request for its client, Stop for a reason of ours.
	Cancel(id []byte) bool
	Stop(id []byte) bool
}

// Asks are our requests to the client.
type Asks interface {
	Expect() (id []byte, answer <-chan exchange.Reply, err error)
	Answer(id []byte, reply exchange.Reply) bool
	Forget(id []byte)
}

// Boxes are the streams to a client that survive its connections.
type Boxes interface {
	NewBox() (number uint64, box *outbox.Box)
	// Box returns a stream; number 0 is for what belongs to no request. Nil: not known.
	Box(number uint64) *outbox.Box
	// Retire says that a stream is complete.
	Retire(number uint64)
}

// SessionsOf fits a store whose methods return its own type of session.
func SessionsOf[S Session](store interface {
	Open(caller durward.Caller, route durward.Route, client exchange.Client) (S, error)
	Find(id string, caller durward.Caller, route durward.Route) (S, error)
	End(which S)
	Loose(caller durward.Caller, route durward.Route) S
}) Sessions {
	return &sessionsOf[S]{store}
}

type sessionsOf[S Session] struct {
	store interface {
		Open(caller durward.Caller, route durward.Route, client exchange.Client) (S, error)
		Find(id string, caller durward.Caller, route durward.Route) (S, error)
		End(which S)
		Loose(caller durward.Caller, route durward.Route) S
	}
}

func (s *sessionsOf[S]) Open(caller durward.Caller, route durward.Route, client exchange.Client) (Session, error) {
	opened, err := s.store.Open(caller, route, client)
	if err != nil {
		return nil, err
	}
	return opened, nil
}

func (s *sessionsOf[S]) Find(id string, caller durward.Caller, route durward.Route) (Session, error) {
	found, err := s.store.Find(id, caller, route)
	if err != nil {
		return nil, err
	}
	return found, nil
}

func (s *sessionsOf[S]) End(which Session) {
	if own, ok := which.(S); ok {
		s.store.End(own)
	}
}

func (s *sessionsOf[S]) Loose(caller durward.Caller, route durward.Route) Session {
	return s.store.Loose(caller, route)
}

// Limits bound what clients may send and leave unread. Zero values mean the defaults.
type Limits struct {
	Message  int           // limits.message: bytes of one message; default 32 MiB
	Header   int           // limits.header: bytes of one header value; default 8 KiB
	Headers  int           // limits.headers: bytes of all headers of a request; default 64 KiB
	Requests int           // limits.requests: HTTP requests and connections at a time; default 16,384
	Streams  int           // limits.streams: GET streams of one session; default 8
	Queue    outbox.Limits // limits.stream_queue_events and limits.stream_queue: per stream, what its reader has not taken; default 1,024 events, 8 MiB
	Ask      time.Duration // limits.ask_timeout: how long a client may take to answer our request; default 5 min
}

// Options make an Edge.
type Options struct {
	Core     exchange.Core
	Auth     Authenticator
	Sessions Sessions
	Limits   Limits

	// KeepAlive is how long a stream may be silent before a comment is sent on
	// it, and how long an answer may take before a stream is begun; default 15 s.
	KeepAlive time.Duration
	// Stall is how long a client may take to read 256 KiB before its connection is closed; default 60 s.
	Stall time.Duration
	// Grace is what requests in flight get to finish when the edge or a
	// connection is closed, before they are cancelled; default 2 s, negative: none.
	Grace time.Duration
}

func (o *Options) check() error {
	if o.Core == nil || o.Auth == nil || o.Sessions == nil {
		return durward.Errorf(durward.Internal, "transport", "Core, Auth and Sessions are required")
	}
	orDefault(&o.Limits.Message, wire.MaxMessage)
	orDefault(&o.Limits.Header, 8<<10)
	orDefault(&o.Limits.Headers, 64<<10)
	orDefault(&o.Limits.Requests, 16<<10)
	orDefault(&o.Limits.Streams, 8)
	orDefault(&o.Limits.Queue, outbox.Limits{Events: 1024, Bytes: 8 << 20})
	orDefault(&o.Limits.Ask, 5*time.Minute)
	orDefault(&o.KeepAlive, 15*time.Second)
	orDefault(&o.Stall, time.Minute)
	orDefault(&o.Grace, 2*time.Second)
	if o.Limits.Message < 0 || o.Limits.Header < 0 || o.Limits.Headers < 0 || o.Limits.Requests < 0 || o.Limits.Streams < 0 || o.KeepAlive < 0 || o.Stall < 0 {
		return durward.Errorf(durward.Invalid, "transport", "a limit is negative")
	}
	return nil
}

func orDefault[T comparable](at *T, value T) {
	var zero T
	if *at == zero {
		*at = value
	}
}

// Edge serves clients. It is safe for concurrent use.
type Edge struct {
	opts Options
	mark string // tells the ids of our events from those of other processes
	live live
	said clients

	stop context.CancelFunc // ends the keeper
	done sync.WaitGroup     // the keeper
}

// New starts an edge. Close ends it.
func New(opts Options) (*Edge, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	var mark [4]byte
	rand.Read(mark[:]) // never fails since Go 1.24
	e := &Edge{opts: opts, mark: hex.EncodeToString(mark[:])}
	e.live.most = opts.Limits.Requests
	ctx, cancel := context.WithCancel(context.Background())
	e.stop = cancel
	e.done.Go(func() { e.live.keep(ctx, opts.KeepAlive) })
	return e, nil
}

// Close takes no more requests, ends the streams that belong to none, gives
// those in flight their grace, cancels them, and returns when all have ended.
func (e *Edge) Close() error {
	e.live.close(e.opts.Grace)
	e.stop()
	e.done.Wait()
	return nil
}

// Load returns how many HTTP requests and connections are served, and how many of
// them wait for what may happen: streams of sessions, subscriptions, connections
// with lines.
func (e *Edge) Load() (served, waiting int) { return e.live.load() }
