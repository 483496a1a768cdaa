package worker_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream/worker"
	"durward/internal/wire"
)

// reset ends a connection in the hard way.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // the test fails if that does not work
	}
	conn.Close()
}

func hijacked(w http.ResponseWriter) net.Conn {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	return conn
}

// dialThrough opens a streamable connection whose requests go through rt.
func dialThrough(t *testing.T, rt http.RoundTripper, url string, edit ...func(*exchange.LinkSpec)) *webConn {
	t.Helper()
	return dialBy(t, func(spec exchange.LinkSpec, _ http.RoundTripper, sink exchange.Sink) exchange.Link {
		return worker.OpenHTTP(spec, rt, sink)
	}, "direct", url, edit...)
}

// A server may be lost before it has a request, while it gets it, and after.
func TestDeliveryOfARequestThatIsLost(t *testing.T) {
	big := `{"name":"a","arguments":{"x":"` + strings.Repeat("x", 8<<20) + `"}}`
	s := newWebServer(t, modern(func(w http.ResponseWriter, _ *seen, _ *http.Request) { reset(hijacked(w)) }))
	half := make(chan struct{}, 8)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	readers.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.CopyN(io.Discard, conn, 64<<10) // the beginning of the body is among it
			half <- struct{}{}
			reset(conn)
		}
	})
	t.Cleanup(func() {
		listener.Close()
		readers.Wait()
	})
	var to atomic.Pointer[string] // where connections lead
	direct := func(addr string) { to.Store(&addr) }
	direct(s.Listener.Addr().String())
	rt := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, *to.Load())
	}}
	c := dialThrough(t, rt, s.URL)
	c.opened()

	direct("127.0.0.1:1")
	c.send(1, wire.MethodToolsCall, big)
	c.fault(1, durward.Unavailable, false, "cannot be reached")

	direct(listener.Addr().String())
	c.send(2, wire.MethodToolsCall, big)
	if f := c.fault(2, durward.Unknown, true, "may have been executed"); !f.Again {
		t.Error("a call that was lost in the middle is not offered for another attempt")
	}
	<-half

	direct(s.Listener.Addr().String())
	c.send(3, wire.MethodToolsCall, big)
	if f := c.fault(3, durward.Unknown, true, "may have been executed"); !f.Again {
		t.Error("a call whose answer was lost is not offered for another attempt")
	}
	if n := s.count(named(wire.MethodToolsCall)); n != 1 {
		t.Errorf("the server had %d calls", n)
	}
}

// A connection that breaks while it is being made secure has carried nothing.
func TestNothingIsDeliveredBeforeTheHandshakeOfTLS(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var acceptor sync.WaitGroup
	acceptor.Go(func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			reset(conn)
		}
	})
	t.Cleanup(func() {
		listener.Close()
		acceptor.Wait()
	})
	c := dialWeb(t, "direct", "https://"+listener.Addr().String()+"/mcp")
	closed := c.end()
	checkFault(t, &closed.Fault, durward.Unavailable, false, "cannot be reached")
}

// tracing is a RoundTripper that opens a session, and then fails requests at a
// point that its hooks tell of.
type tracing struct {
	fail func(*httptrace.ClientTrace)
}

var errBroken = errors.New("broken")

// RoundTrip implements http.RoundTripper.
func (rt tracing) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	var m wire.Message
	if err := wire.Parse(body, wire.FromClient, &m); err != nil {
		return nil, err
	}
	if m.Method == wire.MethodDiscover {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: r, ContentLength: -1,
			Body: io.NopCloser(strings.NewReader(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + discoverResult + `}`))}, nil
	}
	rt.fail(httptrace.ContextClientTrace(r.Context()))
	return nil, errBroken
}

