package transport_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"durward"
	"durward/internal/exchange"
	"durward/internal/identity"
	"durward/internal/session"
	"durward/internal/transport"
)

func TestModernRefusals(t *testing.T) {
	r := newRig(t, nil, nil)
	full := modernBody("7", "tools/list", "")
	with := func(old, new string) string { return strings.Replace(full, old, new, 1) }
	std := []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list"}
	tests := []struct {
		name    string
		body    string
		headers []string
		status  int
		code    int
	}{
		{"accepted", full, nil, 200, 0},
		{"no meta, header alone makes it modern", `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}`, nil, 400, -32602},
		{"no params at all", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, nil, 400, -32602},
		{"discover is modern whatever else", `{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{}}`, []string{"MCP-Protocol-Version", ""}, 400, -32602},
		{"no version in meta", with(`"io.modelcontextprotocol/protocolVersion":"2026-07-28",`, ""), nil, 400, -32602},
		{"version is no string", with(`"2026-07-28"`, "1"), nil, 400, -32602},
		{"no capabilities", with(`,"io.modelcontextprotocol/clientCapabilities":{}`, ""), nil, 400, -32602},
		{"capabilities are no object", with(`Capabilities":{}`, `Capabilities":1`), nil, 400, -32602},
		{"no client info is fine", with(`"io.modelcontextprotocol/clientInfo":{"name":"tester","version":"3"},`, ""), nil, 200, 0},
		{"no version header", full, []string{"MCP-Protocol-Version", ""}, 400, -32020},
		{"other version in header", full, []string{"MCP-Protocol-Version", "2025-11-25"}, 400, -32020},
		{"mismatch beats unsupported", with("2026-07-28", "v999.0.0"), nil, 400, -32020},
		{"unsupported", with("2026-07-28", "v999.0.0"), []string{"MCP-Protocol-Version", "v999.0.0"}, 400, -32022},
		{"no method header", full, []string{"Mcp-Method", ""}, 400, -32020},
		{"other method in header", full, []string{"Mcp-Method", "prompts/list"}, 400, -32020},
		{"other case in header", full, []string{"Mcp-Method", "TOOLS/LIST"}, 400, -32020},
		{"bad log level", with(`Capabilities":{}`, `Capabilities":{},"io.modelcontextprotocol/logLevel":"loud"`), nil, 400, -32602},
		{"session id means nothing", full, []string{"Mcp-Session-Id", "nonsense"}, 200, 0},
		{"batch", "[" + full + "]", nil, 400, -32600},
		{"no JSON", "{", nil, 400, -32700},
		{"empty", " ", nil, 400, -32700},
		{"duplicate member", with(`"id":7`, `"id":7,"id":8`), nil, 400, -32600},
		{"a response", `{"jsonrpc":"2.0","id":7,"result":{}}`, nil, 400, -32600},
		{"content type", full, []string{"Content-Type", "text/plain"}, 415, -32600},
		{"content type with charset", full, []string{"Content-Type", "application/json; charset=utf-8"}, 200, 0},
		{"no content type", full, []string{"Content-Type", ""}, 415, -32600},
		{"content encoding", full, []string{"Content-Encoding", "gzip"}, 415, -32600},
		{"accepts nothing we have", full, []string{"Accept", "text/html"}, 406, -32600},
		{"accepts anything", full, []string{"Accept", "*/*"}, 200, 0},
		{"header value too long", full, []string{"X-Long", strings.Repeat("x", 8<<10+1)}, 431, -32600},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, body := r.send("POST", "/mcp", tt.body, append(append([]string{}, std...), tt.headers...)...)
			if resp.StatusCode != tt.status || code(t, body) != tt.code {
				t.Fatalf("got %d %s, want %d %d", resp.StatusCode, body, tt.status, tt.code)
			}
			if ct := resp.Header.Get("Content-Type"); ct != "application/json" {
				t.Errorf("content type %q", ct)
			}
			if id := idOf(t, body); id == "null" || strings.Contains(tt.body, `"id":7,"method"`) && id != "7" && tt.status == 400 && tt.code != -32700 && tt.name != "batch" {
				t.Errorf("id %q in %s", id, body)
			}
		})
	}
}

