package transport_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"durward"
	"durward/internal/wire"
)

// FuzzHTTP sends any headers and body and checks what must hold of every answer.
func FuzzHTTP(f *testing.F) {
	full := modernBody("7", "tools/call", `,"name":"echo"`)
	f.Add("POST", full, "2026-07-28", "tools/call", "echo", "", "application/json, text/event-stream", "x", "y")
	f.Add("POST", initializeLine, "", "", "", "", "*/*", "", "")
	f.Add("POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "2025-11-25", "", "", "s", "", "", "")
	f.Add("GET", "", "", "", "", "s", "text/event-stream", "", "")
	f.Add("DELETE", "", "", "", "", "s", "", "", "")
	f.Add("POST", `[]`, "v9", "\x00", "=?base64?!?=", "", "", "Region", "=?base64?!?=")
	edge := bareEdge(f, 10)
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nobody stays on a stream
	f.Fuzz(func(t *testing.T, method, body, version, mcpMethod, name, session, accept, param, value string) {
		r := httptest.NewRequest("POST", "http://localhost/mcp", strings.NewReader(body)).WithContext(ctx)
		r.Method, r.RemoteAddr = method, "127.0.0.1:5"
		for key, v := range map[string]string{"Mcp-Protocol-Version": version, "Mcp-Method": mcpMethod, "Mcp-Name": name, "Mcp-Session-Id": session, "Accept": accept, "Mcp-Param-" + param: value} {
			if v != "" {
				r.Header[key] = []string{v}
			}
		}
		r.Header["Content-Type"] = []string{"application/json"}
		r.Header["Authorization"] = []string{"Bearer " + secret}
		w := httptest.NewRecorder()
		edge.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		var m wire.Message
		understood := wire.Parse([]byte(body), wire.FromClient, &m) == nil
		if w.Code == http.StatusAccepted && (method != "POST" || !understood || m.Kind == wire.Request || w.Body.Len() > 0) {
			t.Fatalf("accepted %q", body)
		}
		if w.Header().Get("Content-Type") != "application/json" {
			return
		}
		var answer struct {
			ID     json.RawMessage
			Result json.RawMessage
			Error  *struct {
				Code    *int
				Message *string
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatalf("%v: %s", err, w.Body)
		}
		if (answer.Error == nil) == (answer.Result == nil) || answer.Error != nil && (answer.Error.Code == nil || answer.Error.Message == nil) {
			t.Fatalf("no answer: %s", w.Body)
		}
		if string(answer.ID) == "null" || method == "POST" && understood && m.Kind == wire.Request && len(answer.ID) > 0 && string(answer.ID) != string(m.ID) {
			t.Fatalf("id %s, want %s", answer.ID, m.ID)
		}
	})
}

// FuzzLines sends any bytes over the line framing: it must end, and answer in whole lines.
func FuzzLines(f *testing.F) {
	f.Add([]byte(initializeLine + "\n" + legacyCall("1", "echo", "") + "\n" + modernBody("2", "tools/list", "")))
	f.Add([]byte("garbage\r\n\n{}\n[]\n\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	f.Add([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`))
	edge := bareEdge(f, 10)
	f.Fuzz(func(t *testing.T, data []byte) {
		out := &buffer{in: io.MultiReader(strings.NewReader(string(data)))}
		if err := edge.ServeStdio(context.Background(), out, durward.Caller{Principal: "local"}, durward.Route{}); err != nil {
			t.Fatal(err)
		}
		rest := out.String()
		if rest != "" && !strings.HasSuffix(rest, "\n") {
			t.Fatalf("%q", rest)
		}
		for line := range strings.Lines(rest) {
			var m wire.Message
			if err := wire.Parse([]byte(line), wire.FromServer, &m); err != nil || m.Kind != wire.Result && m.Kind != wire.Failure {
				t.Fatalf("%v: %s", err, line)
			}
		}
	})
}
