package policy

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func compileAll(t testing.TB, env *environment, sources ...string) []*condition {
	t.Helper()
	list := make([]*condition, len(sources))
	for i, src := range sources {
		c, f := env.compile(src)
		if f != nil {
			t.Fatalf("%s: %v", src, f)
		}
		list[i] = c
	}
	return list
}

// TestPaddingHidesNothing: another gateway cut arguments at 4 KiB, so that a padded call
// went around every rule about them (prior art, 3.6). What matters stands before, behind and
// within the padding, up to five million bytes.
func TestPaddingHidesNothing(t *testing.T) {
	env := testEnvironment(t)
	rules := compileAll(t, env,
		`mcp.tool.arguments.force == true`,
		`mcp.tool.arguments.cmd.contains("rm -rf /")`,
		`has(mcp.tool.arguments.force)`,
	)
	for _, n := range []int{0, 4000, 4095, 4096, 4097, 65536, 1 << 20, 5_000_000} {
		pad := strings.Repeat("x", n)
		for name, args := range map[string]string{
			"behind":  fmt.Sprintf(`{"pad":%q,"cmd":"%srm -rf /","force":true}`, pad, ""),
			"before":  fmt.Sprintf(`{"force":true,"cmd":"rm -rf /","pad":%q}`, pad),
			"within":  fmt.Sprintf(`{"cmd":"%srm -rf /","force":true}`, pad),
			"blanks":  fmt.Sprintf(`{%s"cmd":"rm -rf /",%s"force"%s:%strue}`, strings.Repeat(" ", n/4), strings.Repeat("\n", n/4), strings.Repeat("\t", n/4), strings.Repeat(" ", n/4)),
			"escapes": fmt.Sprintf(`{"pad":"%s","c\u006dd":"rm\u0020-rf \/","forc\u0065":true}`, strings.Repeat(`\u0041`, n/6)),
			"members": fmt.Sprintf(`{%s"cmd":"rm -rf /","force":true}`, manyMembers(min(n/12, 150_000))),
		} {
			a := newActivation(callEvent(args), false)
			for i, c := range rules {
				if ok, err := c.eval(a); !ok || err != nil {
					t.Errorf("%d bytes %s: rule %d gives %v, %v", n, name, i, ok, err)
				}
			}
		}
	}
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":0,`, i)
	}
	return b.String()
}

// TestResultsAreSeenWhole: the other gateway's rules saw the content of a result only,
// not structured content, contents and messages (prior art, 3.6).
func TestResultsAreSeenWhole(t *testing.T) {
	env := testEnvironment(t)
	text := compileAll(t, env, `mcp.result.text.contains("SECRET")`)[0]
	for _, result := range []string{
		`{"content":[{"type":"text","text":"a SECRET"}]}`,
		`{"content":[{"type":"text","text":"` + strings.Repeat("y", 1<<20) + `SECRET"}]}`,
		`{"content":[{"type":"resource","resource":{"uri":"x","text":"SECRET"}}]}`,
		`{"contents":[{"uri":"x","text":"SECRET"}]}`,
		`{"messages":[{"role":"user","content":{"type":"text","text":"SECRET"}}]}`,
	} {
		ev := callEvent(`{}`)
		ev.Result = []byte(result)
		if ok, err := text.eval(newActivation(ev, false)); !ok || err != nil {
			t.Errorf("%.80s: %v, %v", result, ok, err)
		}
	}
	structured := compileAll(t, env, `mcp.result.structured.rows.exists(r, r.key == "SECRET")`, `mcp.result.is_error`, `mcp.result.size > 10`)
	ev := callEvent(`{}`)
	ev.Result = []byte(`{"structuredContent":{"rows":[{"key":"a"},{"key":"SECRET"}]},"isError":true,"content":[]}`)
	for i, c := range structured {
		if ok, err := c.eval(newActivation(ev, false)); !ok || err != nil {
			t.Errorf("%d: %v, %v", i, ok, err)
		}
	}
}

func TestWhatListsCanKnow(t *testing.T) {
	env := testEnvironment(t)
	tests := []struct {
		src       string
		may, must bool
	}{
		{`mcp.tool.name == "push"`, true, true},
		{`mcp.tool.name == "pull"`, false, false},
		{`mcp.tool.arguments.force == true`, true, false},
		{`!(mcp.tool.arguments.force == true)`, true, false},
		{`absent(mcp.tool.arguments.force)`, true, false},
		{`mcp.tool.name == "push" && mcp.tool.arguments.force == true`, true, false},
		{`mcp.tool.name == "pull" && mcp.tool.arguments.force == true`, false, false},
		{`mcp.tool.name == "push" || mcp.tool.arguments.force == true`, true, true},
		{`mcp.tool.name == "pull" || mcp.tool.arguments.force == true`, true, false},
		{`"private-data" in session.labels`, true, false},
		{`now < timestamp("2000-01-01T00:00:00Z")`, true, false},
		{`session.calls > 1000000`, true, false},
		{`mcp.request.id == 8`, true, false},
		{`mcp.resource.uri == "x"`, false, false},
		{`mcp.resource.uri == "x" || mcp.tool.arguments.force == true`, true, false},
		{`mcp.tool.arguments.list.exists(x, x == 1)`, true, false},
		{`mcp.tool.annotations.readOnlyHint == false`, true, true},
		{`int(mcp.tool.name) == 1`, true, false},
		{`caller.principal == "alice" && risk_at_least(mcp.tool.risk, "critical")`, true, true},
	}
	for _, tc := range tests {
		c := compileAll(t, env, tc.src)[0]
		a := newActivation(callEvent(`{"force":true}`), true)
		if may, must := c.may(a), c.must(a); may != tc.may || must != tc.must {
			t.Errorf("%s: may %v, must %v", tc.src, may, must)
		}
	}
	c := compileAll(t, env, `mcp.resource.uri == "x"`)[0]
	a := newActivation(callEvent(`{}`), true)
	a.hide(fieldResourceURI)
	if !c.may(a) || c.must(a) {
		t.Error("what is hidden is not known")
	}
}

