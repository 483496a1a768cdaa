package telemetry_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"durward"
	"durward/gateway"
	"durward/internal/telemetry"
	"durward/internal/wire"
	"durward/ledger"
)

var update = flag.Bool("update", false, "write docs/reference/metrics.md anew")

const planted = "s3cr3t-0f-th3-0wn3r"

func redact(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte(planted), []byte("«redacted»"))
}

func quiet(t *testing.T, o telemetry.OTLP) *telemetry.Telemetry {
	t.Helper()
	return logging(t, o, io.Discard)
}

func logging(t *testing.T, o telemetry.OTLP, to io.Writer) *telemetry.Telemetry {
	t.Helper()
	tel, err := telemetry.New(telemetry.Options{
		Version: "1.2.3", Instance: "i", LogTo: to, Level: "debug", Format: "json", OTLP: o, Redact: redact,
		CloseWithin: time.Minute, // nothing may be lost because the machine is busy
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tel.Close(); err != nil {
			t.Error(err)
		}
	})
	return tel
}

// scrape reads /metrics as Prometheus does.
func scrape(t *testing.T, tel *telemetry.Telemetry) map[string]*dto.MetricFamily {
	t.Helper()
	w := httptest.NewRecorder()
	tel.ServeMetrics().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil || w.Code != 200 {
		t.Fatal(w.Code, err)
	}
	return families
}

