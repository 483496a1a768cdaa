package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"durward"
)

func TestRewriting(t *testing.T) {
	for name, c := range map[string]struct {
		rules, args string
		want        string // the whole params; empty: unchanged
		action      string
	}{
		"replaces": {"- {id: a, action: rewrite, set: {/force: \"false\"}}", `{"x": 1.0 ,"force":true}`, `{"name":"push","arguments":{"x": 1.0 ,"force":false},"_meta":{"k":1}}`, "allow"},
		"adds":     {"- {id: a, action: rewrite, set: {/n: \"1 + 1\"}}", `{}`, `{"name":"push","arguments":{"n":2},"_meta":{"k":1}}`, "allow"},
		"makes what is above": {"- {id: a, action: rewrite, set: {/a/b: 'mcp.tool.name'}}", `{"z":1}`,
			`{"name":"push","arguments":{"z":1,"a":{"b":"push"}},"_meta":{"k":1}}`, "allow"},
		"removes":              {"- {id: a, action: rewrite, set: {/token: \"\"}}", `{"token":"t","y":[1, 2]}`, `{"name":"push","arguments":{"y":[1, 2]},"_meta":{"k":1}}`, "allow"},
		"removes nothing":      {"- {id: a, action: rewrite, set: {/token: \"\"}}", `{"y":1}`, "", "allow"},
		"as it was":            {"- {id: a, action: rewrite, set: {/y: \"1\"}}", `{"y":1}`, "", "allow"},
		"only where it fits":   {"- {id: a, action: rewrite, when: mcp.tool.arguments.y == 2, set: {/y: \"1\"}}", `{"y":3}`, "", "allow"},
		"absent values":        {"- {id: a, action: rewrite, set: {/y: mcp.tool.arguments.z}}", `{"y":3}`, "", "allow"},
		"elements":             {"- {id: a, action: rewrite, set: {/l/1: \"9\", /l/-: \"8\"}}", `{"l":[1,2,3]}`, "", "block"}, // - adds without end
		"in lists":             {"- {id: a, action: rewrite, set: {/l/1/x: \"9\"}}", `{"l":[1,{"x":2}]}`, `{"name":"push","arguments":{"l":[1,{"x":9}]},"_meta":{"k":1}}`, "allow"},
		"beyond the end":       {"- {id: a, action: rewrite, set: {/l/5: \"9\"}}", `{"l":[1]}`, "", "block"},
		"into a text":          {"- {id: a, action: rewrite, set: {/l/5: \"9\"}}", `{"l":"x"}`, "", "block"},
		"rules see what it is": {"- {id: a, action: rewrite, set: {/force: \"true\"}}\n- {id: b, action: block, when: mcp.tool.arguments.force == true}", `{"force":false}`, `{"name":"push","arguments":{"force":true},"_meta":{"k":1}}`, "block"},
		"and not what it was":  {"- {id: a, action: rewrite, set: {/force: \"false\"}}\n- {id: b, action: block, when: mcp.tool.arguments.force == true}", `{"force":true}`, `{"name":"push","arguments":{"force":false},"_meta":{"k":1}}`, "allow"},
		"in order":             {"- {id: b, action: rewrite, set: {/n: mcp.tool.arguments.m}}\n- {id: a, action: rewrite, set: {/m: \"7\"}}", `{"m":1,"n":1}`, `{"name":"push","arguments":{"m":7,"n":7},"_meta":{"k":1}}`, "allow"},
		"until it is stable":   {"- {id: a, action: rewrite, when: mcp.tool.arguments.n == 5, set: {/m: \"7\"}}\n- {id: b, action: rewrite, set: {/n: \"5\"}}", `{"n":1}`, `{"name":"push","arguments":{"n":5,"m":7},"_meta":{"k":1}}`, "allow"},
		"without end":          {"- {id: a, action: rewrite, set: {/n: mcp.tool.arguments.n + 1}}", `{"n":1}`, "", "block"},
	} {
		e := engine(t, compile(t, user("rules:\n"+c.rules+"\n")))
		d := decide(t, e, call(c.args))
		if d.Action.String() != c.action {
			t.Errorf("%s: %s: %s", name, short(d), d.Reason)
		}
		if c.action == "block" && c.want == "" {
			if d.Cause != "evaluation" {
				t.Errorf("%s: the cause is %s", name, d.Cause)
			}
			continue
		}
		if string(d.Changed) != c.want {
			t.Errorf("%s: %s\nwant %s", name, d.Changed, c.want)
		}
		if d.Changed != nil && !json.Valid(d.Changed) {
			t.Errorf("%s: no JSON", name)
		}
	}
}

func TestRewritingWithoutArguments(t *testing.T) {
	e := engine(t, compile(t, user("rules: [{id: a, action: rewrite, set: {/dry: \"true\"}}]\n")))
	if d := decide(t, e, call("")); string(d.Changed) != `{"name":"push","arguments":{"dry":true}}` {
		t.Errorf("%s", d.Changed)
	}
	if d := decide(t, e, &durward.Call{Method: "resources/read", Name: "x", Params: []byte(`{"uri":"x"}`)}); d.Changed != nil {
		t.Errorf("a request without arguments got %s", d.Changed)
	}
}

func TestAPersonSeesWhatWasRewritten(t *testing.T) {
	e := engine(t, compile(t, user("rules:\n- {id: a, action: rewrite, set: {/force: \"false\", /new: '\"x\"', /old: \"\"}}\n- {id: b, action: ask}\n")))
	d := decide(t, e, call(`{"force":true,"old":[1]}`))
	var got []string
	for _, c := range d.Question.Changes {
		got = append(got, c.Path+" "+c.Rule+" "+string(c.Old)+" "+string(c.New))
	}
	if want := "/force user/a true false,/new user/a  \"x\",/old user/a [1] "; strings.Join(got, ",") != want {
		t.Errorf("%q, want %q", strings.Join(got, ","), want)
	}
}
