package gateway

import (
	"bytes"
	"context"
	"encoding/hex"
	"math/rand/v2"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// Bounds of what is passed on of a trace, in bytes. What is longer is left out: a
// trace is worth less than a request.
const (
	maxTraceState = 512  // what W3C Trace Context §3.3.1.5 wants passed on at least
	maxBaggage    = 8192 // W3C Baggage §3.3.2
)

// keepFlags are the flags of a trace that mean something to us or are passed on:
// sampled, and that the id is random (W3C Trace Context Level 2).
const keepFlags = 0x03

// flagSampled says that somebody records the trace.
const flagSampled = 0x01

// parseTraceParent reads a traceparent (W3C Trace Context §3.2): of version 00
// exactly, of later ones the part that is the same. It has no errors: what is
// malformed is no trace.
func parseTraceParent(s string) (t durward.Trace, ok bool) {
	const length = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if len(s) < length || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return t, false
	}
	var version, flags [1]byte
	if !unhex(version[:], s[:2]) || !unhex(t.TraceID[:], s[3:35]) || !unhex(t.Caller[:], s[36:52]) || !unhex(flags[:], s[53:55]) {
		return durward.Trace{}, false
	}
	long := len(s) > length
	if version[0] == 0xff || version[0] == 0 && long || long && s[length] != '-' || t.TraceID == [16]byte{} || t.Caller == [8]byte{} {
		return durward.Trace{}, false
	}
	t.Flags = flags[0] & keepFlags
	return t, true
}

// unhex decodes lower-case digits, which are the only ones that are permitted.
func unhex(dst []byte, s string) bool {
	for i := range dst {
		high, low := digit(s[2*i]), digit(s[2*i+1])
		if high > 15 || low > 15 {
			return false
		}
		dst[i] = high<<4 | low
	}
	return true
}

func digit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	default:
		return 0xff
	}
}

// traceParent writes the traceparent that names span as the parent.
func traceParent(t *durward.Trace, span [8]byte) string {
	var b [55]byte
	copy(b[:], "00-")
	hex.Encode(b[3:35], t.TraceID[:])
	b[35] = '-'
	hex.Encode(b[36:52], span[:])
	b[52] = '-'
	hex.Encode(b[53:], []byte{t.Flags})
	return string(b[:])
}

var traceParentKey = []byte(exchange.MetaTraceParent) // never written to

// callerTrace returns the trace that the caller is in, and what else it says of it:
// `_meta` first (2026-07-28, basic/index "OpenTelemetry trace context"), then the
// headers. A trace that is malformed is none, and neither is what stands beside it.
func callerTrace(in *exchange.Inbound) (durward.Trace, exchange.TraceContext) {
	if meta := in.Params.Meta.Of(in.Params.Raw); bytes.Contains(meta, traceParentKey) { // most requests have none, and this is the fastest way to know
		parent, _ := wire.Unquote(wire.Get(meta, exchange.MetaTraceParent))
		if t, ok := parseTraceParent(parent); ok {
			state, _ := wire.Unquote(wire.Get(meta, exchange.MetaTraceState))
			baggage, _ := wire.Unquote(wire.Get(meta, exchange.MetaBaggage))
			return t, exchange.TraceContext{State: printable(state, maxTraceState), Baggage: printable(baggage, maxBaggage)}
		}
	}
	if in.Trace.Parent != "" {
		if t, ok := parseTraceParent(in.Trace.Parent); ok {
			return t, exchange.TraceContext{State: printable(in.Trace.State, maxTraceState), Baggage: printable(in.Trace.Baggage, maxBaggage)}
		}
	}
	return durward.Trace{}, exchange.TraceContext{}
}

// printable returns s if it may stand in a header and is not too long, else "".
func printable(s string, most int) string {
	if len(s) > most {
		return ""
	}
	for i := range len(s) {
		if (s[i] < ' ' || s[i] > '~') && s[i] != '\t' {
			return ""
		}
	}
	return s
}

// trace continues the caller's trace, or begins one if that is wanted, and returns
// a context that knows it. Without either it does nothing.
func (g *Gateway) trace(ctx context.Context, p *passage) context.Context {
	t, carried := callerTrace(p.in)
	if t.TraceID == [16]byte{} {
		if !g.traces {
			return ctx
		}
		t = g.newTrace()
	}
	t.SpanID = newSpan()
	p.call.Trace, p.passed.State, p.passed.baggage = t, carried.State, carried.Baggage
	return context.WithValue(ctx, traceKey{}, &p.call.Trace)
}

func (g *Gateway) newTrace() (t durward.Trace) {
	for t.TraceID == [16]byte{} {
		a, b := rand.Uint64(), rand.Uint64() // they must be unique, not secret
		for i := range 8 {
			t.TraceID[i], t.TraceID[i+8] = byte(a>>(8*i)), byte(b>>(8*i))
		}
	}
	if g.observer.Sample(t.TraceID) {
		t.Flags = flagSampled
	}
	return t
}

func newSpan() (s [8]byte) {
	for s == [8]byte{} {
		n := rand.Uint64()
		for i := range s {
			s[i] = byte(n >> (8 * i))
		}
	}
	return s
}

type traceKey struct{}

// TraceOf returns the trace of the request that ctx belongs to; false if it has
// none. Handlers of logs use it.
func TraceOf(ctx context.Context) (durward.Trace, bool) {
	t, ok := ctx.Value(traceKey{}).(*durward.Trace)
	if !ok {
		return durward.Trace{}, false
	}
	return *t, true
}
