package gateway_test

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"durward"
	"durward/gateway"
	"durward/internal/testkit/keeper"
	"durward/internal/testkit/rawclient"
	"durward/internal/wire"
)

// The trace of a caller, as it sends it.
const (
	traceID    = "0af7651916cd43dd8448eb211c80319c"
	callerSpan = "b7ad6b7169203331"
	sampled    = "00-" + traceID + "-" + callerSpan + "-01"
)

// watching is an Observer that keeps what it is told.
type watching struct {
	traces, sample bool

	mu     sync.Mutex // guards all below
	passed []gateway.Passed
	sent   []gateway.Sent
	ended  []durward.Caller
	order  []string
}

func (w *watching) Traces() bool         { return w.traces }
func (w *watching) Sample([16]byte) bool { return w.sample }
func (w *watching) Passed(p gateway.Passed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.Call.Server != "" {
		w.passed, w.order = append(w.passed, p), append(w.order, "passed")
	}
}

func (w *watching) Sent(s gateway.Sent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent, w.order = append(w.sent, s), append(w.order, "sent")
}

func (w *watching) SessionEnded(c durward.Caller, _ time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = append(w.ended, c)
}

// last returns what it was told last.
func (w *watching) last() (gateway.Passed, gateway.Sent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.passed[len(w.passed)-1], w.sent[len(w.sent)-1]
}

// noting is a Recorder that keeps calls; with an error it records none.
type noting struct {
	mu    sync.Mutex // guards all below
	err   error
	calls []durward.Call
}

// fail has it record nothing from now on; nil: has it record again.
func (n *noting) fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.err = err
}

func (n *noting) Intent(_ context.Context, call *durward.Call, _ durward.Decision) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if call.Method == wire.MethodToolsCall {
		n.calls = append(n.calls, *call)
	}
	return n.err
}

func (n *noting) Outcome(context.Context, *durward.Call, durward.Outcome) {}

func (n *noting) last() durward.Call {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.calls[len(n.calls)-1]
}

// keepers are servers of both eras, over HTTP.
func keepers(t *testing.T) (map[string]*keeper.Server, []durward.Server) {
	t.Helper()
	all := map[string]*keeper.Server{"legacy": {}, "modern": {Modern: true}}
	var servers []durward.Server
	for era, k := range all {
		web := httptest.NewServer(k)
		t.Cleanup(web.Close)
		servers = append(servers, durward.Server{Name: era, URL: web.URL, Era: era})
	}
	return all, servers
}

func lastSeen(t *testing.T, k *keeper.Server) keeper.Seen {
	t.Helper()
	seen := k.Seen()
	if len(seen) == 0 {
		t.Fatal("the server saw nothing")
	}
	return seen[len(seen)-1]
}

// The server gets the caller's trace with a span of ours as the parent, and the
// record has both, whatever the eras, and whether `_meta` or a header said it.
func TestTracesAreContinuedInEveryPairOfEras(t *testing.T) {
	all, servers := keepers(t)
	notes := &noting{}
	g := start(t, gateway.Options{Servers: servers, Recorder: notes})
	for _, name := range []string{"legacy", "modern"} {
		g.await(t, name, isReady)
	}
	for era, c := range g.clients(t, "/mcp") {
		for server, k := range all {
			for _, how := range []string{"meta", "header"} {
				a := callTraced(t, c, server+"__tool", how)
				if a.Msg.Error != nil {
					t.Fatalf("%s to %s by %s: %s", era, server, how, a.Msg.Error)
				}
				seen, call := lastSeen(t, k), notes.last()
				span := hex.EncodeToString(call.Trace.SpanID[:])
				want := "00-" + traceID + "-" + span + "-01"
				if hex.EncodeToString(call.Trace.TraceID[:]) != traceID || hex.EncodeToString(call.Trace.Caller[:]) != callerSpan || span == callerSpan || call.Trace.Flags != 1 {
					t.Errorf("%s to %s by %s: recorded as %+v", era, server, how, call.Trace)
				}
				if seen.Meta("traceparent") != want || seen.Meta("tracestate") != "a=b,c=d" || seen.Meta("baggage") != "k=v;p" {
					t.Errorf("%s to %s by %s: the server was told %s", era, server, how, seen.Params)
				}
				if strings.Count(seen.Params, "traceparent") != 1 || seen.Header.Get("Traceparent") != want || seen.Header.Get("Tracestate") != "a=b,c=d" || seen.Header.Get("Baggage") != "k=v;p" {
					t.Errorf("%s to %s by %s: %s, headers %v", era, server, how, seen.Params, seen.Header)
				}
			}
		}
	}
}

