package transport_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"durward"
	"durward/internal/exchange"
	"durward/internal/identity"
	"durward/internal/session"
	"durward/internal/testkit/leftover"
	"durward/internal/transport"
	"durward/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leftover.Awaited(m)) }

const secret = "a-token-for-tests-only"

// fakeCore answers by the method, and for tools/call by the name of the tool.
type fakeCore struct {
	tools  map[string]tool
	listen func(out exchange.Stream) // instead of what subscriptions/listen does

	mu    sync.Mutex // guards everything below
	seen  []exchange.Inbound
	notes []string
	feeds map[durward.SessionID]exchange.Feed
	// how often sessions were attached, and detached
	attached, gone int
}

type tool func(ctx context.Context, in *exchange.Inbound, out exchange.Stream) exchange.Reply

func result(s string) exchange.Reply { return exchange.Reply{Result: []byte(s)} }

func (f *fakeCore) Serve(ctx context.Context, in *exchange.Inbound, out exchange.Stream) exchange.Reply {
	f.mu.Lock()
	f.seen = append(f.seen, *in)
	f.mu.Unlock()
	switch in.Method {
	case wire.MethodInitialize:
		return result(`{"protocolVersion":"` + in.Client.Revision + `","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"fake","version":"1"}}`)
	case wire.MethodDiscover:
		return result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"1"}}}`)
	case wire.MethodToolsList:
		return result(`{"tools":[{"name":"echo","inputSchema":{"type":"object"}}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`)
	case wire.MethodSetLevel, wire.MethodSubscribe:
		return result(`{}`)
	case wire.MethodListen:
		if f.listen != nil {
			f.listen(out)
			return result(`{"resultType":"complete"}`)
		}
		out.Notify(wire.NoteAcknowledged, []byte(`{"_meta":{"io.modelcontextprotocol/subscriptionId":`+string(in.ID)+`}}`))
		<-ctx.Done()
		return result(`{"resultType":"complete"}`)
	case wire.MethodToolsCall:
		name, _ := in.Params.String(in.Params.Name)
		if t, ok := f.tools[name]; ok {
			return t(ctx, in, out)
		}
		if name == "echo" {
			args := in.Params.Arguments.Of(in.Params.Raw)
			if args == nil {
				args = []byte("{}")
			}
			return result(`{"content":[{"type":"text","text":` + wire.Quote(string(args)) + `}],"resultType":"complete"}`)
		}
		return exchange.Fail(&wire.CodeError{Code: wire.CodeInvalidParams, Message: "unknown tool " + name})
	default:
		return exchange.Fail(&wire.CodeError{Code: wire.CodeMethodNotFound, Message: "no method " + in.Method})
	}
}

func (f *fakeCore) Notify(_ context.Context, in *exchange.Inbound) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notes = append(f.notes, in.Method)
}

func (f *fakeCore) Attach(caller durward.Caller, _ durward.Route, feed exchange.Feed) func() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.feeds == nil {
		f.feeds = map[durward.SessionID]exchange.Feed{}
	}
	f.attached++
	f.feeds[caller.Session] = feed
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.feeds, caller.Session)
		f.gone++
	}
}

func (f *fakeCore) feed(t testing.TB) exchange.Feed {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, feed := range f.feeds {
		return feed
	}
	t.Fatal("no session is attached")
	return nil
}

// sessions is how often sessions were attached, and detached.
func (f *fakeCore) sessions() (attached, gone int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.attached, f.gone
}

func (f *fakeCore) last(t testing.TB) exchange.Inbound {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.seen) == 0 {
		t.Fatal("the core saw nothing")
	}
	return f.seen[len(f.seen)-1]
}

// rig is an edge on an HTTP server whose connections are pipes in memory, so
// that it works inside of a synctest bubble.
type rig struct {
	t      testing.TB
	core   *fakeCore
	edge   *transport.Edge
	store  *session.Store
	server *http.Server
	pipes  *pipes
	client *http.Client
	served chan error
	mu     sync.Mutex // guards opened
	opened []io.Closer
}

func newRig(t testing.TB, tools map[string]tool, change func(*transport.Options, *session.Options, *identity.Options)) *rig {
	t.Helper()
	r := &rig{t: t, core: &fakeCore{tools: tools}, pipes: newPipes(), served: make(chan error, 1)}
	opts := transport.Options{Core: r.core, Grace: -1}
	var sessions session.Options
	who := identity.Options{Tokens: []identity.Token{{Principal: "local", Secret: secret}, {Principal: "other", Secret: secret + "-of-another"}}}
	if change != nil {
		change(&opts, &sessions, &who)
	}
	gate, err := identity.New(who)
	if err != nil {
		t.Fatal(err)
	}
	r.store = session.New(sessions)
	opts.Auth, opts.Sessions = gate, transport.SessionsOf(r.store)
	if r.edge, err = transport.New(opts); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", r.edge)
	mux.Handle("/api/v1/stdio", r.edge.Upgrade())
	r.server = &http.Server{Handler: mux}
	go func() { r.served <- r.server.Serve(r.pipes) }()
	r.client = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return r.pipes.dial(ctx) },
	}}
	t.Cleanup(r.close)
	return r
}

// close ends everything; it may be called by a test that runs in a bubble.
func (r *rig) close() {
	if r.server == nil {
		return
	}
	r.mu.Lock()
	for _, body := range r.opened {
		body.Close()
	}
	r.mu.Unlock()
	r.client.CloseIdleConnections()
	if err := r.edge.Close(); err != nil {
		r.t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = r.store.Run(ctx)
	_ = r.server.Close()
	<-r.served
	r.server = nil
}

// pipes is a listener whose connections are pairs of net.Pipe.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8484} }

func (p *pipes) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// request builds a request to the rig with the headers a client of the era sends.
func (r *rig) request(ctx context.Context, method, path, body string, headers ...string) *http.Request {
	r.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://127.0.0.1:8484"+path, reader)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] == "" {
			delete(req.Header, http.CanonicalHeaderKey(headers[i]))
			continue
		}
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	return req
}

func (r *rig) do(req *http.Request) *http.Response {
	r.t.Helper()
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	r.mu.Lock()
	r.opened = append(r.opened, resp.Body)
	r.mu.Unlock()
	return resp
}

// send does a request and reads all of the answer.
func (r *rig) send(method, path, body string, headers ...string) (*http.Response, string) {
	r.t.Helper()
	resp := r.do(r.request(context.Background(), method, path, body, headers...))
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp, string(data)
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"tester","version":"3"},"io.modelcontextprotocol/clientCapabilities":{}`

// modernBody is a modern request; params are members after _meta, beginning with a comma, or empty.
func modernBody(id, method, more string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + meta + `}` + more + `}}`
}

// modern sends a well-formed modern request.
func (r *rig) modern(id, method, more string, headers ...string) (*http.Response, string) {
	r.t.Helper()
	return r.send("POST", "/mcp", modernBody(id, method, more), append([]string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method}, headers...)...)
}

// callTool sends a modern tools/call.
func (r *rig) callTool(id, name string, headers ...string) (*http.Response, string) {
	r.t.Helper()
	return r.modern(id, "tools/call", `,"name":"`+name+`"`, append([]string{"Mcp-Name", name}, headers...)...)
}

// initialize opens a legacy session and returns its id.
func (r *rig) initialize(capabilities string, headers ...string) string {
	r.t.Helper()
	body := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"clientInfo":{"name":"old","version":"1"}}}`
	resp, answer := r.send("POST", "/mcp", body, headers...)
	id := resp.Header.Get("Mcp-Session-Id")
	if resp.StatusCode != 200 || id == "" {
		r.t.Fatalf("initialize: %d %s", resp.StatusCode, answer)
	}
	return id
}

// legacyBody is a legacy tools/call.
func legacyCall(id, name, more string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `"` + more + `}}`
}