func TestUnsupportedVersionNamesThoseSpoken(t *testing.T) {
	r := newRig(t, nil, nil)
	body := strings.Replace(modernBody("301", "server/discover", ""), "2026-07-28", "v999.0.0", 1)
	_, answer := r.send("POST", "/mcp", body, "MCP-Protocol-Version", "v999.0.0", "Mcp-Method", "server/discover")
	if !strings.Contains(answer, `"data":{"supported":["2026-07-28"],"requested":"v999.0.0"}`) || idOf(t, answer) != "301" {
		t.Fatal(answer)
	}
}

func TestRemovedMethodsAreNotFound(t *testing.T) {
	r := newRig(t, nil, nil)
	for _, method := range []string{"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "unknown/method"} {
		resp, body := r.modern("500", method, "")
		if resp.StatusCode != 404 || code(t, body) != -32601 || idOf(t, body) != "500" {
			t.Errorf("%s: %d %s", method, resp.StatusCode, body)
		}
	}
}

func TestMirroredNames(t *testing.T) {
	r := newRig(t, nil, nil)
	tests := []struct {
		method, more, header string
		ok                   bool
	}{
		{"tools/call", `,"name":"echo"`, "echo", true},
		{"tools/call", `,"name":"echo"`, "  echo  ", true},
		{"tools/call", `,"name":"echo"`, "ECHO", false},
		{"tools/call", `,"name":"echo"`, "", false},
		{"tools/call", `,"name":"\u0065cho"`, "echo", true},
		{"tools/call", `,"name":"\u0065cho"`, `\u0065cho`, false},
		{"tools/call", `,"name":"ä"`, "=?base64?w6Q=?=", true},
		{"tools/call", `,"name":1`, "1", false},
		{"tools/call", ``, "echo", false},
		{"prompts/get", `,"name":"p"`, "p", true},
		{"prompts/get", `,"name":"p"`, "q", false},
		{"resources/read", `,"uri":"test://a"`, "test://a", true},
		{"resources/read", `,"uri":"test://a"`, "", false},
		{"tasks/get", `,"taskId":"t"`, "t", true},
		{"tasks/cancel", `,"taskId":"t"`, "u", false},
		{"tools/list", ``, "", true},
	}
	for _, tt := range tests {
		_, body := r.modern("1", tt.method, tt.more, "Mcp-Name", tt.header)
		if got := code(t, body) != -32020; got != tt.ok {
			t.Errorf("%s %s Mcp-Name %q: %s", tt.method, tt.more, tt.header, body)
		}
	}
}

func TestParamHeadersReachTheCoreAsTheyWereSent(t *testing.T) {
	r := newRig(t, nil, nil)
	r.callTool("1", "echo", "Mcp-Param-Region", "=?base64?SGVsbG8=?=", "mcp-param-x-y", "SGVsbG8=", "Mcp-Param-Open", "=?base64?SGVsbG8=")
	got := map[string]string{}
	for _, h := range r.core.last(t).ParamHeaders {
		got[h.Name] = h.Value
	}
	if got["Region"] != "=?base64?SGVsbG8=?=" || got["X-Y"] != "SGVsbG8=" || got["Open"] != "=?base64?SGVsbG8=" || len(got) != 3 {
		t.Error(got)
	}
	r.callTool("1", "echo")
	if h := r.core.last(t).ParamHeaders; h == nil || len(h) != 0 {
		t.Errorf("without headers: %#v", h)
	}
	for _, bad := range []string{"=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "=?base64?/w==?="} {
		if resp, body := r.callTool("1", "echo", "Mcp-Param-Region", bad); resp.StatusCode != 400 || code(t, body) != -32020 {
			t.Errorf("%s: %d %s", bad, resp.StatusCode, body)
		}
	}
}