// value adds up the lines of a metric whose labels include these; for a histogram it counts.
func value(f *dto.MetricFamily, labels ...string) float64 {
	sum := 0.0
	for _, m := range f.GetMetric() {
		have := map[string]string{}
		for _, l := range m.GetLabel() {
			have[l.GetName()] = l.GetValue()
		}
		all := true
		for i := 0; i < len(labels); i += 2 {
			all = all && have[labels[i]] == labels[i+1]
		}
		if all {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return sum
}

// busy is a gateway as far as metrics ask it.
type busy struct{}

func (busy) Load() gateway.Load {
	return gateway.Load{Passing: 1, Served: 9, Streams: 2, Sessions: 3, Holds: 4, Dials: 7, DialsFailed: 2, Connections: 5}
}

func (busy) Status() gateway.Status {
	kinds := map[string]int{"noise": 3, planted: 1, "bad \xff": 1}
	for i := range 1000 {
		kinds[fmt.Sprintf("kind%d", i)] = 1
	}
	return gateway.Status{Servers: []durward.ServerStatus{
		{Name: "a", State: durward.StateReady, Restarts: 2, InFlight: 1, Queued: 1, Tools: 5},
		{Name: "b", State: durward.StateBackoff, Anomalies: kinds},
	}}
}

func passed(method, server, name string, status durward.Status) gateway.Passed {
	now := time.Now()
	call := &durward.Call{Method: method, Server: server, Name: name, FullName: server + "__" + name, Era: "modern", Received: now.Add(-30 * time.Millisecond)}
	call.Caller.Entrance = durward.EntranceHTTP
	return gateway.Passed{Call: call, Outcome: durward.Outcome{Status: status, Finished: now}, Recorded: time.Millisecond}
}

func sent(p gateway.Passed) gateway.Sent {
	return gateway.Sent{Call: p.Call, Begun: p.Call.Received, Finished: p.Outcome.Finished, Attempts: 1, Era: "legacy"}
}

func failedWith(p gateway.Passed, code int) gateway.Passed {
	p.Outcome.Error = fmt.Appendf(nil, `{"code":%d,"message":"x"}`, code)
	return p
}

// used is a telemetry that was told of everything once at least.
func used(t *testing.T, o telemetry.OTLP) *telemetry.Telemetry {
	t.Helper()
	tel := quiet(t, o)
	tel.WatchGateway(busy{})
	tel.WatchLedger(func() telemetry.LedgerState {
		return telemetry.LedgerState{Queued: 6, Failing: true, Size: 4096, Checkpoint: time.Now().Add(-time.Minute)}
	})
	for range 3 {
		p := passed(wire.MethodToolsCall, "a", "search", durward.StatusOK)
		tel.Passed(p)
		tel.Sent(sent(p))
	}
	tel.Passed(passed(wire.MethodPromptsGet, "a", "greet", durward.StatusOK))
	tel.Passed(passed(wire.MethodToolsList, "", "", durward.StatusOK))
	tel.Passed(passed("vendor/thing", "a", "", durward.StatusInput))
	tel.Passed(passed(wire.MethodToolsCall, "a", "search", durward.StatusToolError))
	tel.Passed(failedWith(passed(wire.MethodToolsCall, "a", "search", durward.StatusTimeout), wire.CodeTimeout))
	tel.Passed(failedWith(passed(wire.MethodToolsCall, "a", "search", durward.StatusError), -32099))
	refused := failedWith(passed(wire.MethodToolsCall, "a", "search", durward.StatusRefused), wire.CodeRefused)
	refused.Decision.Action = durward.Block
	tel.Passed(refused)
	tel.Passed(passed(wire.MethodToolsCall, "a", "search", gateway.StatusDefect))
	broken := sent(passed(wire.MethodToolsCall, "a", "search", durward.StatusError))
	broken.Error = []byte(`{"code":-32603,"message":"x"}`)
	tel.Sent(broken)
	tel.SessionEnded(durward.Caller{Entrance: durward.EntranceStdio}, time.Second)
	tel.ServerSessionEnded(gateway.ServerSession{Server: "a", Transport: durward.TransportStdio, Revision: "2025-06-18", Lasted: time.Minute})
	tel.ServerSessionEnded(gateway.ServerSession{Server: "a", Transport: durward.TransportHTTP, Revision: planted, Failed: true})
	store := tel.Measured(&full{})
	batch := &ledger.Batch{Records: []ledger.Record{&ledger.Intent{}, &ledger.Intent{}, &ledger.Outcome{}}}
	if err := store.Write(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if err := store.Write(t.Context(), &ledger.Batch{}); err == nil {
		t.Fatal("the error of the store is lost")
	}
	return tel
}

func TestRequestsAreCounted(t *testing.T) {
	families := scrape(t, used(t, telemetry.OTLP{}))
	for _, tt := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"durward_requests_total", nil, 11},
		{"durward_requests_total", []string{"mcp_method_name", "tools/call", "status", "ok", "decision", "allow", "era", "modern", "entrance", "http"}, 3},
		{"durward_requests_total", []string{"mcp_method_name", "other", "status", "input"}, 1},
		{"durward_requests_total", []string{"status", "refused", "decision", "block"}, 1},
		{"durward_requests_total", []string{"status", "defect"}, 1},
		{"mcp_server_operation_duration_seconds", []string{"server", "a", "gen_ai_tool_name", "search", "error_type", ""}, 3},
		{"mcp_server_operation_duration_seconds", []string{"gen_ai_prompt_name", "greet", "gen_ai_tool_name", ""}, 1},
		{"mcp_server_operation_duration_seconds", []string{"mcp_method_name", "tools/list", "server", ""}, 1},
		{"mcp_server_operation_duration_seconds", []string{"error_type", "tool_error"}, 1},
		{"mcp_server_operation_duration_seconds", []string{"error_type", "50401"}, 1},
		{"mcp_server_operation_duration_seconds", []string{"error_type", "_OTHER"}, 2},
		{"mcp_client_operation_duration_seconds", []string{"gen_ai_tool_name", "search", "error_type", ""}, 3},
		{"mcp_client_operation_duration_seconds", []string{"error_type", "-32603"}, 1},
		{"mcp_server_session_duration_seconds", []string{"network_transport", "pipe"}, 1},
		{"mcp_client_session_duration_seconds", []string{"server", "a", "network_transport", "pipe", "mcp_protocol_version", "2025-06-18", "error_type", ""}, 1},
		{"mcp_client_session_duration_seconds", []string{"server", "a", "network_transport", "tcp", "mcp_protocol_version", "other", "error_type", "_OTHER"}, 1},
		{"durward_ledger_wait_seconds", nil, 10},
		{"durward_requests_in_flight", nil, 1}, {"durward_connections", nil, 9}, {"durward_streams", nil, 2},
		{"durward_sessions", nil, 3}, {"durward_holds", nil, 4},
		{"durward_server_state", []string{"server", "a"}, 1}, {"durward_server_state", []string{"server", "b", "state", "back-off"}, 1},
		{"durward_server_restarts_total", []string{"server", "a"}, 2}, {"durward_server_tools", []string{"server", "a"}, 5},
		{"durward_server_anomalies_total", []string{"server", "b"}, 1005},
		{"durward_egress_dials_total", []string{"result", "ok"}, 5}, {"durward_egress_dials_total", []string{"result", "failed"}, 2},
		{"durward_egress_connections", nil, 5},
		{"durward_ledger_records_total", []string{"kind", "intent"}, 2}, {"durward_ledger_records_total", []string{"kind", "outcome"}, 1},
		{"durward_ledger_commit_seconds", nil, 2}, {"durward_ledger_commit_records", nil, 1}, {"durward_ledger_commit_failures_total", nil, 1},
		{"durward_ledger_queue_records", nil, 6}, {"durward_ledger_failing", nil, 1}, {"durward_ledger_size_bytes", nil, 4096},
		{"durward_build_info", []string{"version", "1.2.3"}, 1},
	} {
		f := families[tt.name]
		if f == nil {
			t.Errorf("%s is not there", tt.name)
			continue
		}
		if got := value(f, tt.labels...); got != tt.want {
			t.Errorf("%s %v: %v, want %v", tt.name, tt.labels, got, tt.want)
		}
	}
	if age := value(families["durward_ledger_checkpoint_age_seconds"]); age < 60 || age > 3600 {
		t.Errorf("the checkpoint is %v seconds old", age)
	}
	if families["go_goroutines"] == nil || families["process_start_time_seconds"] == nil {
		t.Error("the metrics of the runtime are not there")
	}
}

// full is a store that takes batches with records and no others.
type full struct{ ledger.Store }

func (*full) Write(_ context.Context, b *ledger.Batch) error {
	if len(b.Records) == 0 {
		return durward.Errorf(durward.Unavailable, "store", "the disk is full")
	}
	return nil
}

// What is served is what the table says, and the reference is made of the table.
func TestTheTableIsWhatIsServed(t *testing.T) {
	reference := string(telemetry.Reference())
	families := scrape(t, used(t, telemetry.OTLP{Endpoint: "http://127.0.0.1:1"})) // to which nothing is sent
	for name, f := range families {
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") || strings.HasPrefix(name, "promhttp_") {
			continue
		}
		at := strings.Index(reference, "### `"+name+"`\n\n"+f.GetHelp()+"\n\n*"+strings.ToLower(f.GetType().String()))
		if at < 0 {
			t.Errorf("%s (%s, %q) is not in the reference like that", name, f.GetType(), f.GetHelp())
			continue
		}
		line := reference[at:]
		line = line[strings.Index(line, "\n*"):]
		line = line[:strings.Index(line, " · in OTLP")]
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if !strings.Contains(line, "`"+l.GetName()+"`") {
					t.Errorf("%s has the label %s, the reference says %s", name, l.GetName(), line)
				}
			}
		}
	}
	for line := range strings.Lines(reference) {
		if name, ok := strings.CutPrefix(line, "### `"); ok && families[strings.TrimSuffix(name, "`\n")] == nil {
			t.Errorf("%s is in the reference and not served", line)
		}
	}
}

