package gateway

import (
	"time"

	"durward/internal/catalog"
	"durward/internal/exchange/outbox"
	"durward/internal/federation"
	"durward/internal/hold"
	"durward/internal/session"
	"durward/internal/transport"
	"durward/internal/upstream"
)

// Limits bound what clients and servers can make the gateway keep. Zero values
// mean the defaults. The configuration has a key for each, in the same order;
// errors name that key (limits.KEY).
type Limits struct {
	// Requests and streams of clients.
	Message           int           // message: bytes of one JSON-RPC message, on either side; default 32 MiB
	Header            int           // header: bytes of one header value; default 8 KiB
	Headers           int           // headers: bytes of all headers of a request; default 64 KiB
	Requests          int           // requests: HTTP requests and connections at a time; default 16,384
	Streams           int           // streams: GET streams of one session; default 8
	StreamQueue       int           // stream_queue: bytes that wait for the reader of one stream; default 8 MiB
	StreamQueueEvents int           // stream_queue_events: messages that wait for it; default 1,024
	KeepAlive         time.Duration // keep_alive: silence on a stream before a comment is sent; default 15 s

	// Sessions of legacy clients.
	Sessions             int           // sessions: at a time; default 10,000
	SessionIdle          time.Duration // session_idle: end of an unused session; default 1 h
	InFlight             int           // in_flight: calls in flight of one session; default 64, then a queue of the same length
	SessionSubscriptions int           // session_subscriptions: resources of one session or one listen request; default 1,000
	Asks                 int           // asks: our requests that one client has not answered; default 64
	AskTimeout           time.Duration // ask_timeout: for an answer of a client; default 5 min
	Resume               int           // resume: bytes of one session that can be asked for again; default 1 MiB
	ResumeEvents         int           // resume_events: messages of one session that can; default 256
	ResumeTotal          int           // resume_total: bytes of all sessions that can; default 64 MiB
	ResumeFor            time.Duration // resume_for: how long they can; default 5 min

	// Calls during which a server asks for input.
	Holds    int           // holds: calls of one principal to one server that wait for input; default 16
	HoldLife time.Duration // hold_life: for the input of one round; default 5 min
	Rounds   int           // rounds: of input in one call; default 10

	// Connections to servers.
	StartParallel int           // start_parallel: servers that launch at the same time; default 16
	Instances     int           // instances: connections of one server besides the shared one; default 128
	Subscriptions int           // subscriptions: resources of one server; default 10,000
	ServerAsks    int           // server_asks: requests of one server that wait for an answer; default 16
	BackoffFirst  time.Duration // backoff_first: before the second attempt to connect; default 0.5 s, doubled each time
	BackoffMost   time.Duration // backoff_most: between two attempts; default 60 s
	Stderr        int           // stderr: bytes kept of the end of one server's stderr; default 256 KiB

	// What servers offer.
	Items        int // items: tools of one server, and its prompts, and its resources; default 10,000
	Templates    int // templates: resource templates of one server; default 1,000
	Pages        int // pages: of one list of one server; default 1,000
	List         int // list: bytes of one list of one server; default 64 MiB
	Item         int // item: bytes of one item of a list; default 4 MiB
	Schema       int // schema: bytes of an input or output schema; default 1 MiB
	Description  int // description: bytes of a description; default 64 KiB
	Instructions int // instructions: bytes of all servers' instructions, merged; default 16 KiB
}

func (l *Limits) setDefaults() {
	if l.SessionSubscriptions <= 0 {
		l.SessionSubscriptions = 1000
	}
	if l.HoldLife <= 0 {
		l.HoldLife = 5 * time.Minute
	}
	if l.Rounds <= 0 {
		l.Rounds = 10
	}
}

func (l *Limits) session() session.Options {
	return session.Options{
		Max: l.Sessions, Idle: l.SessionIdle, InFlight: l.InFlight, Asks: l.Asks,
		Kept: both(l.ResumeEvents, l.Resume, 256, 1<<20), KeptTotal: int64(l.ResumeTotal), KeptFor: l.ResumeFor,
	}
}

func (l *Limits) transport() transport.Limits {
	return transport.Limits{
		Message: l.Message, Header: l.Header, Headers: l.Headers, Requests: l.Requests, Streams: l.Streams,
		Queue: both(l.StreamQueueEvents, l.StreamQueue, 1024, 8<<20), Ask: l.AskTimeout,
	}
}

// both completes a pair of limits, because a box takes the default for neither or both.
func both(events, bytes, defaultEvents, defaultBytes int) outbox.Limits {
	pair := outbox.Limits{Events: events, Bytes: bytes}
	if pair.Events <= 0 {
		pair.Events = defaultEvents
	}
	if pair.Bytes <= 0 {
		pair.Bytes = defaultBytes
	}
	return pair
}

func (l *Limits) hold() hold.Options { return hold.Options{Most: l.Holds, Life: l.HoldLife} }

func (l *Limits) opener() federation.OpenerOptions {
	return federation.OpenerOptions{MaxMessage: l.Message, Stderr: l.Stderr}
}

func (l *Limits) upstream() upstream.Limits {
	return upstream.Limits{
		Items: l.Items, Pages: l.Pages, ListBytes: l.List,
		Instances: l.Instances, Subscriptions: l.Subscriptions, Asks: l.ServerAsks,
		BackoffFirst: l.BackoffFirst, BackoffMost: l.BackoffMost,
	}
}

func (l *Limits) catalog() catalog.Options {
	return catalog.Options{
		MaxItems: l.Items, MaxTemplates: l.Templates, MaxListBytes: l.List, MaxItemBytes: l.Item,
		MaxSchema: l.Schema, MaxDescription: l.Description, InstructionsCap: l.Instructions,
	}
}
