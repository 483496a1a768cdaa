package policy_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/policy"
)

func TestRulesThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"rules: [{id: A, action: block}]":                                                           `user.yaml:1:14: E_VALUE: rules[0].id: must be a lower-case letter`,
		"rules: [{action: block}]":                                                                  `rules[0].id: is missing`,
		"rules: [{id: a}]":                                                                          `rules[0].action: is missing`,
		"rules: [{id: a, action: warn}]":                                                            `rules[0].action: must be one of allow, ask, block`,
		"rules: [{id: a, action: block}, {id: a, action: allow}]":                                   `user.yaml:1:38: E_DUPLICATE_KEY: rules[1].id: another rule of the layer user has this id, at user.yaml:1:9`,
		"rules: [{id: a, action: block, on: [tools/cal]}]":                                          `did you mean "tools/call"?`,
		"rules: [{id: a, action: block, tools: [\"[\"]}]":                                           `rules[0].tools[0]: must be a name or a pattern`,
		"rules: [{id: a, action: block, tools: [x], on: [prompts/get]}]":                            `can never match: only tools/call has a tool`,
		"rules: [{id: a, action: block, on: [http], phase: response}]":                              `can never match: http has no response phase`,
		"rules: [{id: a, action: rewrite}]":                                                         `rewrite needs set`,
		"rules: [{id: a, action: block, set: {/a: \"1\"}}]":                                         `set belongs to action: rewrite`,
		"rules: [{id: a, action: rewrite, set: {a: \"1\"}}]":                                        `must be a JSON pointer such as`,
		"rules: [{id: a, action: rewrite, set: {/a~2: \"1\"}}]":                                     `a ~ must be followed by`,
		"rules: [{id: a, action: rewrite, set: {/a: \"1 +\"}}]":                                     `E_CONDITION: rules[0].set["/a"]`,
		"rules: [{id: a, action: rewrite, on: [tools/list], set: {/a: \"1\"}}]":                     `can never rewrite anything`,
		"rules: [{id: a, action: rewrite, phase: response, set: {/isError: \"true\"}}]":             `must begin with /structuredContent, /content`,
		"rules: [{id: a, action: preprocess}]":                                                      `preprocess needs plugin`,
		"rules: [{id: a, action: preprocess, plugin: secret}]":                                      `no plugin is called "secret"; did you mean "secrets"?`,
		"rules: [{id: a, action: block, plugin: secrets}]":                                          `plugin belongs to the actions preprocess and postprocess`,
		"rules: [{id: a, action: ask, phase: response}]":                                            `nobody is asked about results`,
		"rules: [{id: a, action: postprocess, plugin: pii, phase: request}]":                        `postprocess runs after the result`,
		"rules: [{id: a, action: preprocess, plugin: pii, phase: response}]":                        `for results use postprocess`,
		"rules: [{id: a, action: block, ask: {remember: call}}]":                                    `ask belongs to action: ask`,
		"rules: [{id: a, action: ask, ask: {via: [phone]}}]":                                        `rules[0].ask.via[0]`,
		"rules: [{id: a, action: ask, ask: {timeout: 1ms}}]":                                        `must be between 1s and 24h`,
		"rules: [{id: a, action: block, limit: {per: 1m}}]":                                         `exactly one of calls, bytes and approvals`,
		"rules: [{id: a, action: block, limit: {calls: 1, bytes: 1KiB, per: 1m}}]":                  `exactly one of calls, bytes and approvals`,
		"rules: [{id: a, action: block, limit: {calls: 1}}]":                                        `rules[0].limit.per: is missing`,
		"rules: [{id: a, action: block, limit: {calls: 1, per: 1m, by: ip}}]":                       `must be one of principal, session, server, tool`,
		"rules: [{id: a, action: block, limit: {calls: 1, per: 1m, by: tool+tool}}]":                `names tool twice`,
		"rules: [{id: a, action: allow, limit: {calls: 1, per: 1m}}]":                               `beyond a limit a call can be asked about or blocked`,
		"rules: [{id: a, action: block, limit: {calls: 1, per: 1m}, phase: response}]":              `a limit belongs to the request phase`,
		"rules: [{id: a, action: block, until: tomorrow}]":                                          `must be a date`,
		"rules: [{id: a, action: block, detection: bad}]":                                           `rules[0].detection: must be one of`,
		"rules: [{id: a, action: block, disclose: all}]":                                            `rules[0].disclose`,
		"rules: [{id: a, action: block, when: mcp.result.is_error}]":                                `add phase: response`,
		"rules: [{id: a, action: block, when: mcp.tool.name}]":                                      `E_CONDITION`,
		"rules: [{id: a, action: block, when: mcp.tol.name == \"x\"}]":                              `E_CONDITION`,
		"rules: [{id: a, action: block, servers: [a], when: mcp.server.name == \"b\"}]":             `the rule can never match: the condition wants mcp.server.name to be b`,
		"rules: [{id: a, action: block, tools: [\"a*\"], when: 'mcp.tool.name in [\"b\", \"c\"]'}]": `the condition wants mcp.tool.name to be b or c`,
		"default: maybe\nrules: []":                                                                 `default: must be one of allow, ask, block`,
		"tools: {a: {b: perhaps}}":                                                                  `tools.a.b: must be one of allow, ask, block`,
		"tools: {a: {\"[\": allow}}":                                                                `must be the name of a tool or a pattern`,
		"plugins: {mine: {mode: block}}":                                                            `one of your own needs wasm`,
		"plugins: {pii: {wasm: x.wasm}}":                                                            `pii is a built-in plugin`,
		"rules: [{id: a, action: block, wen: x}]":                                                   `unknown key; did you mean "when"?`,
	} {
		_, got := tryCompile(t, user(text+"\n"))
		if !strings.Contains(got, want) {
			t.Errorf("%s:\n%s\nwant %s", text, got, want)
		}
	}
}

