package ledger

import (
	"time"

	"durward"
)

// Record is one immutable thing that happened: *Intent, *Outcome, *SessionStart,
// *SessionEnd, *Decision, *Approval, *Change, *Flow, *Event or *Note. A store
// keeps all of its fields, so that its digest can be computed again.
type Record interface {
	Kind() Kind
	// appendTo appends the record's canonical form: what its digest is made of.
	appendTo(e *encoder)
}

// Kind is the type of a record. The values are written to disk and never change.
type Kind uint8

// The kinds.
const (
	KindIntent       Kind = 1
	KindOutcome      Kind = 2
	KindSessionStart Kind = 3
	KindSessionEnd   Kind = 4
	KindDecision     Kind = 5
	KindApproval     Kind = 6
	KindChange       Kind = 7
	KindFlow         Kind = 8 // http_requests: connections that the broker and the built-in tools make
	KindEvent        Kind = 9 // sandbox, exec, file and network events
	KindNote         Kind = 10
)

// Intent is a call that is about to act, or was refused. It is committed before
// the first byte goes to a server.
type Intent struct {
	ID      durward.CallID
	Session durward.SessionID // empty for modern requests over HTTP
	Parent  durward.CallID    // the call during which this one was made; empty
	TraceID [16]byte          // W3C trace context; zero: none
	SpanID  [8]byte           // our own span
	At      time.Time         // UTC, microseconds

	Principal string
	Entrance  durward.Entrance
	Process   string // the calling process, where the entrance knows it
	Client    durward.ClientInfo
	Route     string // URL path
	Era       string // of the caller: legacy or modern

	Origin    Origin
	Transport durward.Transport // of the server; empty when Durward answers by itself
	Server    string
	Method    string
	Tool      string // the server's own name of the tool, prompt or resource
	FullName  string // the name offered; what was asked for where nobody offers it
	RequestID string // the caller's JSON-RPC id, raw text
	Risk      durward.Risk

	Action durward.Action // what was decided
	Rule   string         // by what; empty: a default
	Layer  string
	Reason string

	BytesIn int    // of the params
	Preview string // of the params: redacted, at most PreviewMost bytes, cut on a rune
	Body    Digest // of the params' body; zero: the preview is all of it
}

// Outcome is how a call ended. There is exactly one for each Intent: the ledger
// writes [durward.StatusUnknown] for those that a crash left open.
type Outcome struct {
	Call       durward.CallID
	At         time.Time
	Dispatched time.Time // zero: it never was handed to a server
	Duration   time.Duration
	Status     durward.Status
	Attempts   int
	BytesOut   int
	Error      string // message of the error, redacted, at most PreviewMost bytes
	Preview    string
	Body       Digest
}

// SessionStart is a downstream session that began, SessionEnd one that ended.
type SessionStart struct {
	ID        durward.SessionID
	At        time.Time
	Principal string
	Entrance  durward.Entrance
	Process   string
	Client    durward.ClientInfo
	Route     string
	Era       string
	Sandbox   string
	Policy    string // digest of the rules it runs under; empty before there are rules
}

// SessionEnd is a downstream session that ended.
type SessionEnd struct {
	ID     durward.SessionID
	At     time.Time
	Reason string
}

// Decision is one rule that matched, or one thing a plugin did.
type Decision struct {
	Call      durward.CallID
	At        time.Time
	Stage     string // request, response, preprocess, postprocess, rewrite, ask
	Layer     string
	Rule      string
	Action    string // what the rule asks for
	Effective string // what came of it
	Detection string
	Detail    string
}

// Approval is one step in the life of a question to a person.
type Approval struct {
	ID     string
	Call   durward.CallID
	At     time.Time
	Status string // pending, approved, denied, expired, cancelled
	By     string
	Reason string
	Scope  string // call, session, grant
}

// Change is an edit of what Durward is: configuration, rules, servers, packages,
// pins, names of secrets, keys.
type Change struct {
	At      time.Time
	Who     string
	What    string // kind of thing and verb: "config reload", "server add"
	Target  string
	OldHash string
	NewHash string
	Detail  string
}

// Flow is a connection or request that Durward made for a call.
type Flow struct {
	Call     durward.CallID // empty: for no call
	At       time.Time
	Server   string
	Method   string
	Host     string
	IP       string
	Port     int
	Path     string
	Status   int
	BytesOut int64
	BytesIn  int64
	Decision string
}

// Event is something that happened in a sandbox.
type Event struct {
	At      time.Time
	Layer   string // sandbox, exec, file, network
	Sandbox string
	Session durward.SessionID
	TraceID [16]byte
	What    string
	Detail  string // JSON
}

// Note is what the ledger has to say of itself: that it began, that open calls
// were recovered, that it was truncated, that its key changed.
type Note struct {
	At     time.Time
	What   string
	Detail string
}

// Origin is where a call came from.
type Origin string

// The origins.
const (
	OriginMCP     Origin = "mcp"     // a client, to a server
	OriginBuiltin Origin = "builtin" // a client, to Durward's own tools
	OriginLocal   Origin = "local"   // a client, answered by Durward itself: lists, discovery
	OriginHost    Origin = "host"    // the host tools
	OriginLibrary Origin = "library"
	OriginConsole Origin = "console"
	OriginNative  Origin = "native"
)

// PreviewMost bounds the previews of a row, in bytes.
const PreviewMost = 1 << 10

// BodyMost bounds what is kept of a body, in bytes; what is longer is cut with a
// marker and says so.
const BodyMost = 10 << 20

// Digest is the SHA-256 of a body as it is kept: after redaction, and where it was
// cut, with the marker that says so.
type Digest [32]byte

// Kind implements Record.
func (*Intent) Kind() Kind { return KindIntent }

// Kind implements Record.
func (*Outcome) Kind() Kind { return KindOutcome }

// Kind implements Record.
func (*SessionStart) Kind() Kind { return KindSessionStart }

// Kind implements Record.
func (*SessionEnd) Kind() Kind { return KindSessionEnd }

// Kind implements Record.
func (*Decision) Kind() Kind { return KindDecision }

// Kind implements Record.
func (*Approval) Kind() Kind { return KindApproval }

// Kind implements Record.
func (*Change) Kind() Kind { return KindChange }

// Kind implements Record.
func (*Flow) Kind() Kind { return KindFlow }

// Kind implements Record.
func (*Event) Kind() Kind { return KindEvent }

// Kind implements Record.
func (*Note) Kind() Kind { return KindNote }
