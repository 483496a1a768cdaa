// Package telemetry is what the service tells about itself: its log, its metrics
// and its traces. Nothing else chooses a log format, and names of metrics and spans
// are nowhere else.
//
// The gateway tells [Telemetry], a [gateway.Observer], of each request. Metrics are
// kept in the forms of Prometheus; names follow the conventions of OpenTelemetry for
// MCP where there are any. What must be known of the gateway and of the ledger at
// a moment is asked when somebody reads the metrics.
//
// Labels have few values. Methods are those that are known; servers and tools are
// told apart up to a bound. Neither metrics nor spans hold what a request or a
// result says.
//
// Package otlp, below, sends all of that to a collector, if the configuration names
// one.
package telemetry
