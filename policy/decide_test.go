package policy_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/policy"
)

func TestWhatDecides(t *testing.T) {
	const corp, usr, pkg = policy.Corp, policy.User, policy.Package
	type docs = map[policy.Layer]string
	for name, c := range map[string]struct {
		docs docs
		call *durward.Call
		want string
	}{
		"nothing":                            {docs{}, call(`{}`), "allow builtin/"},
		"critical asks":                      {docs{}, call(`{}`, hints(`{"destructiveHint":true}`, durward.RiskLow)), "ask builtin/ default"},
		"default of the user":                {docs{usr: "default: allow\n"}, call(`{}`, hints(`{"destructiveHint":true}`, durward.RiskLow)), "allow user/"},
		"default block":                      {docs{usr: "default: block\n"}, call(`{}`), "block user/ default"},
		"not to connect":                     {docs{corp: "default: block\n", usr: "default: ask\n"}, call(`{}`, method("initialize")), "allow builtin/"},
		"not to list":                        {docs{usr: "default: block\n"}, call(`{}`, method("tools/list")), "allow builtin/"},
		"but by a rule":                      {docs{usr: "default: block\nrules: [{id: a, on: [initialize], action: block}]\n"}, call(`{}`, method("initialize")), "block user/a rule"},
		"to read":                            {docs{usr: "default: block\n"}, call(`{}`, method("resources/read")), "block user/ default"},
		"nor what nobody knows":              {docs{usr: "default: block\n"}, call(`{}`, method("x/y")), "block user/ default"},
		"the stricter default":               {docs{corp: "default: allow\n", usr: "default: block\n"}, call(`{}`), "block user/ default"},
		"rule beats default":                 {docs{usr: "default: block\nrules:\n- {id: a, action: allow}\n"}, call(`{}`), "allow user/a"},
		"corp's default beats a user's rule": {docs{corp: "default: block\n", usr: "rules:\n- {id: a, action: allow}\n"}, call(`{}`), "block corp/ default"},
		"a corp rule beats both defaults":    {docs{corp: "default: block\nrules: [{id: a, action: allow}]\n", usr: "default: block\n"}, call(`{}`), "allow corp/a"},
		"a higher rule beats a default":      {docs{corp: "rules: [{id: a, action: allow}]\n", usr: "default: block\n"}, call(`{}`), "allow corp/a"},
		"asking overrides a default too":     {docs{usr: "default: block\nrules: [{id: a, action: ask}]\n"}, call(`{}`), "ask user/a rule"},
		"the most restrictive":               {docs{usr: "rules:\n- {id: a, action: allow}\n- {id: b, action: block}\n- {id: c, action: ask}\n"}, call(`{}`), "block user/b rule"},
		"a lower block beats a higher allow": {docs{corp: "rules: [{id: a, action: allow}]\n", usr: "rules: [{id: b, action: block}]\n"}, call(`{}`), "block user/b rule"},
		"the higher layer is named":          {docs{corp: "rules: [{id: z, action: block}]\n", usr: "rules: [{id: a, action: block}]\n"}, call(`{}`), "block corp/z rule"},
		"then the smaller id":                {docs{usr: "rules: [{id: z, action: block}, {id: a, action: block}]\n"}, call(`{}`), "block user/a rule"},
		"default of a tool":                  {docs{usr: "tools: {github: {push: block}}\n"}, call(`{}`), "block user/ default"},
		"of another tool":                    {docs{usr: "tools: {github: {pull: block}}\n"}, call(`{}`), "allow builtin/"},
		"a tool before the default":          {docs{usr: "default: block\ntools: {github: {push: allow}}\n"}, call(`{}`), "allow user/"},
		"not before corp's default":          {docs{corp: "default: block\n", usr: "tools: {github: {push: allow}}\n"}, call(`{}`), "block corp/ default"},
		"a rule before the tool":             {docs{usr: "tools: {github: {push: block}}\nrules: [{id: a, action: allow}]\n"}, call(`{}`), "allow user/a"},
		"not a lower rule":                   {docs{usr: "tools: {github: {push: block}}\n", pkg: "rules: [{id: a, action: allow}]\n"}, call(`{}`), "block user/ default"},
		"the name before the pattern":        {docs{usr: "tools: {github: {\"*\": block, push: allow}}\n"}, call(`{}`), "allow user/"},
		"the stricter pattern":               {docs{usr: "tools: {github: {\"*\": block, \"pu*\": allow}}\n"}, call(`{}`), "block user/ default"},
		"other server":                       {docs{usr: "rules: [{id: a, servers: [gitlab], action: block}]\n"}, call(`{}`), "allow builtin/"},
		"other tool":                         {docs{usr: "rules: [{id: a, tools: [\"pull*\"], action: block}]\n"}, call(`{}`), "allow builtin/"},
		"pattern":                            {docs{usr: "rules: [{id: a, servers: [\"git*\"], tools: [\"?ush\"], action: block}]\n"}, call(`{}`), "block user/a rule"},
		"a star takes slashes":               {docs{usr: "rules: [{id: a, tools: [\"*\"], action: block}, {id: b, tools: [\"x*y\"], action: ask}]\n"}, call(`{}`, tool("github", "x/z/y")), "block user/a rule"},
		"other method":                       {docs{usr: "rules: [{id: a, on: [prompts/get], action: block}]\n"}, call(`{}`), "allow builtin/"},
		"condition":                          {docs{usr: "rules: [{id: a, when: mcp.tool.arguments.force == true, action: block}]\n"}, call(`{"force":true}`), "block user/a rule"},
		"condition that is false":            {docs{usr: "rules: [{id: a, when: mcp.tool.arguments.force == true, action: block}]\n"}, call(`{"force":false}`), "allow builtin/"},
		"condition on what is absent":        {docs{usr: "rules: [{id: a, when: mcp.tool.arguments.force != true, action: block}]\n"}, call(`{}`), "allow builtin/"},
		"a failure blocks":                   {docs{usr: "rules: [{id: a, when: mcp.tool.arguments.n + 1 == 2, action: allow}]\n"}, call(`{"n":9223372036854775807}`), "block user/a evaluation"},
		"ended":                              {docs{usr: "rules: [{id: a, until: 2020-01-01, action: block}]\n"}, call(`{}`), "allow builtin/"},
		"not ended":                          {docs{usr: "rules: [{id: a, until: \"2120-01-01T00:00:00Z\", action: block}]\n"}, call(`{}`), "block user/a rule"},
	} {
		e := engine(t, compile(t, c.docs))
		d := decide(t, e, c.call)
		if got := short(d); got != c.want {
			t.Errorf("%s: %s, want %s (%s)", name, got, c.want, d.Reason)
		}
		if d.Action == durward.Ask && d.Question == nil {
			t.Errorf("%s: nobody knows what to ask", name)
		}
	}
}

