package policy_test

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"durward"
	"durward/policy"
)

// madeRule is a rule that the slow reference understands.
type madeRule struct {
	layer   policy.Layer
	id      string
	servers []string
	tools   []string
	when    int // of conditions
	action  string
}

// made is a whole policy.
type made struct {
	rules    []madeRule
	defaults [4]string
	tools    [4]map[string]map[string]string
}

// condition is one of a few: its text, and what it is for given arguments (nil: absent).
type condition struct {
	text  string
	holds func(c *durward.Call, a string) bool
	asks  bool // about arguments
}

func conditions() []condition {
	return []condition{
		{"", func(*durward.Call, string) bool { return true }, false},
		{"mcp.tool.arguments.a == true", func(_ *durward.Call, a string) bool { return a == "true" }, true},
		{"mcp.tool.arguments.a == false", func(_ *durward.Call, a string) bool { return a == "false" }, true},
		{"!(mcp.tool.arguments.a == true)", func(_ *durward.Call, a string) bool { return a != "true" && a != "" }, true},
		{`mcp.tool.name.startsWith("pus")`, func(c *durward.Call, _ string) bool { return c.Name == "push" }, false},
		{`caller.principal == "alice"`, func(c *durward.Call, _ string) bool { return c.Caller.Principal == "alice" }, false},
		{`mcp.tool.arguments.a == true || mcp.server.name == "s1"`, func(c *durward.Call, a string) bool { return a == "true" || c.Server == "s1" }, true},
		{`mcp.tool.arguments.a == true && mcp.server.name.endsWith("1")`, func(c *durward.Call, a string) bool { return a == "true" && c.Server == "s1" }, true},
		{"mcp.tool.annotations.readOnlyHint == true", func(*durward.Call, string) bool { return false }, false},
	}
}

func made1(t *rapid.T, withArguments bool) *made {
	m := &made{}
	words := []string{"allow", "ask", "block"}
	servers := rapid.SampledFrom([][]string{nil, {"s1"}, {"s2"}, {"s1", "s2"}, {"s*"}, {"*"}})
	tools := rapid.SampledFrom([][]string{nil, {"push"}, {"pull"}, {"pu*"}, {"*sh"}, {"push", "get"}})
	n := rapid.IntRange(0, 6).Draw(t, "rules")
	for i := range n {
		r := madeRule{
			layer: rapid.SampledFrom([]policy.Layer{policy.Package, policy.User, policy.Corp}).Draw(t, "layer"), id: fmt.Sprintf("r%d", i),
			servers: servers.Draw(t, "servers"), tools: tools.Draw(t, "tools"),
			when: rapid.IntRange(0, len(conditions())-1).Draw(t, "when"), action: rapid.SampledFrom(words).Draw(t, "action"),
		}
		if !withArguments && conditions()[r.when].asks {
			r.when = 0
		}
		m.rules = append(m.rules, r)
	}
	for l := 1; l < 4; l++ {
		m.defaults[l] = rapid.SampledFrom([]string{"", "", "allow", "ask", "block"}).Draw(t, "default")
		if rapid.IntRange(0, 2).Draw(t, "with tools") == 0 {
			m.tools[l] = map[string]map[string]string{
				rapid.SampledFrom([]string{"s1", "s2"}).Draw(t, "server"): {rapid.SampledFrom([]string{"push", "pu*", "*"}).Draw(t, "tool"): rapid.SampledFrom(words).Draw(t, "tool action")},
			}
		}
	}
	return m
}

// docs writes the policy as YAML.
func (m *made) docs() map[policy.Layer]string {
	out := make(map[policy.Layer]string)
	for l := policy.Package; l <= policy.Corp; l++ {
		var b strings.Builder
		if m.defaults[l] != "" {
			fmt.Fprintf(&b, "default: %s\n", m.defaults[l])
		}
		if m.tools[l] != nil {
			b.WriteString("tools:\n")
			for server, list := range m.tools[l] {
				for tool, action := range list {
					fmt.Fprintf(&b, "  %s: {%q: %s}\n", server, tool, action)
				}
			}
		}
		b.WriteString("rules:\n")
		for _, r := range m.rules {
			if r.layer != l {
				continue
			}
			fmt.Fprintf(&b, "- id: %s\n  action: %s\n", r.id, r.action)
			if len(r.servers) > 0 {
				fmt.Fprintf(&b, "  servers: [%s]\n", quoted(r.servers))
			}
			if len(r.tools) > 0 {
				fmt.Fprintf(&b, "  tools: [%s]\n", quoted(r.tools))
			}
			if text := conditions()[r.when].text; text != "" {
				fmt.Fprintf(&b, "  when: '%s'\n", text)
			}
		}
		out[l] = b.String()
	}
	return out
}

func quoted(list []string) string {
	var out []string
	for _, s := range list {
		out = append(out, fmt.Sprintf("%q", s))
	}
	return strings.Join(out, ", ")
}