func TestWhatATransportTellsDecidesWhatWasDelivered(t *testing.T) {
	for name, tt := range map[string]struct {
		fail      func(*httptrace.ClientTrace)
		delivered bool
	}{
		"nothing is told":                    {func(*httptrace.ClientTrace) {}, true},
		"no connection":                      {func(h *httptrace.ClientTrace) { h.GetConn("h") }, false},
		"a connection, and not a byte on it": {func(h *httptrace.ClientTrace) { h.GetConn("h"); got(h) }, false},
		"a header field":                     {func(h *httptrace.ClientTrace) { h.GetConn("h"); got(h); h.WroteHeaderField("Host", nil) }, true},
		"another connection, and nothing on it": {func(h *httptrace.ClientTrace) {
			h.GetConn("h")
			got(h)
			h.WroteHeaderField("Host", nil)
			h.GetConn("h")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := dialThrough(t, tracing{tt.fail}, "http://h/mcp")
			c.opened()
			c.send(1, wire.MethodToolsCall, `{"name":"a"}`)
			kind := durward.Unavailable
			if tt.delivered {
				kind = durward.Unknown
			}
			c.fault(1, kind, tt.delivered, "broken")
		})
	}
}

func got(h *httptrace.ClientTrace) {
	if h.GotConn != nil {
		h.GotConn(httptrace.GotConnInfo{})
	}
}

// A header of this name makes http.Transport repeat a POST on its own.
func TestAHeaderDoesNotMakeACallRunTwice(t *testing.T) {
	s := newWebServer(t, modern(func(w http.ResponseWriter, r *seen, _ *http.Request) {
		if name, _ := r.Params.String(r.Params.Name); name == "kept" {
			sendJSON(w, http.StatusOK, resultFor(r, `{}`))
			return
		}
		reset(hijacked(w))
	}))
	for _, header := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		c := dialWeb(t, "direct", s.URL, func(s *exchange.LinkSpec) { s.Headers = map[string]string{header: "k1"} })
		c.opened()
		c.result(1, wire.MethodToolsCall, `{"name":"kept"}`) // the next goes over the same connection
		c.send(2, wire.MethodToolsCall, `{"name":"lost"}`)
		c.fault(2, durward.Unknown, true)
	}
	lost := func(r *seen) bool { return strings.Contains(r.Body, `"lost"`) }
	if n := s.count(lost); n != 2 {
		t.Errorf("2 calls reached the server %d times", n)
	}
	if got := s.wait(t, "call", lost).Header.Get("Idempotency-Key"); got != "k1" {
		t.Errorf("the header arrived as %q", got)
	}
}

// Frames of HTTP/2 (RFC 9113 §6), as far as a server needs them that resets calls.
const (
	frameData, frameHeaders, frameReset, frameSettings, frameWindow = 0, 1, 3, 4, 8
	flagEnd, flagAck, flagEndHeaders                                = 1, 1, 4
)

// resetter speaks HTTP/2. It takes every tools/call and resets its stream.
type resetter struct {
	code  uint32
	calls atomic.Int32
}

func (s *resetter) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	if _, err := io.CopyN(io.Discard, in, 24); err != nil { // the preface
		return
	}
	s.frame(conn, frameSettings, 0, 0, nil)
	bodies := map[uint32][]byte{}
	for {
		head := make([]byte, 9)
		if _, err := io.ReadFull(in, head); err != nil {
			return
		}
		kind, flags, stream := head[3], head[4], binary.BigEndian.Uint32(head[5:])
		payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(in, payload); err != nil {
			return
		}
		switch {
		case kind == frameSettings && flags&flagAck == 0:
			s.frame(conn, frameSettings, flagAck, 0, nil)
		case kind == frameData:
			if bodies[stream] = append(bodies[stream], payload...); flags&flagEnd != 0 {
				s.answer(conn, stream, bodies[stream])
			}
		}
	}
}

func (s *resetter) answer(conn net.Conn, stream uint32, body []byte) {
	var m wire.Message
	if wire.Parse(body, wire.FromClient, &m) != nil || m.Method == wire.MethodToolsCall {
		s.calls.Add(1)
		s.frame(conn, frameReset, 0, stream, binary.BigEndian.AppendUint32(nil, s.code))
		return
	}
	status := []byte{0x88}                  // :status 200
	status = append(status, 0x0f, 0x10, 16) // content-type, not indexed
	status = append(status, []byte("application/json")...)
	s.frame(conn, frameHeaders, flagEndHeaders, stream, status)
	s.frame(conn, frameData, flagEnd, stream, []byte(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+discoverResult+`}`))
}

