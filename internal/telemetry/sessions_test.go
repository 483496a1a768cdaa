package telemetry_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"durward"
	"durward/gateway"
	"durward/internal/telemetry"
	"durward/internal/testkit/keeper"
)

// The session that a gateway has at a legacy server is counted when it ends; a modern
// server has none.
func TestSessionsAtServersAreMeasured(t *testing.T) {
	tel := quiet(t, telemetry.OTLP{})
	opt := gateway.Options{Observer: tel}
	opt.Access.NoAuth = true
	for era, k := range map[string]*keeper.Server{"legacy": {}, "modern": {Modern: true}} {
		web := httptest.NewServer(k)
		t.Cleanup(web.Close)
		opt.Servers = append(opt.Servers, durward.Server{Name: era, URL: web.URL, Era: era})
	}
	g, err := gateway.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range opt.Servers {
		g.AwaitServer(t.Context(), s.Name, time.Minute)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	f := scrape(t, tel)["mcp_client_session_duration_seconds"]
	if all, one := value(f), value(f, "server", "legacy", "network_transport", "tcp", "mcp_protocol_version", "2025-11-25", "error_type", ""); all != 1 || one != 1 {
		t.Errorf("%v sessions, %v of them the one there was: %v", all, one, f)
	}
}
