package gateway

import (
	"durward/internal/exchange"
	"durward/internal/wire"
)

// mirrored returns the headers that mirror the arguments a tool's schema names.
func mirrored(params []wire.HeaderParam, arguments []byte) []exchange.Header {
	values := wire.HeaderValues(params, arguments)
	out := make([]exchange.Header, len(values))
	for i, v := range values {
		out[i] = exchange.Header(v)
	}
	return out
}

// verifyHeaders checks what a modern HTTP client mirrored against the
// arguments: a header that says something else than the body is refused, so
// that nobody who routes or judges by headers can be deceived.
func verifyHeaders(params []wire.HeaderParam, p *passage) error {
	if p.in.ParamHeaders == nil {
		return nil // not an HTTP request of the modern era
	}
	sent := make([]wire.HeaderValue, len(p.in.ParamHeaders))
	for i, h := range p.in.ParamHeaders {
		sent[i] = wire.HeaderValue(h)
	}
	return wire.CheckHeaders(params, p.call.Arguments, sent)
}
