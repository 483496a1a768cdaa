package telemetry_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"durward"
	"durward/gateway"
	"durward/internal/secret"
	"durward/internal/telemetry"
	"durward/internal/testkit/hostile"
	"durward/internal/testkit/sharedlog"
	"durward/internal/wire"
)

// undecided is a policy that fails, which is logged.
type undecided struct{ traces chan durward.Trace }

func (u undecided) Decide(_ context.Context, call *durward.Call) (durward.Decision, error) {
	if call.Method == wire.MethodToolsCall {
		u.traces <- call.Trace
		return durward.Decision{}, errors.New("no rule fits " + planted)
	}
	return durward.Decision{}, nil
}

func (undecided) DecideResult(context.Context, *durward.Call, []byte) (durward.Decision, error) {
	return durward.Decision{}, nil
}

func (undecided) Visible(*durward.Caller, *durward.Call) bool { return true }

// Lines about a request say which trace it is in, in both formats.
func TestLogLinesSayTheTrace(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		var to sharedlog.Buffer
		log, err := telemetry.NewLogger(&to, "info", format, redact)
		if err != nil {
			t.Fatal(err)
		}
		command, args := hostile.Command()
		policy := undecided{make(chan durward.Trace, 1)}
		opt := gateway.Options{Servers: []durward.Server{{Name: "h", Command: command, Args: args}}, Log: log, Decider: policy}
		opt.Access.NoAuth = true
		g, err := gateway.New(opt)
		if err != nil {
			t.Fatal(err)
		}
		_, err = g.Do(t.Context(), gateway.Request{Method: wire.MethodToolsCall,
			Params: json.RawMessage(`{"name":"h__echo","arguments":{},"_meta":{"traceparent":"00-` + callerTrace + `-` + callerSpan + `-01"}}`)})
		if err == nil {
			t.Error("a call that nobody allowed was made")
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		trace := <-policy.traces
		found := false
		for line := range strings.Lines(to.String()) {
			about := strings.Contains(line, "policy could not decide")
			found = found || about
			if about != (strings.Contains(line, callerTrace) && strings.Contains(line, hex.EncodeToString(trace.SpanID[:])) && strings.Contains(line, "trace_id")) || strings.Contains(line, planted) {
				t.Errorf("%s: %s", format, line)
			}
		}
		if !found {
			t.Errorf("%s: nothing is logged: %s", format, to.String())
		}
	}
}

// Handlers of slog may not be changed by what is put in front of them.
func TestLoggersKeepAttributesAndGroups(t *testing.T) {
	var to sharedlog.Buffer
	log, err := telemetry.NewLogger(&to, "warn", "json", redact)
	if err != nil {
		t.Fatal(err)
	}
	log.Info("not shown")
	log.With("a", 1).WithGroup("g").With("b", secret.New(planted)).Warn("shown", "c", planted, slog.Group("h", "d", planted))
	var got map[string]any
	if err := json.Unmarshal([]byte(to.String()), &got); err != nil {
		t.Fatal(err, to.String())
	}
	g, _ := got["g"].(map[string]any)
	h, _ := g["h"].(map[string]any)
	if got["msg"] != "shown" || got["a"] != 1.0 || g["b"] != secret.Mask || g["c"] != secret.Mask || h["d"] != secret.Mask {
		t.Errorf("%s", to.String())
	}
}

func TestWhatALoggerIsMadeOf(t *testing.T) {
	for _, tt := range []struct {
		level, format string
		ok            bool
	}{{"debug", "json", true}, {"info", "text", true}, {"warn", "auto", true}, {"error", "", true}, {"loud", "json", false}, {"info", "xml", false}} {
		if _, err := telemetry.NewLogger(&sharedlog.Buffer{}, tt.level, tt.format, redact); (err == nil) != tt.ok || err != nil && durward.KindOf(err) != durward.Invalid {
			t.Errorf("%q %q: %v", tt.level, tt.format, err)
		}
	}
	for _, endpoint := range []string{"collector:4318", "ftp://x", "http://", "http://a/?q", "http://u:p@a", "http://a/#f", "::"} {
		_, err := telemetry.New(telemetry.Options{LogTo: &sharedlog.Buffer{}, Level: "info", Redact: redact, OTLP: telemetry.OTLP{Endpoint: endpoint}})
		if durward.KindOf(err) != durward.Invalid {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
	if _, err := telemetry.New(telemetry.Options{LogTo: &sharedlog.Buffer{}, Level: "loud", Redact: redact}); durward.KindOf(err) != durward.Invalid {
		t.Error(err)
	}
}