func TestTheReferenceIsUpToDate(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "reference", "metrics.md")
	if *update {
		if err := os.WriteFile(file, telemetry.Reference(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, telemetry.Reference()) {
		t.Errorf("%s is stale; run make docs", file)
	}
}

// Whatever servers and clients call things, the number of lines stays bounded, and
// what is counted is right all the same.
func TestLabelsAreBoundedUnderAttack(t *testing.T) {
	tel := quiet(t, telemetry.OTLP{})
	const each = 10_000
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := worker; i < each; i += 4 {
				p := passed(wire.MethodToolsCall, "a", fmt.Sprintf("tool%d", i), durward.StatusOK)
				tel.Passed(p)
				tel.Sent(sent(p))
				tel.Passed(passed(wire.MethodPromptsGet, "a", strings.Repeat("x", i), durward.StatusOK))
				tel.Passed(passed(fmt.Sprintf("vendor/%d", i), "a", fmt.Sprint(i), durward.StatusOK))
				tel.Passed(passed(wire.MethodToolsCall, fmt.Sprintf("server%d", i), "t", durward.StatusOK))
				odd := failedWith(passed(wire.MethodToolsCall, "a", "t", durward.StatusError), i)
				odd.Call.Era, odd.Call.Caller.Entrance = fmt.Sprint(i), durward.Entrance(fmt.Sprint(i))
				tel.Passed(odd)
				tel.SessionEnded(durward.Caller{Entrance: durward.Entrance(fmt.Sprint(i))}, 0)
				tel.ServerSessionEnded(gateway.ServerSession{Server: fmt.Sprintf("server%d", i), Revision: fmt.Sprint(i)})
			}
		})
	}
	all.Wait()
	families := scrape(t, tel)
	lines := map[string]int{}
	for name, f := range families {
		lines[name] = len(f.GetMetric())
	}
	if n := lines["mcp_server_operation_duration_seconds"]; n > 1000+2*256+100 || n < 1000 {
		t.Errorf("%d lines of requests", n)
	}
	if n := lines["mcp_client_operation_duration_seconds"]; n > 1100 {
		t.Errorf("%d lines of requests to servers", n)
	}
	if lines["durward_requests_total"] > 20 || lines["mcp_server_session_duration_seconds"] > 2 {
		t.Errorf("%v", lines)
	}
	if n := lines["mcp_client_session_duration_seconds"]; n > 257 {
		t.Errorf("%d lines of sessions at servers", n)
	}
	server := families["mcp_server_operation_duration_seconds"]
	if got := value(server); got != 5*each {
		t.Errorf("%v requests of %d are counted", got, 5*each)
	}
	if got := value(server, "gen_ai_tool_name", "other"); got < each-1000 {
		t.Errorf("%v requests are those of other tools", got)
	}
	if got := value(families["durward_requests_total"], "mcp_method_name", "other"); got != each {
		t.Errorf("%v requests have other methods", got)
	}
}

