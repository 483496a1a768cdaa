package otlp_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"durward"
	"durward/internal/secret"
	"durward/internal/telemetry/otlp"
	"durward/internal/testkit/collector"
	"durward/internal/testkit/leftover"
	"durward/internal/testkit/sharedlog"
	"durward/ledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leftover.Awaited(m)) }

func same(text []byte) []byte { return text }

// sink is a collector with a listener.
func sink(t *testing.T, c http.Handler) string {
	t.Helper()
	web := httptest.NewServer(c)
	t.Cleanup(web.Close)
	return web.URL
}

// exporter makes one that, if opt does not say otherwise, loses nothing because the
// machine is busy.
func exporter(t *testing.T, opt otlp.Options) *otlp.Exporter {
	t.Helper()
	opt.Redact = same
	if opt.CloseWithin == 0 {
		opt.CloseWithin = time.Minute
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	x, err := otlp.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func span(i int) *otlp.Span {
	now := time.Now()
	return &otlp.Span{TraceID: [16]byte{1}, SpanID: [8]byte{byte(i >> 8), byte(i), 1}, Name: fmt.Sprint("span ", i), Begun: now, Finished: now}
}

func TestEverySpanArrivesOnce(t *testing.T) {
	c := &collector.Collector{}
	x := exporter(t, otlp.Options{Endpoint: otlp.Endpoint{URL: sink(t, c) + "/"}})
	const n = 2000
	for i := range n {
		x.Span(span(i))
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x.Span(span(n)) // is dropped, and nothing waits for it
	spans, _ := c.Await(func(s []*tracepb.Span, _ []*logspb.LogRecord) bool { return len(s) >= n })
	seen := map[string]bool{}
	for _, s := range spans {
		seen[string(s.SpanId)] = true
	}
	if got := x.Counts(otlp.Traces); len(seen) != n || len(spans) != n || got != (otlp.Counts{Sent: n}) || len(c.Problems()) > 0 {
		t.Errorf("%d spans, %d different, %+v, %v", len(spans), len(seen), got, c.Problems())
	}
}

// A collector that does not answer holds up nobody: what does not fit is dropped and
// counted, and Close gives up.
func TestACollectorThatDoesNotAnswer(t *testing.T) {
	release := make(chan struct{})
	c := &collector.Collector{Answer: func(_ http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-release:
		case <-r.Context().Done():
		}
		return false
	}}
	url := sink(t, c)
	t.Cleanup(func() { close(release) })
	x := exporter(t, otlp.Options{Endpoint: otlp.Endpoint{URL: url}, CloseWithin: time.Second})
	const n = 10_000
	for i := range n {
		x.Span(span(i))
		x.Record(&otlp.Record{Body: "line"})
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	for _, signal := range []otlp.Signal{otlp.Traces, otlp.Logs} {
		if got := x.Counts(signal); got.Sent != 0 || got.Dropped != n || got.Failed == 0 {
			t.Errorf("%s: %+v", signal, got)
		}
	}
}

// A collector that has too much to do is asked again; one that refuses is not.
func TestWhatIsSentAgain(t *testing.T) {
	var asked atomic.Int64
	c := &collector.Collector{Answer: func(w http.ResponseWriter, _ *http.Request) bool {
		if n := asked.Add(1); n <= 2 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader([]int{http.StatusServiceUnavailable, http.StatusTooManyRequests}[n-1])
			return false
		}
		return true
	}}
	x := exporter(t, otlp.Options{Endpoint: otlp.Endpoint{URL: sink(t, c)}})
	x.Span(span(1))
	x.Close()
	if got := x.Counts(otlp.Traces); got != (otlp.Counts{Sent: 1}) || asked.Load() != 3 {
		t.Errorf("%+v after %d requests", got, asked.Load())
	}
	var log sharedlog.Buffer
	c = &collector.Collector{Answer: func(w http.ResponseWriter, _ *http.Request) bool {
		asked.Add(1)
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, "who are you?\n\x1b[31m"+strings.Repeat("x", 1000))
		return false
	}}
	asked.Store(0)
	x = exporter(t, otlp.Options{Endpoint: otlp.Endpoint{URL: sink(t, c)}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	x.Span(span(1))
	x.Close()
	if got := x.Counts(otlp.Traces); got != (otlp.Counts{Dropped: 1, Failed: 1}) || asked.Load() != 1 {
		t.Errorf("%+v after %d requests", got, asked.Load())
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "401: who are you?") || strings.Contains(text, "\x1b") || len(text) > 600 {
		t.Errorf("%q", text)
	}
}

// A redirect is not followed: the headers are for the collector of the configuration.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var strayed atomic.Int64
	elsewhere := sink(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
	c := &collector.Collector{Answer: func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
		return false
	}}
	x := exporter(t, otlp.Options{Endpoint: otlp.Endpoint{URL: sink(t, c), Headers: map[string]secret.Value{"Authorization": secret.New("Bearer x")}}})
	x.Span(span(1))
	x.Close()
	if got := x.Counts(otlp.Traces); got != (otlp.Counts{Dropped: 1, Failed: 1}) || strayed.Load() != 0 {
		t.Errorf("%+v, %d strayed", got, strayed.Load())
	}
}

// Failures are logged once in a while, not each time, and not at all as telemetry.
func TestFailuresAreLoggedRarely(t *testing.T) {
	var log sharedlog.Buffer
	const nowhere = "http://127.0.0.1:1" // a port that nobody is given
	x := exporter(t, otlp.Options{Endpoint: otlp.Endpoint{URL: nowhere}, CloseWithin: time.Second, Log: slog.New(slog.NewTextHandler(&log, nil))})
	for i := range 1100 {
		x.Span(span(i))
		x.Record(&otlp.Record{Body: "line"})
	}
	x.Close()
	if text := log.String(); strings.Count(text, "\n") != 1 || strings.Contains(text, "/v1/") || !strings.Contains(text, "cannot be reached") {
		t.Errorf("%s", text)
	}
	if got := x.Counts(otlp.Traces); got.Dropped != 1100 {
		t.Errorf("%+v", got)
	}
}

// The environment has no say.
func TestTheEnvironmentIsIgnored(t *testing.T) {
	var strayed atomic.Int64
	elsewhere := sink(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
	for name, value := range map[string]string{
		"ENDPOINT": elsewhere, "TRACES_ENDPOINT": elsewhere, "HEADERS": "x-evil=1", "COMPRESSION": "none", "PROTOCOL": "http/json",
		"TIMEOUT": "1", "INSECURE": "maybe", "CERTIFICATE": "/nowhere", "TRACES_CLIENT_CERTIFICATE": "/nowhere", "TRACES_CLIENT_KEY": "/nowhere",
	} {
		t.Setenv("OTEL_EXPORTER_OTLP_"+name, value)
	}
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "evil=1")
	t.Setenv("OTEL_SERVICE_NAME", "evil")
	t.Setenv("OTEL_SDK_DISABLED", "true")
	c := &collector.Collector{}
	x := exporter(t, otlp.Options{Endpoint: otlp.Endpoint{URL: sink(t, c)}, Resource: otlp.Resource{Version: "1", Instance: "i"}})
	x.Span(span(1))
	x.Close()
	if got := x.Counts(otlp.Traces); got != (otlp.Counts{Sent: 1}) || strayed.Load() != 0 || bytes.Contains(c.Raw(), []byte("evil")) || !bytes.Contains(c.Raw(), []byte("durward")) {
		t.Errorf("%+v, %d strayed: %q", got, strayed.Load(), c.Raw())
	}
	for _, h := range c.Headers() {
		if h.Get("X-Evil") != "" {
			t.Errorf("%v", h)
		}
	}
}

// Whatever texts hold, they are sent as UTF-8, bounded, and masked.
func TestTextsMayBeAnything(t *testing.T) {
	c := &collector.Collector{}
	x, err := otlp.New(otlp.Options{Endpoint: otlp.Endpoint{URL: sink(t, c)}, Log: slog.New(slog.DiscardHandler), CloseWithin: time.Minute,
		Redact: func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("hush"), []byte("*")) }})
	if err != nil {
		t.Fatal(err)
	}
	s := span(1)
	s.Name = "\xff" + strings.Repeat("é", 1000)
	s.Attributes = []otlp.Attribute{{Key: "a", Value: "hush \xc3"}, {Key: "n", Value: 1.5}, {Key: "b", Value: true}, {Key: "none"}, {Key: "empty", Value: ""}, {Key: "odd", Value: []int{1}}}
	x.Span(s)
	x.Record(&otlp.Record{Body: strings.Repeat("hush", 5000), Level: 100})
	x.Record(&otlp.Record{Body: "b", Level: -100})
	x.Close()
	spans, logs := c.Await(func(s []*tracepb.Span, l []*logspb.LogRecord) bool { return len(s) == 1 && len(l) == 2 })
	if got := spans[0]; len(got.Name) > 260 || collector.Text(got.Attributes, "a") != "* \uFFFD" || len(got.Attributes) != 3 {
		t.Errorf("%v", got)
	}
	if bytes.Contains(c.Raw(), []byte("hush")) || len(logs[0].Body.GetStringValue()) > 4100 || logs[0].SeverityNumber != 24 || logs[1].SeverityNumber != 1 {
		t.Errorf("%d %d %d", len(logs[0].Body.GetStringValue()), logs[0].SeverityNumber, logs[1].SeverityNumber)
	}
}

