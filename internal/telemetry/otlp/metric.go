package otlp

import (
	"time"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// Naming gives metrics and labels the names that OpenTelemetry has for them, which
// differ from those of Prometheus.
type Naming struct {
	Metric func(name string) (other, unit string)
	Label  func(name string) string
}

// metrics makes the message of what was gathered. since is when counting began.
func (e *encoder) metrics(families []*dto.MetricFamily, n Naming, since, now time.Time) proto.Message {
	c := converter{e: e, label: n.Label, since: nanos(since), now: nanos(now)}
	list := make([]*metricspb.Metric, 0, len(families))
	for _, f := range families {
		name, unit := n.Metric(f.GetName())
		m := &metricspb.Metric{Name: name, Unit: unit, Description: f.GetHelp()}
		if c.fill(m, f) {
			list = append(list, m)
		}
	}
	return &metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{{
		Resource: e.resource, ScopeMetrics: []*metricspb.ScopeMetrics{{Scope: e.scope, Metrics: list}},
	}}}
}

// converter makes data points of one moment.
type converter struct {
	e          *encoder
	label      func(string) string
	since, now uint64
}

// fill puts the points of a family into m; false for a type that there is no counterpart of.
func (c *converter) fill(m *metricspb.Metric, f *dto.MetricFamily) bool {
	const cumulative = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
	switch f.GetType() {
	case dto.MetricType_COUNTER:
		m.Data = &metricspb.Metric_Sum{Sum: &metricspb.Sum{
			AggregationTemporality: cumulative, IsMonotonic: true,
			DataPoints: c.numbers(f, func(p *dto.Metric) float64 { return p.GetCounter().GetValue() }),
		}}
	case dto.MetricType_GAUGE:
		m.Data = &metricspb.Metric_Gauge{Gauge: &metricspb.Gauge{DataPoints: c.numbers(f, func(p *dto.Metric) float64 { return p.GetGauge().GetValue() })}}
	case dto.MetricType_UNTYPED:
		m.Data = &metricspb.Metric_Gauge{Gauge: &metricspb.Gauge{DataPoints: c.numbers(f, func(p *dto.Metric) float64 { return p.GetUntyped().GetValue() })}}
	case dto.MetricType_HISTOGRAM:
		m.Data = &metricspb.Metric_Histogram{Histogram: &metricspb.Histogram{AggregationTemporality: cumulative, DataPoints: c.histograms(f)}}
	case dto.MetricType_SUMMARY:
		m.Data = &metricspb.Metric_Summary{Summary: &metricspb.Summary{DataPoints: c.summaries(f)}}
	default:
		return false
	}
	return true
}

func (c *converter) labels(p *dto.Metric) []*commonpb.KeyValue {
	list := make([]Attribute, 0, len(p.GetLabel()))
	for _, l := range p.GetLabel() {
		list = append(list, Attribute{c.label(l.GetName()), l.GetValue()})
	}
	return c.e.attributes(maxText, list...)
}

func (c *converter) numbers(f *dto.MetricFamily, value func(*dto.Metric) float64) []*metricspb.NumberDataPoint {
	out := make([]*metricspb.NumberDataPoint, len(f.GetMetric()))
	for i, p := range f.GetMetric() {
		out[i] = &metricspb.NumberDataPoint{
			Attributes: c.labels(p), StartTimeUnixNano: c.since, TimeUnixNano: c.now,
			Value: &metricspb.NumberDataPoint_AsDouble{AsDouble: value(p)},
		}
	}
	return out
}

// histograms: Prometheus counts what is at most a bound, OTLP what is between two.
func (c *converter) histograms(f *dto.MetricFamily) []*metricspb.HistogramDataPoint {
	out := make([]*metricspb.HistogramDataPoint, len(f.GetMetric()))
	for i, p := range f.GetMetric() {
		h := p.GetHistogram()
		point := &metricspb.HistogramDataPoint{
			Attributes: c.labels(p), StartTimeUnixNano: c.since, TimeUnixNano: c.now, Count: h.GetSampleCount(), Sum: proto.Float64(h.GetSampleSum()),
		}
		below := uint64(0)
		for _, b := range h.GetBucket() {
			if b.GetUpperBound() > maxBound {
				continue // +Inf, which OTLP does not write
			}
			point.ExplicitBounds = append(point.ExplicitBounds, b.GetUpperBound())
			point.BucketCounts = append(point.BucketCounts, b.GetCumulativeCount()-below)
			below = b.GetCumulativeCount()
		}
		point.BucketCounts = append(point.BucketCounts, h.GetSampleCount()-below)
		out[i] = point
	}
	return out
}

const maxBound = 1e300

func (c *converter) summaries(f *dto.MetricFamily) []*metricspb.SummaryDataPoint {
	out := make([]*metricspb.SummaryDataPoint, len(f.GetMetric()))
	for i, p := range f.GetMetric() {
		s := p.GetSummary()
		out[i] = &metricspb.SummaryDataPoint{Attributes: c.labels(p), StartTimeUnixNano: c.since, TimeUnixNano: c.now, Count: s.GetSampleCount(), Sum: s.GetSampleSum()}
		for _, q := range s.GetQuantile() {
			out[i].QuantileValues = append(out[i].QuantileValues, &metricspb.SummaryDataPoint_ValueAtQuantile{Quantile: q.GetQuantile(), Value: q.GetValue()})
		}
	}
	return out
}
