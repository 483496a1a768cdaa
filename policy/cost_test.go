package policy

import (
	"fmt"
	"strings"
	"testing"
)

const fiveClauses = `mcp.server.name == "github" && mcp.tool.name.startsWith("push") && "dev" in caller.groups && ` +
	`mcp.tool.arguments.ref == "refs/heads/main" && mcp.tool.arguments.force == true`

// BenchmarkCondition measures one rule of five clauses, all of which are evaluated,
// with the activation shared as it is between the rules of one call.
func BenchmarkCondition(b *testing.B) {
	env := testEnvironment(b)
	c, f := env.compile(fiveClauses)
	if f != nil {
		b.Fatal(f)
	}
	absent, f := env.compile(strings.ReplaceAll(fiveClauses, "force", "gone"))
	if f != nil {
		b.Fatal(f)
	}
	ev := callEvent(`{"force":true,"ref":"refs/heads/main"}`)
	measure := func(name string, judge func(a *activation)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			a := newActivation(ev, false)
			for b.Loop() {
				judge(a)
			}
		})
	}
	measure("plain", func(a *activation) {
		if ok, err := c.eval(a); !ok || err != nil {
			b.Fatal(ok, err)
		}
	})
	measure("absent", func(a *activation) {
		if ok, err := absent.eval(a); ok || err != nil {
			b.Fatal(ok, err)
		}
	})
	counted := program{env: env, plain: countedProgram(env, fiveClauses)}
	measure("counted", func(a *activation) {
		if v, err := counted.run(a); err != nil {
			b.Fatal(v, err)
		}
	})
	measure("fresh activation", func(a *activation) {
		a.reset(ev, false)
		if ok, err := c.eval(a); !ok || err != nil {
			b.Fatal(ok, err)
		}
	})
}

// TestSimpleConditionsRunWithoutCounter: of what ordinary rules ask it is proven that no event can make it dear.
func TestSimpleConditionsRunWithoutCounter(t *testing.T) {
	env := testEnvironment(t)
	for src, upTo := range map[string]int{
		fiveClauses:                        256 << 10,
		`mcp.tool.arguments.force == true`: 64 << 20,
		`mcp.tool.arguments.n > 3 || mcp.tool.risk == "critical"`:                      64 << 20,
		`mcp.tool.arguments.cmd.contains("rm -rf")`:                                    4 << 20,
		`mcp.tool.arguments.cmd.matches("(?i)rm\\s+-rf?\\s+/")`:                        1 << 20,
		`mcp.tool.arguments.paths.exists(p, p.startsWith("/etc"))`:                     64 << 10,
		`mcp.tool.arguments.paths.exists(p, p.matches("^/etc/.*(passwd|shadow)$"))`:    1 << 10,
		`mcp.tool.arguments.items.exists(p, p.tags.exists(t, t.contains("x")))`:        0,
		`host(mcp.tool.arguments.url) == "internal"`:                                   1 << 20,
		`normalized(mcp.tool.arguments.text).contains("ignore previous instructions")`: 64 << 10,
	} {
		c, f := env.compile(src)
		if f != nil {
			t.Errorf("%s: %v", src, f)
			continue
		}
		if c.upTo != upTo || (c.counted == nil) != (upTo == 64<<20) {
			t.Errorf("%s: proven up to %d, want %d; counter %v", src, c.upTo, upTo, c.counted != nil)
		}
	}
}

// TestTheProofHolds: what is proven below the limit is, when it is counted, at the size
// of the proof and with events made to be dear.
func TestTheProofHolds(t *testing.T) {
	env := testEnvironment(t)
	fill := func(n int, item string) string {
		return strings.TrimSuffix(strings.Repeat(item+",", n/(len(item)+1)), ",")
	}
	for _, src := range []string{
		`mcp.tool.arguments.x.contains("rm -rf")`,
		`mcp.tool.arguments.x.matches("(?i)rm\\s+-rf?\\s+/")`,
		`mcp.tool.arguments.x.exists(p, p.startsWith("/etc"))`,
		`mcp.tool.arguments.x.exists(p, p.matches("^/etc/.*(passwd|shadow)$"))`,
		`mcp.tool.arguments.x.exists(p, p.contains("etc"))`,
		`mcp.tool.arguments.x.map(p, p).size() == 7`,
		`mcp.tool.arguments.x.split(" ").exists(w, w == "sudo")`,
		`normalized(mcp.tool.arguments.x).contains("x")`,
		`fold(mcp.tool.arguments.x) == "x"`,
		`glob(mcp.tool.arguments.x, "*b*b*b*c")`,
		`"q" in mcp.tool.arguments.x`,
		`mcp.tool.arguments.x == mcp.tool.arguments.y`,
	} {
		c, f := env.compile(src)
		if f != nil {
			t.Errorf("%s: %v", src, f)
			continue
		}
		for _, n := range []int{1 << 10, 16 << 10, 64 << 10, 256 << 10} {
			if n > c.upTo {
				break
			}
			n -= 200
			for _, x := range []string{`"` + strings.Repeat("b ", n/2) + `"`, `"` + strings.Repeat("\ufdfa", n/3) + `"`, "[" + fill(n, `"b"`) + "]", "[" + fill(n, "1") + "]", `["` + strings.Repeat("b", n-4) + `"]`} {
				counted := program{env: env, plain: countedProgram(env, src)}
				ev := callEvent(fmt.Sprintf(`{"x":%s,"y":[]}`, x))
				if a := newActivation(ev, false); a.bulk() > c.upTo {
					t.Fatalf("%d bytes are more than %d", a.bulk(), c.upTo)
				} else if _, err := counted.run(a); isCostError(err) {
					t.Errorf("%s: %d bytes: %v", src, n, err)
				}
			}
		}
	}
}

func TestWhatCostsTooMuchFails(t *testing.T) {
	env := testEnvironment(t)
	c, f := env.compile(`mcp.tool.arguments.a.all(x, mcp.tool.arguments.a.exists(y, x < y))`)
	if f != nil {
		t.Fatal(f)
	}
	args := `{"a":[` + strings.TrimSuffix(strings.Repeat("1,", 2000), ",") + `,2]}`
	v, err := c.judge(newActivation(callEvent(args), false))
	if v != verdictFailed || !strings.Contains(err.Error(), "cost limit") {
		t.Errorf("%v, %v", v, err)
	}
	if matched, err := c.eval(newActivation(callEvent(args), false)); matched || err == nil {
		t.Error("eval:", matched, err)
	}
}
