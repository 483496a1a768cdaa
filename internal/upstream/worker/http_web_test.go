package worker_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream/worker"
	"durward/internal/wire"
)

type openFunc func(exchange.LinkSpec, http.RoundTripper, exchange.Sink) exchange.Link

func webTransport(t *testing.T) http.RoundTripper {
	t.Helper()
	rt := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 32}
	t.Cleanup(rt.CloseIdleConnections)
	return rt
}

// webConn is the core's side of a connection in a test.
type webConn struct {
	t    *testing.T
	link exchange.Link

	mu     sync.Mutex // guards the fields below
	more   *sync.Cond
	got    []exchange.Message
	closed bool
	hears  bool // a GET was answered
}

// listening notes when a server has answered a GET, by which time it knows where
// to send what it says by itself.
type listening struct {
	http.RoundTripper
	of *webConn
}

// RoundTrip implements http.RoundTripper.
func (l listening) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.RoundTripper.RoundTrip(r)
	if r.Method == http.MethodGet && err == nil {
		l.of.mu.Lock()
		l.of.hears = true
		l.of.mu.Unlock()
		l.of.more.Broadcast()
	}
	return resp, err
}

// listens waits until the server's own stream stands. A connection lets calls in
// without it when it is late.
func (c *webConn) listens() {
	c.t.Helper()
	c.until("stream of the server's own", func() bool { return c.hears })
}

// until waits for what, which is evaluated under mu.
func (c *webConn) until(named string, what func() bool) {
	c.t.Helper()
	timer := time.AfterFunc(patience, c.more.Broadcast)
	defer timer.Stop()
	end := time.Now().Add(patience)
	c.mu.Lock()
	defer c.mu.Unlock()
	for !what() {
		if c.closed || time.Now().After(end) {
			c.t.Fatalf("no %s; got %s", named, describe(c.got))
		}
		c.more.Wait()
	}
}

// Receive implements exchange.Sink.
func (c *webConn) Receive(m exchange.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		c.t.Errorf("%T after Closed", m)
	}
	_, c.closed = m.(*exchange.Closed)
	c.got = append(c.got, m)
	c.more.Broadcast()
}

// dialWeb opens a connection over streamable HTTP and closes it at the end of the
// test, after which no goroutine may be left.
func dialWeb(t *testing.T, via, url string, edit ...func(*exchange.LinkSpec)) *webConn {
	t.Helper()
	return dialBy(t, worker.OpenHTTP, via, url, edit...)
}

func dialBy(t *testing.T, open openFunc, via, url string, edit ...func(*exchange.LinkSpec)) *webConn {
	t.Helper()
	c := &webConn{t: t}
	c.more = sync.NewCond(&c.mu)
	spec := exchange.LinkSpec{Server: "web", URL: url, InitTimeout: patience, ClientInfo: []byte(`{"name":"durward","version":"1"}`), Capabilities: []byte(`{"elicitation":{},"sampling":{}}`)}
	for _, f := range edit {
		f(&spec)
	}
	rt := listening{webTransport(t), c}
	c.link = openVia(t, via, spec, c, func(spec exchange.LinkSpec, sink exchange.Sink) exchange.Link { return open(spec, rt, sink) })
	t.Cleanup(func() {
		c.link.Close()
		await(c, "Closed", func(*exchange.Closed) bool { return true })
	})
	return c
}

func legacyEra(s *exchange.LinkSpec) { s.Era = wire.Legacy }
func modernEra(s *exchange.LinkSpec) { s.Era = wire.Modern }

