package transport_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/identity"
	"durward/internal/session"
	"durward/internal/transport"
	"durward/internal/wire"
)

// lines is the client's end of a connection with line framing.
type lines struct {
	t     testing.TB
	conn  net.Conn
	scan  *bufio.Scanner
	ended chan error // what ServeStdio returned
}

// stdio connects to the rig's edge by line framing.
func (r *rig) stdio(ctx context.Context, route durward.Route) *lines {
	r.t.Helper()
	client, server := net.Pipe()
	l := &lines{t: r.t, conn: client, scan: bufio.NewScanner(client), ended: make(chan error, 1)}
	l.scan.Buffer(nil, 64<<20)
	go func() {
		l.ended <- r.edge.ServeStdio(ctx, server, durward.Caller{Principal: "local", Entrance: durward.EntranceStdio}, route)
	}()
	r.t.Cleanup(func() { client.Close() })
	return l
}

func (l *lines) send(line string) {
	l.t.Helper()
	if _, err := io.WriteString(l.conn, line+"\n"); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lines) next() string {
	l.t.Helper()
	if !l.scan.Scan() {
		l.t.Fatalf("the connection ended: %v", l.scan.Err())
	}
	return l.scan.Text()
}

func (l *lines) ask(line string) string {
	l.t.Helper()
	l.send(line)
	return l.next()
}

const initializeLine = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"old","version":"1"}}}`

func TestStdioSpeaksBothEras(t *testing.T) {
	r := newRig(t, nil, nil)
	l := r.stdio(context.Background(), durward.Route{Kind: durward.RouteToolset, Name: "t"})
	for _, step := range []struct{ in, out string }{
		{legacyCall("1", "echo", ""), `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"send initialize first, or the metadata of revision 2026-07-28"}}`},
		{`{"jsonrpc":"2.0","id":"p","method":"ping"}`, `{"jsonrpc":"2.0","id":"p","result":{}}`},
		{modernBody("9007199254740993", "tools/call", `,"name":"echo"`), `{"jsonrpc":"2.0","id":9007199254740993,"result":{"content":[{"type":"text","text":"{}"}],"resultType":"complete"}}`},
		{`{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{}}`, `{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"_meta needs io.modelcontextprotocol/protocolVersion"}}`},
		{strings.Replace(modernBody("3", "tools/list", ""), "2026-07-28", "2027-01-01", 1), `{"jsonrpc":"2.0","id":3,"error":{"code":-32022,"message":"this protocol version is not supported","data":{"supported":["2026-07-28"],"requested":"2027-01-01"}}}`},
		{modernBody("4", "initialize", ""), `{"jsonrpc":"2.0","id":4,"error":{"code":-32601,"message":"method initialize does not exist in this protocol revision"}}`},
		{"\r\n\n" + initializeLine + "\r", `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"fake","version":"1"}}}`},
		{legacyCall("1.50", "echo", `,"arguments":{"n":1e400}`), `{"jsonrpc":"2.0","id":1.50,"result":{"content":[{"type":"text","text":"{\"n\":1e400}"}],"resultType":"complete"}}`},
		{modernBody(`"m"`, "tools/call", `,"name":"none"`), `{"jsonrpc":"2.0","id":"m","error":{"code":-32602,"message":"unknown tool none"}}`},
		{strings.Replace(initializeLine, `"id":0`, `"id":5`, 1), `{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"this connection is initialized already"}}`},
	} {
		if got := l.ask(step.in); got != step.out {
			t.Errorf("sent %s\n got %s\nwant %s", step.in, got, step.out)
		}
	}
	in := r.core.last(t)
	if in.Route.Name != "t" || in.Caller.Entrance != durward.EntranceStdio || in.Caller.Session == "" || in.ParamHeaders != nil {
		t.Errorf("%+v", in)
	}
	l.conn.Close()
	if err := <-l.ended; err != nil {
		t.Error(err)
	}
	if _, gone := r.core.sessions(); gone != 1 {
		t.Error("the session was not detached")
	}
}

func TestStdioRefusesWhatIsNoMessage(t *testing.T) {
	r := newRig(t, nil, func(o *transport.Options, _ *session.Options, _ *identity.Options) { o.Limits.Message = 200 << 10 })
	l := r.stdio(context.Background(), durward.Route{})
	for _, step := range []struct {
		in   string
		code int
		id   string
	}{
		{"garbage", wire.CodeParse, ""},
		{"\xff\xfe", wire.CodeParse, ""},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, wire.CodeInvalidRequest, ""},
		{`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, wire.CodeInvalidRequest, "1"},
		{`{"jsonrpc":"2.0","id":1,"METHOD":"x","method":"ping"}`, wire.CodeInvalidRequest, "1"},
		{strings.Repeat("x", 200<<10+100), wire.CodeInvalidParams, ""},
	} {
		answer := l.ask(step.in)
		if code(t, answer) != step.code || idOf(t, answer) != step.id {
			t.Errorf("%.40s: %s", step.in, answer)
		}
	}
	if answer := l.ask(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); code(t, answer) != 0 {
		t.Error(answer)
	}
	l.send(`{"jsonrpc":"2.0","id":77,"result":{}}`)               // an answer nobody waits for
	l.send(`{"jsonrpc":"2.0","method":"notifications/whatever"}`) // gets no answer
	if answer := l.ask(`{"jsonrpc":"2.0","id":2,"method":"ping"}`); idOf(t, answer) != "2" {
		t.Error(answer)
	}
}

