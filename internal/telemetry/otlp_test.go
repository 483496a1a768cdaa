package telemetry_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"durward"
	"durward/gateway"
	"durward/internal/secret"
	"durward/internal/telemetry"
	"durward/internal/testkit/collector"
	"durward/internal/testkit/keeper"
	"durward/internal/testkit/rawclient"
	"durward/internal/wire"
)

// The trace of a caller.
const (
	callerTrace = "0af7651916cd43dd8448eb211c80319c"
	callerSpan  = "b7ad6b7169203331"
)

// observed is a gateway that tells a collector, in front of servers of both eras.
type observed struct {
	tel       *telemetry.Telemetry
	collector *collector.Collector
	keepers   map[string]*keeper.Server
	url       string
}

func observe(t *testing.T, o telemetry.OTLP) *observed {
	t.Helper()
	ob := &observed{collector: &collector.Collector{}, keepers: map[string]*keeper.Server{"legacy": {}, "modern": {Modern: true}}}
	sink := httptest.NewServer(ob.collector)
	t.Cleanup(sink.Close)
	o.Endpoint = sink.URL
	ob.tel = quiet(t, o)
	opt := gateway.Options{Observer: ob.tel, Log: ob.tel.Logger(), Redact: redact}
	opt.Access.NoAuth = true
	for era, k := range ob.keepers {
		web := httptest.NewServer(k)
		t.Cleanup(web.Close)
		opt.Servers = append(opt.Servers, durward.Server{Name: era, URL: web.URL, Era: era})
	}
	g, err := gateway.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(g.Handler())
	t.Cleanup(func() {
		web.CloseClientConnections()
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	ob.url = web.URL
	ob.tel.WatchGateway(g)
	for era := range ob.keepers {
		g.AwaitServer(t.Context(), era, time.Minute)
	}
	return ob
}

// flush has everything sent, and ends the exporter.
func (ob *observed) flush(t *testing.T) {
	t.Helper()
	if err := ob.tel.Close(); err != nil {
		t.Fatal(err)
	}
}

func (ob *observed) clients(t *testing.T) map[string]*rawclient.Client {
	t.Helper()
	all := map[string]*rawclient.Client{"legacy": {URL: ob.url + "/mcp"}, "modern": {URL: ob.url + "/mcp", Modern: true}}
	for _, c := range all {
		t.Cleanup(c.HTTP.CloseIdleConnections)
		c.HTTP.Transport = &http.Transport{DisableKeepAlives: true}
	}
	if _, err := all["legacy"].Initialize(t.Context(), `{}`); err != nil {
		t.Fatal(err)
	}
	return all
}

// traced calls a tool within the caller's trace, with a secret and an argument.
func traced(t *testing.T, c *rawclient.Client, name string) {
	t.Helper()
	meta := `"traceparent":"00-` + callerTrace + `-` + callerSpan + `-01","tracestate":"a=b"`
	if c.Modern {
		meta += `,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`
	}
	a, err := c.Do(t.Context(), wire.MethodToolsCall, `{"name":"`+name+`","arguments":{"token":"`+planted+`","q":"`+argument+`"},"_meta":{`+meta+`}}`)
	if err != nil {
		t.Fatal(err)
	}
	_ = a
}

const argument = "an argument that nobody else may read"

func inTrace(spans []*tracepb.Span, id string) (found []*tracepb.Span) {
	for _, s := range spans {
		if hex.EncodeToString(s.TraceId) == id {
			found = append(found, s)
		}
	}
	return found
}

// A call within a trace arrives at the server in the same trace, below a span of
// kind client, which is below one of kind server, which is below the caller's.
func TestTheChainOfSpansInEveryPairOfEras(t *testing.T) {
	for _, server := range []string{"legacy", "modern"} {
		for _, client := range []string{"legacy", "modern"} {
			ob := observe(t, telemetry.OTLP{Traces: true, Sample: 0})
			traced(t, ob.clients(t)[client], server+"__tool")
			ob.flush(t)
			spans, _ := ob.collector.Await(func(s []*tracepb.Span, _ []*logspb.LogRecord) bool { return len(inTrace(s, callerTrace)) == 2 })
			ours := inTrace(spans, callerTrace)
			if len(spans) != 2 { // what begins here is not sampled
				t.Errorf("%s to %s: %d spans", client, server, len(spans))
			}
			served, called := ours[0], ours[1]
			if served.Kind == tracepb.Span_SPAN_KIND_CLIENT {
				served, called = called, served
			}
			seen := ob.keepers[server].Seen()
			want := "00-" + callerTrace + "-" + hex.EncodeToString(called.SpanId) + "-01"
			if len(seen) != 1 || seen[0].Meta("traceparent") != want || seen[0].Header.Get("Traceparent") != want || seen[0].Meta("tracestate") != "a=b" {
				t.Errorf("%s to %s: the server was told %+v, the spans say %s", client, server, seen, want)
			}
			if hex.EncodeToString(served.ParentSpanId) != callerSpan || !bytes.Equal(called.ParentSpanId, served.SpanId) || bytes.Equal(called.SpanId, served.SpanId) {
				t.Errorf("%s to %s: %v above %v", client, server, served, called)
			}
			checkServed(t, served, client, server)
			checkCalled(t, called, server)
		}
	}
}

func checkServed(t *testing.T, s *tracepb.Span, client, server string) {
	t.Helper()
	revision := map[string]string{"legacy": "2025-11-25", "modern": "2026-07-28"}[client]
	want := map[string]string{
		"mcp.method.name": "tools/call", "gen_ai.tool.name": server + "__tool", "gen_ai.operation.name": "execute_tool", "mcp.protocol.version": revision,
		"network.transport": "tcp", "durward.server": server, "durward.era": client, "durward.status": "ok", "durward.decision": "allow",
		"durward.entrance": "http", "error.type": "", "mcp.session.id": "",
	}
	for key, value := range want {
		if got := collector.Text(s.Attributes, key); got != value {
			t.Errorf("%s to %s: server span: %s is %q, want %q", client, server, key, got, value)
		}
	}
	if s.Name != "tools/call "+server+"__tool" || s.Kind != tracepb.Span_SPAN_KIND_SERVER || s.Status.GetCode() != tracepb.Status_STATUS_CODE_UNSET ||
		s.Flags != 0x301 || s.TraceState != "a=b" || s.EndTimeUnixNano < s.StartTimeUnixNano || collector.Text(s.Attributes, "durward.call.id") == "" || collector.Text(s.Attributes, "jsonrpc.request.id") == "" {
		t.Errorf("%s to %s: %v", client, server, s)
	}
}

func checkCalled(t *testing.T, s *tracepb.Span, server string) {
	t.Helper()
	revision := map[string]string{"legacy": "2025-11-25", "modern": "2026-07-28"}[server]
	if id := collector.Text(s.Attributes, "jsonrpc.request.id"); id == "" || strings.Trim(id, "0123456789") != "" {
		t.Errorf("client span to %s: the id is %q", server, id)
	}
	for key, value := range map[string]string{
		"mcp.method.name": "tools/call", "gen_ai.tool.name": "tool", "network.transport": "tcp", "durward.server": server, "durward.era": server, "durward.attempts": "int_value:1",
		"mcp.protocol.version": revision,
	} {
		if got := collector.Text(s.Attributes, key); got != value {
			t.Errorf("client span to %s: %s is %q, want %q", server, key, got, value)
		}
	}
	if s.Name != "tools/call tool" || s.Kind != tracepb.Span_SPAN_KIND_CLIENT || s.Flags != 0x101 {
		t.Errorf("client span to %s: %v", server, s)
	}
}

// What fails says how, by a code, and not in words.
func TestSpansOfWhatFails(t *testing.T) {
	ob := observe(t, telemetry.OTLP{Traces: true, Sample: 1})
	ob.keepers["modern"].Fails = true
	c := ob.clients(t)["modern"]
	traced(t, c, "modern__tool")
	traced(t, c, "modern__no-such-tool")
	ob.flush(t)
	spans, _ := ob.collector.Await(func(s []*tracepb.Span, _ []*logspb.LogRecord) bool { return len(inTrace(s, callerTrace)) == 3 })
	for _, s := range inTrace(spans, callerTrace) {
		want, name := "-32603", "tools/call modern__tool"
		if s.Kind == tracepb.Span_SPAN_KIND_CLIENT {
			name = "tools/call tool"
		} else if collector.Text(s.Attributes, "durward.server") == "" {
			want, name = "-32602", "tools/call"
		}
		if s.Name != name || s.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR || s.Status.GetMessage() != "" ||
			collector.Text(s.Attributes, "error.type") != want || collector.Text(s.Attributes, "rpc.response.status_code") != want {
			t.Errorf("%v", s)
		}
	}
}

// Traces that begin here are taken by their ids, in the part that is wanted.
func TestSampling(t *testing.T) {
	tel := quiet(t, telemetry.OTLP{Endpoint: "http://127.0.0.1:1", Traces: true, Sample: 0.25})
	taken := 0
	for i := range 1 << 12 {
		id := [16]byte{8: byte(i >> 4), 9: byte(i << 4)}
		if tel.Sample(id) {
			taken++
		}
	}
	if taken != 1<<10 || !tel.Traces() {
		t.Errorf("%d of %d", taken, 1<<12)
	}
	none, all := quiet(t, telemetry.OTLP{Endpoint: "http://127.0.0.1:1", Traces: true}), quiet(t, telemetry.OTLP{Endpoint: "http://127.0.0.1:1", Traces: true, Sample: 1})
	if none.Sample([16]byte{}) || !all.Sample([16]byte{8: 255, 9: 255, 10: 255, 11: 255, 12: 255, 13: 255, 14: 255, 15: 255}) || quiet(t, telemetry.OTLP{Endpoint: "http://127.0.0.1:1"}).Traces() {
		t.Error("nothing is something, or all is not")
	}
}

// No secret and no argument is in any byte that leaves, in none of the forms that
// encoders give it; and neither is the id of a session.
func TestNothingThatWasSaidIsSent(t *testing.T) {
	ob := observe(t, telemetry.OTLP{Traces: true, Metrics: true, Logs: true, Sample: 1, Headers: map[string]secret.Value{"authorization": secret.New("Bearer " + planted)}})
	clients := ob.clients(t)
	for _, fails := range []bool{false, true} {
		for server, k := range ob.keepers {
			k.Fails = fails
			for _, c := range clients {
				traced(t, c, server+"__tool")
				traced(t, c, planted)
				if _, err := c.Do(t.Context(), wire.MethodResourcesRead, `{"uri":"keeper://`+planted+`"}`); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Do(t.Context(), "vendor/"+planted, `{"x":"`+argument+`"}`); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	ob.tel.Logger().Warn("a server said "+planted, "text", planted, "value", secret.New(planted), slog.Group("g", "in", planted))
	p := passed(wire.MethodToolsCall, "a", "x-"+planted, durward.StatusOK)
	p.Call.Trace = durward.Trace{TraceID: [16]byte{1}, SpanID: [8]byte{1}, Flags: 1}
	p.Call.FullName, p.Call.Caller.Principal, p.Call.RequestID = "x-"+planted, planted, []byte(`"`+planted+`"`)
	ob.tel.Passed(p)
	ob.tel.Sent(sent(p))
	ob.flush(t)
	raw := ob.collector.Raw()
	for name, form := range map[string]string{
		"secret": planted, "argument": argument, "session": clients["legacy"].Session, "url": url.QueryEscape(argument),
		"base64 of the secret": base64.StdEncoding.EncodeToString([]byte(planted)), "base64 of the argument": base64.StdEncoding.EncodeToString([]byte(argument)),
	} {
		if at := bytes.Index(raw, []byte(form)); at >= 0 {
			t.Errorf("the %s was sent: …%q…", name, raw[max(0, at-80):min(len(raw), at+len(form)+80)])
		}
	}
	if len(raw) < 5000 || !bytes.Contains(raw, []byte("a server said")) || ob.collector.Metric("mcp.server.operation.duration") == nil || len(ob.collector.Problems()) > 0 {
		t.Errorf("%d bytes, %v", len(raw), ob.collector.Problems())
	}
	for _, h := range ob.collector.Headers() {
		if h.Get("Authorization") != "Bearer "+planted {
			t.Errorf("%v", h)
		}
	}
}

// What is too long is cut after secrets are taken out: half of one would not be known.
func TestSecretsAreNotCutInTwo(t *testing.T) {
	ob := observe(t, telemetry.OTLP{Traces: true, Metrics: true, Sample: 1})
	for _, most := range []int{64, 128, 256} {
		for _, method := range []string{wire.MethodToolsCall, wire.MethodPromptsGet, strings.Repeat("m", most-10) + planted} {
			p := passed(method, "a", strings.Repeat("n", most-10)+planted, durward.StatusOK)
			p.Call.Trace = durward.Trace{TraceID: [16]byte{1}, SpanID: [8]byte{1}, Flags: 1}
			p.Call.RequestID, p.State = []byte(`"`+strings.Repeat("i", most-11)+planted+`"`), "a="+planted
			ob.tel.Passed(p)
			ob.tel.Sent(sent(p))
		}
	}
	families := scrape(t, ob.tel)
	ob.flush(t)
	half := planted[:8]
	if raw := ob.collector.Raw(); bytes.Contains(raw, []byte(half)) || len(raw) < 1000 {
		t.Errorf("it is in %d bytes: %.300q", len(raw), raw[max(0, bytes.Index(raw, []byte(half))-100):])
	}
	for name, f := range families {
		if strings.Contains(f.String(), half) {
			t.Errorf("it is in %s", name)
		}
	}
}

// Spans that wait keep nothing of what is too long for them.
func TestSpansKeepLittle(t *testing.T) {
	ob := observe(t, telemetry.OTLP{Traces: true, Sample: 1})
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for range 50 {
		long := strings.Repeat("x", 1<<20)
		p := passed(long, "a", long, durward.StatusOK)
		p.Call.Trace = durward.Trace{TraceID: [16]byte{1}, SpanID: [8]byte{1}, Flags: 1}
		ob.tel.Passed(p)
		ob.tel.Sent(sent(p))
	}
	if more := heap() - before; more > 20<<20 {
		t.Errorf("%d bytes are kept", more)
	}
}

// Metrics are the same as for Prometheus, under OpenTelemetry's names.
func TestMetricsByOTLP(t *testing.T) {
	ob := observe(t, telemetry.OTLP{Metrics: true})
	for _, c := range ob.clients(t) {
		if _, err := c.CallTool(t.Context(), "legacy__tool", `{}`); err != nil {
			t.Fatal(err)
		}
	}
	ob.flush(t)
	duration := ob.collector.Metric("mcp.client.operation.duration")
	points := duration.GetHistogram().GetDataPoints()
	if len(points) != 1 || points[0].Count != 2 || duration.Unit != "s" || collector.Text(points[0].Attributes, "gen_ai.tool.name") != "tool" || collector.Text(points[0].Attributes, "durward.server") != "legacy" {
		t.Fatalf("%v", duration)
	}
	total := uint64(0)
	for _, n := range points[0].BucketCounts {
		total += n
	}
	if total != 2 || len(points[0].BucketCounts) != len(points[0].ExplicitBounds)+1 || len(points[0].ExplicitBounds) != 14 {
		t.Errorf("%v", points[0])
	}
	requests := ob.collector.Metric("durward.requests").GetSum()
	if !requests.GetIsMonotonic() || len(requests.GetDataPoints()) < 2 {
		t.Errorf("%v", requests)
	}
	if ob.collector.Metric("durward.server.state").GetGauge() == nil || ob.collector.Metric("go_goroutines") == nil {
		t.Error("states and the runtime are not there")
	}
}

// Lines of the log are sent with their attributes, and with the trace they belong to.
func TestLogsByOTLP(t *testing.T) {
	ob := observe(t, telemetry.OTLP{Logs: true})
	log := ob.tel.Logger().With("preset", 1).WithGroup("g")
	log.Error("it broke", "why", "no reason", slog.Group("inner", "x", true))
	ob.flush(t)
	_, logs := ob.collector.Await(func(_ []*tracepb.Span, logs []*logspb.LogRecord) bool { return find(logs, "it broke") != nil })
	r := find(logs, "it broke")
	if r.SeverityNumber != logspb.SeverityNumber_SEVERITY_NUMBER_ERROR || r.SeverityText != "ERROR" || collector.Text(r.Attributes, "preset") != "1" ||
		collector.Text(r.Attributes, "g.why") != "no reason" || collector.Text(r.Attributes, "g.inner.x") != "true" || r.TimeUnixNano == 0 || len(r.TraceId) != 0 {
		t.Errorf("%v", r)
	}
}

func find(logs []*logspb.LogRecord, body string) *logspb.LogRecord {
	for _, r := range logs {
		if strings.Contains(r.Body.GetStringValue(), body) {
			return r
		}
	}
	return nil
}
