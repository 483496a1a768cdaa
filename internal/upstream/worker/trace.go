package worker

import (
	"maps"
	"net/http"

	"durward/internal/exchange"
	"durward/internal/wire"
)

// Header names of a trace context, as net/http writes them.
const (
	headerTraceParent = "Traceparent"
	headerTraceState  = "Tracestate"
	headerBaggage     = "Baggage"
)

// hopKey reports whether a member of `_meta` is replaced on the way of a traced request.
func hopKey(name string) bool {
	switch name {
	case exchange.MetaTraceParent, exchange.MetaTraceState, exchange.MetaBaggage:
		return true
	default:
		return wire.ProtocolKey(name)
	}
}

// traceMeta adds a trace context (2026-07-28, basic/index "OpenTelemetry trace
// context"; older revisions leave such members to those who know them).
func traceMeta(add []wire.Member, t *exchange.TraceContext) []wire.Member {
	add = append(add, wire.Member{Name: exchange.MetaTraceParent, Value: wire.AppendQuote(nil, t.Parent)})
	if t.State != "" {
		add = append(add, wire.Member{Name: exchange.MetaTraceState, Value: wire.AppendQuote(nil, t.State)})
	}
	if t.Baggage != "" {
		add = append(add, wire.Member{Name: exchange.MetaBaggage, Value: wire.AppendQuote(nil, t.Baggage)})
	}
	return add
}

// withTrace says the same in headers, for those on the way who do not look into
// messages. The core has made sure that the values may stand there.
func withTrace(header http.Header, t *exchange.TraceContext) http.Header {
	if t == nil {
		return header
	}
	header = maps.Clone(header) // it may be shared
	header[headerTraceParent] = []string{t.Parent}
	if t.State != "" {
		header[headerTraceState] = []string{t.State}
	}
	if t.Baggage != "" {
		header[headerBaggage] = []string{t.Baggage}
	}
	return header
}
