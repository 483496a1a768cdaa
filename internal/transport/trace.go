package transport

import (
	"net/http"

	"durward/internal/exchange"
)

// Header keys of a trace context (W3C Trace Context §3, W3C Baggage §3).
const (
	hTraceParent = "Traceparent"
	hTraceState  = "Tracestate"
	hBaggage     = "Baggage"
)

// traceHeaders returns what the headers of a request say of a trace. It is judged
// by the core; a header that stands twice says nothing, and without a traceparent
// neither do the others.
func traceHeaders(h http.Header) (t exchange.TraceContext) {
	parent := h[hTraceParent]
	if len(parent) != 1 {
		return t
	}
	t.Parent = parent[0]
	t.State, _ = single(h[hTraceState])
	t.Baggage, _ = single(h[hBaggage])
	return t
}
