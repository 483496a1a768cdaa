// Package collector is an OpenTelemetry collector for tests: it takes OTLP over
// HTTP, decodes it strictly, and keeps it, the bytes as well.
package collector

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector is the handler. Its zero value is ready.
type Collector struct {
	// Answer, if set, answers requests instead, of which nothing is kept unless it
	// returns true.
	Answer func(w http.ResponseWriter, r *http.Request) (keep bool)

	mu       sync.Mutex // guards all below
	changed  *sync.Cond
	spans    []*tracepb.Span
	logs     []*logspb.LogRecord
	metrics  map[string]*metricspb.Metric // the last of each name
	raw      bytes.Buffer                 // everything, as it was before compression
	headers  []http.Header
	problems []string
}

// ServeHTTP implements http.Handler.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.Answer != nil && !c.Answer(w, r) {
		return
	}
	err := c.take(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header.Clone())
	if err != nil {
		c.problems = append(c.problems, err.Error())
		w.WriteHeader(http.StatusBadRequest)
	}
	c.cond().Broadcast()
}

// cond needs mu.
func (c *Collector) cond() *sync.Cond {
	if c.changed == nil {
		c.changed = sync.NewCond(&c.mu)
	}
	return c.changed
}

func (c *Collector) take(r *http.Request) error {
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-protobuf" || r.Header.Get("Content-Encoding") != "gzip" {
		return fmt.Errorf("%s with %v", r.Method, r.Header)
	}
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(z)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(body)
	switch r.URL.Path {
	case "/v1/traces":
		return c.takeTraces(body)
	case "/v1/logs":
		return c.takeLogs(body)
	case "/v1/metrics":
		return c.takeMetrics(body)
	default:
		return fmt.Errorf("nothing is at %s", r.URL.Path)
	}
}

// decode refuses fields that the message does not have.
func decode(body []byte, m proto.Message) error {
	if err := proto.Unmarshal(body, m); err != nil {
		return err
	}
	if unknown := m.ProtoReflect().GetUnknown(); len(unknown) > 0 {
		return fmt.Errorf("%d bytes of unknown fields", len(unknown))
	}
	return nil
}

func (c *Collector) takeTraces(body []byte) error {
	var m tracepb.TracesData
	if err := decode(body, &m); err != nil {
		return err
	}
	for _, resource := range m.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
	return nil
}

func (c *Collector) takeLogs(body []byte) error {
	var m logspb.LogsData
	if err := decode(body, &m); err != nil {
		return err
	}
	for _, resource := range m.ResourceLogs {
		for _, scope := range resource.ScopeLogs {
			c.logs = append(c.logs, scope.LogRecords...)
		}
	}
	return nil
}

func (c *Collector) takeMetrics(body []byte) error {
	var m metricspb.MetricsData
	if err := decode(body, &m); err != nil {
		return err
	}
	if c.metrics == nil {
		c.metrics = map[string]*metricspb.Metric{}
	}
	for _, resource := range m.ResourceMetrics {
		for _, scope := range resource.ScopeMetrics {
			for _, metric := range scope.Metrics {
				c.metrics[metric.Name] = metric
			}
		}
	}
	return nil
}

// Await returns all spans and log records once ok says that enough have come, and
// after a minute those that there are.
func (c *Collector) Await(ok func(spans []*tracepb.Span, logs []*logspb.LogRecord) bool) ([]*tracepb.Span, []*logspb.LogRecord) {
	c.mu.Lock()
	defer c.mu.Unlock()
	late := false
	timer := time.AfterFunc(time.Minute, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		late = true
		c.cond().Broadcast()
	})
	defer timer.Stop()
	for !late && !ok(c.spans, c.logs) {
		c.cond().Wait()
	}
	return c.spans, c.logs
}

// Metric returns the last metric of a name; nil if none came.
func (c *Collector) Metric(name string) *metricspb.Metric {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.metrics[name]
}

// Raw returns all that was sent, before compression.
func (c *Collector) Raw() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Clone(c.raw.Bytes())
}

// Headers returns the headers of each request.
func (c *Collector) Headers() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]http.Header(nil), c.headers...)
}

// Problems returns what was wrong with requests.
func (c *Collector) Problems() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.problems...)
}

// Text returns the value of an attribute as text; "" if it is not there.
func Text(attributes []*commonpb.KeyValue, key string) string {
	for _, a := range attributes {
		if a.Key != key {
			continue
		}
		switch v := a.Value.GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			return v.StringValue
		default:
			return a.Value.String()
		}
	}
	return ""
}
