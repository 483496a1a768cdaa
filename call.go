package durward

import "time"

// Call is one request at the gate: what the rules see and the ledger stores.
// Raw JSON fields alias the request's bytes and must not be changed.
type Call struct {
	ID       CallID
	Caller   Caller
	Route    Route
	Method   string
	Received time.Time

	RequestID []byte // the client's JSON-RPC id, byte for byte
	Params    []byte // the raw params object; nil when absent
	Arguments []byte // the raw arguments of tools/call and prompts/get; nil when absent

	Server   string // upstream server the call goes to; empty when Durward answers by itself
	Name     string // the server's own name of the tool, prompt or resource
	FullName string // the name the caller used
	Risk     Risk   // of the tool, its hints taken at their worst; RiskUnset for everything else. Policy may correct it
	Tool     *Tool  // what its server says of the tool; nil for everything else

	Era       string    // of the caller: legacy or modern
	Transport Transport // of the server; empty when Durward answers by itself
	Parent    CallID    // the call during which this one was made; empty
	Trace     Trace
}

// Tool is what a server says of a tool, besides its name. It is shared and must not
// be changed.
type Tool struct {
	Annotations []byte // raw ToolAnnotations object; nil when absent
	Hash        string // SHA-256, in hex, of the definition in canonical form
	Floor       Risk   // the least risk its server's tools have, by the operator's word
	Set         Risk   // the tool's risk, by the operator's word, which overrides all else; RiskUnset: nothing was said
}

// Trace is the W3C trace context of a call (https://www.w3.org/TR/trace-context/).
// The zero value is no trace.
type Trace struct {
	TraceID [16]byte
	Caller  [8]byte // the caller's span; zero when we began the trace
	SpanID  [8]byte // ours
	Flags   byte    // 1: sampled
}

// Status is how a call ended, as the ledger stores it.
type Status string

// The statuses.
const (
	StatusOK        Status = "ok"
	StatusToolError Status = "tool_error" // the tool answered with isError
	StatusError     Status = "error"      // a JSON-RPC error
	StatusRefused   Status = "refused"    // stopped by a rule
	StatusDenied    Status = "denied"     // by a person, or because nobody answered
	StatusCancelled Status = "cancelled"
	StatusTimeout   Status = "timeout"
	StatusUnknown   Status = "unknown" // it may or may not have been executed
	StatusInput     Status = "input"   // the server wants input first; the caller's retry is a call of its own
)

// Outcome is how a call ended. Result and Error are raw JSON; at most one is set.
type Outcome struct {
	Status   Status
	Result   []byte
	Error    []byte
	Attempts int // how often the request was handed to a server; 0 when it never was

	Dispatched time.Time // when it was handed to a server first; zero when it never was
	Finished   time.Time
}
