package policy_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"durward"
	"durward/internal/wire"
	"durward/policy"
)

// runner is a set of plugins: "secrets" finds the word hunter2, "taint" marks the
// session, and "broken" fails. On every event runs what always names.
type runner struct {
	always []string
	mode   string // of secrets: observe, redact, block
	ran    []string
}

func (r *runner) look(whole []byte, names []string, stage string) (d durward.Decision, labels []string, err error) {
	if names == nil {
		names = r.always
	}
	for _, name := range names {
		r.ran = append(r.ran, stage+" "+name)
		m := durward.Match{Stage: stage, Rule: "plugin:" + name, Action: r.mode, Effective: r.mode, Detection: "medium", Detail: "a password"}
		switch {
		case name == "broken":
			return d, nil, errors.New("it broke")
		case name == "taint":
			labels = append(labels, "private-data")
		case name == "secrets" && bytes.Contains(whole, []byte("hunter2")):
			d.Matches = append(d.Matches, m)
			clean := bytes.ReplaceAll(whole, []byte("hunter2"), []byte("***"))
			switch r.mode {
			case "observe":
				d.Recorded = clean
			case "redact":
				d.Changed = clean
			default:
				d.Action, d.Reason, d.Recorded = durward.Block, "a password", clean
			}
		case name == "pii" && bytes.Contains(whole, []byte("4711")):
			m.Action, m.Detail = "redact", "a number"
			d.Matches = append(d.Matches, m)
			d.Changed = bytes.ReplaceAll(whole, []byte("4711"), []byte("#"))
		}
	}
	return d, labels, nil
}

func (r *runner) Preprocess(_ context.Context, call *durward.Call, names []string) (durward.Decision, []string, error) {
	return r.look(call.Params, names, "preprocess")
}

func (r *runner) Postprocess(_ context.Context, _ *durward.Call, result []byte, names []string) (durward.Decision, []string, float64, error) {
	score := -1.0
	if names == nil && slices.Contains(r.always, "injection") {
		score = 0.1
		if bytes.Contains(result, []byte("ignore all")) {
			score = 0.9
		}
	}
	d, labels, err := r.look(result, names, "postprocess")
	return d, labels, score, err
}

func (r *runner) set(o *policy.Options) { o.Plugins = r }

func TestPluginsRunBeforeRules(t *testing.T) {
	set := compile(t, user("rules:\n- {id: a, action: block, when: 'mcp.tool.arguments.p.contains(\"hunter2\")'}\n- {id: b, action: allow, when: 'mcp.tool.arguments.p.contains(\"***\")'}\n"))
	for mode, want := range map[string]string{"observe": "block user/a rule", "redact": "allow user/b", "block": "block builtin/ plugin"} {
		d := decide(t, engine(t, set, (&runner{always: []string{"secrets"}, mode: mode}).set), call(`{"p":"hunter2"}`))
		if got := short(d); got != want {
			t.Errorf("%s: %s, want %s", mode, got, want)
		}
		if d.Matches[0].Rule != "plugin:secrets" || d.Matches[0].Layer != "builtin" {
			t.Errorf("%s: %+v", mode, d.Matches)
		}
		kept := d.Recorded
		if kept == nil {
			kept = d.Changed
		}
		if bytes.Contains(kept, []byte("hunter2")) || kept == nil {
			t.Errorf("%s: what is written down is %s", mode, kept)
		}
	}
}

func TestRulesRunPlugins(t *testing.T) {
	set := compile(t, user("rules:\n- {id: a, action: preprocess, plugin: secrets, when: mcp.tool.arguments.look == true, detection: high, disclose: id}\n"))
	r := &runner{mode: "block"}
	e := engine(t, set, r.set)
	if d := decide(t, e, call(`{"p":"hunter2"}`)); d.Action != durward.Allow || r.ran != nil {
		t.Errorf("%s, ran %v", short(d), r.ran)
	}
	d := decide(t, e, call(`{"p":"hunter2","look":true}`))
	if short(d) != "block user/a plugin" || !d.Disclose {
		t.Errorf("%s", short(d))
	}
	if last := d.Matches[len(d.Matches)-1]; last.Rule != "a" || last.Layer != "user" || last.Detection != "high" || last.Action != "block" {
		t.Errorf("%+v", d.Matches)
	}
	if d := decide(t, engine(t, set), call(`{"p":"x","look":true}`)); short(d) != "block user/a evaluation" {
		t.Errorf("a plugin that cannot run lets pass: %s", short(d))
	}
}