// events reads server-sent events off a response.
type events struct {
	t    testing.TB
	resp *http.Response
	scan *bufio.Scanner
}

type event struct {
	id, data string
	comment  bool
	retry    string
}

func (r *rig) stream(req *http.Request) *events {
	r.t.Helper()
	resp := r.do(req)
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		body, _ := io.ReadAll(resp.Body)
		r.t.Fatalf("no stream: %d %s %s", resp.StatusCode, resp.Header, body)
	}
	scan := bufio.NewScanner(resp.Body)
	scan.Buffer(nil, 64<<20)
	return &events{r.t, resp, scan}
}

// get opens a GET stream of a session of the newest legacy revision, and returns
// what is behind its beginning, and the id with which it begins.
func (r *rig) get(id string, headers ...string) (s *events, begin string) {
	r.t.Helper()
	s = r.stream(r.request(context.Background(), "GET", "/mcp", "", append([]string{"Mcp-Session-Id", id}, headers...)...))
	if ev, _ := s.next(); ev.retry == "" {
		r.t.Fatalf("it begins with %+v", ev)
	}
	ev, _ := s.next()
	if ev.id == "" || ev.data != "" {
		r.t.Fatalf("no priming event: %+v", ev)
	}
	return s, ev.id
}

// moved returns an event id with another number of the event.
func moved(id string, seq int) string {
	parts := strings.SplitN(id, "_", 5)
	parts[3] = strconv.Itoa(seq)
	return strings.Join(parts, "_")
}

// next returns the next event; false at the end.
func (e *events) next() (ev event, ok bool) {
	some := false
	for e.scan.Scan() {
		line := e.scan.Text()
		if line == "" {
			if some {
				return ev, true
			}
			continue
		}
		some = true
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "":
			ev.comment = true
		case "id":
			ev.id = value
		case "data":
			ev.data += value
		case "retry":
			ev.retry = value
		}
	}
	return ev, false
}

// message returns the next event that has data.
func (e *events) message() event {
	e.t.Helper()
	for {
		ev, ok := e.next()
		if !ok {
			e.t.Fatal("the stream ended")
		}
		if ev.data != "" {
			return ev
		}
	}
}

func (e *events) close() { e.resp.Body.Close() }

// code returns the error code of a JSON-RPC answer, 0 if it is none.
func code(t testing.TB, body string) int {
	t.Helper()
	var m struct {
		Error struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return m.Error.Code
}

// idOf returns the raw id of an answer.
func idOf(t testing.TB, body string) string {
	t.Helper()
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return string(m.ID)
}

// within fails the test when done is not closed in time.
func within(t testing.TB, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("too late: " + what)
	}
}
