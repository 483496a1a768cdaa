package wire

import (
	"strconv"

	"durward"
)

// Bounds of one message. They apply to both sides.
const (
	// MaxMessage is the default of limits.message in bytes. The edges enforce it
	// while they read, with [CheckSize].
	MaxMessage = 32 << 20
	// MaxScan is the most bytes that Parse looks at, and so the highest value
	// that limits.message can have.
	MaxScan = 512 << 20
	// MaxDepth is how deep arrays and objects may be nested; the message itself counts.
	MaxDepth = 128
)

// Kind is what a message is.
type Kind uint8

// The kinds of messages.
const (
	Request      Kind = iota + 1 // method and id
	Notification                 // method, no id: gets no answer
	Result                       // id and result
	Failure                      // error, with or without id
)

// String returns the kind in lower case, "" for the zero Kind.
func (k Kind) String() string {
	switch k {
	case Request:
		return "request"
	case Notification:
		return "notification"
	case Result:
		return "result"
	case Failure:
		return "failure"
	default:
		return ""
	}
}

// Span is a part of a byte slice, [Start, End). The zero Span means absent: no
// JSON value that is a member of something starts at offset 0.
type Span struct{ Start, End uint32 }

// Present reports whether the span marks anything.
func (s Span) Present() bool { return s.End > s.Start }

// Of returns the bytes of b that the span marks, nil if it is absent.
func (s Span) Of(b []byte) []byte {
	if !s.Present() {
		return nil
	}
	return b[s.Start:s.End:s.End]
}

func span(start, end int) Span { return Span{uint32(start), uint32(end)} }

// Message is one JSON-RPC message. All slices alias the bytes given to Parse.
type Message struct {
	Kind   Kind
	ID     []byte // raw: a string with its quotes, or a number; nil when absent or null
	Method string
	Params Params
	Result []byte // raw, of any JSON type
	Error  []byte // the raw error object

	ResultType Span // value of resultType in Result; see [Message.Type]
	IsError    bool // Result has "isError": true
	Faults     Faults
}

// Faults are what was tolerated inside a server's result or error.
type Faults struct {
	Duplicates int  // member names that stood twice in one object
	BadUTF8    bool // bytes that are no UTF-8, or a lone surrogate escape; see [ToValidUTF8]
}

// Params is the params object of a request or notification. Spans are offsets
// into Raw and mark values; [Span.Of] with Raw gives the bytes.
type Params struct {
	Raw []byte // the object; nil when absent

	Name, URI, TaskID, Ref       Span // routing keys
	Arguments, Cursor            Span
	RequestState, InputResponses Span
	Task                         Span // asks for a call as a task (2025-11-25, basic/utilities/tasks)
	ProgressToken, RequestID     Span // of notifications/progress and notifications/cancelled
	Meta                         Span // the `_meta` object, or null in its place
	InMeta                       MetaSpans
}

// MetaSpans mark the values of protocol keys in `_meta`, as offsets into Params.Raw.
type MetaSpans struct {
	ProtocolVersion, ClientCapabilities, ClientInfo, LogLevel Span
	SubscriptionID, ProgressToken                             Span
}

// String returns the decoded string value a span of Raw marks; false if it is
// absent or no string.
func (p *Params) String(s Span) (string, bool) { return Unquote(s.Of(p.Raw)) }

// Modern reports whether the request carries modern metadata, which decides its
// era before anything else does (2026-07-28, basic/index "_meta").
func (p *Params) Modern() bool { return p.InMeta.ProtocolVersion.Present() }

// Type returns the value of resultType, "" when absent (which means complete).
func (m *Message) Type() string {
	switch raw := m.ResultType.Of(m.Result); string(raw) {
	case "":
		return ""
	case `"complete"`:
		return "complete"
	case `"input_required"`:
		return "input_required"
	default:
		s, _ := Unquote(raw)
		return s
	}
}

// SyntaxError says why bytes are no acceptable message, and what would be.
// Offset counts bytes from the start of what was parsed.
type SyntaxError struct {
	Offset int
	Reason string
}

func (e *SyntaxError) Error() string { return "byte " + strconv.Itoa(e.Offset) + ": " + e.Reason }

// InvalidRequest turns a scan error into the error kind Invalid.
func InvalidRequest(err error) *durward.Error {
	return durward.Errorf(durward.Invalid, "", "message refused: %w", err)
}

// CheckSize returns an error of kind Invalid when a message of n bytes is larger
// than limit, which is the value of limits.message (0 or less: [MaxMessage]).
// A reader that stops at the bound gives the number of bytes it has seen.
func CheckSize(n, limit int) error {
	if limit <= 0 {
		limit = MaxMessage
	}
	if n <= limit {
		return nil
	}
	return durward.Errorf(durward.Invalid, "",
		"a message of %d bytes or more is over the bound of %d bytes; send less at a time, or raise limits.message", n, limit)
}