func TestAllProblemsOfAllDocumentsAtOnce(t *testing.T) {
	corp, _ := policy.ParseFile("corp.yaml", []byte("rules:\n- {id: a, action: block, when: '1 =='}\n- {id: b, action: block, when: \"mcp.nothing == 1\"}\n"), policy.Corp)
	usr, _ := policy.ParseFile("user.yaml", []byte("rules:\n- id: c\n  action: block\n  when: |\n    mcp.method == 'x' &&\n      mcp.server.nme == 'y'\n"), policy.User)
	set, problems := policy.Compile([]policy.Document{*corp, *usr}, policy.CompileOptions{})
	if set != nil || len(problems) != 3 {
		t.Fatalf("%d problems: %v", len(problems), problems)
	}
	if p := problems[2]; p.File != "user.yaml" || p.Line != 6 || p.Column != 7 || !strings.Contains(p.String(), "^") {
		t.Errorf("%s", p)
	}
}

func TestTwoDocumentsOfALayer(t *testing.T) {
	one, _ := policy.ParseFile("one.yaml", []byte("default: allow\nrules: [{id: a, action: block}]\n"), policy.User)
	two, _ := policy.ParseFile("two.yaml", []byte("default: block\nrules: [{id: a, action: block}]\n"), policy.User)
	_, problems := policy.Compile([]policy.Document{*one, *two}, policy.CompileOptions{})
	if len(problems) != 2 || !strings.Contains(problems.Error(), "has the default allow already, at one.yaml:1:1") {
		t.Errorf("%v", problems)
	}
}

