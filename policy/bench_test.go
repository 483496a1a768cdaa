package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"durward"
	"durward/policy"
)

// manyRules are rules of which can can match a push to github, and the rest is for
// other tools, servers and methods.
func manyRules(all, can int) string {
	var b strings.Builder
	b.WriteString("rules:\n")
	for i := range all {
		fmt.Fprintf(&b, "- id: r%d\n  action: block\n", i)
		switch {
		case i < can:
			fmt.Fprintf(&b, "  servers: [github]\n  tools: [\"pu*\"]\n  when: 'mcp.tool.arguments.branch == \"release-%d\" && caller.principal != \"admin\" && (mcp.tool.arguments.force == true || mcp.tool.risk == \"high\")'\n", i)
		case i%4 == 0:
			fmt.Fprintf(&b, "  servers: [github]\n  tools: [other_%d]\n", i)
		case i%4 == 1:
			fmt.Fprintf(&b, "  servers: [server%d]\n  tools: [\"pu*\"]\n", i%40)
		case i%4 == 2:
			fmt.Fprintf(&b, "  on: [tools/call]\n  tools: [\"tool_%d_*\"]\n", i)
		default:
			fmt.Fprintf(&b, "  on: [resources/read]\n  servers: [github]\n")
		}
		if i >= can {
			fmt.Fprintf(&b, "  when: 'mcp.method != \"x%d\"'\n", i%50)
		}
	}
	return b.String()
}

func BenchmarkDecide(b *testing.B) {
	for _, size := range [][2]int{{0, 0}, {20, 20}, {10_000, 20}, {10_000, 0}} {
		set := compile(b, user(manyRules(size[0], size[1])))
		e := engine(b, set)
		b.Run(fmt.Sprintf("rules=%d/match=%d", size[0], size[1]), func(b *testing.B) {
			b.ReportAllocs()
			c := call(`{"branch":"main","force":true,"message":"a message of some length","files":["a","b","c"]}`)
			for b.Loop() {
				if d := decide(b, e, c); d.Action != 0 {
					b.Fatal(d)
				}
			}
		})
	}
}

func BenchmarkVisible(b *testing.B) {
	e := engine(b, compile(b, user(manyRules(10_000, 20))))
	c := call("")
	b.ReportAllocs()
	for b.Loop() {
		if !e.Visible(&c.Caller, c) {
			b.Fatal("hidden")
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	doc, problems := policy.ParseFile("b.yaml", []byte(manyRules(1000, 500)), policy.User)
	if len(problems) > 0 {
		b.Fatal(problems)
	}
	for b.Loop() {
		if _, problems := policy.Compile([]policy.Document{*doc}, policy.CompileOptions{}); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}

// listed are tools as a catalog has them: 5,000 of ten servers.
func listed() []*durward.Call {
	var all []*durward.Call
	for i := range 5000 {
		c := call("", tool([]string{"github", "server1", "server2", "files", "web"}[i%5], fmt.Sprintf([]string{"pull_%d", "other_%d", "tool_%d_x", "read_%d"}[i%4], i)),
			hints(`{"readOnlyHint":true,"openWorldHint":false}`, durward.RiskMedium))
		c.Params, c.Arguments = nil, nil
		all = append(all, c)
	}
	return all
}

// BenchmarkVisibleList is a list of 5,000 tools by 10,000 rules: 5 ms are allowed.
func BenchmarkVisibleList(b *testing.B) {
	e := engine(b, compile(b, user(manyRules(10_000, 20))))
	all := listed()
	b.ReportAllocs()
	for b.Loop() {
		for _, c := range all {
			own := *c
			e.Visible(&c.Caller, &own)
		}
	}
}
