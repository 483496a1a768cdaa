package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/exchange/pipe"
	"durward/internal/testkit/pipenet"
	"durward/internal/testkit/sharedlog"
	"durward/internal/upstream"
	"durward/internal/upstream/worker"
	"durward/internal/wire"
)

// forker is a Launcher that runs this test program as the server.
type forker struct{}

func (forker) Launch(_ context.Context, spec upstream.LaunchSpec) (upstream.Process, error) {
	p := &forked{cmd: exec.Command(spec.Command, spec.Args...), done: make(chan struct{})}
	p.cmd.Env = []string{serverMode + "=" + spec.Env[serverMode]}
	p.cmd.Stderr = &p.stderr
	theirIn, ourIn, err1 := os.Pipe()
	ourOut, theirOut, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	p.in, p.out, p.cmd.Stdin, p.cmd.Stdout = ourIn, ourOut, theirIn, theirOut
	err := p.cmd.Start()
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait()
	}()
	return p, nil
}

type forked struct {
	cmd     *exec.Cmd
	in, out *os.File
	stderr  sharedlog.Buffer
	done    chan struct{}
}

func (p *forked) Stdin() *os.File  { return p.in }
func (p *forked) Stdout() *os.File { return p.out }
func (p *forked) Stderr() []byte   { return []byte(p.stderr.String()) }
func (p *forked) Confined() string { return "nothing" }

func (p *forked) Exit() string {
	select {
	case <-p.done:
		return p.cmd.ProcessState.String()
	default:
		return ""
	}
}

func (p *forked) Stop(ctx context.Context) error {
	p.in.Close()
	select {
	case <-p.done:
	case <-ctx.Done():
		_ = p.cmd.Process.Kill()
		<-p.done
	}
	return nil
}

type realRig struct {
	*upstream.Server
	watch *watcher
}

// overPipe reaches stdio servers through a worker at the far end of a byte
// stream, as it is when the worker is a process of its own.
type overPipe struct{}

func (overPipe) Open(ctx context.Context, server durward.Server, spec exchange.LinkSpec, sink exchange.Sink) (upstream.Connection, error) {
	p, err := forker{}.Launch(ctx, upstream.LaunchSpec{Command: server.Command, Env: server.Env})
	if err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	c := &pipedConn{process: p}
	c.served.Go(func() {
		_ = pipe.Serve(far, func(spec exchange.LinkSpec, sink exchange.Sink) exchange.Link {
			return worker.OpenStdio(spec, p.Stdin(), p.Stdout(), sink)
		})
	})
	c.Link = pipe.Dial(near, spec, sink)
	return c, nil
}

type pipedConn struct {
	exchange.Link
	process upstream.Process
	served  sync.WaitGroup
}

func (c *pipedConn) Confined() string { return "" }
func (c *pipedConn) Diagnose() string { return c.process.Exit() + " " + string(c.process.Stderr()) }
func (c *pipedConn) Stop(ctx context.Context) error {
	c.Link.Close()
	err := c.process.Stop(ctx)
	c.served.Wait()
	return err
}

func realStdio(t *testing.T, mode string, change ...func(*durward.Server)) *realRig {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	spec := durward.Server{Name: "real", Command: self, Env: map[string]string{serverMode: mode}}
	for _, c := range change {
		c(&spec)
	}
	return realStart(t, spec, upstream.NewOpener(upstream.OpenerOptions{Launcher: forker{}}))
}

func realStart(t *testing.T, spec durward.Server, opener upstream.Opener) *realRig {
	t.Helper()
	watch := &watcher{}
	s, err := upstream.New(upstream.Options{Spec: spec, Opener: opener, Observer: watch, ClientInfo: []byte(`{"name":"test","version":"1"}`)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &realRig{s, watch}
}

func (r *realRig) tool(t *testing.T, name, arguments string, out *stream) exchange.Reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req := &exchange.Request{Method: wire.MethodToolsCall, Client: exchange.Client{Era: wire.Legacy}, Progress: true}
	if err := wire.ParseParams([]byte(`{"name":"`+name+`","arguments":`+arguments+`}`), &req.Params); err != nil {
		t.Fatal(err)
	}
	return r.Do(ctx, upstream.Key{Principal: "alice"}, req, out)
}

func TestRealStdioBothEras(t *testing.T) {
	for mode, era := range map[string]wire.Era{"legacy": wire.Legacy, "modern": wire.Modern} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r := realStdio(t, mode)
			if err := r.Refresh(context.Background()); err != nil {
				t.Fatal(err)
			}
			const arguments = `{ "big":9007199254740993,"x":1e400 }`
			reply := r.tool(t, "echo", arguments, &stream{})
			wantOK(t, reply)
			if got := string(wire.Get(reply.Result, "echo")); got != arguments || reply.Era != era {
				t.Errorf("echo %s of era %v", got, reply.Era)
			}
			out := &stream{}
			wantOK(t, r.tool(t, "progress", `{}`, out))
			if notes := out.heard(); len(notes) != 20 || !strings.Contains(notes[19], `"progress":19`) {
				t.Errorf("%d notifications: %v", len(notes), notes)
			}
			wantOK(t, r.tool(t, "noise", `{}`, out))
			if n := r.Status().Anomalies["stdout-text"]; n != 1 {
				t.Errorf("%d lines of text counted", n)
			}
		})
	}
}