// Names come from servers: secrets in them are masked, and what is no text is made some.
func TestNamesOfServersMayBeAnything(t *testing.T) {
	tel := quiet(t, telemetry.OTLP{})
	tel.WatchGateway(busy{})
	for _, name := range []string{"x-" + planted, "\xff\xfe", "a\nb\"c\\", strings.Repeat("é", 200), strings.Repeat("x", 1<<20)} {
		p := passed(wire.MethodToolsCall, "a", name, durward.StatusOK)
		tel.Passed(p)
		tel.Sent(sent(p))
	}
	w := httptest.NewRecorder()
	tel.ServeMetrics().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	if body := w.Body.String(); strings.Contains(body, planted) || len(body) > 100<<10 || w.Code != 200 {
		t.Errorf("%d, %d bytes, the secret at %d", w.Code, len(body), strings.Index(body, planted))
	}
	if got := value(scrape(t, tel)["mcp_server_operation_duration_seconds"]); got != 5 {
		t.Errorf("%v", got)
	}
}

func BenchmarkObserver(b *testing.B) {
	tel, err := telemetry.New(telemetry.Options{LogTo: io.Discard, Level: "info", Redact: redact})
	if err != nil {
		b.Fatal(err)
	}
	p := passed(wire.MethodToolsCall, "a", "search", durward.StatusOK)
	s := sent(p)
	b.ReportAllocs()
	for b.Loop() {
		tel.Sent(s)
		tel.Passed(p)
	}
}

func TestObservingAllocatesNothing(t *testing.T) {
	tel := quiet(t, telemetry.OTLP{})
	p := passed(wire.MethodToolsCall, "a", "search", durward.StatusOK)
	s := sent(p)
	if n := testing.AllocsPerRun(200, func() { tel.Sent(s); tel.Passed(p) }); n != 0 {
		t.Errorf("%.0f allocations a request", n)
	}
}