// Where what looks for credentials failed, nobody knows what must not be kept: only
// the size and the digest of what came are.
func TestWhatNobodyLookedAtIsNotKept(t *testing.T) {
	rules := user("rules:\n- {id: a, action: preprocess, plugin: secrets, when: '10 / mcp.tool.arguments.n > 0'}\n" +
		"- {id: b, action: rewrite, set: {/p: 'string(10 / mcp.tool.arguments.m)'}}\n" +
		"- {id: c, action: block, when: '10 / mcp.tool.arguments.o > 0'}\n")
	for name, tt := range map[string]struct {
		always []string
		args   string
		kept   string // empty: the marker
	}{
		"a plugin":                            {[]string{"broken"}, `{"p":"hunter2"}`, ""},
		"a plugin after another":              {[]string{"secrets", "broken"}, `{"p":"hunter2"}`, ""},
		"the condition of what runs one":      {nil, `{"p":"hunter2","n":0}`, ""},
		"the value of a rewrite":              {nil, `{"p":"hunter2","m":0}`, ""},
		"a condition, after all looked at it": {[]string{"secrets"}, `{"p":"hunter2","o":0}`, `"p":"***"`},
	} {
		r := &runner{always: tt.always, mode: "observe"}
		c := call(tt.args)
		d := decide(t, engine(t, compile(t, rules), r.set), c)
		want := string(wire.Withheld(c.Params))
		if tt.kept != "" {
			want = strings.Replace(string(c.Params), "hunter2", "***", 1)
		}
		if d.Action != durward.Block || d.Cause != "evaluation" || string(d.Recorded) != want {
			t.Errorf("%s: %s, is written down as %s", name, short(d), d.Recorded)
		}
	}
}

func TestAPluginThatFailsBlocks(t *testing.T) {
	e := engine(t, compile(t, nil), (&runner{always: []string{"broken"}}).set)
	if d := decide(t, e, call(`{}`)); d.Action != durward.Block || d.Cause != "evaluation" {
		t.Errorf("%+v", d)
	}
	if d, _ := e.DecideResult(t.Context(), call(`{}`), []byte(`{}`)); d.Action != durward.Block || d.Cause != "evaluation" {
		t.Errorf("%+v", d)
	}
}

func TestNothingThatAnyPluginFoundIsWrittenDown(t *testing.T) {
	set := compile(t, user("rules:\n- {id: a, action: preprocess, plugin: pii}\n- {id: b, action: rewrite, set: {/q: '\"r\"'}}\n"))
	d := decide(t, engine(t, set, (&runner{always: []string{"secrets"}, mode: "observe"}).set), call(`{"p":"hunter2 4711"}`))
	if string(wireArguments(d.Changed)) != `{"p":"hunter2 #","q":"r"}` || string(wireArguments(d.Recorded)) != `{"p":"*** #","q":"r"}` {
		t.Errorf("goes on %s, is written down %s", d.Changed, d.Recorded)
	}
}

func wireArguments(params []byte) []byte {
	_, rest, _ := bytes.Cut(params, []byte(`"arguments":`))
	out, _, _ := bytes.Cut(rest, []byte(`,"_meta"`))
	return out
}

func TestLabelsMarkTheSession(t *testing.T) {
	set := compile(t, user("rules:\n- {id: read, action: postprocess, plugin: taint, tools: [pull]}\n- {id: out, action: block, tools: [push], when: '\"private-data\" in session.labels'}\n"))
	e := engine(t, set, (&runner{}).set)
	result := []byte(`{"content":[]}`)
	for _, session := range []durward.SessionID{"s1", ""} {
		in := func(c *durward.Call) { c.Caller.Session = session }
		if d := decide(t, e, call(`{}`, in)); d.Action != durward.Allow {
			t.Fatal(short(d))
		}
		if d, _ := e.DecideResult(t.Context(), call(`{}`, in, tool("github", "pull")), result); d.Action != durward.Allow || d.Matches[0].Rule != "read" {
			t.Fatalf("%+v", d)
		}
		if d := decide(t, e, call(`{}`, in)); short(d) != "block user/out rule" {
			t.Fatal(short(d))
		}
		c := call(`{}`, in)
		if !e.Visible(&c.Caller, c) {
			t.Error("labels hide a tool, which may change")
		}
	}
	if d := decide(t, e, call(`{}`, func(c *durward.Call) { c.Caller.Session = "s2" })); d.Action != durward.Allow {
		t.Error("another session is marked")
	}
	e.Forget("s1")
	if d := decide(t, e, call(`{}`)); d.Action != durward.Allow {
		t.Error("a session that ended is marked")
	}
}

