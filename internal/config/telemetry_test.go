package config_test

import (
	"testing"

	"durward/internal/config"
	"durward/internal/secret"
)

// The collector of a higher layer is the collector: it does not get the headers that
// a lower one has for another, and is not told what that one would be.
func TestACollectorIsReplacedAsAWhole(t *testing.T) {
	const user = "version: 1\ntelemetry:\n  otlp: {endpoint: 'http://mine', headers: {Authorization: my-own-token}, sample: 0.5, logs: true}\n"
	const corp = "version: 1\ntelemetry:\n  otlp: {endpoint: 'https://corp', headers: {X-Key: theirs}}\n"
	c, err := config.ParseLayers("user.yaml", []byte(user), "/etc/durward/corp.yaml", []byte(corp), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Telemetry{OTLP: config.OTLP{
		Endpoint: "https://corp", Headers: map[string]secret.Value{"X-Key": secret.New("theirs")}, Traces: true, Metrics: true, Sample: 1,
	}}
	if !c.Telemetry.Equal(want) {
		t.Errorf("%+v", c.Telemetry)
	}
	alone, err := config.ParseLayers("user.yaml", []byte(user), "/etc/durward/corp.yaml", []byte("version: 1\nbuiltin: true\n"), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if alone.Telemetry.OTLP.Endpoint != "http://mine" || alone.Telemetry.OTLP.Sample != 0.5 || alone.Telemetry.Equal(c.Telemetry) {
		t.Errorf("%+v", alone.Telemetry)
	}
	if got := alone.Redact("the token is my-own-token"); got != "the token is "+secret.Mask {
		t.Error(got)
	}
	if d := config.Default().Telemetry; !d.Equal(config.Telemetry{}) {
		t.Errorf("by default: %+v", d)
	}
}

func TestWhatMakesTelemetryDifferent(t *testing.T) {
	base := config.OTLP{Endpoint: "http://a", Headers: map[string]secret.Value{"A": secret.New("b")}, Traces: true, Sample: 1}
	for name, change := range map[string]func(*config.OTLP){
		"endpoint": func(o *config.OTLP) { o.Endpoint = "http://b" }, "ca_file": func(o *config.OTLP) { o.CAFile = "x" },
		"traces": func(o *config.OTLP) { o.Traces = false }, "metrics": func(o *config.OTLP) { o.Metrics = true }, "logs": func(o *config.OTLP) { o.Logs = true },
		"sample": func(o *config.OTLP) { o.Sample = 0 }, "no headers": func(o *config.OTLP) { o.Headers = nil },
		"headers": func(o *config.OTLP) { o.Headers = map[string]secret.Value{"A": secret.New("c")} },
	} {
		other := base
		change(&other)
		if (config.Telemetry{OTLP: base}).Equal(config.Telemetry{OTLP: other}) {
			t.Errorf("another %s makes no difference", name)
		}
	}
}