// await returns the first message of type M that f accepts, and fails the test when none comes.
func await[M exchange.Message](c *webConn, what string, f func(M) bool) (found M) {
	c.t.Helper()
	at := 0
	c.until(what, func() bool {
		for ; at < len(c.got); at++ {
			if m, ok := c.got[at].(M); ok && f(m) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

func describe(got []exchange.Message) string {
	var b strings.Builder
	for _, m := range got[max(0, len(got)-12):] {
		text, _ := json.Marshal(m)
		fmt.Fprintf(&b, "\n%T %.300s", m, text)
	}
	return b.String()
}

func (c *webConn) opened() *exchange.Opened {
	c.t.Helper()
	return await(c, "Opened", func(*exchange.Opened) bool { return true })
}

func (c *webConn) end() *exchange.Closed {
	c.t.Helper()
	return await(c, "Closed", func(*exchange.Closed) bool { return true })
}

func (c *webConn) response(id uint64) *exchange.Response {
	c.t.Helper()
	return await(c, fmt.Sprintf("response %d", id), func(r *exchange.Response) bool { return r.ID == id })
}

func (c *webConn) note(method string) *exchange.Notification {
	c.t.Helper()
	return await(c, method, func(n *exchange.Notification) bool { return n.Method == method })
}

// send sends a call; params may be "".
func (c *webConn) send(id uint64, method, params string, edit ...func(*exchange.Call)) {
	c.t.Helper()
	m := &exchange.Call{ID: id}
	m.Method = method
	if params != "" {
		if err := wire.ParseParams([]byte(params), &m.Params); err != nil {
			c.t.Fatal(err)
		}
	}
	m.Client.Capabilities = []byte(`{"elicitation":{}}`)
	for _, f := range edit {
		f(m)
	}
	if err := c.link.Send(m); err != nil {
		c.t.Fatal(err)
	}
}

func (c *webConn) call(id uint64, method, params string, edit ...func(*exchange.Call)) *exchange.Response {
	c.t.Helper()
	c.send(id, method, params, edit...)
	return c.response(id)
}

func (c *webConn) result(id uint64, method, params string, edit ...func(*exchange.Call)) string {
	c.t.Helper()
	r := c.call(id, method, params, edit...)
	if r.Fault != nil || r.Error != nil {
		c.t.Fatalf("%s: %+v %s", method, r.Fault, r.Error)
	}
	return string(r.Result)
}

func (c *webConn) fault(id uint64, kind durward.Kind, delivered bool, says ...string) *exchange.Fault {
	c.t.Helper()
	f := c.response(id).Fault
	if f == nil {
		c.t.Fatalf("call %d has an answer", id)
	}
	checkFault(c.t, f, kind, delivered, says...)
	return f
}

func checkFault(t *testing.T, f *exchange.Fault, kind durward.Kind, delivered bool, says ...string) {
	t.Helper()
	if durward.Kind(f.Kind) != kind || f.Delivered != delivered {
		t.Errorf("fault is %v delivered %v, want %v %v: %s", durward.Kind(f.Kind), f.Delivered, kind, delivered, f.Message)
	}
	for _, s := range says {
		if !strings.Contains(f.Message, s) {
			t.Errorf("fault does not say %q: %s", s, f.Message)
		}
	}
}

// seen is one request as a test server saw it.
type seen struct {
	Method string // of HTTP
	Header http.Header
	Body   string
	ID     string // raw, of the JSON-RPC message
	Name   string // its method
	wire.Message
}

// webServer is an MCP server written by hand: answer decides about every request
// besides those that plain answers.
type webServer struct {
	*httptest.Server
	answer func(w http.ResponseWriter, r *seen, raw *http.Request)

	mu   sync.Mutex // guards log
	log  []*seen
	more *sync.Cond
}

func newWebServer(t *testing.T, answer func(w http.ResponseWriter, r *seen, raw *http.Request)) *webServer {
	t.Helper()
	s := &webServer{answer: answer}
	s.more = sync.NewCond(&s.mu)
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *webServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m := &seen{Method: r.Method, Header: r.Header, Body: string(body)}
	if r.Method == http.MethodPost {
		if err := wire.Parse(body, wire.FromClient, &m.Message); err != nil {
			panic(fmt.Sprintf("%v: %s", err, body))
		}
		m.Name, m.ID = m.Message.Method, string(m.Message.ID)
	}
	s.mu.Lock()
	s.log = append(s.log, m)
	s.more.Broadcast()
	s.mu.Unlock()
	s.answer(w, m, r)
}

// wait returns the first request f accepts.
func (s *webServer) wait(t *testing.T, what string, f func(*seen) bool) *seen {
	t.Helper()
	timer := time.AfterFunc(patience, s.more.Broadcast)
	defer timer.Stop()
	end := time.Now().Add(patience)
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if i := slices.IndexFunc(s.log, f); i >= 0 {
			return s.log[i]
		}
		if time.Now().After(end) {
			t.Fatalf("the server saw no %s", what)
		}
		s.more.Wait()
	}
}

func (s *webServer) count(f func(*seen) bool) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.log {
		if f(r) {
			n++
		}
	}
	return n
}

// hear returns what a test tells the handler of a request, false when that is all,
// or when nobody waits for the answer any more.
func hear[M any](r *http.Request, from <-chan M) (said M, ok bool) {
	select {
	case said, ok = <-from:
		return said, ok
	case <-r.Context().Done():
		return said, false
	}
}

// tell hands text to the handler that hears it.
func tell[M any](t *testing.T, to chan<- M, said M) {
	t.Helper()
	select {
	case to <- said:
	case <-time.After(patience):
		t.Fatalf("no request took %v", said)
	}
}

func named(name string) func(*seen) bool { return func(r *seen) bool { return r.Name == name } }

func verb(method string) func(*seen) bool { return func(r *seen) bool { return r.Method == method } }

func sendJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, body)
}