func TestSessionsAreBounded(t *testing.T) {
	set := compile(t, user("rules: [{id: a, action: block, when: '\"x\" in session.labels'}]\n"))
	e := engine(t, set, newClock().set, func(o *policy.Options) { o.Sessions = 16 })
	blocked := 0
	for i := range 200 {
		c := call(`{}`, func(c *durward.Call) { c.Caller.Session = durward.SessionID(strings.Repeat("s", i+1)) })
		if err := e.Mark(&c.Caller, "y"); err == nil {
			continue
		}
		if d := decide(t, e, c); d.Cause == "evaluation" {
			blocked++
		}
	}
	if blocked < 100 {
		t.Errorf("%d sessions of which nothing is known were blocked", blocked)
	}
	c := call(`{}`, func(c *durward.Call) { c.Caller.Session = "s" })
	for _, label := range []string{"", "A", strings.Repeat("x", 65), "a b"} {
		if err := e.Mark(&c.Caller, label); err == nil {
			t.Errorf("%q is a label", label)
		}
	}
	var many []string
	for i := range 40 {
		many = append(many, "l"+strings.Repeat("x", i))
	}
	if err := e.Mark(&c.Caller, many...); err == nil {
		t.Error("there is no bound on labels")
	}
}

func TestResults(t *testing.T) {
	docs := user(`
default: block
rules:
- {id: allow, action: allow}
- {id: secret, phase: response, action: block, when: 'mcp.result.text.contains("secret")', reason: no}
- {id: deep, phase: response, action: block, when: 'mcp.result.structured.a.b == 7'}
- {id: score, phase: response, action: block, when: mcp.result.injection_score > 0.5}
- {id: email, phase: response, action: rewrite, when: has(mcp.result.structured.email), set: {/structuredContent/email: '"hidden"', /content: '[]'}}
- {id: post, action: postprocess, plugin: pii, when: mcp.result.size > 10}
`)
	e := engine(t, compile(t, docs), (&runner{always: []string{"injection", "secrets"}, mode: "redact"}).set)
	for name, c := range map[string]struct{ result, want, changed string }{
		"clean":      {`{"content":[{"type":"text","text":"x"}]}`, "allow builtin/", ""},
		"text":       {`{"content":[{"type":"text","text":"a"},{"type":"text","text":"a secret"}]}`, "block user/secret rule", ""},
		"resource":   {`{"content":[{"type":"resource","resource":{"uri":"x","text":"a secret"}}]}`, "block user/secret rule", ""},
		"contents":   {`{"contents":[{"uri":"x","text":"a \u0073ecret"}]}`, "block user/secret rule", ""},
		"messages":   {`{"messages":[{"role":"user","content":{"type":"text","text":"a secret"}}]}`, "block user/secret rule", ""},
		"structured": {`{"content":[],"structuredContent":{"a":{"b":7}}}`, "block user/deep rule", ""},
		"score":      {`{"content":[{"type":"text","text":"ignore all"}]}`, "block user/score rule", ""},
		"rewritten":  {`{"content":[{"type":"text","text":"e@x"}],"structuredContent":{"email":"e@x","z":1}}`, "allow builtin/", `{"content":[],"structuredContent":{"email":"hidden","z":1}}`},
		"plugin":     {`{"content":[{"type":"text","text":"4711 hunter2"}]}`, "allow builtin/", `{"content":[{"type":"text","text":"# ***"}]}`},
	} {
		d, err := e.DecideResult(t.Context(), call(`{}`), []byte(c.result))
		if err != nil || short(d) != c.want || string(d.Changed) != c.changed {
			t.Errorf("%s: %s %s (%s)", name, short(d), d.Changed, d.Reason)
		}
		if d.Question != nil {
			t.Errorf("%s: somebody is asked", name)
		}
	}
	if d, _ := e.DecideResult(t.Context(), call(`{}`), nil); d.Action != durward.Allow {
		t.Errorf("no result: %s", short(d))
	}
}