func TestTheWorkerMayBeBehindAPipe(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := realStart(t, durward.Server{Name: "real", Command: self, Env: map[string]string{serverMode: "legacy"}}, overPipe{})
	out := &stream{}
	wantOK(t, r.tool(t, "progress", `{}`, out))
	if n := len(out.heard()); n != 20 {
		t.Errorf("%d notifications", n)
	}
	wantOK(t, r.tool(t, "ask", `{}`, says(`{"action":"accept"}`)))
	wantCode(t, r.tool(t, "crash", `{}`, out), wire.CodeUnknownOutcome, "out of ideas")
	wantOK(t, r.tool(t, "echo", `{}`, out))
}

// What may be executed twice is sent again when a real server crashed under it, and
// nothing else is.
func TestB5_ARealCallIsRepeatedAfterACrash(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, opener := range map[string]upstream.Opener{"direct": upstream.NewOpener(upstream.OpenerOptions{Launcher: forker{}}), "over a pipe": overPipe{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := realStart(t, durward.Server{
				Name: "real", Command: self, Env: map[string]string{serverMode: "legacy"},
				Tools: durward.ToolRules{Idempotent: []string{"*-once"}},
			}, opener)
			path := filepath.Join(t.TempDir(), "it ran")
			reply := r.tool(t, "crash-once", wire.Quote(path), &stream{})
			wantOK(t, reply)
			if reply.Attempts != 2 {
				t.Errorf("%d attempts", reply.Attempts)
			}
			reply = r.tool(t, "crash", `{}`, &stream{})
			wantCode(t, reply, wire.CodeUnknownOutcome)
			if reply.Attempts != 1 {
				t.Errorf("%d attempts", reply.Attempts)
			}
		})
	}
}

func TestARealCallIsRepeatedAfterAReset(t *testing.T) {
	for retry, want := range map[durward.Retry]int32{durward.RetryIdempotent: 2, durward.RetryUndelivered: 1} {
		t.Run(string(retry), func(t *testing.T) {
			t.Parallel()
			s := &site{}
			s.resets.Store(1)
			r := realSite(t, s, func(spec *durward.Server) { spec.Retry = retry })
			reply := r.tool(t, "t", `{}`, &stream{})
			if want == 2 {
				wantOK(t, reply)
			} else {
				wantCode(t, reply, wire.CodeUnknownOutcome)
			}
			if n := s.executed.Load(); n != want || reply.Attempts != int(n) {
				t.Errorf("executed %d times, and %d attempts were told, want %d", n, reply.Attempts, want)
			}
			wantOK(t, r.tool(t, "t", `{}`, &stream{}))
			if n := s.opened.Load(); n != 1 {
				t.Errorf("%d sessions", n)
			}
		})
	}
}

func TestB10_RealServerAsksItsRequester(t *testing.T) {
	t.Parallel()
	r := realStdio(t, "legacy")
	reply := r.tool(t, "ask", `{}`, says(`{"action":"accept","content":{}}`))
	wantOK(t, reply)
	if got := string(wire.Get(reply.Result, "answered")); got != `{"action":"accept","content":{}}` {
		t.Errorf("the server was answered %s", got)
	}
}

func TestB5_B26_RealServerCrashes(t *testing.T) {
	t.Parallel()
	r := realStdio(t, "legacy")
	first := r.tool(t, "echo", `{}`, &stream{})
	wantOK(t, first)
	wantCode(t, r.tool(t, "crash", `{}`, &stream{}), wire.CodeUnknownOutcome, "exit status 7", "out of ideas")
	second := r.tool(t, "echo", `{}`, &stream{})
	wantOK(t, second)
	if string(wire.Get(first.Result, "pid")) == string(wire.Get(second.Result, "pid")) {
		t.Error("the same process answers after a crash")
	}
}

func TestB5_RealServerHangs(t *testing.T) {
	t.Parallel()
	r := realStdio(t, "legacy", func(s *durward.Server) { s.HealthEvery = 400 * time.Millisecond })
	// One that is only slow to start looks as if it hung for once, and is called again.
	call := func(name string, done func(exchange.Reply) bool) exchange.Reply {
		for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // polls a state that comes by itself
			reply := r.tool(t, name, `{}`, &stream{})
			if done(reply) || time.Now().After(end) {
				return reply
			}
		}
	}
	wantCode(t, call("hang", func(a exchange.Reply) bool { return code(a) != wire.CodeUnavailable }), wire.CodeUnknownOutcome, "health probes")
	wantOK(t, call("echo", func(a exchange.Reply) bool { return !strings.Contains(string(a.Error), "health probes") }))
}