func (s *resetter) frame(conn net.Conn, kind, flags byte, stream uint32, payload []byte) {
	n := len(payload)
	head := []byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags}
	head = binary.BigEndian.AppendUint32(head, stream)
	_, _ = conn.Write(append(head, payload...)) // a client that is gone is noticed by reading
}

// http.Transport repeats a request whose stream the server reset with certain
// codes, one of which says nothing of whether it was executed (RFC 9113 §8.7).
func TestAResetStreamOfHTTP2IsNotSentAgain(t *testing.T) {
	const protocolError, refused = 1, 7
	for name, code := range map[string]uint32{"PROTOCOL_ERROR": protocolError, "REFUSED_STREAM": refused} {
		t.Run(name, func(t *testing.T) {
			secure := httptest.NewTLSServer(nil) // for its certificate
			secure.Close()
			listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: secure.TLS.Certificates, NextProtos: []string{"h2"}})
			if err != nil {
				t.Fatal(err)
			}
			s := &resetter{code: code}
			over, end := context.WithCancel(context.Background())
			var conns sync.WaitGroup
			conns.Go(func() {
				for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
					context.AfterFunc(over, func() { conn.Close() })
					conns.Go(func() { s.serve(conn) })
				}
			})
			rt := secure.Client().Transport.(*http.Transport).Clone()
			rt.ForceAttemptHTTP2 = true
			t.Cleanup(func() {
				listener.Close()
				rt.CloseIdleConnections()
				end() // the client may not know yet that its connection is idle
				conns.Wait()
			})
			c := dialThrough(t, rt, "https://"+listener.Addr().String()+"/mcp")
			c.opened()
			c.send(1, wire.MethodToolsCall, `{"name":"a"}`)
			if f := c.fault(1, durward.Unknown, true); !f.Again {
				t.Errorf("%+v", f)
			}
			if n := s.calls.Load(); n != 1 {
				t.Errorf("the server had the call %d times", n)
			}
		})
	}
}

func TestWhatIsWorthAnotherAttempt(t *testing.T) {
	type answer struct {
		status     int
		retryAfter string
	}
	soon := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	past := time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)
	cases := []struct {
		answer
		again       bool
		least, most time.Duration // of RetryAfter
	}{
		{answer{429, "7"}, true, 7 * time.Second, 7 * time.Second},
		{answer{429, ""}, true, time.Second, time.Second},
		{answer{429, "0"}, true, 100 * time.Millisecond, 100 * time.Millisecond},
		{answer{429, "soon"}, true, time.Second, time.Second},
		{answer{429, "-5"}, true, time.Second, time.Second},
		{answer{429, "4294967295"}, true, 24 * time.Hour, 24 * time.Hour},
		{answer{429, "99999999999999999999"}, true, time.Second, time.Second},
		{answer{429, past}, true, 100 * time.Millisecond, 100 * time.Millisecond},
		{answer{503, soon}, true, 30 * time.Minute, time.Hour},
		{answer{503, "3"}, true, 3 * time.Second, 3 * time.Second},
		{answer{503, ""}, true, 0, 0},
		{answer{502, ""}, true, 0, 0},
		{answer{504, ""}, false, 0, 0}, // somebody's patience ended, the server may be at it
		{answer{500, ""}, false, 0, 0},
		{answer{200, ""}, false, 0, 0},
	}
	s := newWebServer(t, modern(func(w http.ResponseWriter, r *seen, _ *http.Request) {
		tc := cases[len(r.ID)-1] // the id has as many digits
		if tc.retryAfter != "" {
			w.Header().Set("Retry-After", tc.retryAfter)
		}
		w.WriteHeader(tc.status)
	}))
	both(t, func(t *testing.T, via string) {
		c := dialWeb(t, via, s.URL)
		c.opened()
		id := uint64(1)
		for _, tc := range cases {
			c.send(id, wire.MethodToolsCall, `{"name":"a"}`)
			f := c.response(id).Fault
			if f == nil || !f.Delivered || f.Again != tc.again || f.RetryAfter < tc.least || f.RetryAfter > tc.most {
				t.Errorf("%d %q: %+v", tc.status, tc.retryAfter, f)
			}
			id *= 10
		}
	})
}