// The same over pipes, on both sides.
func TestTracesAreContinuedOverPipes(t *testing.T) {
	notes := &noting{}
	g := start(t, gateway.Options{Servers: []durward.Server{hostileServer("h")}, Recorder: notes})
	g.await(t, "h", isReady)
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- g.ServeStdio(t.Context(), far, durward.Caller{Principal: "local", Entrance: durward.EntranceStdio}, durward.Route{})
	}()
	_, err := near.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"h__seen","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{},"traceparent":"` + sampled + `","k":1}}}` + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := bufio.NewReader(near).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	near.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	recorded := notes.last().Trace
	span := hex.EncodeToString(recorded.SpanID[:])
	if want := `\"traceparent\":\"00-` + traceID + `-` + span + `-01\"`; !strings.Contains(answer, want) || strings.Contains(answer, callerSpan) || !strings.Contains(answer, `\"k\":1`) {
		t.Errorf("the server was told %s, wanted %s", answer, want)
	}
}

// callTraced calls a tool within the trace.
func callTraced(t *testing.T, c *rawclient.Client, name, how string) *rawclient.Answer {
	t.Helper()
	const said = `"traceparent":"` + sampled + `","tracestate":"a=b,c=d","baggage":"k=v;p"`
	params := `{"name":"` + name + `","arguments":{"a":1}`
	switch {
	case how == "header":
		c.Header = http.Header{"Traceparent": {sampled}, "Tracestate": {"a=b,c=d"}, "Baggage": {"k=v;p"}}
		defer func() { c.Header = nil }()
	case c.Modern:
		params += `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` + said + `}`
	default:
		params += `,"_meta":{` + said + `}`
	}
	return do(t, c, wire.MethodToolsCall, params+`}`)
}

// Without a trace, and with one that is malformed, nothing is added or taken away,
// nothing is recorded, and nothing fails.
func TestNoTraceIsMadeUp(t *testing.T) {
	all, servers := keepers(t)
	notes := &noting{}
	g := start(t, gateway.Options{Servers: servers, Recorder: notes, Observer: &watching{}})
	for _, name := range []string{"legacy", "modern"} {
		g.await(t, name, isReady)
	}
	c := g.legacy(t, "/mcp")
	for _, meta := range []string{``, `,"_meta":{"x":1}`, `,"_meta":{"traceparent":"nonsense","tracestate":"a=b"}`, `,"_meta":{"traceparent":null}`} {
		do(t, c, wire.MethodToolsCall, `{"name":"legacy__tool","arguments":{"a":1}`+meta+`}`)
		seen, call := lastSeen(t, all["legacy"]), notes.last()
		if want := `{"name":"tool","arguments":{"a":1}` + meta + `}`; seen.Params != want || len(seen.Header["Traceparent"]) > 0 || call.Trace != (durward.Trace{}) {
			t.Errorf("the server was told %s, wanted %s; %v; %+v", seen.Params, want, seen.Header["Traceparent"], call.Trace)
		}
	}
	c.Header = http.Header{"Traceparent": {sampled, sampled}}
	do(t, c, wire.MethodToolsCall, `{"name":"modern__tool","arguments":{}}`)
	if seen := lastSeen(t, all["modern"]); strings.Contains(seen.Params, "trace") || notes.last().Trace != (durward.Trace{}) {
		t.Errorf("a header that stands twice: %s", seen.Params)
	}
}

