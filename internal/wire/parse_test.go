package wire_test

import (
	"strings"
	"testing"

	"durward/internal/wire"
)

func mustParse(t *testing.T, in string, from wire.Origin) *wire.Message {
	t.Helper()
	var m wire.Message
	if err := wire.Parse([]byte(in), from, &m); err != nil {
		t.Fatalf("Parse(%s): %v", in, err)
	}
	return &m
}

func TestParseKinds(t *testing.T) {
	for _, c := range []struct {
		in               string
		kind             wire.Kind
		id, method       string
		params, res, err string
	}{
		{in: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, kind: wire.Request, id: "1", method: "ping"},
		{in: "\t{\r\n\"method\":\"ping\" ,\"id\" : 1, \"jsonrpc\":\"2.0\"}\n", kind: wire.Request, id: "1", method: "ping"},
		{in: `{"jsonrpc":"2.0","id":"","method":"vendor/thing","params":{}}`, kind: wire.Request, id: `""`, method: "vendor/thing", params: "{}"},
		{in: `{"jsonrpc":"2.0","id":"x","method":"tools\/call"}`, kind: wire.Request, id: `"x"`, method: "tools/call"},
		{in: `{"jsonrpc":"2.0","method":"notifications/initialized"}`, kind: wire.Notification, method: "notifications/initialized"},
		{in: `{"jsonrpc":"2.0","id":1,"result":null}`, kind: wire.Result, id: "1", res: "null"},
		{in: `{"jsonrpc":"2.0","id":1,"result":[1,{"a":"]"}]}`, kind: wire.Result, id: "1", res: `[1,{"a":"]"}]`},
		{in: `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}`, kind: wire.Failure, id: "1", err: `{"code":-1,"message":"m"}`},
		{in: `{"jsonrpc":"2.0","id":null,"error":{}}`, kind: wire.Failure, err: `{}`},
		{in: `{"jsonrpc":"2.0","error":{}}`, kind: wire.Failure, err: `{}`},
		{in: `{"jsonrpc":"2.0","id":1,"method":"ping","vendor":{"kept":true}}`, kind: wire.Request, id: "1", method: "ping"},
	} {
		m := mustParse(t, c.in, wire.FromClient)
		if m.Kind != c.kind || string(m.ID) != c.id || m.Method != c.method ||
			string(m.Params.Raw) != c.params || string(m.Result) != c.res || string(m.Error) != c.err {
			t.Errorf("%s: %v id=%s method=%s params=%s result=%s error=%s", c.in, m.Kind, m.ID, m.Method, m.Params.Raw, m.Result, m.Error)
		}
	}
}

// TestB19_IDsStayAsTheyAre: numbers of any size and form, and strings of any kind.
func TestB19_IDsStayAsTheyAre(t *testing.T) {
	for _, id := range []string{`0`, `-1`, `9007199254740993`, `1.5`, `1e400`, `-0`, `1E+2`, `"1"`, `""`, `"\u0041"`, `"\""`, `"日本"`, strings.Repeat("9", 300)} {
		m := mustParse(t, `{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`, wire.FromClient)
		if m.Kind != wire.Request || string(m.ID) != id {
			t.Errorf("id %s became %s", id, m.ID)
		}
		if out := string(wire.AppendResult(nil, m.ID, []byte("{}"))); out != `{"jsonrpc":"2.0","id":`+id+`,"result":{}}` {
			t.Errorf("id %s is sent as %s", id, out)
		}
	}
}

