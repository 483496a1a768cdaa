package otlp

import (
	"context"
	"log/slog"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"

	"durward"
)

// closeWithin bounds how long Close tries to send what waits, if [Options] do not.
const closeWithin = 2 * time.Second

// complainEvery is how often a failure is logged at most.
const complainEvery = time.Minute

// Options configure an [Exporter].
type Options struct {
	Endpoint Endpoint // required
	Resource Resource
	// Redact takes secrets out of all texts that are sent. It is called by several
	// goroutines and must not change its argument. Required.
	Redact func([]byte) []byte
	// Gather returns the metrics to send, once a minute; nil: none are sent.
	Gather func() ([]*dto.MetricFamily, error)
	Naming Naming       // of metrics; required with Gather
	Log    *slog.Logger // told of failures, at most once a minute; required. It must not lead back here.
	// CloseWithin bounds how long Close tries to send what waits; default 2 s.
	CloseWithin time.Duration
}

// Exporter sends in the background. Its methods may be called from any goroutine.
type Exporter struct {
	opt    Options
	sender *sender
	enc    *encoder
	since  time.Time

	counts [3]counts
	spans  queue[*Span]
	logs   queue[*Record]

	stop sync.Once
	quit chan struct{}
	kill context.CancelFunc // ends what is being sent
	done sync.WaitGroup

	mu         sync.Mutex // guards complained
	complained time.Time
}

// New starts an exporter. The collector need not be there. An error is of kind
// Invalid: the endpoint cannot be used.
func New(opt Options) (*Exporter, error) {
	if opt.Redact == nil || opt.Log == nil || opt.Gather != nil && (opt.Naming.Metric == nil || opt.Naming.Label == nil) {
		return nil, durward.Errorf(durward.Internal, "otlp", "Redact and Log are required, and Naming with Gather")
	}
	if opt.CloseWithin <= 0 {
		opt.CloseWithin = closeWithin
	}
	sender, err := newSender(opt.Endpoint)
	if err != nil {
		return nil, err
	}
	limit, kill := context.WithCancel(context.Background())
	x := &Exporter{opt: opt, sender: sender, enc: newEncoder(opt.Resource, opt.Redact), since: time.Now(), quit: make(chan struct{}), kill: kill}
	x.spans = queue[*Span]{counts: &x.counts[Traces], items: make(chan *Span, queued), quit: x.quit, limit: limit, failed: x.complain,
		send: func(ctx context.Context, batch []*Span) error { return sender.send(ctx, Traces, x.enc.traces(batch)) }}
	x.logs = queue[*Record]{counts: &x.counts[Logs], items: make(chan *Record, queued), quit: x.quit, limit: limit, failed: x.complain,
		send: func(ctx context.Context, batch []*Record) error { return sender.send(ctx, Logs, x.enc.logs(batch)) }}
	x.done.Go(x.spans.run)
	x.done.Go(x.logs.run)
	if opt.Gather != nil {
		x.done.Go(func() { x.measure(limit) })
	}
	return x, nil
}

// Span hands a span over. It never blocks: without room the span is dropped.
func (x *Exporter) Span(s *Span) { x.spans.put(s) }

// Record hands a log record over, as Span does.
func (x *Exporter) Record(r *Record) { x.logs.put(r) }

// Counts says what became of what was handed over.
func (x *Exporter) Counts(s Signal) Counts { return x.counts[s].read() }

// Close sends what waits, for at most [Options.CloseWithin], and ends the exporter. What is
// handed over afterwards is dropped. It returns nil.
func (x *Exporter) Close() error {
	x.stop.Do(func() {
		close(x.quit)
		late := time.AfterFunc(x.opt.CloseWithin, x.kill)
		x.done.Wait()
		late.Stop()
		x.kill()
		x.sender.close()
	})
	return nil
}

// measure sends metrics now and then, and when the exporter ends.
func (x *Exporter) measure(ctx context.Context) {
	tick := time.NewTicker(metricTime)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			x.sendMetrics(ctx)
		case <-x.quit:
			x.sendMetrics(ctx)
			return
		}
	}
}

func (x *Exporter) sendMetrics(ctx context.Context) {
	families, err := x.opt.Gather()
	n := int64(len(families))
	if err == nil || n > 0 { // what could be gathered is sent
		err = x.sender.send(ctx, Metrics, x.enc.metrics(families, x.opt.Naming, x.since, time.Now()))
	}
	c := &x.counts[Metrics]
	if err != nil {
		c.failed.Add(1)
		c.dropped.Add(n)
		x.complain(err)
		return
	}
	c.sent.Add(n)
}

// complain logs a failure, unless one was logged a moment ago.
func (x *Exporter) complain(err error) {
	x.mu.Lock()
	now := time.Now()
	silent := now.Sub(x.complained) < complainEvery
	if !silent {
		x.complained = now
	}
	x.mu.Unlock()
	if silent {
		return
	}
	lost := int64(0)
	for i := range x.counts {
		lost += x.counts[i].dropped.Load()
	}
	x.opt.Log.Warn("telemetry could not be sent and is lost; calls are not affected", "error", err, "lost", lost)
}