// When traces are recorded, each request begins one unless its caller did, and each
// request to a server is a span below it.
func TestAnObserverBeginsTraces(t *testing.T) {
	all, servers := keepers(t)
	for _, sample := range []bool{false, true} {
		w, notes := &watching{traces: true, sample: sample}, &noting{}
		g := start(t, gateway.Options{Servers: servers, Recorder: notes, Observer: w})
		for _, name := range []string{"legacy", "modern"} {
			g.await(t, name, isReady)
		}
		for era, c := range g.clients(t, "/mcp") {
			for server, k := range all {
				call(t, c, server+"__tool", `{}`)
				recorded := notes.last().Trace
				passed, sent := w.last()
				if recorded.TraceID == [16]byte{} || recorded.SpanID == [8]byte{} || recorded.Caller != [8]byte{} || recorded.Flags == 1 != sample {
					t.Errorf("%s to %s: %+v", era, server, recorded)
				}
				if passed.Call.Trace != recorded || sent.Call != passed.Call || sent.SpanID == [8]byte{} || (sent.SpanID == recorded.SpanID) == sample {
					t.Errorf("%s to %s: passed %+v, sent %+v", era, server, passed.Call.Trace, sent)
				}
				want := "00-" + hex.EncodeToString(recorded.TraceID[:]) + "-" + hex.EncodeToString(sent.SpanID[:]) + "-0" + map[bool]string{true: "1", false: "0"}[sample]
				if seen := lastSeen(t, k); seen.Meta("traceparent") != want || seen.Header.Get("Traceparent") != want || seen.Meta("tracestate") != "" {
					t.Errorf("%s to %s: the server was told %s, wanted %s", era, server, seen.Params, want)
				}
			}
		}
	}
}

// An observer is told how each request ended, and when nothing was recorded.
func TestAnObserverIsToldOfEveryRequest(t *testing.T) {
	all, servers := keepers(t)
	w, notes := &watching{}, &noting{}
	g := start(t, gateway.Options{Servers: servers, Recorder: notes, Observer: w})
	for _, name := range []string{"legacy", "modern"} {
		g.await(t, name, isReady)
	}
	c := g.modern("/mcp")
	check := func(what string, status durward.Status, legs int) {
		t.Helper()
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.passed) != 1 || w.passed[0].Outcome.Status != status || w.passed[0].Outcome.Finished.Before(w.passed[0].Call.Received) || len(w.sent) != legs {
			t.Errorf("%s: %+v, %d legs", what, w.passed, len(w.sent))
		}
		if legs > 0 && (w.order[0] != "sent" || w.sent[0].Finished.Before(w.sent[0].Begun) || w.sent[0].Attempts != 1) {
			t.Errorf("%s: %+v", what, w.sent)
		}
		w.passed, w.sent, w.order = nil, nil, nil
	}
	call(t, c, "legacy__tool", `{}`)
	check("a call", durward.StatusOK, 1)
	all["modern"].Fails = true
	call(t, c, "modern__tool", `{}`)
	check("one that fails", durward.StatusError, 1)
	notes.fail(errors.New("the disk is full"))
	call(t, c, "legacy__tool", `{}`)
	check("one that cannot be recorded", gateway.StatusUnrecorded, 0)
	notes.fail(nil)
	if n := g.Load().Passing; n != 0 {
		t.Errorf("%d requests are at the gate", n)
	}
	session := g.legacy(t, "/mcp")
	if n := g.Load().Sessions; n != 1 {
		t.Errorf("%d sessions", n)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, g.url+"/mcp", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Mcp-Session-Id", session.Session)
	if _, err := session.Raw(req); err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.ended) != 1 || w.ended[0].Session == "" {
		t.Errorf("sessions that ended: %+v", w.ended)
	}
	if l := g.Load(); l.Dials < 2 || l.Connections < 1 || l.Sessions != 0 {
		t.Errorf("%+v", l)
	}
}

// exploding is a policy with a defect.
type exploding struct{ gateway.Decider }