func TestB26_RealServerFailsAtStart(t *testing.T) {
	t.Parallel()
	r := realStdio(t, "broken")
	reply := r.tool(t, "echo", `{}`, &stream{})
	wantCode(t, reply, wire.CodeUnavailable, "no module named fastmcp", "exit status 3")
	// It is tried again and again, and in between it is this.
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // polls a state that comes by itself
		st := r.Status()
		if st.State == durward.StateBackoff && strings.Contains(st.Reason, "fastmcp") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("state %s: %s", st.State, st.Reason)
		}
	}
}

func TestB11_RealServerChangesItsTools(t *testing.T) {
	t.Parallel()
	r := realStdio(t, "legacy")
	refreshed := func() string { // the server names its tool anew in every list
		if err := r.Refresh(context.Background()); err != nil {
			t.Fatal(err)
		}
		l := r.watch.last()
		if len(l.Tools) != 1 {
			t.Fatalf("tools %s", l.Tools)
		}
		return string(l.Tools[0])
	}
	before := refreshed()
	wantOK(t, r.tool(t, "change", `{}`, &stream{}))
	if after := refreshed(); after == before {
		t.Errorf("still %s", after)
	}
}

// plain is a Dialer without any rules.
type plain struct{}

func (plain) RoundTripper(durward.Server) (http.RoundTripper, error) { return &http.Transport{}, nil }

// site is a legacy server over HTTP with sessions.
type site struct {
	session  atomic.Int32 // the only one it knows
	locked   atomic.Bool  // it answers 401
	opened   atomic.Int32
	executed atomic.Int32
	resets   atomic.Int32 // so many answers are lost
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.locked.Load() {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var m message
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	session := "s" + string('a'+s.session.Load())
	switch {
	case m.Method == "server/discover":
		w.WriteHeader(http.StatusBadRequest)
		return
	case m.Method == "initialize":
		s.opened.Add(1)
		w.Header().Set("Mcp-Session-Id", session)
		reply(w, &m, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"site","version":"1"}}`)
		return
	case r.Header.Get("Mcp-Session-Id") != session:
		w.WriteHeader(http.StatusNotFound)
		return
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "tools/list":
		reply(w, &m, `{"tools":[{"name":"t"}]}`)
	case m.Method == "ping":
		reply(w, &m, `{}`)
	default:
		s.executed.Add(1)
		if s.resets.Add(-1) >= 0 {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			conn.Close()
			return
		}
		reply(w, &m, `{}`)
	}
}

func reply(w http.ResponseWriter, m *message, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`))
}

func realSite(t *testing.T, s *site, change ...func(*durward.Server)) *realRig {
	t.Helper()
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	spec := durward.Server{Name: "site", URL: web.URL + "/mcp"}
	for _, c := range change {
		c(&spec)
	}
	return realStart(t, spec, upstream.NewOpener(upstream.OpenerOptions{Dialer: plain{}}))
}

// In a bubble, where no call is late to find out that its session is lost.
func TestB4_RealSessionLost(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, at := &site{}, pipenet.Listen()
		web := &httptest.Server{Listener: at, Config: &http.Server{Handler: s}}
		web.Start()
		t.Cleanup(web.Close)
		rt := &http.Transport{DialContext: at.Dial}
		r := realStart(t, durward.Server{Name: "site", URL: web.URL + "/mcp"}, upstream.NewOpener(upstream.OpenerOptions{Dialer: through{rt}}))
		wantOK(t, r.tool(t, "t", `{}`, &stream{}))
		s.session.Add(1)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if reply := r.tool(t, "t", `{}`, &stream{}); reply.Error != nil {
					t.Errorf("failed: %s", reply.Error)
				}
			})
		}
		all.Wait()
		if n := s.opened.Load(); n != 2 {
			t.Errorf("the session was opened %d times, want 2", n)
		}
		if n := s.executed.Load(); n != 21 {
			t.Errorf("%d executions of 21 calls", n)
		}
	})
}

// through is a Dialer of one RoundTripper.
type through struct{ rt http.RoundTripper }

func (d through) RoundTripper(durward.Server) (http.RoundTripper, error) { return d.rt, nil }

func TestB16_RealServerRefusesCredentials(t *testing.T) {
	t.Parallel()
	s := &site{}
	s.locked.Store(true)
	r := realSite(t, s)
	wantCode(t, r.tool(t, "t", `{}`, &stream{}), wire.CodeRefused, "401")
	s.locked.Store(false)
	if err := r.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	wantOK(t, r.tool(t, "t", `{}`, &stream{}))
}
