package worker_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream/worker"
	"durward/internal/wire"
)

// scripted is a server that answers the handshake properly and everything else
// with one given response.
type scripted struct {
	era             wire.Era
	status          int
	media, encoding string
	body            []byte
	handshake       bool // the handshake gets it as well
	location        string
}

// RoundTrip implements http.RoundTripper.
func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		r.Body.Close()
	}
	h := http.Header{}
	resp := &http.Response{StatusCode: 200, Header: h, Request: r, ContentLength: -1}
	var m wire.Message
	_ = wire.Parse(body, wire.FromClient, &m) // a GET has none
	reply := func(result string) (*http.Response, error) {
		h.Set("Content-Type", "application/json")
		resp.Body = io.NopCloser(strings.NewReader(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`))
		return resp, nil
	}
	switch {
	case s.handshake:
	case m.Method == wire.MethodDiscover && s.era == wire.Modern:
		return reply(discoverResult)
	case m.Method == wire.MethodInitialize:
		h.Set("Mcp-Session-Id", "s")
		return reply(initializeResult)
	case m.Method == wire.NoteInitialized:
		resp.StatusCode, resp.Body = 202, http.NoBody
		return resp, nil
	}
	resp.StatusCode = s.status
	h.Set("Content-Type", s.media)
	h.Set("Content-Encoding", s.encoding)
	if s.location != "" {
		h.Set("Location", s.location)
	}
	resp.Body = io.NopCloser(bytes.NewReader(s.body))
	return resp, nil
}

// counting is a sink that checks what must hold whatever a server does.
type counting struct {
	t      *testing.T
	mu     sync.Mutex // guards the fields below
	seen   map[uint64]int
	opened int
	done   chan struct{} // closed with Closed
	reply  chan struct{} // closed with the first response
	open   chan struct{} // closed with Opened
}

// Receive implements exchange.Sink.
func (c *counting) Receive(m exchange.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.done:
		c.t.Errorf("%T after Closed", m)
	default:
	}
	switch m := m.(type) {
	case *exchange.Opened:
		c.opened++
		close(c.open)
	case *exchange.Response:
		c.seen[m.ID]++
		if m.Fault == nil && (m.Result == nil) == (m.Error == nil) {
			c.t.Errorf("neither or both: %+v", m)
		}
		if m.Fault != nil && (m.Fault.Message == "" || len(m.Fault.Message) > 2000 || strings.ContainsAny(m.Fault.Message, "\n\x00")) {
			c.t.Errorf("a bad message: %q", m.Fault.Message)
		}
		for _, raw := range [][]byte{m.Result, m.Error} {
			var check wire.Message
			if raw != nil && wire.Parse(wire.AppendResult(nil, []byte("1"), raw), wire.FromServer, &check) != nil {
				c.t.Errorf("no JSON: %q", raw)
			}
		}
		if m.ID == 1 {
			close(c.reply)
		}
	case *exchange.Closed:
		close(c.done)
	}
}

func FuzzHTTPResponse(f *testing.F) {
	const ok = `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}`
	for _, era := range []bool{false, true} {
		f.Add(era, false, 200, "application/json", "", "", []byte(ok))
		f.Add(era, false, 200, "text/event-stream", "", "", []byte("data: "+ok+"\n\n"))
		f.Add(era, false, 200, "text/event-stream", "gzip", "", zipped("id: 1\nretry: 1\ndata:\n\ndata: "+ok+"\n\n"))
		f.Add(era, false, 200, "text/event-stream", "", "", []byte("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1}}\r\rdata: {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n\n"))
		f.Add(era, false, 404, "text/plain", "", "", []byte("no"))
		f.Add(era, false, 400, "application/json", "", "", []byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"x"}}`))
		f.Add(era, false, 503, "", "br", "", []byte("\xff\x00"))
		f.Add(era, false, 307, "", "", "/x", []byte(nil))
		f.Add(era, true, 200, "text/event-stream", "", "", []byte("event: endpoint\ndata: /m\n\n"))
		f.Add(era, true, 302, "", "", "//evil/", []byte(nil))
	}
	f.Fuzz(func(t *testing.T, modern, handshake bool, status int, media, encoding, location string, body []byte) {
		if status < 200 || status > 599 || len(body) > 1<<16 || strings.ContainsAny(media+encoding+location, "\r\n") {
			return
		}
		if bytes.Contains(body, []byte("id")) && bytes.Contains(body, []byte("retry")) && encoding == "" && !modern && len(body)%4 != 0 {
			return // waits between attempts; a quarter of them is enough
		}
		s := &scripted{status: status, media: media, encoding: encoding, location: location, body: body, handshake: handshake, era: wire.Legacy}
		if modern {
			s.era = wire.Modern
		}
		c := &counting{t: t, seen: map[uint64]int{}, done: make(chan struct{}), reply: make(chan struct{}), open: make(chan struct{})}
		spec := exchange.LinkSpec{Server: "web", URL: "http://h/mcp", Era: s.era, MaxMessage: 1 << 14, InitTimeout: patience}
		link := worker.OpenHTTP(spec, s, c)
		select {
		case <-c.open:
			call := &exchange.Call{ID: 1}
			call.Method, call.Deadline = wire.MethodToolsCall, time.Now().Add(200*time.Millisecond)
			if err := link.Send(call); err != nil {
				if durward.KindOf(err) != durward.Unavailable {
					t.Errorf("%v", err)
				}
				break
			}
			<-c.reply
		case <-c.done:
		}
		link.Close()
		<-c.done
		if c.opened > 1 || c.seen[1] > 1 || len(c.seen) > 1 {
			t.Errorf("opened %d, answers %v", c.opened, c.seen)
		}
	})
}
