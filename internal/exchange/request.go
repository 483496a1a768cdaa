package exchange

import (
	"context"
	"time"

	"durward"
	"durward/internal/wire"
)

// Client is what a requester says of itself, on each request. It is unverified.
type Client struct {
	Era          wire.Era
	Revision     string // protocol revision it speaks
	Info         []byte // raw Implementation object; nil when unsaid
	Capabilities []byte // raw ClientCapabilities object; nil counts as {}
}

// Request is one request in the core's language.
type Request struct {
	Method string
	// Params are as the requester sent them, protocol keys in `_meta` included;
	// the upstream edge drops those and puts its own (wire.ProtocolKey).
	Params wire.Params
	// Name is the raw JSON string to put in place of the routing value (name, uri,
	// or the one inside ref) on the way upstream; nil leaves it.
	Name     []byte
	Client   Client
	LogLevel string   // least severe level of notifications/message wanted; "" = not asked for
	Progress bool     // the requester wants progress
	Headers  []Header // Mcp-Param-* to mirror upstream (2026-07-28, streamable HTTP); values not yet encoded
	Deadline time.Time
	// Trace stands in place of the trace context that the requester sent; nil leaves
	// that where it is.
	Trace *TraceContext
}

// TraceContext is what is said of a distributed trace, each part as its own
// specification writes it (W3C Trace Context, W3C Baggage), or "".
type TraceContext struct{ Parent, State, Baggage string }

// Keys of a trace context in `_meta` (2026-07-28, basic/index "OpenTelemetry trace context").
const (
	MetaTraceParent = "traceparent"
	MetaTraceState  = "tracestate"
	MetaBaggage     = "baggage"
)

// Header is one mirrored argument: Name without the prefix "Mcp-Param-".
type Header struct{ Name, Value string }

// Inbound is a request as it comes in by a downstream edge.
type Inbound struct {
	Request
	Caller   durward.Caller
	Route    durward.Route
	ID       []byte // the client's JSON-RPC id, byte for byte; nil for a notification
	Received time.Time
	// ParamHeaders are the Mcp-Param-* headers of a modern HTTP request as they were
	// sent, to be verified against the arguments; nil elsewhere, empty when there
	// were none.
	ParamHeaders []Header
	// Trace is what the headers of an HTTP request said, as they were sent. What
	// `_meta` says goes before it.
	Trace TraceContext
}

// Reply answers a request. Exactly one of Result and Error is set, both raw.
type Reply struct {
	Result     []byte
	Error      []byte
	ResultType string // value of resultType in Result; "" when absent
	IsError    bool   // Result has isError: true
	// Era of the server that answered; EraUnknown when the answer is the gateway's own.
	Era wire.Era
	// Revision is that of the protocol that the connection to the server speaks; empty
	// when the answer is the gateway's own.
	Revision string
	// ID is the JSON-RPC id of the request at that server; 0 when the answer is the
	// gateway's own.
	ID uint64
	// Attempts is how often the request was handed to a server.
	Attempts int
	// Dispatched is when it was handed to one first; zero: never.
	Dispatched time.Time
	// BadRequest is set for an Error that is about what the requester should never
	// have sent, such as a forged token: HTTP 400 for modern clients.
	BadRequest bool
}

// Fail makes a Reply of an error.
func Fail(err error) Reply { return Reply{Error: wire.ErrorObject(err)} }

// Stream is the way back to the requester while its request is under way. Its
// methods may be called from any goroutine until the request is answered, and
// do nothing after that.
type Stream interface {
	// Notify sends a notification that belongs to this request: progress, a log
	// message, or an event of a subscription. The edge puts the requester's own
	// progress token in. It never blocks: a requester that does not read loses
	// progress first and then its stream.
	Notify(method string, params []byte)
	// Ask sends a request of the server to the requester and waits for the answer
	// (legacy requesters). Where nobody can be asked it fails at once.
	Ask(ctx context.Context, method string, params []byte) Reply
}

// Core is what the downstream edges hand their traffic to: the gateway.
type Core interface {
	// Serve answers one request. It returns when the request is answered or ctx
	// ends; cancelling ctx cancels the request upstream.
	Serve(ctx context.Context, in *Inbound, out Stream) Reply
	// Notify takes a notification of the client that is not about a request in
	// flight (those the edge handles): notifications/roots/list_changed.
	Notify(ctx context.Context, in *Inbound)
	// Attach opens a legacy session: feed gets list changes and resource updates
	// until detach is called, which also drops the session's subscriptions.
	Attach(caller durward.Caller, route durward.Route, feed Feed) (detach func())
}

// Feed takes notifications that belong to no request. It must not block.
type Feed interface {
	Notify(method string, params []byte)
}