func resultFor(r *seen, result string) string {
	return `{"jsonrpc":"2.0","id":` + r.ID + `,"result":` + result + `}`
}

func errorFor(r *seen, failure string) string {
	return `{"jsonrpc":"2.0","id":` + r.ID + `,"error":` + failure + `}`
}

func startStream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
}

func sendEvent(w http.ResponseWriter, fields string) {
	io.WriteString(w, fields+"\n\n")
	w.(http.Flusher).Flush()
}

const (
	discoverResult   = `{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25"],"capabilities":{"tools":{}},"instructions":"mind the gap","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"w","version":"2"}}}`
	initializeResult = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"w","version":"2"},"instructions":"mind the gap"}`
)

// modern makes a server that answers discover and leaves the rest to f.
func modern(f func(w http.ResponseWriter, r *seen, raw *http.Request)) func(http.ResponseWriter, *seen, *http.Request) {
	return func(w http.ResponseWriter, r *seen, raw *http.Request) {
		if r.Name == wire.MethodDiscover {
			sendJSON(w, http.StatusOK, resultFor(r, discoverResult))
			return
		}
		f(w, r, raw)
	}
}

// legacy makes a server with the session "s1" that answers initialize, refuses
// discover, takes notifications, offers no stream, and leaves the rest to f.
func legacy(f func(w http.ResponseWriter, r *seen, raw *http.Request)) func(http.ResponseWriter, *seen, *http.Request) {
	return func(w http.ResponseWriter, r *seen, raw *http.Request) {
		switch {
		case r.Name == wire.MethodDiscover:
			http.Error(w, "Bad Request: no session", http.StatusBadRequest)
		case r.Name == wire.MethodInitialize:
			w.Header().Set("Mcp-Session-Id", "s1")
			sendJSON(w, http.StatusOK, resultFor(r, initializeResult))
		case r.Name == wire.NoteInitialized || r.Name == wire.NoteCancelled:
			w.WriteHeader(http.StatusAccepted)
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusOK)
		default:
			f(w, r, raw)
		}
	}
}

// noStream refuses GET and hands everything else to f.
func noStream(f func(w http.ResponseWriter, r *seen, raw *http.Request)) func(http.ResponseWriter, *seen, *http.Request) {
	return func(w http.ResponseWriter, r *seen, raw *http.Request) {
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		f(w, r, raw)
	}
}
