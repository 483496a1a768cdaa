package worker

import (
	"net/http"
	"testing"

	"durward/internal/exchange"
	"durward/internal/wire"
)

// A trace context takes the place of the requester's in `_meta`, and leaves every
// other byte alone; without one nothing is touched.
func TestATraceContextReplacesTheRequesters(t *testing.T) {
	ours := &exchange.TraceContext{Parent: "ours", State: `a="b`, Baggage: "k=v"}
	const modern = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`
	for _, tt := range []struct {
		name, params string
		era          wire.Era
		trace        *exchange.TraceContext
		want         string
	}{
		{"none, none", `{"name":"n"}`, wire.Legacy, nil, `{"name":"n"}`},
		{"none of ours", `{"_meta":{"traceparent":"x","tracestate":"y","k":1e400}}`, wire.Legacy, nil, `{"_meta":{"traceparent":"x","tracestate":"y","k":1e400}}`},
		{"nothing else in it", `{"name":"n"}`, wire.Legacy, &exchange.TraceContext{Parent: "ours"}, `{"_meta":{"traceparent":"ours"},"name":"n"}`},
		{"all of it", `{"_meta":{"traceparent":"x","k" : 1e400,"tracestate":"y","baggage":"z"},"name":"n"}`, wire.Legacy, ours,
			`{"_meta":{"traceparent":"ours","tracestate":"a=\"b","baggage":"k=v","k" : 1e400},"name":"n"}`},
		{"what is not said goes", `{"_meta":{"tracestate":"y","baggage":"z"}}`, wire.Legacy, &exchange.TraceContext{Parent: "ours"}, `{"_meta":{"traceparent":"ours"}}`},
		{"a name in disguise", `{"_meta":{"trace\u0070arent":"x"}}`, wire.Legacy, &exchange.TraceContext{Parent: "ours"}, `{"_meta":{"traceparent":"ours"}}`},
		{"no params", ``, wire.Legacy, &exchange.TraceContext{Parent: "ours"}, `{"_meta":{"traceparent":"ours"}}`},
		{"modern", `{"_meta":{` + modern + `,"traceparent":"x"},"name":"n"}`, wire.Modern, ours,
			`{"_meta":{` + modern + `,"traceparent":"ours","tracestate":"a=\"b","baggage":"k=v"},"name":"n"}`},
	} {
		r := exchange.Request{Method: wire.MethodToolsCall, Trace: tt.trace}
		if tt.params != "" {
			if err := wire.ParseParams([]byte(tt.params), &r.Params); err != nil {
				t.Fatal(err)
			}
		}
		got := newDialect(tt.era, wire.RevisionModern, nil).appendParams(nil, 7, &r)
		if want := `,"params":` + tt.want; string(got) != want {
			t.Errorf("%s:\n%s\n%s", tt.name, got, want)
		}
	}
}

// Headers that requests share are not changed by one that has a trace, and what the
// configuration says of a server stays where the trace says nothing.
func TestATraceContextInHeaders(t *testing.T) {
	shared := http.Header{"Accept": {"x"}, "Baggage": {"tenant=1"}}
	got := withTrace(shared, &exchange.TraceContext{Parent: "p", State: "s"})
	if got.Get("Traceparent") != "p" || got.Get("Tracestate") != "s" || got.Get("Baggage") != "tenant=1" || got.Get("Accept") != "x" {
		t.Errorf("%v", got)
	}
	if len(shared) != 2 || len(withTrace(shared, nil)) != 2 {
		t.Errorf("the shared headers were changed: %v", shared)
	}
}
