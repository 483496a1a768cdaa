package daemon_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"durward"
	"durward/client"
	"durward/internal/daemon"
	"durward/internal/paths"
	"durward/internal/testkit/rawclient"
)

const withAPI = base + "api: {listen: 127.0.0.1:0}\n"

// apiServed is a service with its API on TCP, at the address returned.
func apiServed(t *testing.T) (s *daemon.Service, address string) {
	t.Helper()
	home(t)
	s = started(t, configured(t, withAPI))
	st, err := client.New(paths.Socket()).Status(t.Context())
	if err != nil || st.APIAddress == "" || st.APIAddress == st.Address {
		t.Fatalf("%+v %v", st, err)
	}
	return s, st.APIAddress
}

func tokenIn(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%s: %v %v", path, info, err)
	}
	return strings.TrimSpace(read(t, path))
}

// operation is a route as the OpenAPI document has it, which is made of the table.
type operation struct {
	method, path string
	scope, or    string
}

func operations(t *testing.T, address, token string) []operation {
	t.Helper()
	_, body := answer(t, "GET", "http://"+address+"/api/v1/openapi.json", http.Header{"Authorization": {"Bearer " + token}})
	var doc struct {
		Paths map[string]map[string]struct {
			Security []map[string][]string
		}
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	var all []operation
	for path, methods := range doc.Paths {
		for method, op := range methods {
			one := operation{strings.ToUpper(method), strings.ReplaceAll(path, "{name}", "none"), op.Security[0]["token"][0], ""}
			if len(op.Security) > 1 {
				one.or = op.Security[1]["token"][0]
			}
			all = append(all, one)
		}
	}
	if len(all) < 20 {
		t.Fatalf("only %d routes", len(all))
	}
	return all
}

// answer returns the status and, of what is no stream, the body. The body that is
// sent is no JSON and the query is wrong, so that nothing is done by who may do it.
func answer(t *testing.T, method, url string, header http.Header) (int, []byte) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	payload := ""
	if method == http.MethodPost {
		payload = "{"
	}
	req, err := http.NewRequestWithContext(ctx, method, url+"?seconds=0", strings.NewReader(payload))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	req.Host = header.Get("Host")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return resp.StatusCode, nil
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body
}

// Every route asks for its scope, and for a token of the API (all routes of the table).
func TestEveryRouteOfTheAPIAsksForItsScope(t *testing.T) {
	_, address := apiServed(t)
	operate, look, approve := tokenIn(t, paths.APIToken()), tokenIn(t, paths.APIReadToken()), tokenIn(t, paths.ApproverToken())
	seen := map[string]int{}
	for _, op := range operations(t, address, look) {
		seen[op.scope]++
		forApprover := map[string]int{"operate": 403}[op.scope]
		if op.or == "approve" {
			forApprover = 0
		}
		for name, tt := range map[string]struct {
			header http.Header
			status int // 0: neither 401 nor 403
		}{
			"no token":              {http.Header{}, 401},
			"another scheme":        {http.Header{"Authorization": {"Basic " + operate}}, 401},
			"part of a token":       {http.Header{"Authorization": {"Bearer " + operate[1:]}}, 401},
			"two tokens":            {http.Header{"Authorization": {"Bearer " + operate, "Bearer " + operate}}, 401},
			"the MCP token":         {http.Header{"Authorization": {"Bearer " + token(t)}}, 401},
			"the read token":        {http.Header{"Authorization": {"Bearer " + look}}, map[string]int{"operate": 403, "approve": 403}[op.scope]},
			"the token":             {http.Header{"Authorization": {"Bearer " + operate}}, map[string]int{"approve": 403}[op.scope]},
			"the approver's":        {http.Header{"Authorization": {"Bearer " + approve}}, forApprover},
			"B24: a foreign Origin": {http.Header{"Authorization": {"Bearer " + operate}, "Origin": {"http://evil.example"}}, 403},
			"B24: a foreign Host":   {http.Header{"Authorization": {"Bearer " + operate}, "Host": {"evil.example"}}, 403},
		} {
			status, body := answer(t, op.method, "http://"+address+op.path, tt.header)
			if tt.status == 0 && (status == 401 || status == 403) || tt.status != 0 && status != tt.status {
				t.Errorf("%s %s (%s) with %s: %d %s", op.method, op.path, op.scope, name, status, body)
			}
			if tt.status != 0 && !strings.Contains(string(body), `"message":"`) {
				t.Errorf("%s %s with %s: no message in %s", op.method, op.path, name, body)
			}
		}
	}
	if seen["read"] == 0 || seen["operate"] == 0 || seen["approve"] == 0 || len(seen) != 3 {
		t.Errorf("scopes %v", seen)
	}
}