func TestNeedsAndValues(t *testing.T) {
	env := testEnvironment(t)
	for src, want := range map[string]needs{
		`mcp.tool.name == "x"`:                                    0,
		`mcp.tool.arguments.x == 1`:                               needArguments,
		`mcp.tool_call.arguments.x == 1`:                          needArguments,
		`absent(mcp.tool.arguments.x)`:                            needArguments,
		`"a" in session.labels`:                                   needLabels | needSession,
		`mcp.result.text == "x" || http.port == 80`:               needResult | needText | needHTTP,
		`now > timestamp("2020-01-01T00:00:00Z")`:                 needTime,
		`caller.groups.exists(g, g == "x" && mcp.tool.pinned)`:    needPins,
		`mcp.input_request.mode == "url" && sandbox.op == "exec"`: needInput | needSandbox,
		`mcp.result.injection_score > 0.5`:                        needResult | needScore,
	} {
		if c := compileAll(t, env, src)[0]; c.needs() != want {
			t.Errorf("%s: needs %b, want %b", src, c.needs(), want)
		}
	}
	c := compileAll(t, env, `mcp.server.name in ["a", "b"] && "b" == mcp.server.name && (mcp.tool.name == "x" || mcp.tool.name == "y") && mcp.tool.risk != "low"`)[0]
	if list, ok := c.values(fieldServerName); !ok || len(list) != 1 || list[0] != "b" {
		t.Error(list, ok)
	}
	for _, f := range []field{fieldToolName, fieldToolRisk} {
		if list, ok := c.values(f); ok {
			t.Error(f, list)
		}
	}
	if !c.uses(fieldToolRisk) || c.uses(fieldToolArguments) {
		t.Error("uses")
	}
}

func TestConditionsAreSharedByManyGoroutines(t *testing.T) {
	env := testEnvironment(t)
	list := compileAll(t, env, `mcp.tool.arguments.gone == 1 || mcp.tool.arguments.x > 1`, `mcp.tool.arguments.list.exists(x, x.v == 3)`, `mcp.resource.uri == "x"`,
		`mcp.tool.arguments.x.contains("y")`, `mcp.tool.arguments.list.exists(x, mcp.tool.arguments.list.exists(y, x == y && x.q == 1))`)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 100 {
				a := newActivation(callEvent(fmt.Sprintf(`{"x":%d,"list":[{"v":3}]}`, i)), i%5 == 0)
				for _, c := range list {
					_, _ = c.judge(a)
				}
			}
		})
	}
	wg.Wait()
}

func TestValuesOfRewrites(t *testing.T) {
	env := testEnvironment(t)
	args := `{"n":9223372036854775807,"u":18446744073709551615,"f":0.1,"s":"a\u0000\"é","o":{"k" : [1.50, {"z":1e400}]},"l":["x",null,true],"e":1e999}`
	for src, want := range map[string]string{
		`false`:                `false`,
		`null`:                 `null`,
		`mcp.tool.arguments.n`: `9223372036854775807`,
		`mcp.tool.arguments.u`: `18446744073709551615`,
		`mcp.tool.arguments.f`: `0.1`,
		`mcp.tool.arguments.s`: `"a\u0000\"é"`,
		`mcp.tool.arguments.o`: `{"k" : [1.50, {"z":1e400}]}`,
		`mcp.tool.arguments.l`: `["x",null,true]`,
		`{"a": [mcp.tool.arguments.f, {"b": mcp.tool.name}]}`: `{"a":[0.1,{"b":"push"}]}`,
		`timestamp("2020-01-02T03:04:05Z")`:                   `"2020-01-02T03:04:05Z"`,
		`mcp.tool.arguments.s.size() + 1`:                     `5`,
	} {
		v, f := env.compileValue(src)
		if f != nil {
			t.Errorf("%s: %v", src, f)
			continue
		}
		got, err := v.eval(newActivation(callEvent(args), false))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", src, got, err, want)
		}
	}
	for src, absent := range map[string]bool{
		`mcp.tool.arguments.gone`: true, `mcp.tool.arguments.e`: false, `int(mcp.tool.name)`: false, `b"x"`: false, `{1: 2}`: false, `duration("1s")`: false, `0.0 / 0.0`: false,
	} {
		v, f := env.compileValue(src)
		if f != nil {
			t.Errorf("%s: %v", src, f)
			continue
		}
		if got, err := v.eval(newActivation(callEvent(args), false)); err == nil || isAbsent(err) != absent {
			t.Errorf("%s: %s, %v", src, got, err)
		}
	}
}
