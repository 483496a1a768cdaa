package config

import (
	"maps"
	"net/url"

	"durward/internal/secret"
	"durward/internal/yamlx"
)

// Telemetry says where the service tells what it does, besides its log and /metrics.
type Telemetry struct{ OTLP OTLP }

// OTLP is an OpenTelemetry collector, and what it gets.
type OTLP struct {
	Endpoint string // base URL; empty: there is none
	Headers  map[string]secret.Value
	CAFile   string
	Traces   bool
	Metrics  bool
	Logs     bool
	Sample   float64 // 0 to 1
}

// Equal reports whether t and other say the same.
func (t Telemetry) Equal(other Telemetry) bool {
	a, b := t.OTLP, other.OTLP
	return a.Endpoint == b.Endpoint && a.CAFile == b.CAFile && a.Traces == b.Traces && a.Metrics == b.Metrics && a.Logs == b.Logs && a.Sample == b.Sample &&
		maps.EqualFunc(a.Headers, b.Headers, func(x, y secret.Value) bool { return x.Equal(y.Reveal()) })
}

func (b *builder) telemetry() Telemetry {
	raw, at := b.raw.Telemetry.OTLP, yamlx.Path{"telemetry", "otlp"}
	if !b.layers.has(at.In("endpoint")) {
		return Telemetry{}
	}
	here := at.In("endpoint")
	o := OTLP{
		Endpoint: b.expand(here, raw.Endpoint), CAFile: b.layers.path(at.In("ca_file"), raw.CAFile),
		Traces: raw.Traces, Metrics: raw.Metrics, Logs: raw.Logs, Sample: raw.Sample,
	}
	u, err := url.Parse(o.Endpoint)
	switch {
	case o.Endpoint == "" && raw.Endpoint != "": // said already
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		b.layers.report(yamlx.CodeValue, here, "must be the base URL of a collector that begins with http:// or https://, such as http://127.0.0.1:4318")
	case u.User != nil:
		b.layers.report(codeForbidden, here, "must not hold a user name or password; send them in headers: {Authorization: …}")
	case u.RawQuery != "" || u.Fragment != "":
		b.layers.report(yamlx.CodeValue, here, "must not have a query or a fragment: /v1/traces and so on are put behind it")
	case !o.Traces && !o.Metrics && !o.Logs:
		b.layers.report(codeConflict, here, "nothing is sent there; set traces, metrics or logs to true, or remove otlp")
	}
	for name, value := range b.headers(at, raw.Headers) {
		if o.Headers == nil {
			o.Headers = map[string]secret.Value{}
		}
		o.Headers[name] = secret.New(value)
	}
	return Telemetry{OTLP: o}
}
