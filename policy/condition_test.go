package policy

import (
	"strings"
	"testing"

	"durward"
)

func testEnvironment(t testing.TB) *environment {
	t.Helper()
	env, err := newEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// callEvent is a call of github's push with arguments.
func callEvent(args string) *Event {
	return &Event{
		Type: EventMCP, ID: "c1", Method: "tools/call", Request: []byte(`7`),
		Server:  EventServer{Name: "github", Transport: "stdio", Risk: durward.RiskHigh},
		Tool:    EventTool{Name: "push", FullName: "github__push", Risk: durward.RiskCritical, Annotations: []byte(`{"readOnlyHint":false,"x-level":3}`)},
		Args:    []byte(args),
		Caller:  EventCaller{Principal: "alice", Groups: []string{"dev"}, Entrance: "http"},
		Session: EventSession{ID: "s1", Labels: []string{"private-data"}, Calls: 4},
	}
}

func TestConditionsJudge(t *testing.T) {
	env := testEnvironment(t)
	const args = `{"force":true,"ref":"refs/heads/main","n":3,"big":9223372036854775807,"huge":18446744073709551615,
		"list":[{"a":1},{"b":2}],"opts":{"deep":{"x":"y"}},"nothing":null,"x-y":"z","ratio":0.1}`
	tests := []struct {
		src  string
		want verdict
	}{
		{`mcp.tool.arguments.force == true`, verdictYes},
		{`mcp.tool_call.arguments.force == true`, verdictYes},
		{`mcp.tool.arguments.force == false`, verdictNo},
		{`mcp.tool.arguments.gone == true`, verdictAbsent},
		{`!(mcp.tool.arguments.gone == true)`, verdictAbsent},
		{`mcp.tool.arguments.gone != true`, verdictAbsent},
		{`has(mcp.tool.arguments.gone)`, verdictAbsent},
		{`has(mcp.tool.arguments.force)`, verdictYes},
		{`absent(mcp.tool.arguments.gone)`, verdictYes},
		{`absent(mcp.tool.arguments.gone.deeper)`, verdictYes},
		{`!absent(mcp.tool.arguments.gone)`, verdictNo},
		{`absent(mcp.resource.uri)`, verdictYes},
		{`absent(mcp.tool.arguments["x-y"])`, verdictNo},
		{`mcp.tool.arguments["x-y"] == "z"`, verdictYes},
		{`mcp.tool.arguments.gone == 1 || mcp.tool.arguments.force == true`, verdictYes},
		{`mcp.tool.arguments.force == true || mcp.tool.arguments.gone == 1`, verdictYes},
		{`mcp.tool.arguments.gone == 1 || mcp.tool.arguments.force == false`, verdictAbsent},
		{`mcp.tool.arguments.gone == 1 && mcp.tool.arguments.force == false`, verdictNo},
		{`!(mcp.tool.arguments.gone == 1 && mcp.tool.arguments.force == false)`, verdictYes},
		{`!(mcp.tool.arguments.gone == 1 && mcp.tool.arguments.force == true)`, verdictAbsent},
		{`mcp.tool.arguments.gone == 1 || int(mcp.tool.arguments.ref) == 1`, verdictFailed},
		{`int(mcp.tool.arguments.ref) == 1 || mcp.tool.arguments.gone == 1`, verdictFailed},
		{`mcp.tool.arguments.gone == 1 && int(mcp.tool.arguments.ref) == 1`, verdictFailed},
		{`int(mcp.tool.arguments.ref) == 1 || mcp.tool.arguments.force == true`, verdictYes},
		{`int(mcp.tool.arguments.ref) == 1 && mcp.tool.arguments.force == false`, verdictNo},
		{`int(mcp.tool.arguments.ref) == 1`, verdictFailed},
		{`mcp.tool.arguments.ref > 3`, verdictFailed},
		{`mcp.tool.arguments.list.exists(x, x.b == 2)`, verdictYes},
		{`mcp.tool.arguments.list.exists(x, x.b == 3)`, verdictAbsent},
		{`mcp.tool.arguments.list.all(x, x.a == 2)`, verdictNo},
		{`mcp.tool.arguments.list.all(x, x.a == 1)`, verdictAbsent},
		{`mcp.tool.arguments.list.filter(x, !absent(x.a)).size() == 1`, verdictYes},
		{`mcp.tool.arguments.list[5] == 1`, verdictAbsent},
		{`mcp.tool.arguments.big == 9223372036854775807`, verdictYes},
		{`mcp.tool.arguments.big == 9223372036854775806`, verdictNo},
		{`mcp.tool.arguments.huge == 18446744073709551615u`, verdictYes},
		{`mcp.tool.arguments.ratio == 0.1`, verdictYes},
		{`mcp.tool.arguments.n > 2.5`, verdictYes},
		{`mcp.tool.arguments.nothing == null`, verdictYes},
		{`mcp.tool.arguments.?gone.orValue(1) == 1`, verdictYes},
		{`mcp.tool.arguments.opts.deep.x == "y"`, verdictYes},
		{`mcp.tool.arguments.opts == {"deep": {"x": "y"}}`, verdictYes},
		{`"force" in mcp.tool.arguments`, verdictYes},
		{`mcp.tool.arguments.exists(k, k == "ref")`, verdictYes},
		{`mcp.tool.annotations.readOnlyHint == false`, verdictYes},
		{`"dev" in caller.groups && "private-data" in session.labels && session.calls < 5`, verdictYes},
		{`risk_at_least(mcp.tool.risk, "high")`, verdictYes},
		{`mcp.server.name in ["gitlab", "github"]`, verdictYes},
		{`mcp.request.id == 7`, verdictYes},
		{`mcp.result.text.contains("x")`, verdictAbsent},
		{`event.type == "mcp" && (mcp.tool.name.startsWith("pu") ? mcp.tool.arguments.force == true : mcp.tool.arguments.gone == 1)`, verdictYes},
		{`glob(mcp.tool.arguments.ref, "refs/*/ma?n")`, verdictYes},
		{`mcp.tool.arguments.ref.matches("^refs/heads/(main|master)$")`, verdictYes},
		{`cidr("0x7f.1", "127.0.0.0/8")`, verdictYes},
		{`mcp.tool_list`, verdictNo},
	}
	for _, tc := range tests {
		c, f := env.compile(tc.src)
		if f != nil {
			t.Errorf("%s: %v", tc.src, f)
			continue
		}
		got, err := c.judge(newActivation(callEvent(args), false))
		if got != tc.want {
			t.Errorf("%s: %v, want %v (%v)", tc.src, got, tc.want, err)
		}
		matched, err := c.eval(newActivation(callEvent(args), false))
		if matched != (tc.want == verdictYes) || (err != nil) != (tc.want == verdictFailed) {
			t.Errorf("%s: eval gives %v, %v", tc.src, matched, err)
		}
	}
}

func TestConditionsAreRefusedWithAPlaceAndASuggestion(t *testing.T) {
	env := testEnvironment(t)
	tests := []struct {
		src, message, suggestion string
		column, width            int
	}{
		{`mcp.tool.nmae == "x"`, "no field is called mcp.tool.nmae", "did you mean mcp.tool.name?", 1, 13},
		{`true && mcp.tool.argument.force == true`, "no field is called", "did you mean mcp.tool.arguments.force?", 9, 23},
		{`mcp.tool == "x"`, "is a group of fields", "mcp.tool.name", 1, 8},
		{`mpc.tool.name == "x"`, "no field or variable is called mpc", "did you mean mcp.tool.name?", 1, 13},
		{`tool.name == "x"`, "no field or variable is called tool", "mcp.tool.name", 1, 9},
		{`mcp.tool.name.x == "x"`, "is a text and has no fields", "", 1, 15},
		{`mcp.tool.annotations.readonlyhint == true`, "no annotation", "readOnlyHint", 1, 33},
		{`!has(mcp.tool.arguments.force)`, "never false", "absent(mcp.tool.arguments.force)", 6, 24},
		{`has(mcp.tool.arguments.force) == false`, "never false", "absent(", 5, 24},
		{`mcp.tool.name`, "gives text, not true or false", "compare", 1, 13},
		{`mcp.tool.arguments.force`, "gives any value", "== true", 1, 24},
		{`mcp.tool.name == 3`, "there is no == for '(string, int)'", "of one kind", 15, 1},
		{`mcp.tool.risk > "low"`, "compared by their letters", `risk_at_least(mcp.tool.risk, "high")`, 1, 21},
		{`"high" <= mcp.server.risk`, "compared by their letters", `risk_at_least(mcp.server.risk, "high")`, 1, 25},
		{`mcp.tool.arguments.x > 3 &&`, "ends too early", "something has to follow &&", 28, 1},
		{`(mcp.tool.name == "a"`, "a ) is missing", "each (", 22, 1},
		{`mcp.tool.name = "a"`, "a single =", "compare with ==", 15, 1},
		{`true & mcp.tool.name == "a"`, "a single &", "&&", 6, 1},
		{`mcp.tool.name == "a" and true`, "and means nothing", "write &&", 22, 1},
		{`not mcp.tool.pinned`, "not means nothing", "write !", 5, 1},
		{`mcp.tool.name == "a" mcp.method == "b"`, "cannot stand here", "&& or ||", 22, 1},
		{`mcp.tool.name == "a" #`, "# means nothing", "quotes", 22, 1},
		{`foo(mcp.tool.name)`, "there is no function foo", "known here: contains", 4, 1},
		{`mcp.tool.name.startWith("a")`, "there is no function startWith", "did you mean \"startsWith\"?", 24, 1},
		{`mcp.tool.name in "abc"`, "there is no in", "contains", 15, 1},
		{`mcp.tool.name == "a" && mcp.tool.name == "b"`, "can never match", "||", 25, 20},
		{`false`, "can never match", "", 1, 5},
		{`1 == 2`, "can never match", "", 1, 6},
		{`mcp.server.transport == "tcp"`, "can never match", "stdio", 1, 29},
		{`mcp.tool.risk == "hihg"`, "can never match", "high", 1, 23},
		{`mcp.tool.name == "a`, "does not end", "same quote", 18, 1},
		{"mcp.tool.name == \"a\"\n  && mcp.tool.nam == \"b\"", "no field is called mcp.tool.nam", "mcp.tool.name", 6, 12},
		{`mcp.tool.name.matches("(")`, "regexp", "RE2", 1, 1},
		{``, "is empty", "", 1, 1},
		{`mcp.tool.arguments.a.all(x, x.all(y, y.all(z, z.all(v, v.all(w, w == 1)))))`, "may cost", "fewer loops", 1, 1},
	}
	for _, tc := range tests {
		_, f := env.compile(tc.src)
		if f == nil {
			t.Errorf("%s: accepted", tc.src)
			continue
		}
		if !strings.Contains(f.message, tc.message) || !strings.Contains(f.suggestion, tc.suggestion) || f.column != tc.column || f.width < tc.width {
			t.Errorf("%s: %d+%d %q; %q", tc.src, f.column, f.width, f.message, f.suggestion)
		}
	}
}