func TestPinsHoldWhateverRulesAllow(t *testing.T) {
	set := compile(t, user("default: allow\nrules: [{id: a, action: allow}]\n"))
	for state, want := range map[string]string{
		policy.PinAccepted: "allow user/a", policy.PinFirst: "allow user/a", policy.PinHeld: "block builtin/ pin", policy.PinChanged: "block builtin/ pin",
		policy.PinRejected: "block builtin/ pin", policy.PinUnknown: "block builtin/ pin", "no such state": "block builtin/ pin",
	} {
		e := engine(t, set, pins{"": state}.set)
		c := call(`{}`)
		if got := short(decide(t, e, c)); got != want {
			t.Errorf("%s: %s, want %s", state, got, want)
		}
		if e.Visible(&c.Caller, c) != strings.HasPrefix(want, "allow") {
			t.Errorf("%s: the list disagrees", state)
		}
	}
	e := engine(t, set, pins{"": policy.PinHeld}.set)
	if d := decide(t, e, call(`{}`, func(c *durward.Call) { c.Transport = durward.TransportBuiltin })); d.Action != durward.Allow {
		t.Error("our own tools are pinned")
	}
}

func TestRisk(t *testing.T) {
	const low, medium, high, critical = durward.RiskLow, durward.RiskMedium, durward.RiskHigh, durward.RiskCritical
	for _, c := range []struct {
		hints    string
		floor    durward.Risk
		accepted bool
		want     durward.Risk
	}{
		{`{}`, medium, true, medium},
		{``, medium, true, medium},
		{``, durward.RiskUnset, false, high},
		{`{"destructiveHint":true,"readOnlyHint":true}`, low, true, critical},
		{`{"readOnlyHint":true}`, high, false, high},
		{`{"readOnlyHint":true}`, high, true, low},
		{`{"readOnlyHint":true,"openWorldHint":true}`, high, true, low},
		{`{"readOnlyHint":true,"openWorldHint":true}`, high, false, high},
		{`{"openWorldHint":true}`, high, true, critical},
		{`{"openWorldHint":true}`, critical, true, critical},
		{`{"openWorldHint":true}`, low, true, medium},
		{`{"idempotentHint":true,"title":"harmless","destructiveHint":false}`, high, true, high},
		{`{"readOnlyHint":"true"}`, high, true, high},
	} {
		state := policy.PinFirst
		if c.accepted {
			state = policy.PinAccepted
		}
		one := call(`{}`, hints(c.hints, c.floor))
		decide(t, engine(t, compile(t, nil), pins{"": state}.set), one)
		if one.Risk != c.want {
			t.Errorf("%s, floor %s, accepted %v: %s, want %s", c.hints, c.floor, c.accepted, one.Risk, c.want)
		}
		if !c.accepted {
			continue
		}
		trusted := call(`{}`, hints(c.hints, c.floor))
		decide(t, engine(t, compile(t, nil), func(o *policy.Options) { o.TrustHints = func(s string) bool { return s == "github" } }), trusted)
		if trusted.Risk != c.want {
			t.Errorf("%s, floor %s, trusted: %s, want %s", c.hints, c.floor, trusted.Risk, c.want)
		}
		said := call(`{}`, hints(c.hints, c.floor))
		said.Tool.Set = medium // what the operator says of the tool counts, whatever else is said
		decide(t, engine(t, compile(t, nil), pins{"": state}.set), said)
		if said.Risk != medium {
			t.Errorf("%s, floor %s, the operator says medium: %s", c.hints, c.floor, said.Risk)
		}
	}
}

