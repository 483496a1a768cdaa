package config

import "durward/internal/yamlx"

// telemetryFile says where the service tells what it does, besides its log and
// /metrics.
type telemetryFile struct {
	// OTLP sends traces, metrics and logs to an OpenTelemetry collector. Arguments and
	// results of calls are never sent. Default: nowhere.
	OTLP otlpFile `yaml:"otlp"`
}

// otlpFile is a collector, and what it gets.
type otlpFile struct {
	// Endpoint is the base URL of the collector, http or https, such as
	// http://127.0.0.1:4318; /v1/traces and so on are put behind it. References are
	// replaced. Variables of the environment (OTEL_…) are not looked at.
	Endpoint string `yaml:"endpoint,required" references:"true" sensitive:"true"`
	// Protocol is how it is sent; there is one. Default http/protobuf.
	Protocol string `yaml:"protocol" enum:"http/protobuf"`
	// Headers are sent with every request to the collector. References are replaced.
	Headers map[string]yamlx.Text `yaml:"headers" references:"true" sensitive:"true"`
	// CAFile is a PEM file with certificates that are trusted besides the system's,
	// relative to this file.
	CAFile string `yaml:"ca_file"`
	// Traces sends a span for each request, and for each request to a server. Default
	// true.
	Traces bool `yaml:"traces"`
	// Metrics sends what /metrics shows, once a minute. Default true.
	Metrics bool `yaml:"metrics"`
	// Logs sends the lines of the service's log. Default false.
	Logs bool `yaml:"logs"`
	// Sample is the part of the traces that is recorded of those that begin here: 0
	// to 1. A caller that sends a trace of its own decides about that. Default 1.
	Sample float64 `yaml:"sample" min:"0" max:"1"`
}

func defaultTelemetry() telemetryFile {
	return telemetryFile{OTLP: otlpFile{Protocol: "http/protobuf", Traces: true, Metrics: true, Sample: 1}}
}
