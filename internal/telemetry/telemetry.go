package telemetry

import (
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"durward/gateway"
	"durward/internal/egress"
	"durward/internal/secret"
	"durward/internal/telemetry/otlp"
)

// OTLP says what is sent to an OpenTelemetry collector, and where it is. Nothing of
// it is read from the environment: OTEL_… variables mean nothing here.
type OTLP struct {
	Endpoint string                  // base URL of the collector, http or https; empty: nothing is sent
	Headers  map[string]secret.Value // sent with every request
	CAFile   string                  // PEM bundle that is trusted besides the system's; empty: none
	Traces   bool
	Metrics  bool
	Logs     bool    // the lines of the service's log
	Sample   float64 // of the traces that begin here, the part that is recorded: 0 to 1. Callers decide about theirs.
}

// Options configure a Telemetry.
type Options struct {
	Version  string // of the service
	Instance string // tells processes apart in what is sent

	LogTo  io.Writer // where the log goes; required
	Level  string    // debug, info, warn or error
	Format string    // text, json or auto; see NewLogger
	OTLP   OTLP

	// Redact takes known secrets out of whatever is logged, shown or sent. It is
	// called by many goroutines and must not change its argument. Required.
	Redact func([]byte) []byte

	// CloseWithin bounds how long Close tries to send what waits; default 2 s.
	CloseWithin time.Duration
}

// Telemetry is what a service tells about itself: its log, its metrics, its traces.
// It is a [gateway.Observer]. Whoever makes one calls Close.
type Telemetry struct {
	opt      Options
	log      *slog.Logger
	registry *prometheus.Registry
	requests *requests
	ledger   *ledgerMeter
	export   *otlp.Exporter // nil: nothing is sent
	dials    egress.Counts  // of the exporter
	traces   bool

	gateway     atomic.Pointer[Gateway]
	ledgerState atomic.Pointer[func() LedgerState]
}

// New starts telemetry. An error is of kind Invalid: something of opt cannot be used.
func New(opt Options) (*Telemetry, error) {
	log, err := NewLogger(opt.LogTo, opt.Level, opt.Format, opt.Redact)
	if err != nil {
		return nil, err
	}
	t := &Telemetry{opt: opt, log: log, registry: prometheus.NewRegistry(), traces: opt.OTLP.Endpoint != "" && opt.OTLP.Traces}
	t.requests, t.ledger = newRequests(opt.Redact), newLedgerMeter()
	for _, c := range append(append(t.requests.collectors(), t.ledger.collectors()...), newState(t), buildInfo(opt.Version),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})) {
		if err := t.registry.Register(c); err != nil { // a defect: two metrics of one name
			return nil, err
		}
	}
	if opt.OTLP.Endpoint == "" {
		return t, nil
	}
	if t.export, err = otlp.New(t.exportOptions()); err != nil {
		return nil, err
	}
	if opt.OTLP.Logs {
		t.log = slog.New(sending{next: log.Handler(), to: t.export})
	}
	return t, nil
}

func (t *Telemetry) exportOptions() otlp.Options {
	o := t.opt.OTLP
	out := otlp.Options{
		Endpoint: otlp.Endpoint{URL: o.Endpoint, Headers: o.Headers, CAFile: o.CAFile, Dials: &t.dials},
		Resource: otlp.Resource{Version: t.opt.Version, Instance: t.opt.Instance}, Redact: t.opt.Redact, Log: t.log,
		CloseWithin: t.opt.CloseWithin,
	}
	if o.Metrics {
		out.Gather, out.Naming = t.registry.Gather, naming()
	}
	return out
}

// Logger returns the logger of the service.
func (t *Telemetry) Logger() *slog.Logger { return t.log }

// ServeMetrics returns the handler that writes the metrics as Prometheus reads them.
// It judges nobody: who may read them is the business of whoever mounts it.
func (t *Telemetry) ServeMetrics() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(t.log.Handler(), slog.LevelWarn),
		ErrorHandling:       promhttp.ContinueOnError, // what could be gathered is worth something
		MaxRequestsInFlight: maxScrapes,
	})
}

// maxScrapes bounds how many read the metrics at the same time.
const maxScrapes = 8

// Close sends what waits to be sent, for at most [Options.CloseWithin]. Metrics can be read
// and lines be logged afterwards.
func (t *Telemetry) Close() error {
	if t.export == nil {
		return nil
	}
	return t.export.Close()
}

func buildInfo(version string) prometheus.Collector {
	g := gaugeVec(nameBuild)
	g.WithLabelValues(version, runtime.Version()).Set(1)
	return g
}

// naming translates the names of Prometheus into those of OpenTelemetry. What is
// not ours keeps its name.
func naming() otlp.Naming {
	byName, attributes := map[string]metric{}, map[string]string{}
	for _, m := range table() {
		byName[m.name] = m
	}
	for _, l := range labels() {
		attributes[l.name] = l.otel
	}
	return otlp.Naming{
		Metric: func(name string) (string, string) {
			if m, ok := byName[name]; ok {
				return m.otel, m.unit
			}
			return name, ""
		},
		Label: func(name string) string {
			if other, ok := attributes[name]; ok {
				return other
			}
			return name
		},
	}
}

// find returns the line of the table for a name that stands in it.
func find(name string) metric {
	for _, m := range table() {
		if m.name == name {
			return m
		}
	}
	return metric{name: name} // a defect: a test compares names and table
}

func counterVec(name string) *prometheus.CounterVec {
	m := find(name)
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.name, Help: m.help}, m.labels)
}

func gaugeVec(name string) *prometheus.GaugeVec {
	m := find(name)
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: m.name, Help: m.help}, m.labels)
}

func histogramVec(name string) *prometheus.HistogramVec {
	m := find(name)
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: m.name, Help: m.help, Buckets: m.buckets}, m.labels)
}

var (
	_ gateway.Observer        = (*Telemetry)(nil)
	_ gateway.SessionObserver = (*Telemetry)(nil)
)
