package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"durward"
	"durward/gateway"
)

// sink is a ResponseWriter that keeps nothing.
type sink struct {
	header http.Header
	status int
	n      int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(p []byte) (int, error) { s.n += len(p); return len(p), nil }

const echoCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"h__echo","arguments":{"text":"hello"},` +
	`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

// directly calls a tool through the handler, without the net/http around it.
func directly(h http.Handler, r *http.Request, body *strings.Reader) int {
	body.Reset(echoCall)
	r.Body = io.NopCloser(body)
	w := &sink{header: http.Header{}}
	h.ServeHTTP(w, r)
	return w.n
}

func prepared(tb testing.TB) (h http.Handler, r *http.Request, body *strings.Reader) {
	tb.Helper()
	return preparedWith(tb, gateway.Options{})
}

func preparedWith(tb testing.TB, opt gateway.Options) (h http.Handler, r *http.Request, body *strings.Reader) {
	tb.Helper()
	opt.Servers = []durward.Server{hostileServer("h")}
	opt.Access.NoAuth = true
	g, err := gateway.New(opt)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := g.Close(); err != nil {
			tb.Error(err)
		}
	})
	body = strings.NewReader(echoCall)
	r, err = http.NewRequest(http.MethodPost, "http://127.0.0.1:8484/mcp", body)
	if err != nil {
		tb.Fatal(err)
	}
	r.RemoteAddr = "127.0.0.1:4711"
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "h__echo",
	} {
		r.Header.Set(k, v)
	}
	if err := g.RefreshServer(tb.Context(), "h"); err != nil { // returns when its lists are there
		tb.Fatal(err)
	}
	if n := directly(g.Handler(), r, body); n < 50 {
		tb.Fatalf("the first call brought %d bytes", n)
	}
	return g.Handler(), r, body
}

// maxAllocs is what one call may allocate between the HTTP server and the pipe
// of the server, both ways, the test's own request included.
const maxAllocs = 27

// allocations is what one call allocates: the least of several measurements, since
// they count what the rest of the process allocates meanwhile.
func allocations(call func()) float64 {
	n := testing.AllocsPerRun(200, call)
	for range 4 {
		n = min(n, testing.AllocsPerRun(200, call))
	}
	return n
}

func TestAllocationsOfACall(t *testing.T) {
	h, r, body := prepared(t)
	n := allocations(func() { directly(h, r, body) })
	t.Logf("%.0f allocations", n)
	if n > maxAllocs {
		t.Errorf("%.0f allocations a call, at most %d are allowed", n, maxAllocs)
	}
}

func BenchmarkCall(b *testing.B) {
	h, r, body := prepared(b)
	b.ReportAllocs()
	for b.Loop() {
		directly(h, r, body)
	}
}