func (exploding) Decide(_ context.Context, call *durward.Call) (durward.Decision, error) {
	if call.Method == wire.MethodToolsCall {
		panic("a defect")
	}
	return durward.Decision{}, nil
}

func (exploding) DecideResult(context.Context, *durward.Call, []byte) (durward.Decision, error) {
	return durward.Decision{}, nil
}

func (exploding) Visible(*durward.Caller, *durward.Call) bool { return true }

func TestAnObserverIsToldOfDefects(t *testing.T) {
	_, servers := keepers(t)
	w := &watching{traces: true}
	g := start(t, gateway.Options{Servers: servers, Decider: exploding{}, Observer: w, Log: slog.New(withTrace{slog.NewTextHandler(io.Discard, nil)})})
	g.await(t, "legacy", isReady)
	a := call(t, g.modern("/mcp"), "legacy__tool", `{}`)
	w.mu.Lock()
	defer w.mu.Unlock()
	if a.Msg.Error == nil || len(w.passed) != 1 || w.passed[0].Outcome.Status != gateway.StatusDefect || g.Load().Passing != 0 {
		t.Errorf("%s, %+v, %+v", a.Msg.Error, w.passed, g.Load())
	}
}

// withTrace is a log handler that knows the trace of a line.
type withTrace struct{ slog.Handler }

func (h withTrace) Handle(ctx context.Context, r slog.Record) error {
	if t, ok := gateway.TraceOf(ctx); ok {
		r.AddAttrs(slog.String("trace", hex.EncodeToString(t.TraceID[:])))
	}
	return h.Handler.Handle(ctx, r)
}

func TestTheTraceIsInTheContext(t *testing.T) {
	_, servers := keepers(t)
	var found durward.Trace
	g := start(t, gateway.Options{Servers: servers, Decider: asking{&found}})
	g.await(t, "legacy", isReady)
	callTraced(t, g.modern("/mcp"), "legacy__tool", "meta")
	if hex.EncodeToString(found.TraceID[:]) != traceID || found.SpanID == [8]byte{} {
		t.Errorf("%+v", found)
	}
	if _, ok := gateway.TraceOf(t.Context()); ok {
		t.Error("a context of no request has a trace")
	}
}

// asking is a policy that looks at the trace.
type asking struct{ found *durward.Trace }

func (a asking) Decide(ctx context.Context, call *durward.Call) (durward.Decision, error) {
	if call.Method == wire.MethodToolsCall {
		*a.found, _ = gateway.TraceOf(ctx)
	}
	return durward.Decision{}, nil
}

func (asking) DecideResult(context.Context, *durward.Call, []byte) (durward.Decision, error) {
	return durward.Decision{}, nil
}

func (asking) Visible(*durward.Caller, *durward.Call) bool { return true }

// A call that is held goes on in the trace of the request that began it.
func TestAHeldCallKeepsItsTrace(t *testing.T) {
	w := &watching{traces: true, sample: true}
	g := start(t, gateway.Options{Servers: []durward.Server{hostileServer("h")}, Observer: w})
	g.await(t, "h", isReady)
	c := g.modern("/mcp")
	c.Capabilities = `{"elicitation":{"form":{}}}`
	params := `{"name":"h__interview","arguments":{"kinds":"form","rounds":1}}`
	a, err := c.Converse(t.Context(), wire.MethodToolsCall, params, func(rawclient.Question) string { return `{"action":"accept","content":{}}` })
	if err != nil || a.Msg.Error != nil {
		t.Fatal(err, a)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.passed) != 2 || len(w.sent) != 1 || w.order[0] != "passed" || w.passed[0].Outcome.Status != durward.StatusInput {
		t.Fatalf("%v: %+v", w.order, w.passed)
	}
	if w.sent[0].Call != w.passed[0].Call || w.passed[0].Call.Trace.TraceID == w.passed[1].Call.Trace.TraceID {
		t.Errorf("%+v", w.sent[0].Call.Trace)
	}
}