// A token opens what it is for and nothing else.
func TestTokensAreNotInterchangeable(t *testing.T) {
	s, address := apiServed(t)
	tokens := map[string]string{"": token(t), "operate": tokenIn(t, paths.APIToken()), "read": tokenIn(t, paths.APIReadToken()), "approve": tokenIn(t, paths.ApproverToken())}
	if distinct := map[string]bool{tokens[""]: true, tokens["operate"]: true, tokens["read"]: true, tokens["approve"]: true}; len(distinct) != 4 {
		t.Fatal("tokens are equal")
	}
	for kind, secret := range tokens {
		for place, want := range map[string]bool{s.Address(): kind == "", address: false} { // there is no MCP at the API's address
			c := &rawclient.Client{URL: "http://" + place + "/mcp", Modern: true, Token: secret}
			a, err := c.CallTool(t.Context(), "local__echo", `{"message":"x"}`)
			if err != nil || (a.Status == http.StatusOK) != want {
				t.Errorf("token %q on MCP at %s: %v %v", kind, place, a, err)
			}
		}
		status, _ := answer(t, "GET", "http://"+address+"/api/v1/status", http.Header{"Authorization": {"Bearer " + secret}})
		if (status == http.StatusOK) != (kind != "") {
			t.Errorf("token %q on the API: %d", kind, status)
		}
		if status, _ := answer(t, "GET", "http://"+address+"/api/v1/stdio", http.Header{"Authorization": {"Bearer " + secret}}); status == http.StatusOK || status == http.StatusSwitchingProtocols {
			t.Errorf("token %q on stdio: %d", kind, status)
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, body := answer(t, "GET", "http://"+address+path, http.Header{}); status != http.StatusOK || len(body) > 0 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// The Go client does by TCP what it does on the socket.
func TestTheClientWorksByTCP(t *testing.T) {
	_, address := apiServed(t)
	c, err := client.NewTCP(address, tokenIn(t, paths.APIToken()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.AddServer(t.Context(), hostileServer("a")); err != nil {
		t.Fatal(err)
	}
	r, err := c.Call(t.Context(), client.CallRequest{Name: "a__echo", Arguments: json.RawMessage(`{"text":"here"}`)}, nil)
	if err != nil || !strings.Contains(string(r.Result), "here") {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := c.Stdio(t.Context(), durward.Route{}); durward.KindOf(err) != durward.Invalid {
		t.Error(err)
	}
	only, err := client.NewTCP(address, tokenIn(t, paths.APIReadToken()))
	if err != nil {
		t.Fatal(err)
	}
	if s, err := only.Server(t.Context(), "a"); err != nil || len(s.Tools) == 0 {
		t.Errorf("%+v %v", s, err)
	}
	if err := only.RemoveServer(t.Context(), "a"); durward.KindOf(err) != durward.Denied || !strings.Contains(err.Error(), "scope operate") {
		t.Error(err)
	}
	if _, err := only.Call(t.Context(), client.CallRequest{Name: "a__echo"}, nil); durward.KindOf(err) != durward.Denied {
		t.Error(err)
	}
}

// A token file that holds the token of something else, or that others can read,
// keeps the service from starting.
func TestUnsafeAPITokensAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		file, same string
		mode       os.FileMode
		kind       durward.Kind
	}{
		"as MCP":           {file: "api-token", same: "token", mode: 0o600, kind: durward.Conflict},
		"read as MCP":      {file: "api-token-read", same: "token", mode: 0o600, kind: durward.Conflict},
		"read as operate":  {file: "api-token-read", same: "api-token", mode: 0o600, kind: durward.Conflict},
		"others can read":  {file: "api-token", mode: 0o644, kind: durward.Denied},
		"others can read2": {file: "api-token-read", mode: 0o640, kind: durward.Denied},
	} {
		t.Run(name, func(t *testing.T) {
			home(t)
			if err := os.MkdirAll(paths.State(), 0o700); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{tt.file, tt.same} {
				if file == "" {
					continue
				}
				path := filepath.Join(paths.State(), file)
				if err := os.WriteFile(path, []byte("0123456789abcdef0123456789\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(path, tt.mode); err != nil {
					t.Fatal(err)
				}
			}
			s, err := daemon.Start(configured(t, withAPI))
			if err == nil {
				_ = s.Close()
			}
			if durward.KindOf(err) != tt.kind || strings.Contains(err.Error(), "0123456789abcdef") {
				t.Error(err)
			}
		})
	}
}

// Where the API is does not change while the service runs.
func TestAChangedAPIAddressNeedsARestart(t *testing.T) {
	c, opt := served(t, base)
	if st, err := c.Status(t.Context()); err != nil || st.APIAddress != "" {
		t.Errorf("without api there is one at %+v %v", st, err)
	}
	if _, err := os.Stat(paths.APIToken()); err == nil { // the other one opens /metrics
		t.Errorf("%s was made and nobody needs it", paths.APIToken())
	}
	if err := os.WriteFile(opt.ConfigFile, []byte(withAPI), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Reload(t.Context()); durward.KindOf(err) != durward.Conflict || !strings.Contains(err.Error(), "api") {
		t.Error(err)
	}
}
