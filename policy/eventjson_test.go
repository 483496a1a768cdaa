package policy_test

import (
	"strings"
	"testing"

	"durward"
	"durward/policy"
)

func TestEventsAreReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		``:                                    "cannot be read",
		`[]`:                                  "cannot be read",
		`{"mcp":{"tol":{}}}`:                  `unknown field "tol"`,
		`{"mcp":{"method":"x"}} {}`:           "behind the object",
		`{"mcp":{"method":"x","method":"y"}}`: `"method" is there twice`,
		`{"mcp":{"tool":{"name":"a","arguments":{"x":{"y":1,"y":2}}}}}`: `"y" is there twice`,
		`{"mcp":{"tool":{"name":"a"},"tool_call":{"name":"b"}}}`:        "are the same",
		`{"mcp":{"tool":{"name":"a","risk":"huge"}}}`:                   "is not one of low",
		`{"mcp":{"server":{"risk":"huge"}}}`:                            "is not one of low",
		`{"mcp":{"tool":{"name":"a","arguments":[]}}}`:                  "arguments must be an object",
		`{"mcp":{"method":"tools/call","result":[]}}`:                   "mcp.result must be an object",
		`{"mcp":{"method":"tools/list","tool":{"name":"a"}}}`:           "only tools/call has a tool",
		`{}`:                             "neither mcp.method nor",
		`{"event":{"type":"mpc"}}`:       `did you mean "mcp"?`,
		`{"event":{"time":"yesterday"}}`: "cannot be read",
	} {
		if _, err := policy.EventFromJSON([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || durward.KindOf(err) != durward.Invalid {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestWhatAnEventMayLeaveOut(t *testing.T) {
	for text, want := range map[string]string{
		`{"mcp":{"server":{"name":"s"},"tool":{"name":"t"}}}`:             "mcp tools/call s t s__t local",
		`{"mcp":{"tool_call":{"name":"t","full_name":"f"}}}`:              "mcp tools/call  t f local",
		`{"mcp":{"prompt":{"name":"p","arguments":{"x":1}}}}`:             "mcp prompts/get    local",
		`{"mcp":{"resource":{"uri":"u"}},"caller":{"principal":"alice"}}`: "mcp resources/read    alice",
		`{"mcp":{"input_request":{"method":"roots/list"}}}`:               "mcp roots/list    local",
		`{"http":{"url":"https://x"}}`:                                    "http     local",
		`{"sandbox":{"op":"create"}}`:                                     "sandbox     local",
	} {
		ev, err := policy.EventFromJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join([]string{ev.Type, ev.Method, ev.Server.Name, ev.Tool.Name, ev.Tool.FullName, ev.Caller.Principal}, " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	ev, err := policy.EventFromJSON([]byte(`{"mcp":{"method":"tools/call","tool":{"name":"t"},"result":{"content":[],"isError":true},"injection_score":0},"session":{"id":"s","labels":["x"],"calls":3}}`))
	if err != nil || !ev.Response || !ev.ResultIsError() || !ev.Scored || ev.Session.Calls != 3 {
		t.Errorf("%+v %v", ev, err)
	}
}

func FuzzEventFromJSON(f *testing.F) {
	f.Add(`{"mcp":{"server":{"name":"s"},"tool":{"name":"t","arguments":{"a":[1,{}]}}}}`)
	f.Add(`{"mcp":{"result":{"content":[{"text":"x"}]},"method":"x"}}`)
	set := compile(f, user("rules: [{id: a, action: block, when: mcp.tool.arguments.a == 1}, {id: b, phase: response, action: block, when: 'mcp.result.text == \"x\"'}, {id: c, action: rewrite, set: {/a/b: \"1\"}}]\n"))
	e := engine(f, set)
	f.Fuzz(func(t *testing.T, text string) {
		ev, err := policy.EventFromJSON([]byte(text))
		if err != nil {
			return
		}
		if x := e.Explain(t.Context(), ev); len(x.Rules) != 3 {
			t.Fatalf("%+v", x)
		}
	})
}