// Numbers of Prometheus become those of OTLP.
func TestMetricsAreTranslated(t *testing.T) {
	c := &collector.Collector{}
	label := []*dto.LabelPair{{Name: proto.String("l"), Value: proto.String("v")}}
	families := []*dto.MetricFamily{
		{Name: proto.String("h"), Type: dto.MetricType_HISTOGRAM.Enum(), Metric: []*dto.Metric{{Label: label, Histogram: &dto.Histogram{
			SampleCount: proto.Uint64(10), SampleSum: proto.Float64(12.5), Bucket: []*dto.Bucket{
				{UpperBound: proto.Float64(1), CumulativeCount: proto.Uint64(3)}, {UpperBound: proto.Float64(2), CumulativeCount: proto.Uint64(3)}, {UpperBound: proto.Float64(5), CumulativeCount: proto.Uint64(9)},
			}}}}},
		{Name: proto.String("c"), Type: dto.MetricType_COUNTER.Enum(), Metric: []*dto.Metric{{Counter: &dto.Counter{Value: proto.Float64(4)}}}},
		{Name: proto.String("g"), Type: dto.MetricType_GAUGE.Enum(), Metric: []*dto.Metric{{Gauge: &dto.Gauge{Value: proto.Float64(-1)}}}},
		{Name: proto.String("u"), Type: dto.MetricType_UNTYPED.Enum(), Metric: []*dto.Metric{{Untyped: &dto.Untyped{Value: proto.Float64(2)}}}},
		{Name: proto.String("s"), Type: dto.MetricType_SUMMARY.Enum(), Metric: []*dto.Metric{{Summary: &dto.Summary{SampleCount: proto.Uint64(2), SampleSum: proto.Float64(3), Quantile: []*dto.Quantile{{Quantile: proto.Float64(0.5), Value: proto.Float64(1)}}}}}},
		{Name: proto.String("odd"), Type: dto.MetricType_GAUGE_HISTOGRAM.Enum()},
	}
	x := exporter(t, otlp.Options{Endpoint: otlp.Endpoint{URL: sink(t, c)}, Gather: func() ([]*dto.MetricFamily, error) { return families, nil },
		Naming: otlp.Naming{Metric: func(name string) (string, string) { return "m." + name, "s" }, Label: strings.ToUpper}})
	x.Close()
	h := c.Metric("m.h").GetHistogram().GetDataPoints()
	if len(h) != 1 || fmt.Sprint(h[0].BucketCounts) != "[3 0 6 1]" || fmt.Sprint(h[0].ExplicitBounds) != "[1 2 5]" || h[0].Count != 10 || h[0].GetSum() != 12.5 || collector.Text(h[0].Attributes, "L") != "v" || h[0].StartTimeUnixNano == 0 {
		t.Errorf("%v", h)
	}
	if c.Metric("m.c").GetSum().GetDataPoints()[0].GetAsDouble() != 4 || c.Metric("m.g").GetGauge().GetDataPoints()[0].GetAsDouble() != -1 ||
		c.Metric("m.u").GetGauge().GetDataPoints()[0].GetAsDouble() != 2 || c.Metric("m.s").GetSummary().GetDataPoints()[0].QuantileValues[0].Value != 1 || c.Metric("m.odd") != nil {
		t.Errorf("%v %v %v %v", c.Metric("m.c"), c.Metric("m.g"), c.Metric("m.u"), c.Metric("m.s"))
	}
	if got := x.Counts(otlp.Metrics); got.Sent != 6 || got.Failed != 0 {
		t.Errorf("%+v", got)
	}
}