func TestWhatTheCoreSees(t *testing.T) {
	r := newRig(t, nil, nil)
	body := `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"echo","arguments":{"n":1e400},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"tester","version":"3"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/logLevel":"warning","progressToken":1.50}}}`
	_, answer := r.send("POST", "/servers/fs/mcp", body, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "echo")
	if answer != `{"jsonrpc":"2.0","id":"a","result":{"content":[{"type":"text","text":"{\"n\":1e400}"}],"resultType":"complete"}}` {
		t.Error(answer)
	}
	in := r.core.last(t)
	if in.Caller.Principal != "local" || in.Caller.Entrance != durward.EntranceHTTP || in.Caller.Client != (durward.ClientInfo{Name: "tester", Version: "3"}) || in.Caller.Session != "" {
		t.Errorf("%+v", in.Caller)
	}
	if in.Route != (durward.Route{Kind: durward.RouteServer, Name: "fs"}) || in.LogLevel != "warning" || !in.Progress || in.Received.IsZero() || string(in.ID) != `"a"` {
		t.Errorf("%+v", in)
	}
	if string(in.Client.Capabilities) != `{"roots":{}}` || in.Client.Revision != "2026-07-28" {
		t.Errorf("%+v", in.Client)
	}
}

func TestB19_IdsComeBackByteForByte(t *testing.T) {
	r := newRig(t, nil, nil)
	session := r.initialize(`{}`)
	for _, id := range []string{`1`, `9007199254740993`, `1.5`, `1.0`, `-0`, `1E400`, `"x"`, `"\u00e4\n"`, `""`, `"9007199254740993"`} {
		if _, body := r.callTool(id, "echo"); idRaw(body) != id {
			t.Errorf("modern %s: %s", id, body)
		}
		if _, body := r.callTool(id, "missing"); idRaw(body) != id || code(t, body) != -32602 {
			t.Errorf("modern error %s: %s", id, body)
		}
		if _, body := r.send("POST", "/mcp", legacyCall(id, "echo", ""), "Mcp-Session-Id", session); idRaw(body) != id {
			t.Errorf("legacy %s: %s", id, body)
		}
	}
}

// idRaw cuts the id out of an answer of ours, which begins with it.
func idRaw(body string) string {
	rest := strings.TrimPrefix(body, `{"jsonrpc":"2.0","id":`)
	for _, end := range []string{`,"result":`, `,"error":`} {
		if id, _, ok := strings.Cut(rest, end); ok {
			return id
		}
	}
	return ""
}

