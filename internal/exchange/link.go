package exchange

import (
	"time"

	"durward/internal/wire"
)

// Message is one message between the core and a connection to a server.
//
// Core to connection: *Call, *Cancel, *Notification, *Response (to a ServerRequest).
// Connection to core: *Opened, *Response, *Notification, *ServerRequest, *Anomaly, *Closed.
type Message interface{ linkMessage() }

// Call hands a request to the server. ID is the core's, unique on the link; it is
// also the progress token, if progress is wanted.
type Call struct {
	ID uint64
	Request
}

// Cancel says that nobody waits for call ID any more. No Response follows.
type Cancel struct {
	ID     uint64
	Reason string
}

// Response answers a Call, or in the other direction a ServerRequest.
type Response struct {
	ID uint64
	Reply
	// Fault is set, and the Reply empty, when no answer of the server exists.
	Fault *Fault
}

// Fault says why there is no answer.
type Fault struct {
	Kind      uint8  // durward.Kind: Unavailable, Timeout, Unknown, Unauthenticated, Invalid, Internal
	Message   string // safe to show
	Delivered bool   // false: provably not handed to the server, so it may be tried again
	// NoSession: the server does not know our session any more (legacy HTTP 404).
	NoSession bool
	// StaleHeaders: the server refused mirrored headers (-32020): refresh the tool list, try once more.
	StaleHeaders bool
	// Again: another attempt may get the answer that this one did not, because the
	// connection or the server was lost, or the server put us off. It says nothing
	// of whether the call may be executed twice, should Delivered be set.
	Again bool
	// RetryAfter is how long the server, which is well, wants to be left alone before that; 0: it did not say.
	RetryAfter time.Duration
}

// Notification is a notification of either side. Related is the call it belongs
// to, 0 when that is unknown or there is none.
type Notification struct {
	Related uint64
	Method  string
	Params  []byte
}

// ServerRequest is a request of the server to its client. Related is the call
// during which it came, 0 when unknown (legacy stdio says nothing about it).
type ServerRequest struct {
	ID      uint64 // the connection's, to be used in the Response
	Related uint64
	Method  string
	Params  []byte
}

// Opened says that the handshake is done. Raw fields are nil when the server did not send them.
type Opened struct {
	Era          wire.Era
	Revision     string
	Info         []byte // serverInfo
	Capabilities []byte
	Instructions string
	// LegacyToo is set for a modern server that may speak a legacy revision as well:
	// it names one, or names none at all.
	LegacyToo bool
}

// Anomaly reports something the server should not have done and that was dealt with.
type Anomaly struct {
	Kind   string // "stdout-text", "invalid-utf8", "duplicate-member", "unknown-response", "oversized", …
	Detail string // at most 200 bytes, scrubbed
	Count  int
}

// Phase is how far a connection had come when it ended.
type Phase uint8

// The phases.
const (
	PhaseHandshake Phase = iota // it never was ready
	PhaseReady
	PhaseStopped // we asked for it
)

// Closed is the last message of a connection. Every call without a Response has
// been answered with a Fault before.
type Closed struct {
	Phase Phase
	Fault Fault
	// EraRefused is set when the handshake failed in a way that says which era the
	// server cannot speak ("initialize" refused: not legacy).
	EraRefused wire.Era
	// Retry is set when the connection should be opened anew at once with Era
	// legacy: the server ended or fell silent on the probe.
	RetryLegacy bool
}

func (*Call) linkMessage()          {}
func (*Cancel) linkMessage()        {}
func (*Response) linkMessage()      {}
func (*Notification) linkMessage()  {}
func (*ServerRequest) linkMessage() {}
func (*Opened) linkMessage()        {}
func (*Anomaly) linkMessage()       {}
func (*Closed) linkMessage()        {}

// Link is the core's end of a connection.
type Link interface {
	// Send hands over a message; it never blocks. The connection owns the message
	// and its bytes from then on. An error means that it was provably not
	// delivered: the link is closed, or its queue is full.
	Send(m Message) error
	// Close asks the connection to end. Closed arrives at the Sink once it has.
	Close()
}

// Sink takes what a connection sends. It is called by one goroutine at a time,
// in order, and must not block. The core owns the message and its bytes.
type Sink interface {
	Receive(m Message)
}

// LinkSpec is what a connection is opened with; plain data.
type LinkSpec struct {
	Server       string
	Era          wire.Era // EraUnknown: probe
	Revision     string   // offer this legacy revision; "" = the newest
	ClientInfo   []byte   // what the gateway calls itself
	Capabilities []byte   // raw ClientCapabilities for a legacy handshake: what the gateway can bridge
	ProbeTimeout time.Duration
	InitTimeout  time.Duration
	MaxMessage   int               // bytes; default wire.MaxMessage
	URL          string            // http, sse
	Headers      map[string]string // http, sse
}