func rows(n int, fail error) iter.Seq2[ledger.Row, error] {
	return func(yield func(ledger.Row, error) bool) {
		for i := range n {
			row := ledger.Row{Intent: ledger.Intent{
				ID: durward.CallID(fmt.Sprint("id-", i)), TraceID: [16]byte{7}, SpanID: [8]byte{8}, At: time.Unix(1_700_000_000, int64(i)), Method: "tools/call",
				Server: "s", Tool: "search", FullName: "s__search", Principal: "local", Preview: `{"arguments":"words"}`, BytesIn: 21,
			}, Outcome: &ledger.Outcome{Status: durward.StatusToolError, Duration: 1500 * time.Millisecond, Preview: "an answer in words", Attempts: 1}}
			switch i % 4 {
			case 1:
				row.Outcome = nil
			case 2:
				row.Method, row.Tool, row.FullName = "resources/read", "file:///words", "file:///words"
				row.Outcome.Status = durward.StatusOK
			case 3:
				row.Method, row.Outcome.Error = "prompts/get", `{"message":"words"}`
			}
			if !yield(row, nil) {
				return
			}
		}
		if fail != nil {
			yield(ledger.Row{}, fail)
		}
	}
}

// Rows of the ledger arrive in order, once each, and without what was said in them
// unless that is asked for.
func TestRowsOfTheLedgerAreExported(t *testing.T) {
	for _, content := range []bool{false, true} {
		c := &collector.Collector{}
		var told []int64
		taken, err := otlp.ExportLogs(t.Context(), otlp.ExportOptions{Endpoint: otlp.Endpoint{URL: sink(t, c)}, Redact: same, Content: content, Progress: func(n int64) { told = append(told, n) }}, rows(1100, nil))
		_, logs := c.Await(func(_ []*tracepb.Span, l []*logspb.LogRecord) bool { return len(l) >= 1100 })
		if err != nil || taken != 1100 || len(logs) != 1100 || fmt.Sprint(told) != "[512 1024 1100]" || len(c.Problems()) > 0 {
			t.Fatal(taken, err, len(logs), told, c.Problems())
		}
		for i, r := range logs {
			if collector.Text(r.Attributes, "durward.call.id") != fmt.Sprint("id-", i) || r.EventName != "durward.call" || r.TimeUnixNano != uint64(1_700_000_000*1e9+int64(i)) || hex.EncodeToString(r.TraceId) != "07000000000000000000000000000000" || r.SpanId[0] != 8 {
				t.Fatalf("row %d: %v", i, r)
			}
		}
		if r := logs[0]; r.Body.GetStringValue() != "tools/call s__search" || r.SeverityNumber != 13 || collector.Text(r.Attributes, "gen_ai.tool.name") != "search" ||
			collector.Text(r.Attributes, "durward.duration") != "double_value:1.5" || collector.Text(r.Attributes, "durward.status") != "tool_error" {
			t.Errorf("%v", r)
		}
		if collector.Text(logs[1].Attributes, "durward.status") != "dispatched" || logs[2].SeverityNumber != 9 || logs[2].Body.GetStringValue() != "resources/read" {
			t.Errorf("%v %v", logs[1], logs[2])
		}
		if said := bytes.Contains(c.Raw(), []byte("words")); said != content {
			t.Errorf("with content %t: %t", content, said)
		}
	}
}

// An export ends with what ended it, and says how much the collector took.
func TestAnExportThatEndsEarly(t *testing.T) {
	c := &collector.Collector{}
	url := sink(t, c)
	opt := otlp.ExportOptions{Endpoint: otlp.Endpoint{URL: url}, Redact: same}
	damaged := errors.New("a page is damaged")
	if taken, err := otlp.ExportLogs(t.Context(), opt, rows(600, damaged)); taken != 512 || !errors.Is(err, damaged) {
		t.Error(taken, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	opt.Progress = func(int64) { cancel() }
	if taken, err := otlp.ExportLogs(ctx, opt, rows(5000, nil)); taken != 512 || !errors.Is(err, context.Canceled) {
		t.Error(taken, err)
	}
	c.Answer = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusForbidden); return false }
	if taken, err := otlp.ExportLogs(t.Context(), opt, rows(5, nil)); taken != 0 || durward.KindOf(err) != durward.Unavailable {
		t.Error(taken, err)
	}
	if _, err := otlp.ExportLogs(t.Context(), otlp.ExportOptions{Endpoint: otlp.Endpoint{URL: "nowhere"}, Redact: same}, rows(1, nil)); durward.KindOf(err) != durward.Invalid {
		t.Error(err)
	}
}