func TestB19_NotificationsGetNoAnswer(t *testing.T) {
	r := newRig(t, nil, nil)
	session := r.initialize(`{}`)
	for _, tt := range []struct {
		body    string
		headers []string
	}{
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, []string{"Mcp-Session-Id", session}},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, []string{"Mcp-Session-Id", session, "Mcp-Method", "notifications/initialized", "MCP-Protocol-Version", "2025-11-25"}},
		{`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, []string{"Mcp-Session-Id", session}},
		{`{"jsonrpc":"2.0","method":"vendor/unheard-of"}`, []string{"Mcp-Session-Id", session}},
		{`{"jsonrpc":"2.0","method":"tools/call"}`, []string{"Mcp-Session-Id", session}},
		{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, []string{"MCP-Protocol-Version", "2026-07-28"}},
		{`{"jsonrpc":"2.0","id":77,"result":{}}`, []string{"Mcp-Session-Id", session}},
	} {
		resp, body := r.send("POST", "/mcp", tt.body, tt.headers...)
		if resp.StatusCode != 202 || body != "" || resp.Header.Get("Content-Type") != "" {
			t.Errorf("%s: %d %q", tt.body, resp.StatusCode, body)
		}
	}
	r.core.mu.Lock()
	defer r.core.mu.Unlock()
	if got := strings.Join(r.core.notes, " "); got != "notifications/roots/list_changed vendor/unheard-of tools/call" {
		t.Error(got)
	}
}

func TestB16_ErrorsOfMethodsAreAnswersNotOutages(t *testing.T) {
	fail := func(code int) tool {
		return func(context.Context, *exchange.Inbound, exchange.Stream) exchange.Reply {
			return exchange.Reply{Error: []byte(`{"code":` + itoa(code) + `,"message":"no"}`)}
		}
	}
	tools := map[string]tool{}
	want := map[int]int{-32603: 200, -32602: 200, -32002: 200, 50301: 200, 50402: 200, -32601: 404, -32020: 400, -32021: 400, -32022: 400}
	for c := range want {
		tools["e"+itoa(c)] = fail(c)
	}
	r := newRig(t, tools, nil)
	session := r.initialize(`{}`)
	for c, status := range want {
		if resp, body := r.callTool("1", "e"+itoa(c)); resp.StatusCode != status || code(t, body) != c {
			t.Errorf("modern %d: %d %s", c, resp.StatusCode, body)
		}
		if resp, body := r.send("POST", "/mcp", legacyCall("1", "e"+itoa(c), ""), "Mcp-Session-Id", session); resp.StatusCode != 200 || code(t, body) != c {
			t.Errorf("legacy %d: %d %s", c, resp.StatusCode, body)
		}
	}
}

func TestB24_ForeignHostOrOriginIsRefused(t *testing.T) {
	r := newRig(t, nil, func(_ *transport.Options, _ *session.Options, who *identity.Options) {
		who.AllowedOrigins = []string{"https://console.example"}
		who.AllowedHosts = []string{"gate.example"}
	})
	tests := []struct {
		host, origin string
		ok           bool
	}{
		{"127.0.0.1:8484", "", true},
		{"localhost:8484", "", true},
		{"[::1]:8484", "", true},
		{"gate.example", "", true},
		{"gate.example:444", "", true},
		{"evil.example.com", "", false},
		{"evil.example.com:8484", "http://evil.example.com:8484", false},
		{"127.0.0.1.evil.example", "", false},
		{"localhost.evil.example", "", false},
		{"0.0.0.0:8484", "", false},
		{"127.0.0.1:8484", "http://127.0.0.1:8484", true},
		{"127.0.0.1:8484", "http://localhost:8484", true},
		{"localhost:8484", "http://[::1]:8484", true},
		{"127.0.0.1:8484", "http://localhost:3000", false},
		{"127.0.0.1:8484", "https://127.0.0.1:8484", false},
		{"127.0.0.1:8484", "http://evil.example.com", false},
		{"127.0.0.1:8484", "null", false},
		{"127.0.0.1:8484", "http://127.0.0.1:8484@evil.example", false},
		{"127.0.0.1:8484", "https://console.example", true},
		{"127.0.0.1:8484", "https://console.example:444", false},
	}
	for _, tt := range tests {
		for _, send := range []func() (*http.Response, string){
			func() (*http.Response, string) {
				return r.modern("1", "tools/list", "", "Host", tt.host, "Origin", tt.origin)
			},
			func() (*http.Response, string) {
				return r.send("GET", "/mcp", "", "Host", tt.host, "Origin", tt.origin)
			},
			func() (*http.Response, string) {
				return r.send("DELETE", "/mcp", "", "Host", tt.host, "Origin", tt.origin)
			},
			func() (*http.Response, string) {
				return r.send("GET", "/api/v1/stdio", "", "Host", tt.host, "Origin", tt.origin)
			},
			func() (*http.Response, string) {
				return r.send("POST", "/elsewhere", "{}", "Host", tt.host, "Origin", tt.origin)
			},
		} {
			resp, body := send()
			if refused := resp.StatusCode == 403; refused == tt.ok {
				t.Errorf("%s %s: Host %q Origin %q: %d %s", resp.Request.Method, resp.Request.URL.Path, tt.host, tt.origin, resp.StatusCode, body)
			}
		}
	}
}

func TestB24_AllowedPagesMayRead(t *testing.T) {
	r := newRig(t, nil, func(_ *transport.Options, _ *session.Options, who *identity.Options) {
		who.AllowedOrigins = []string{"https://console.example"}
	})
	resp, _ := r.send("OPTIONS", "/mcp", "", "Authorization", "", "Origin", "https://console.example", "Access-Control-Request-Headers", "authorization,content-type")
	if resp.StatusCode != 204 || resp.Header.Get("Access-Control-Allow-Origin") != "https://console.example" || resp.Header.Get("Access-Control-Allow-Headers") != "authorization,content-type" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	resp, _ = r.modern("1", "tools/list", "", "Origin", "https://console.example")
	if resp.StatusCode != 200 || resp.Header.Get("Access-Control-Allow-Origin") != "https://console.example" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	resp, _ = r.send("OPTIONS", "/mcp", "", "Authorization", "", "Origin", "http://127.0.0.1:8484")
	if resp.StatusCode != 405 || resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
}

func TestOnlyWithAToken(t *testing.T) {
	r := newRig(t, nil, nil)
	for _, auth := range []string{"", "Bearer nonsense", "Basic " + secret, "Bearer", "Bearer " + secret + "x"} {
		resp, body := r.modern("1", "tools/list", "", "Authorization", auth)
		if resp.StatusCode != 401 || !strings.HasPrefix(resp.Header.Get("WWW-Authenticate"), "Bearer") || code(t, body) == 0 {
			t.Errorf("%q: %d %v %s", auth, resp.StatusCode, resp.Header, body)
		}
	}
	r.core.mu.Lock()
	defer r.core.mu.Unlock()
	if len(r.core.seen) != 0 {
		t.Error("the core was called")
	}
}

func TestPathsAndMethods(t *testing.T) {
	r := newRig(t, nil, nil)
	for _, path := range []string{"/", "/mcp/", "/servers/mcp", "/servers//mcp", "/servers/a/b/mcp", "/toolsets//mcp", "/elsewhere"} {
		if resp, _ := r.send("POST", path, "{}"); resp.StatusCode != 404 && resp.StatusCode != 301 && resp.StatusCode != 307 {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
	for _, path := range []string{"/mcp", "/servers/a/mcp", "/toolsets/t/mcp"} {
		for _, method := range []string{"GET", "DELETE", "PUT", "PATCH", "HEAD"} {
			resp, _ := r.send(method, path, "")
			if resp.StatusCode != 405 || resp.Header.Get("Allow") == "" {
				t.Errorf("%s %s: %d", method, path, resp.StatusCode)
			}
		}
	}
}

func TestMessagesOverTheLimit(t *testing.T) {
	r := newRig(t, nil, func(o *transport.Options, _ *session.Options, _ *identity.Options) { o.Limits.Message = 1000 })
	fits := modernBody("1", "tools/call", `,"name":"echo","pad":"`)
	fits = strings.Replace(fits, `"pad":"`, `"pad":"`+strings.Repeat("x", 1000-len(fits)-1)+`"`, 1)
	if len(fits) != 1000 {
		t.Fatal(len(fits))
	}
	headers := []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "echo"}
	if resp, body := r.send("POST", "/mcp", fits, headers...); resp.StatusCode != 200 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	resp, body := r.send("POST", "/mcp", fits+" ", headers...)
	if resp.StatusCode != 413 || !strings.Contains(body, "limits.message") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	for _, length := range []int{1000, 1001, 100_000} { // of unannounced length
		req := r.request(context.Background(), "POST", "/mcp", fits+strings.Repeat(" ", length-1000), headers...)
		req.ContentLength = -1
		resp := r.do(req)
		resp.Body.Close()
		if want := map[bool]int{true: 200, false: 413}[length == 1000]; resp.StatusCode != want {
			t.Errorf("chunked %d: %d", length, resp.StatusCode)
		}
	}
}

