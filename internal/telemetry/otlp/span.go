package otlp

import (
	"time"

	"google.golang.org/protobuf/proto"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Span is one finished span.
type Span struct {
	TraceID  [16]byte
	SpanID   [8]byte
	Parent   [8]byte // zero: it begins the trace
	Remote   bool    // the parent is in another process
	State    string  // tracestate
	Flags    byte    // of the trace
	Name     string
	Client   bool // it calls, rather than is called
	Begun    time.Time
	Finished time.Time
	Failed   bool

	Attributes []Attribute
}

// Flags of a span beyond those of its trace (opentelemetry/proto/trace/v1, SpanFlags).
const (
	flagKnowsRemote = 0x100
	flagRemote      = 0x200
)

// traces makes the message of a batch of spans.
func (e *encoder) traces(batch []*Span) proto.Message {
	spans := make([]*tracepb.Span, len(batch))
	for i, s := range batch {
		spans[i] = e.span(s)
	}
	return &tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource: e.resource, ScopeSpans: []*tracepb.ScopeSpans{{Scope: e.scope, Spans: spans}},
	}}}
}

func (e *encoder) span(s *Span) *tracepb.Span {
	out := &tracepb.Span{
		TraceId: s.TraceID[:], SpanId: s.SpanID[:], TraceState: e.state(s.State), Flags: uint32(s.Flags) | flagKnowsRemote,
		Name: e.text(s.Name, maxText), Kind: tracepb.Span_SPAN_KIND_SERVER,
		StartTimeUnixNano: nanos(s.Begun), EndTimeUnixNano: nanos(s.Finished),
		Attributes: e.attributes(maxText, s.Attributes...), Status: &tracepb.Status{},
	}
	if s.Parent != [8]byte{} {
		out.ParentSpanId = s.Parent[:]
	}
	if s.Remote {
		out.Flags |= flagRemote
	}
	if s.Client {
		out.Kind = tracepb.Span_SPAN_KIND_CLIENT
	}
	if s.Failed {
		out.Status.Code = tracepb.Status_STATUS_CODE_ERROR
	}
	return out
}

// state is a tracestate, unless there is a secret in it: with a mask it would be none.
func (e *encoder) state(s string) string {
	if s == "" || string(e.redact([]byte(s))) != s {
		return ""
	}
	return s
}

// nanos is a time as OTLP has it; 0 for one that is unknown.
func nanos(t time.Time) uint64 {
	if t.IsZero() || t.UnixNano() < 0 {
		return 0
	}
	return uint64(t.UnixNano())
}