func TestAProgramMayMakeRules(t *testing.T) {
	doc := policy.Document{Layer: policy.User, Name: "made", Spec: policy.Spec{Rules: []policy.Rule{{ID: "a", Action: "block", When: "mcp.method == 'tools/call'"}}}}
	set, problems := policy.Compile([]policy.Document{doc}, policy.CompileOptions{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if d := decide(t, engine(t, set), call(`{}`)); d.Rule != "a" {
		t.Error(short(d))
	}
	doc.Spec.Rules[0].Action, doc.Spec.Rules[0].When = "", "1 +"
	if _, problems := policy.Compile([]policy.Document{doc}, policy.CompileOptions{}); len(problems) != 2 || problems[0].File != "made" {
		t.Errorf("%v", problems)
	}
}

func TestSettingsOfLayers(t *testing.T) {
	set := compile(t, map[policy.Layer]string{
		policy.Corp: "refusal: error\nplugins: {secrets: {mode: redact}}\npins: {first_use: accept}\napprovals: {timeout: 1m}\n",
		policy.User: "refusal: result\nplugins: {secrets: {mode: block}, pii: {mode: observe}}\npins: {first_use: hold}\napprovals: {timeout: 10m, desktop: off}\n",
	})
	if set.Refusal() != "error" || set.FirstUse() != "hold" || set.Approvals().Timeout != time.Minute || set.Approvals().Desktop != "off" {
		t.Errorf("%s %s %+v", set.Refusal(), set.FirstUse(), set.Approvals())
	}
	if p := set.Plugins(); p["secrets"].Mode != "block" || p["pii"].Mode != "observe" || len(p) != 2 {
		t.Errorf("%+v", p)
	}
	if p := compile(t, user("rules: [{id: a, action: postprocess, plugin: taint}]\n")).Plugins(); len(p) != 1 {
		t.Errorf("a plugin that a rule names is not there: %v", p)
	}
}

func TestTheDigestIsOfWhatIsSaid(t *testing.T) {
	a := compile(t, user("rules:\n- {id: a, action: block}\n- {id: b, action: allow}\n"))
	b := compile(t, user("# other places\n\nrules:\n- {id: b, action: allow}\n- {id: a, action: block}\n"))
	c := compile(t, user("rules:\n- {id: a, action: block}\n- {id: b, action: ask}\n"))
	d := compile(t, map[policy.Layer]string{policy.Corp: "rules:\n- {id: a, action: block}\n- {id: b, action: allow}\n"})
	if a.Digest() != b.Digest() || a.Digest() == c.Digest() || a.Digest() == d.Digest() || len(a.Digest()) != 64 {
		t.Error(a.Digest(), b.Digest(), c.Digest(), d.Digest())
	}
}

func TestWholePoliciesAndConfigurationsAreRead(t *testing.T) {
	for text, rules := range map[string]int{
		"rules: [{id: a, action: block}]": 1, "default: block\nrules: []": 0, "default: block\ngroups: {a: [b]}\nrules: [{id: a, action: block}]": 1,
		"version: 1\nservers: {x: {command: y}}\npolicy: {default: ask, rules: [{id: a, action: block}]}": 1,
	} {
		doc, problems := policy.ParseFile("f", []byte(text), policy.User)
		if len(problems) > 0 || len(doc.Spec.Rules) != rules {
			t.Errorf("%s: %v", text, problems)
		}
	}
	for _, text := range []string{"", "rules: [{id: 1}]", "rule: []", "policy: {rules: 1}", "policy: {rulez: []}", "a: [", "version: 1"} {
		if doc, problems := policy.ParseFile("f", []byte(text), policy.User); len(problems) == 0 || doc != nil {
			t.Errorf("%q is read", text)
		}
	}
}

func TestExplain(t *testing.T) {
	e := engine(t, compile(t, user(`
rules:
- {id: a, action: block, when: mcp.tool.arguments.force == true, reason: no}
- {id: b, action: allow, servers: [gitlab]}
- {id: c, action: ask, when: mcp.tool.arguments.nothing == 1}
- {id: d, action: block, phase: response}
- {id: e, action: block, on: [prompts/get]}
- {id: f, action: block, limit: {calls: 5, per: 1m}}
- {id: g, action: allow}
- {id: h, action: ask, tools: [pull], until: 2020-01-01}
- {id: i, action: ask, until: 2020-01-01}
- {id: j, action: rewrite, when: mcp.tool.arguments.x == 1, set: {/x: "2"}}
`)))
	ev, err := policy.EventFromJSON([]byte(`{"mcp":{"server":{"name":"github","risk":"low"},"tool":{"name":"push","arguments":{"force":true,"x":1},"annotations":{"openWorldHint":true}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for range 10 { // nothing is counted
		x := e.Explain(context.Background(), ev)
		if x.Decision.Action != durward.Block || x.Decision.Rule != "a" || x.Risk != durward.RiskMedium || x.Digest != e.Digest() {
			t.Fatalf("%+v", x)
		}
		if string(x.Decision.Changed) != `{"name":"push","arguments":{"force":true,"x":2}}` {
			t.Errorf("%s", x.Decision.Changed)
		}
		for i, want := range []string{
			"is true", "for other servers: gitlab", "touches what is absent", "it is for results", "it is for prompts/get", "below limit",
			"no condition; overruled", "for other tools", "time is over", "is true",
		} {
			r := x.Rules[i]
			if !strings.Contains(r.Why, want) || r.Decides != (r.ID == "a") || r.Pos.Line != i+3 {
				t.Errorf("%s: %+v, want %q", r.ID, r, want)
			}
			if r.Matched != (strings.Contains("afgj", r.ID)) || r.Indexed != (strings.Contains("acfgij", r.ID)) {
				t.Errorf("%s: %+v", r.ID, r)
			}
		}
	}
	for _, r := range e.Rules() {
		if r.Hits != 0 {
			t.Errorf("%s was hit by being explained", r.Rule.ID)
		}
	}
	held, _ := policy.EventFromJSON([]byte(`{"mcp":{"server":{"name":"x"},"tool":{"name":"push","drifted":true}}}`))
	if x := e.Explain(context.Background(), held); x.Decision.Cause != "pin" {
		t.Errorf("%+v", x.Decision)
	}
}

func TestEffective(t *testing.T) {
	set := compile(t, map[policy.Layer]string{
		policy.Corp: "default: block\nrules: [{id: a, on: [tools/call], servers: [x], action: block, limit: {calls: 30, per: 1m, by: tool+principal}, until: 2099-01-01}]\n",
		policy.User: "tools: {github: {\"push_*\": ask}}\nplugins: {pii: {mode: redact}}\nrules: [{id: b, action: block, when: mcp.tool.risk == \"high\"}]\n",
	})
	var got []string
	for _, l := range set.Effective() {
		got = append(got, l.Layer.String()+": "+l.Text)
	}
	want := []string{
		"corp: block on tools/call servers x beyond 30 calls per 1m by principal+tool until 2099-01-01 (rule a)",
		"corp: block what no rule or tool default of this layer or above is for",
		"user: block when mcp.tool.risk == \"high\" (rule b)",
		"user: ask tool github/push_*, unless a rule of this layer or above matches",
		"builtin: block what pins hold",
		"builtin: block addresses that are not public, unless a rule matches",
		"user: plugin pii on every event: redact",
		"builtin: pins.first_use: accept",
		"builtin: refusal: error",
		"builtin: approvals.timeout: 5m",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if a, ok := set.ToolDefault(policy.User, "github", "push_*"); !ok || a != durward.Ask {
		t.Error("the default of the tool is not there")
	}
}

// shop is a catalog.
type shop map[string][]string

func (s shop) Servers() []string { return []string{"files", "github", "sleeping"} }

func (s shop) Tools(server string) ([]string, bool) {
	list, ok := s[server]
	return list, ok
}

func TestLint(t *testing.T) {
	set := compile(t, user(`
tools: {github: {psh: block}}
rules:
- {id: ended, action: block, until: 2020-01-01}
- {id: server, action: block, servers: [gitub], when: mcp.tool.arguments.x == 1}
- {id: tool, action: block, servers: [github], tools: ["pul_*"]}
- {id: fine, action: allow, servers: [github], tools: ["pu*"], when: mcp.tool.arguments.x == 1}
- {id: asleep, action: block, servers: [sleeping], tools: [x]}
- {id: over, action: ask, servers: [files]}
- {id: over-it, action: block, servers: [files, github], when: ""}
- {id: quiet, action: allow, phase: response}
`))
	var got []string
	for _, f := range set.Lint(shop{"github": {"push", "pull"}, "files": {"read"}}, time.Unix(1_800_000_000, 0)) {
		got = append(got, f.Code+" "+f.Rule)
	}
	want := "expired ended,overruled fine,overruled over,no-effect quiet,unknown-server server,unknown-tool tool,unknown-tool "
	if strings.Join(got, ",") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ","), want)
	}
	if got := set.Lint(nil, time.Time{}); len(got) != 3 {
		t.Errorf("%v", got)
	}
}