func TestLongMessagesArriveWhole(t *testing.T) {
	r := newRig(t, map[string]tool{"long": func(_ context.Context, in *exchange.Inbound, _ exchange.Stream) exchange.Reply {
		return exchange.Reply{Result: in.Params.Arguments.Of(in.Params.Raw)}
	}}, nil)
	for _, n := range []int{0, 100, 4 << 10, 8 << 10, 64 << 10, 1 << 20, 3 << 20} {
		args := `{"s":"` + strings.Repeat("y", n) + `"}`
		body := modernBody("1", "tools/call", `,"name":"long","arguments":`+args)
		for _, length := range []int64{int64(len(body)), -1} {
			req := r.request(context.Background(), "POST", "/mcp", body, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "long")
			req.ContentLength = length
			resp := r.do(req)
			got, err := readAll(resp)
			if err != nil || got != `{"jsonrpc":"2.0","id":1,"result":`+args+`}` || resp.ContentLength != int64(len(got)) {
				t.Errorf("%d: %v, %d bytes", n, err, len(got))
			}
		}
	}
}

func TestTooManyRequestsAtOnce(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	r := newRig(t, map[string]tool{"wait": func(context.Context, *exchange.Inbound, exchange.Stream) exchange.Reply {
		entered <- struct{}{}
		<-release
		return result("{}")
	}}, func(o *transport.Options, _ *session.Options, _ *identity.Options) { o.Limits.Requests = 1 })
	done := make(chan struct{})
	go func() { defer close(done); r.callTool("1", "wait") }()
	<-entered
	resp, body := r.callTool("2", "echo")
	if resp.StatusCode != 429 || !strings.Contains(body, "limits.requests") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	close(release)
	within(t, "the first call", done)
}
