package worker_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"durward/internal/exchange"
	"durward/internal/upstream/worker"
	"durward/internal/wire"
)

// replySink hands responses to the benchmark.
type replySink struct {
	opened  chan struct{}
	replies chan *exchange.Response
	closed  chan struct{}
	notes   chan *exchange.Notification // nil: they are dropped
}

// Receive implements exchange.Sink.
func (s *replySink) Receive(m exchange.Message) {
	switch m := m.(type) {
	case *exchange.Opened:
		close(s.opened)
	case *exchange.Response:
		s.replies <- m
	case *exchange.Notification:
		if s.notes != nil {
			s.notes <- m
		}
	case *exchange.Closed:
		close(s.closed)
	}
}

// inMemory answers without a network, so that what is measured is ours.
type inMemory struct{ stream bool }

// RoundTrip implements http.RoundTripper.
func (p inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	r.Body.Close()
	var m wire.Message
	if err := wire.Parse(body, wire.FromClient, &m); err != nil {
		return nil, err
	}
	result := `{"resultType":"complete","content":[{"type":"text","text":"hello"}]}`
	if m.Method == wire.MethodDiscover {
		result = discoverResult
	}
	text := `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`
	resp := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: r, ContentLength: int64(len(text))}
	if p.stream {
		resp.Header.Set("Content-Type", "text/event-stream")
		text, resp.ContentLength = "event: message\ndata: "+text+"\n\n", -1
	}
	resp.Body = io.NopCloser(strings.NewReader(text))
	return resp, nil
}

func openInMemory(tb testing.TB, rt http.RoundTripper) (call func(id uint64)) {
	tb.Helper()
	s := &replySink{opened: make(chan struct{}), replies: make(chan *exchange.Response, 1), closed: make(chan struct{})}
	link := worker.OpenHTTP(exchange.LinkSpec{Server: "web", URL: "http://h/mcp", Era: wire.Modern}, rt, s)
	tb.Cleanup(func() {
		link.Close()
		<-s.closed
	})
	<-s.opened
	var params wire.Params
	if err := wire.ParseParams([]byte(`{"name":"echo","arguments":{"text":"hello"}}`), &params); err != nil {
		tb.Fatal(err)
	}
	return func(id uint64) {
		m := &exchange.Call{ID: id, Request: exchange.Request{Method: wire.MethodToolsCall, Params: params}}
		if err := link.Send(m); err != nil {
			tb.Fatal(err)
		}
		if r := <-s.replies; r.Fault != nil || r.ID != id {
			tb.Fatalf("%+v", r)
		}
	}
}

func BenchmarkCallOverHTTP(b *testing.B) {
	for name, stream := range map[string]bool{"json": false, "stream": true} {
		b.Run(name, func(b *testing.B) {
			call := openInMemory(b, inMemory{stream})
			b.ReportAllocs()
			id := uint64(0)
			for b.Loop() {
				id++
				call(id)
			}
		})
	}
}

// The round tripper of the test alone makes about a dozen of these.
func TestCallOverHTTPAllocates(t *testing.T) {
	for name, tc := range map[string]struct {
		stream bool
		most   float64
	}{"json": {false, 36}, "stream": {true, 42}} {
		call := openInMemory(t, inMemory{tc.stream})
		id := uint64(0)
		if n := testing.AllocsPerRun(200, func() { id++; call(id) }); n > tc.most {
			t.Errorf("%s: %v allocations for a call, at most %v", name, n, tc.most)
		}
	}
}
