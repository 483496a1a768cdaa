package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"durward"
	"durward/gateway"
	"durward/internal/testkit/rawclient"
	"durward/internal/wire"
)

// prettyServer is a modern HTTP server that prints its JSON over many lines,
// with every kind of line end.
func prettyServer(t *testing.T) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m wire.Message
		if err := wire.Parse(body, wire.FromClient, &m); err != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := `{
	"resultType": "complete", "ttlMs": 0,` + "\r\n" + ` "cacheScope": "private",
	"content": [` + "\r" + `{ "type": "text",
	"text": "one\nline" } ] }`
		switch m.Method {
		case wire.MethodDiscover:
			result = "{\n\"resultType\":\"complete\",\n\"supportedVersions\":[\n\"2026-07-28\"],\"capabilities\":{\"tools\":{}},\"ttlMs\":0,\"cacheScope\":\"private\"}"
		case wire.MethodToolsList:
			result = "{\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\",\"tools\":[\n{\n\t\"name\": \"pretty\",\r\n\t\"inputSchema\": {\n\"type\": \"object\"}\r}]}"
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, "{\n\"jsonrpc\": \"2.0\",\n\"id\": %s,\n\"result\": %s\n}\n", m.ID, result)
	}))
	t.Cleanup(web.Close)
	return web.URL + "/mcp"
}

// A message is one line on stdio and one data line in an event stream, however
// many lines its server used.
func TestPrettyPrintedJSONStaysOneMessage(t *testing.T) {
	g := start(t, gateway.Options{Servers: []durward.Server{{Name: "p", URL: prettyServer(t)}}})
	g.await(t, "p", isReady)
	for era, c := range g.clients(t, "/mcp") {
		if a := call(t, c, "p__pretty", `{}`); a.Text() != "one\nline" {
			t.Errorf("%s as JSON: %s", era, a.Body)
		}
		for _, method := range []string{"tools/list", "tools/call"} {
			a := asEvents(t, c, method)
			if a.Msg.Result == nil || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") {
				t.Errorf("%s %s as events: %d %s %s", era, method, a.Status, a.Header.Get("Content-Type"), a.Msg.Error)
			}
		}
	}
	ours, theirs := net.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- g.ServeStdio(context.Background(), theirs, durward.Caller{Principal: "local", Entrance: durward.EntranceStdio}, durward.Route{})
	}()
	in := bufio.NewReader(ours)
	for id, method := range []string{"tools/list", "tools/call"} {
		_, err := fmt.Fprintf(ours, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"name":"p__pretty","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`+"\n", id, method)
		if err != nil {
			t.Fatal(err)
		}
		line, err := in.ReadBytes('\n')
		var m wire.Message
		if err != nil || wire.Parse(line, wire.FromServer, &m) != nil || m.Kind != wire.Result {
			t.Errorf("%s on stdio: %q %v", method, line, err)
		}
	}
	if err := ours.Close(); err != nil {
		t.Error(err)
	}
	<-served // how it ended is the client's doing
}

// asEvents sends a request of a client that names event streams first.
func asEvents(t *testing.T, c *rawclient.Client, method string) *rawclient.Answer {
	t.Helper()
	params := `{"name":"p__pretty"}`
	if c.Modern {
		params = `{"name":"p__pretty","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.URL, strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":`+params+`}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/json")
	if c.Modern {
		req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		req.Header.Set("Mcp-Method", method)
		req.Header.Set("Mcp-Name", "p__pretty")
	} else {
		req.Header.Set("Mcp-Session-Id", c.Session)
	}
	a, err := c.Raw(req)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
