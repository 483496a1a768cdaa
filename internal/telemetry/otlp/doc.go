// Package otlp sends traces, metrics and logs to an OpenTelemetry collector: OTLP
// over HTTP, with protobuf bodies (https://opentelemetry.io/docs/specs/otlp/).
//
// It writes the messages of the official protobuf package itself. The official
// exporters cannot be kept from reading the environment (OTEL_EXPORTER_OTLP_…):
// where a service sends what it knows is a matter of its configuration alone. They
// also bring gRPC along.
//
// Nothing here holds up a call. What is to be sent waits in a queue of a fixed
// length; what does not fit is dropped and counted, and so is what the collector
// does not take.
//
// Start with [New].
package otlp