// reference decides in the slowest and plainest way there is: layer by layer, from
// the highest, asking of each thing whether it may still speak.
func (m *made) reference(c *durward.Call, a string) durward.Action {
	order := map[string]durward.Action{"allow": durward.Allow, "ask": durward.Ask, "block": durward.Block}
	worst, spoke := durward.Allow, false
	say := func(word string) { worst, spoke = max(worst, order[word]), true }
	ruleAbove, toolAbove := false, false // whether a rule, or a default of the tool, of this layer or above spoke
	for l := policy.Corp; l >= policy.Package; l-- {
		for _, r := range m.rules {
			if r.layer == l && fits(r.servers, c.Server) && fits(r.tools, c.Name) && conditions()[r.when].holds(c, a) {
				ruleAbove = true
				say(r.action)
			}
		}
		for pattern, action := range m.tools[l][c.Server] {
			if ok, _ := path.Match(pattern, c.Name); !ok {
				continue
			}
			if !ruleAbove {
				say(action)
			}
			toolAbove = true
		}
		if m.defaults[l] != "" && !ruleAbove && !toolAbove {
			say(m.defaults[l])
		}
	}
	if !spoke && c.Risk == durward.RiskCritical {
		return durward.Ask
	}
	return worst
}

func fits(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, _ := path.Match(p, name); ok {
			return true
		}
	}
	return len(patterns) == 0
}

func someCall(t *rapid.T) *durward.Call {
	c := call("", tool(rapid.SampledFrom([]string{"s1", "s2", "s3"}).Draw(t, "server"), rapid.SampledFrom([]string{"push", "pull", "get", "sh"}).Draw(t, "tool")))
	c.Caller.Principal = rapid.SampledFrom([]string{"alice", "bob"}).Draw(t, "principal")
	if rapid.Bool().Draw(t, "destructive") {
		c.Tool = &durward.Tool{Annotations: []byte(`{"destructiveHint":true}`), Floor: durward.RiskLow}
	}
	return c
}

// with gives the call an argument a; empty: none.
func with(c *durward.Call, a string) *durward.Call {
	out := *c
	out.Arguments = []byte(`{}`)
	if a != "" {
		out.Arguments = []byte(`{"a":` + a + `}`)
	}
	out.Params = []byte(`{"name":"x","arguments":` + string(out.Arguments) + `}`)
	return &out
}

// all arguments that the conditions can tell apart.
func values() []string { return []string{"", "true", "false", "null", "1", `"x"`} }

func TestPrecedenceIsThatOfTheReference(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := made1(rt, true)
		e := engine(t, compile(t, m.docs()))
		for range 4 {
			base := someCall(rt)
			for _, a := range values() {
				c := with(base, a)
				d := decide(t, e, c)
				if want := m.reference(c, a); d.Action != want {
					rt.Fatalf("%s %s a=%s: %s, the reference says %s\n%v", c.Server, c.Name, a, short(d), want, m.docs())
				}
				consistent(rt, &d)
			}
		}
	})
}

// consistent checks that the record names what was enforced.
func consistent(rt *rapid.T, d *durward.Decision) {
	if d.Rule == "" {
		if d.Action != durward.Allow && d.Cause != "default" {
			rt.Fatalf("no rule, and the cause is %q", d.Cause)
		}
		return
	}
	named := 0
	for _, m := range d.Matches {
		if m.Rule == d.Rule && m.Layer == d.Layer {
			named++
			if m.Action != d.Action.String() || m.Effective != m.Action {
				rt.Fatalf("%s is enforced, the record says %+v", short(*d), m)
			}
		}
		if order := map[string]int{"allow": 0, "ask": 1, "block": 2}; m.Effective == m.Action && order[m.Action] > int(d.Action) {
			rt.Fatalf("%+v should have had its way, not %s", m, short(*d))
		}
	}
	if named != 1 {
		rt.Fatalf("%s is named by %d matches: %+v", short(*d), named, d.Matches)
	}
}

// TestB15_ListsAgreeWithCalls: what is hidden is blocked whatever the arguments are;
// and where no condition looks at arguments, what is blocked is hidden.
func TestB15_ListsAgreeWithCalls(t *testing.T) {
	for _, withArguments := range []bool{true, false} {
		rapid.Check(t, func(rt *rapid.T) {
			m := made1(rt, withArguments)
			e := engine(t, compile(t, m.docs()))
			for range 4 {
				c := someCall(rt)
				listed := *c
				listed.Params, listed.Arguments = nil, nil
				visible := e.Visible(&c.Caller, &listed)
				unsure := listed
				unsure.Tool = nil
				blocked := true
				for _, a := range values() {
					blocked = blocked && decide(t, e, with(c, a)).Action == durward.Block
				}
				if !visible && !blocked {
					rt.Fatalf("%s %s is hidden and can be called\n%v", c.Server, c.Name, m.docs())
				}
				if !e.Visible(&c.Caller, &unsure) && !blocked {
					rt.Fatalf("%s %s is hidden before its definition is known, and can be called\n%v", c.Server, c.Name, m.docs())
				}
				if visible && blocked && !withArguments {
					rt.Fatalf("%s %s is listed and can never be called\n%v", c.Server, c.Name, m.docs())
				}
			}
		})
	}
}
