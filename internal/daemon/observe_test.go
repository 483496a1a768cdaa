package daemon_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"durward/client"
	"durward/internal/daemon"
	"durward/internal/paths"
	"durward/internal/testkit/collector"
	"durward/internal/testkit/rawclient"
)

// metricsBySocket reads the metrics as the owner of the service does.
func metricsBySocket(t *testing.T) string {
	t.Helper()
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", paths.Socket())
	}}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://durward/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp.StatusCode, err)
	}
	return string(body)
}

// Who may look at the service may read its metrics, wherever they are; agents may not.
func TestWhoMayReadTheMetrics(t *testing.T) {
	home(t)
	s := started(t, configured(t, noServers+"api: {listen: 127.0.0.1:0}\n"))
	st, err := client.New(paths.Socket()).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	api := st.APIAddress
	c := &rawclient.Client{URL: "http://" + s.Address() + "/mcp", Modern: true, Token: token(t)}
	if a, err := c.CallTool(t.Context(), "local__echo", `{"message":"x"}`); err != nil || a.Text() != "x" {
		t.Fatal(a, err)
	}
	operate, look := tokenIn(t, paths.APIToken()), tokenIn(t, paths.APIReadToken())
	bearer := func(token string, more ...string) http.Header {
		h := http.Header{"Authorization": {"Bearer " + token}}
		for i := 0; i < len(more); i += 2 {
			h.Set(more[i], more[i+1])
		}
		return h
	}
	for name, tt := range map[string]struct {
		header http.Header
		status int
	}{
		"no token":              {http.Header{}, 401},
		"the MCP token":         {bearer(token(t)), 401},
		"the read token":        {bearer(look), 200},
		"the token":             {bearer(operate), 200},
		"B24: a foreign Host":   {bearer(look, "Host", "evil.example"), 403},
		"B24: a foreign Origin": {bearer(look, "Origin", "http://evil.example"), 403},
	} {
		for _, at := range []string{s.Address(), api} {
			status, body := answer(t, "GET", "http://"+at+"/metrics", tt.header)
			if status != tt.status || strings.Contains(string(body), "durward_requests_total") != (tt.status == 200) {
				t.Errorf("%s at %s: %d %.200s", name, at, status, body)
			}
		}
	}
	if status, _ := answer(t, "POST", "http://"+s.Address()+"/metrics", bearer(look)); status == http.StatusOK {
		t.Error("metrics can be posted to")
	}
	var text string
	lines := []string{
		`durward_requests_total{decision="allow",entrance="http",era="modern",mcp_method_name="tools/call",status="ok"} 1`,
		`mcp_client_operation_duration_seconds_count{error_type="",gen_ai_prompt_name="",gen_ai_tool_name="echo",mcp_method_name="tools/call",server="local"} 1`,
		`durward_server_state{server="local",state="ready"} 1`, `durward_ledger_failing 0`, `durward_ledger_records_total{kind="intent"} 1`,
		`durward_build_info{go_version=`, "durward_ledger_size_bytes ", "durward_ledger_checkpoint_age_seconds ", "durward_ledger_queue_records 0", "durward_ledger_wait_seconds_count 1",
	}
	missing := func(line string) bool { return !strings.Contains(text, line) }
	// The answer of a call does not wait for how it ended to be written and counted.
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if text = metricsBySocket(t); !slices.ContainsFunc(lines, missing) || time.Now().After(end) {
			break
		}
	}
	for _, line := range lines {
		if missing(line) {
			t.Errorf("no %s in\n%s", line, text)
		}
	}
}

// Without the API by TCP there is a token that looks, and with auth: none nobody
// on this machine needs one.
func TestTheMetricsOfAServiceWithoutTheAPI(t *testing.T) {
	home(t)
	s := started(t, configured(t, base))
	if status, _ := answer(t, "GET", "http://"+s.Address()+"/metrics", http.Header{"Authorization": {"Bearer " + tokenIn(t, paths.APIReadToken())}}); status != http.StatusOK {
		t.Errorf("with the read token: %d", status)
	}
	if _, err := os.Stat(paths.APIToken()); !os.IsNotExist(err) {
		t.Errorf("a token that changes things was made for nothing: %v", err)
	}
	home(t)
	open := started(t, configured(t, noServers+"auth: none\n"))
	if status, _ := answer(t, "GET", "http://"+open.Address()+"/metrics", http.Header{}); status != http.StatusOK {
		t.Errorf("with auth: none: %d", status)
	}
	if status, _ := answer(t, "GET", "http://"+open.Address()+"/metrics", http.Header{"Host": {"evil.example"}}); status != http.StatusForbidden {
		t.Errorf("with auth: none and a foreign Host: %d", status)
	}
}

// A service sends what it tells to its collector, and the last of it when it ends.
func TestAServiceTellsItsCollector(t *testing.T) {
	home(t)
	t.Setenv("COLLECTOR_KEY", "a-key-of-the-collector")
	var c collector.Collector
	web := httptest.NewServer(&c)
	t.Cleanup(web.Close)
	opt := configured(t, noServers+"telemetry: {otlp: {endpoint: '"+web.URL+"', headers: {X-Key: '${env:COLLECTOR_KEY}'}, logs: true}}\n")
	opt.TellWithin = time.Minute // nothing may be lost because the machine is busy
	s, err := daemon.Start(opt)
	if err != nil {
		t.Fatal(err)
	}
	agent := &rawclient.Client{URL: "http://" + s.Address() + "/mcp", Modern: true, Token: token(t)}
	if a, err := agent.CallTool(t.Context(), "local__echo", `{"message":"words of an agent"}`); err != nil || a.Text() != "words of an agent" {
		t.Fatal(a, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	spans, _ := c.Await(func(all []*tracepb.Span, _ []*logspb.LogRecord) bool { return len(all) >= 2 })
	names := map[string]bool{}
	for _, s := range spans {
		names[s.Name] = true
	}
	if !names["tools/call local__echo"] || !names["tools/call echo"] || c.Metric("mcp.server.operation.duration") == nil || len(c.Problems()) > 0 {
		t.Errorf("%v %v", names, c.Problems())
	}
	for _, h := range c.Headers() {
		if h.Get("X-Key") != "a-key-of-the-collector" {
			t.Errorf("%v", h)
		}
	}
	if raw := c.Raw(); bytes.Contains(raw, []byte("words of an agent")) || bytes.Contains(raw, []byte("a-key-of-the-collector")) {
		t.Error("what an agent said, or the key, is sent")
	}
}

// Where telemetry goes is settled at the start.
func TestAnotherCollectorNeedsARestart(t *testing.T) {
	c, opt := served(t, base)
	text := read(t, opt.ConfigFile) + "telemetry: {otlp: {endpoint: 'http://127.0.0.1:1'}}\n"
	if err := os.WriteFile(opt.ConfigFile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "telemetry") {
		t.Error(err)
	}
}
