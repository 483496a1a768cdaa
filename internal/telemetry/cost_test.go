package telemetry_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"durward"
	"durward/gateway"
	"durward/internal/telemetry"
	"durward/internal/testkit/hostile"
)

// nowhere is a ResponseWriter that keeps nothing.
type nowhere struct {
	header http.Header
	n      int
}

func (n *nowhere) Header() http.Header         { return n.header }
func (*nowhere) WriteHeader(int)               {}
func (n *nowhere) Write(p []byte) (int, error) { n.n += len(p); return len(p), nil }

const benchCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"h__echo","arguments":{"text":"hello"},` +
	`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

// BenchmarkCall is one call through the gateway to a stdio server: without an
// observer, with metrics, and with a trace that is sent to a collector.
func BenchmarkCall(b *testing.B) {
	swallow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	b.Cleanup(swallow.Close)
	for _, mode := range []struct {
		name string
		otlp *telemetry.OTLP
	}{{"off", nil}, {"metrics", &telemetry.OTLP{}}, {"traces", &telemetry.OTLP{Endpoint: swallow.URL, Traces: true, Sample: 1}}} {
		b.Run(mode.name, func(b *testing.B) {
			opt := gateway.Options{}
			if mode.otlp != nil {
				tel, err := telemetry.New(telemetry.Options{LogTo: io.Discard, Level: "info", Redact: redact, OTLP: *mode.otlp})
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { tel.Close() })
				opt.Observer = tel
			}
			benchmarkCalls(b, opt)
		})
	}
}

func benchmarkCalls(b *testing.B, opt gateway.Options) {
	command, args := hostile.Command()
	opt.Servers = []durward.Server{{Name: "h", Command: command, Args: args}}
	opt.Access.NoAuth = true
	g, err := gateway.New(opt)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { g.Close() })
	body := strings.NewReader(benchCall)
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://127.0.0.1:8484/mcp", body)
	if err != nil {
		b.Fatal(err)
	}
	r.RemoteAddr = "127.0.0.1:4711"
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "h__echo",
	} {
		r.Header.Set(k, v)
	}
	once := func() int {
		body.Reset(benchCall)
		r.Body = io.NopCloser(body)
		w := &nowhere{header: http.Header{}}
		g.Handler().ServeHTTP(w, r)
		return w.n
	}
	if n := once(); n < 80 { // the server comes up
		b.Fatalf("an answer of %d bytes", n)
	}
	b.ReportAllocs()
	for b.Loop() {
		once()
	}
}