func TestStdioNotificationsProgressAndQuestions(t *testing.T) {
	r := newRig(t, map[string]tool{
		"progress": func(_ context.Context, _ *exchange.Inbound, out exchange.Stream) exchange.Reply {
			out.Notify(wire.NoteProgress, []byte("{\"progressToken\":7,\n\"progress\":1}"))
			return result("{\r\n}")
		},
		"ask": asker(wire.MethodRootsList, `{}`),
	}, nil)
	l := r.stdio(context.Background(), durward.Route{})
	if got := l.ask(modernBody("1", "tools/call", `,"name":"ask"`)); code(t, got) != wire.CodeMethodNotFound {
		t.Error(got)
	}
	l.ask(initializeLine)
	l.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if got := l.ask(legacyCall("1", "progress", `,"_meta":{"progressToken":"a"}`)); got != `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a", "progress":1}}` {
		t.Error(got)
	}
	if got := l.next(); got != `{"jsonrpc":"2.0","id":1,"result":{  }}` {
		t.Error(got)
	}
	asked := l.ask(legacyCall("2", "ask", ""))
	if asked != `{"jsonrpc":"2.0","id":1,"method":"roots/list","params":{}}` {
		t.Error(asked)
	}
	if got := l.ask(`{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`); got != `{"jsonrpc":"2.0","id":2,"result":{"answer":{"roots":[]}}}` {
		t.Error(got)
	}
	r.core.feed(t).Notify(wire.NoteToolsChanged, nil)
	if got := l.next(); got != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` {
		t.Error(got)
	}
	l.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	l.ask(`{"jsonrpc":"2.0","id":9,"method":"ping"}`)
	r.core.mu.Lock()
	defer r.core.mu.Unlock()
	if r.core.notes[0] != wire.NoteRootsChanged {
		t.Error(r.core.notes)
	}
}

func TestB9_StdioCancelReachesTheRightRequestAndSilencesIt(t *testing.T) {
	w := newWaiter()
	r := newRig(t, map[string]tool{"wait": w.call}, nil)
	l := r.stdio(context.Background(), durward.Route{})
	l.send(modernBody("1", "tools/call", `,"name":"wait"`))
	l.send(modernBody(`"1"`, "tools/call", `,"name":"wait"`))
	<-w.entered
	<-w.entered
	if got := l.ask(modernBody(`1`, "tools/call", `,"name":"echo"`)); code(t, got) != wire.CodeInvalidRequest || idOf(t, got) != "1" {
		t.Errorf("an id in flight: %s", got)
	}
	l.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	for !w.stopped.Load() {
		time.Sleep(time.Millisecond) // polls a state that comes by itself
	}
	w.proceed <- struct{}{}
	if got := l.next(); got != `{"jsonrpc":"2.0","id":"1","result":{"late":true}}` {
		t.Error(got)
	}
	if got := l.ask(`{"jsonrpc":"2.0","id":2,"method":"ping"}`); idOf(t, got) != "2" {
		t.Errorf("the cancelled request was answered: %s", got)
	}
}

func TestStdioListenAndItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaiter()
		r := newRig(t, map[string]tool{"wait": w.call}, func(o *transport.Options, _ *session.Options, _ *identity.Options) { o.Grace = 5 * time.Second })
		defer r.close()
		l := r.stdio(context.Background(), durward.Route{})
		if got := l.ask(modernBody("1", wire.MethodListen, "")); got != `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}` {
			t.Error(got)
		}
		l.send(modernBody("2", "tools/call", `,"name":"wait"`))
		<-w.entered
		ctx, cancel := context.WithCancel(context.Background())
		other := r.stdio(ctx, durward.Route{})
		other.ask(initializeLine)
		began := time.Now()
		cancel() // the other connection has nothing in flight and ends at once
		if err := <-other.ended; err != nil || time.Since(began) > 0 {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		// The edge closes: the subscription ends with its result, the call is cancelled after the grace.
		go func() { _ = r.edge.Close() }()
		if got := l.next(); got != `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}` {
			t.Error(got)
		}
		if got := l.next(); code(t, got) != wire.CodeUnknownOutcome || time.Since(began) != 5*time.Second {
			t.Errorf("after %s: %s", time.Since(began), got)
		}
		if err := <-l.ended; err != nil {
			t.Error(err)
		}
	})
}

func TestStdioRequestsFinishAfterTheClientStoppedSending(t *testing.T) {
	r := newRig(t, nil, func(o *transport.Options, _ *session.Options, _ *identity.Options) { o.Grace = time.Minute })
	var script strings.Builder
	fmt.Fprintln(&script, initializeLine)
	fmt.Fprintln(&script, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for i := 1; i <= 50; i++ {
		fmt.Fprintln(&script, legacyCall(itoa(i), "echo", ""))
	}
	out := &buffer{in: strings.NewReader(strings.TrimSuffix(script.String(), "\n"))}
	if err := r.edge.ServeStdio(context.Background(), out, durward.Caller{Principal: "local"}, durward.Route{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), `"result"`); n != 51 || !out.closed {
		t.Errorf("%d answers, closed %v: %s", n, out.closed, out.String())
	}
}

// buffer is a stream whose input ends.
type buffer struct {
	strings.Builder
	in     io.Reader
	closed bool
}

func (b *buffer) Read(p []byte) (int, error) { return b.in.Read(p) }
func (b *buffer) Close() error               { b.closed = true; return nil }

func TestStdioInFlight(t *testing.T) {
	w := newWaiter()
	r := newRig(t, map[string]tool{"wait": w.call}, func(_ *transport.Options, s *session.Options, _ *identity.Options) { s.InFlight = 3 })
	l := r.stdio(context.Background(), durward.Route{})
	for i := range 6 {
		l.send(modernBody(itoa(i), "tools/call", `,"name":"wait"`))
	}
	for range 3 {
		<-w.entered
	}
	// Full, and still it listens: a refusal, a ping, a cancel.
	if got := l.ask(modernBody("6", "tools/call", `,"name":"wait"`)); code(t, got) != wire.CodeUnavailable || !strings.Contains(got, "limits.in_flight") {
		t.Error(got)
	}
	l.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}`)
	l.ask(`{"jsonrpc":"2.0","id":7,"method":"ping"}`)
	close(w.proceed)
	seen := map[string]bool{}
	for range 5 {
		seen[idOf(t, l.next())] = true
	}
	if len(seen) != 5 || seen["4"] {
		t.Error(seen)
	}
}

func TestStdioSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		r := newRig(t, map[string]tool{"flood": func(ctx context.Context, in *exchange.Inbound, out exchange.Stream) exchange.Reply {
			defer close(ended)
			return flood(ctx, in, out)
		}}, nil)
		defer r.close()
		l := r.stdio(context.Background(), durward.Route{})
		body := strings.Replace(modernBody("1", "tools/call", `,"name":"flood"`), `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"info",`, 1)
		l.send(body)
		<-ended // it was not held up, but cancelled
		if err := <-l.ended; err != nil {
			t.Error(err)
		}
	})
}

func TestStdioAnswersWaitForTheReader(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	r := newRig(t, map[string]tool{"long": func(context.Context, *exchange.Inbound, exchange.Stream) exchange.Reply {
		return result(`"` + long + `"`)
	}}, nil)
	l := r.stdio(context.Background(), durward.Route{})
	for i := range 10 { // 30 MB, the queue holds 8
		l.send(modernBody(itoa(i), "tools/call", `,"name":"long"`))
	}
	for range 10 {
		if got := l.next(); len(got) < len(long) || !strings.HasSuffix(got, `xxx"}`) {
			t.Fatalf("%.100s", got)
		}
	}
}

func TestUpgradeOverTheUnixSocket(t *testing.T) {
	r := newRig(t, nil, nil)
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := newUnixServer(r)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() { server.Close(); <-served }()

	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// The first line comes with the request, before the answer to it.
	fmt.Fprintf(conn, "GET /api/v1/stdio?server=fs HTTP/1.1\r\nHost: durward\r\nConnection: Upgrade\r\nUpgrade: mcp-stdio\r\n\r\n%s\n", modernBody("1", "tools/list", ""))
	in := bufio.NewReader(conn)
	for _, want := range []string{"HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", "Upgrade: mcp-stdio", ""} {
		if line, err := in.ReadString('\n'); err != nil || line != want+"\r\n" {
			t.Fatalf("%v: %q, want %q", err, line, want)
		}
	}
	if line, err := in.ReadString('\n'); err != nil || !strings.HasPrefix(line, `{"jsonrpc":"2.0","id":1,"result":`) {
		t.Fatalf("%v %s", err, line)
	}
	seen := r.core.last(t)
	if seen.Caller.Principal != "local" || seen.Caller.Process != "pid "+itoa(os.Getpid()) || seen.Caller.Entrance != durward.EntranceStdio || seen.Route != (durward.Route{Kind: durward.RouteServer, Name: "fs"}) {
		t.Errorf("%+v", seen)
	}
	if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(in); err != nil || len(rest) != 0 {
		t.Errorf("%v %q", err, rest)
	}
}

func TestUpgradeRefusals(t *testing.T) {
	r := newRig(t, nil, nil)
	for _, tt := range []struct {
		method, path string
		headers      []string
		status       int
	}{
		{"GET", "/api/v1/stdio", []string{"Authorization", ""}, 401},
		{"GET", "/api/v1/stdio", nil, 426},
		{"POST", "/api/v1/stdio", []string{"Connection", "Upgrade", "Upgrade", "mcp-stdio"}, 426},
		{"GET", "/api/v1/stdio", []string{"Connection", "Upgrade", "Upgrade", "websocket"}, 426},
		{"GET", "/api/v1/stdio?server=a&toolset=b", []string{"Connection", "Upgrade", "Upgrade", "mcp-stdio"}, 400},
	} {
		if resp, body := r.send(tt.method, tt.path, "", tt.headers...); resp.StatusCode != tt.status {
			t.Errorf("%s %s %v: %d %s", tt.method, tt.path, tt.headers, resp.StatusCode, body)
		}
	}
}