func TestParseParamsSpans(t *testing.T) {
	const params = `{"name":"a__b","uri":"file:///x","taskId":"t","ref":{"type":"ref/prompt","name":"p"},"arguments":{"x":1e400},` +
		`"cursor":"c","requestState":"s","inputResponses":{"k":1},"progressToken":"p","requestId":7,` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"c"},"io.modelcontextprotocol/logLevel":"info",` +
		`"io.modelcontextprotocol/subscriptionId":9,"progressToken":5,"vendor/x":null}}`
	check := func(t *testing.T, p *wire.Params) {
		t.Helper()
		for _, c := range []struct {
			name string
			span wire.Span
			want string
		}{
			{"name", p.Name, `"a__b"`}, {"uri", p.URI, `"file:///x"`}, {"taskId", p.TaskID, `"t"`},
			{"ref", p.Ref, `{"type":"ref/prompt","name":"p"}`}, {"arguments", p.Arguments, `{"x":1e400}`}, {"cursor", p.Cursor, `"c"`},
			{"requestState", p.RequestState, `"s"`}, {"inputResponses", p.InputResponses, `{"k":1}`},
			{"progressToken", p.ProgressToken, `"p"`}, {"requestId", p.RequestID, `7`},
			{"protocolVersion", p.InMeta.ProtocolVersion, `"2026-07-28"`}, {"clientCapabilities", p.InMeta.ClientCapabilities, `{}`},
			{"clientInfo", p.InMeta.ClientInfo, `{"name":"c"}`}, {"logLevel", p.InMeta.LogLevel, `"info"`},
			{"subscriptionId", p.InMeta.SubscriptionID, `9`}, {"meta progressToken", p.InMeta.ProgressToken, `5`},
		} {
			if got := string(c.span.Of(p.Raw)); got != c.want {
				t.Errorf("%s: %s, want %s", c.name, got, c.want)
			}
		}
		if s, ok := p.String(p.Name); !ok || s != "a__b" {
			t.Errorf("String(Name) = %q %v", s, ok)
		}
		if _, ok := p.String(p.Arguments); ok {
			t.Error("an object counts as a string")
		}
		if !p.Modern() {
			t.Error("modern metadata was not seen")
		}
	}
	t.Run("in a message", func(t *testing.T) {
		m := mustParse(t, `  {"jsonrpc":"2.0","id":1,"params":`+params+`,"method":"tools/call"}`, wire.FromClient)
		check(t, &m.Params)
	})
	t.Run("alone", func(t *testing.T) {
		var p wire.Params
		if err := wire.ParseParams([]byte("\n "+params+" "), &p); err != nil {
			t.Fatal(err)
		}
		if string(p.Raw) != params {
			t.Errorf("Raw is %s", p.Raw)
		}
		check(t, &p)
	})
	t.Run("a reused Message keeps nothing", func(t *testing.T) {
		m := mustParse(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}`, wire.FromClient)
		if err := wire.Parse([]byte(`{"jsonrpc":"2.0","method":"ping"}`), wire.FromClient, m); err != nil {
			t.Fatal(err)
		}
		if m.Params.Raw != nil || m.Params.Name.Present() || m.Params.Modern() || m.ID != nil {
			t.Errorf("%+v", m)
		}
	})
}

func TestParseResult(t *testing.T) {
	for _, c := range []struct {
		result, kind string
		isError      bool
	}{
		{`{}`, "", false},
		{`{"content":[],"isError":true}`, "", true},
		{`{"isError":"true"}`, "", false},
		{`{"content":[{"isError":true,"resultType":"nested"}]}`, "", false},
		{`{"resultType":"complete"}`, "complete", false},
		{`{"resultType":"input_required","requestState":"s"}`, "input_required", false},
		{`{"resultType":"t\u0061sk"}`, "task", false},
		{`{"result\u0054ype":"task","isErro\u0072":true}`, "task", true},
		{`{"resultType":3}`, "", false},
		{`[{"resultType":"complete"}]`, "", false},
	} {
		m := mustParse(t, `{"jsonrpc":"2.0","id":1,"result":`+c.result+`}`, wire.FromServer)
		if string(m.Result) != c.result || m.Type() != c.kind || m.IsError != c.isError {
			t.Errorf("%s: type %q, isError %v", c.result, m.Type(), m.IsError)
		}
	}
}

func TestKindString(t *testing.T) {
	for kind, want := range map[wire.Kind]string{0: "", wire.Request: "request", wire.Notification: "notification", wire.Result: "result", wire.Failure: "failure"} {
		if kind.String() != want {
			t.Errorf("%d is %q", kind, kind.String())
		}
	}
}