func TestEveryMatchIsNamed(t *testing.T) {
	e := engine(t, compile(t, user(`
rules:
- {id: a, action: allow, detection: info, reason: fine}
- {id: b, action: block, reason: no, disclose: id}
- {id: c, action: block, when: mcp.tool.arguments.x == 1}
- {id: d, action: rewrite, set: {/y: "2"}}
`)))
	d := decide(t, e, call(`{"x":2}`))
	var got []string
	for _, m := range d.Matches {
		got = append(got, m.Stage+" "+m.Layer+"/"+m.Rule+" "+m.Action+" "+m.Effective+" "+m.Detection+" "+m.Detail)
	}
	want := []string{"rewrite user/d rewrite rewrite none ", "request user/a allow overruled info fine", "request user/b block block none no"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if d.Rule != "b" || d.Layer != "user" || d.Reason != "no" || d.Cause != "rule" || !d.Disclose {
		t.Errorf("%+v", d)
	}
}

func TestWhatPeopleAreAsked(t *testing.T) {
	e := engine(t, compile(t, map[policy.Layer]string{
		policy.User: "approvals: {timeout: 2m}\nrules:\n- {id: a, action: ask, reason: one, ask: {remember: grant, via: [console, cli, client]}}\n- {id: b, action: ask, reason: two, when: mcp.tool.arguments.both == true, ask: {timeout: 30s, remember: session, via: [console]}}\n",
		policy.Corp: "rules:\n- {id: c, action: ask, reason: three, when: mcp.tool.arguments.corp == true}\n",
	}))
	q := decide(t, e, call(`{}`)).Question
	if !slices.Equal(q.Rules, []string{"user/a"}) || q.Timeout != 2*time.Minute || q.Remember != durward.ScopeGrant || !slices.Equal(q.Via, []string{"console", "cli", "client"}) {
		t.Errorf("%+v", q)
	}
	q = decide(t, e, call(`{"both":true}`)).Question
	if !slices.Equal(q.Rules, []string{"user/a", "user/b"}) || q.Timeout != 30*time.Second || q.Remember != durward.ScopeSession || !slices.Equal(q.Via, []string{"console"}) || q.Text != "one; two" {
		t.Errorf("%+v", q)
	}
	q = decide(t, e, call(`{"corp":true}`)).Question
	if !slices.Equal(q.Rules, []string{"corp/c", "user/a"}) || q.Remember != durward.ScopeCall || !slices.Equal(q.Via, []string{"console", "cli"}) {
		t.Errorf("%+v", q)
	}
	q = decide(t, e, call(`{}`, func(c *durward.Call) { c.Caller.Entrance = "sandbox" })).Question
	if slices.Contains(q.Via, "client") {
		t.Error("an agent in a sandbox is asked for its own approval")
	}
	q = decide(t, engine(t, compile(t, nil)), call(`{}`, hints(`{"destructiveHint":true}`, durward.RiskLow))).Question
	if !slices.Equal(q.Rules, []string{"builtin/risk-critical"}) || q.Timeout != 5*time.Minute {
		t.Errorf("%+v", q)
	}
}

func TestAddressesThatAreNotPublicAreBlocked(t *testing.T) {
	event := func(ip string, public bool) *policy.Event {
		return &policy.Event{Type: policy.EventHTTP, HTTP: policy.EventExchange{Host: "h.example", IP: ip, Public: public, URL: "https://h.example/"}}
	}
	open := engine(t, compile(t, user("default: allow\n")))
	if d := open.DecideEvent(t.Context(), event("10.0.0.1", false)); d.Action != durward.Block || d.Cause != "default" {
		t.Errorf("%+v", d)
	}
	if d := open.DecideEvent(t.Context(), event("192.0.2.1", true)); d.Action != durward.Allow {
		t.Errorf("%+v", d)
	}
	ruled := engine(t, compile(t, user("rules: [{id: a, on: [http], when: http.host == \"h.example\", action: allow}]\n")))
	if d := ruled.DecideEvent(t.Context(), event("10.0.0.1", false)); d.Action != durward.Allow || d.Rule != "a" {
		t.Errorf("%+v", d)
	}
}

func TestGroups(t *testing.T) {
	e := engine(t, compile(t, user("groups: {dev: [alice], ops: [alice, bob]}\nrules: [{id: a, when: '\"dev\" in caller.groups', action: block}]\n")))
	for principal, want := range map[string]durward.Action{"alice": durward.Block, "bob": durward.Allow, "local": durward.Allow} {
		if d := decide(t, e, call(`{}`, func(c *durward.Call) { c.Caller.Principal = principal })); d.Action != want {
			t.Errorf("%s: %s", principal, d.Action)
		}
	}
}

func TestOtherMethods(t *testing.T) {
	e := engine(t, compile(t, user(`
rules:
- {id: uri, on: [resources/read], when: 'mcp.resource.uri.startsWith("file:///etc")', action: block}
- {id: prompt, on: [prompts/get], when: 'mcp.prompt.name == "p" && mcp.prompt.arguments.x == "1"', action: block}
- {id: elicit, on: [elicitation/create], when: 'mcp.input_request.mode == "url"', action: block}
`)))
	for _, c := range []struct {
		call durward.Call
		want string
	}{
		{durward.Call{Method: "resources/read", Server: "fs", Name: "file:///etc/passwd", Params: []byte(`{"uri":"x"}`)}, "block user/uri rule"},
		{durward.Call{Method: "resources/read", Server: "fs", Name: "file:///tmp/x"}, "allow builtin/"},
		{durward.Call{Method: "prompts/get", Server: "fs", Name: "p", Arguments: []byte(`{"x":"1"}`)}, "block user/prompt rule"},
		{durward.Call{Method: "elicitation/create", Server: "fs", Params: []byte(`{"mode":"url","url":"https://x"}`)}, "block user/elicit rule"},
		{durward.Call{Method: "elicitation/create", Server: "fs", Params: []byte(`{"message":"x"}`)}, "allow builtin/"},
		{durward.Call{Method: "vendor/anything", Server: "fs"}, "allow builtin/"},
		{durward.Call{Method: "ping"}, "allow builtin/"},
	} {
		if got := short(decide(t, e, &c.call)); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.call.Method, c.call.Name, got, c.want)
		}
	}
}
