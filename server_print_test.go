package durward_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"durward"
)

// What may hold a secret is in no print, log or JSON of a server.
func TestServerShowsNoSecrets(t *testing.T) {
	s := durward.Server{
		Name: "github", Transport: durward.TransportHTTP, Command: "npx", Args: []string{"--token=hunter2"},
		Env: map[string]string{"TOKEN": "hunter2"}, Headers: map[string]string{"Authorization": "Bearer hunter2"},
		URL: "https://mcp.example:8443/hunter2?key=hunter2", Proxy: "http://user:hunter2@proxy.example:3128", Disabled: true,
	}
	wrapped := struct {
		Servers []durward.Server
		Pointer *durward.Server
		Named   map[string]durward.Server
	}{[]durward.Server{s}, &s, map[string]durward.Server{"a": s}}
	var shown []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, what := range []any{s, &s, wrapped, &wrapped} {
			shown = append(shown, fmt.Sprintf(verb, what))
		}
	}
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "server", s, "all", wrapped)
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "server", s, "all", wrapped)
	data, err := json.Marshal(wrapped)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range append(shown, logged.String(), string(data)) {
		if strings.Contains(text, "hunter2") || strings.Contains(text, "68756e746572") {
			t.Errorf("shown: %s", text)
		}
	}
	want := "server github (http npx, 1 arguments https://mcp.example:8443, env TOKEN, headers Authorization, disabled)"
	if got := fmt.Sprintf("%+v", s); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := (durward.Server{URL: "http://[::1"}).String(); !strings.Contains(got, durward.Hidden) {
		t.Error(got)
	}
}
