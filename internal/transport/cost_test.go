package transport_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"durward"
	"durward/internal/exchange"
	"durward/internal/identity"
	"durward/internal/seal"
	"durward/internal/session"
	"durward/internal/transport"
)

// tinyCore answers at once, without allocating.
type tinyCore struct{ result []byte }

func (c *tinyCore) Serve(context.Context, *exchange.Inbound, exchange.Stream) exchange.Reply {
	return exchange.Reply{Result: c.result}
}
func (c *tinyCore) Notify(context.Context, *exchange.Inbound) {}
func (c *tinyCore) Attach(durward.Caller, durward.Route, exchange.Feed) func() {
	return func() {}
}

// bareEdge is an edge in front of a tinyCore.
func bareEdge(t testing.TB, size int) *transport.Edge {
	t.Helper()
	gate, err := identity.New(identity.Options{Tokens: []identity.Token{{Principal: "local", Secret: secret}}})
	if err != nil {
		t.Fatal(err)
	}
	core := &tinyCore{result: []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("x", size) + `"}],"resultType":"complete"}`)}
	ring, err := seal.NewRing(durward.NewSealKey())
	if err != nil {
		t.Fatal(err)
	}
	edge, err := transport.New(transport.Options{Core: core, Auth: gate, Sessions: transport.SessionsOf(session.New(session.Options{Sealer: sealer{ring}}))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { edge.Close() })
	return edge
}

// nullWriter costs nothing.
type nullWriter struct {
	header http.Header
	status int
	n      int
}

func (w *nullWriter) Header() http.Header         { return w.header }
func (w *nullWriter) WriteHeader(status int)      { w.status = status }
func (w *nullWriter) Write(p []byte) (int, error) { w.n += len(p); return len(p), nil }

// repeatable is a request that can be served again and again.
type repeatable struct {
	r    *http.Request
	body string
	from strings.Reader
}

func newRepeatable(t testing.TB, body string, headers ...string) *repeatable {
	t.Helper()
	r := httptest.NewRequest("POST", "http://127.0.0.1:8484/mcp", strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:5"
	headers = append(headers, "Authorization", "Bearer "+secret, "Content-Type", "application/json",
		"Accept", "application/json, text/event-stream", "User-Agent", "x", "Accept-Encoding", "gzip")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	return &repeatable{r: r.WithContext(ctx), body: body}
}

func (q *repeatable) serve(h http.Handler, w *nullWriter) {
	q.from.Reset(q.body)
	q.r.Body = io.NopCloser(&q.from)
	clear(w.header)
	w.status = 0
	h.ServeHTTP(w, q.r)
}

func modernCall(t testing.TB) *repeatable {
	return newRepeatable(t, modernBody("12345", "tools/call", `,"name":"echo","arguments":{"text":"hello"}`), "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "echo")
}

func legacyCallOf(t testing.TB, edge *transport.Edge) *repeatable {
	t.Helper()
	w := &nullWriter{header: http.Header{}}
	newRepeatable(t, initializeLine).serve(edge, w)
	id := w.header.Get("Mcp-Session-Id")
	if id == "" {
		t.Fatal("no session")
	}
	return newRepeatable(t, legacyCall("12345", "echo", `,"arguments":{"text":"hello"}`), "Mcp-Session-Id", id, "MCP-Protocol-Version", "2025-06-18")
}

// TestAllocationsOfTheHotPath: what one call may allocate in the edge. Raise a
// number only with a reason.
func TestAllocationsOfTheHotPath(t *testing.T) {
	edge := bareEdge(t, 100)
	w := &nullWriter{header: http.Header{}}
	for name, tt := range map[string]struct {
		q    *repeatable
		most float64
	}{"modern": {modernCall(t), 12}, "legacy": {legacyCallOf(t, edge), 14}} {
		tt.q.serve(edge, w)
		if w.status != 200 {
			t.Fatal(name, w.status)
		}
		n := testing.AllocsPerRun(1000, func() { tt.q.serve(edge, w) }) - 1 // NopCloser
		t.Logf("%s: %v allocations", name, n)
		if n > tt.most {
			t.Errorf("%s: %v allocations, at most %v", name, n, tt.most)
		}
	}
}

func BenchmarkServe(b *testing.B) {
	for _, size := range []struct {
		name string
		n    int
	}{{"tiny", 10}, {"64KB", 64 << 10}} {
		for _, era := range []string{"modern", "legacy"} {
			b.Run(era+"/"+size.name, func(b *testing.B) {
				edge := bareEdge(b, size.n)
				b.ReportAllocs()
				q := modernCall(b)
				if era == "legacy" {
					q = legacyCallOf(b, edge)
				}
				w := &nullWriter{header: http.Header{}}
				for b.Loop() {
					q.serve(edge, w)
				}
			})
		}
	}
}
