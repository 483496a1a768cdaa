package policy

import (
	"testing"
	"unicode/utf8"

	"durward/internal/wire"
)

// FuzzConditions: no text makes compiling or evaluating panic or go on for ever; a fault points
// into the text; what lists may know is not contradicted by the call; and what has
// and what has no counter agree.
func FuzzConditions(f *testing.F) {
	for _, src := range []string{
		fiveClauses, `!has(mcp.tool.arguments.force)`, `absent(mcp.tool.arguments["a-b"].c[0])`, `mcp.tool.arguments.list.exists(x, x.v > 1 || x == 3)`,
		`normalized(mcp.tool.arguments.s).matches("(a|b)+")`, `mcp.tool.arguments.?x.orValue(1) == 1`, `cel.bind(x, mcp.tool.name, x == "push")`, `host(mcp.tool.arguments.s) == "a"`,
		`mcp.tool.nmae == "x"`, "mcp.tool.name == 'a'\n&& é", `[1,2].map(x, x * 2) == [2, 4] ? true : now > event.time`, `{"a": mcp.tool.arguments}.a.list[0] == 1`,
	} {
		f.Add(src, `{"force":true,"list":[{"v":2},3],"s":"a","big":1e999}`)
	}
	env := testEnvironment(f)
	f.Fuzz(func(t *testing.T, src, args string) {
		if len(src) > 1000 || len(args) > 10_000 {
			return
		}
		var m wire.Message
		raw := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":` + args + `}}`)
		if err := wire.Parse(raw, wire.FromClient, &m); err != nil || len(args) == 0 || args[0] != '{' {
			args = `{"force":true,"list":[{"v":2},3],"s":"a"}`
		}
		if v, fault := env.compileValue(src); fault == nil {
			_, _ = v.eval(newActivation(callEvent(args), false))
		}
		c, fault := env.compile(src)
		if fault != nil {
			if fault.message == "" || fault.line < 1 || fault.column < 1 || fault.width < 1 || fault.offset < 0 || fault.offset > utf8.RuneCountInString(src)+1 {
				t.Fatalf("%q: %+v", src, fault)
			}
			return
		}
		got, err := c.judge(newActivation(callEvent(args), false))
		if (err != nil) != (got == verdictFailed || got == verdictAbsent) || got == verdictMaybe {
			t.Fatalf("%q: %v, %v", src, got, err)
		}
		list := newActivation(callEvent(`{}`), true)
		if may, must := c.may(list), c.must(list); got == verdictYes && !may || got != verdictYes && must {
			t.Fatalf("%q with %s: %v, and may %v, must %v", src, args, got, may, must)
		}
		counted := condition{program: program{env: env, plain: countedProgram(env, src)}}
		if again, err := counted.judge(newActivation(callEvent(args), false)); again != got && !isCostError(err) && again != verdictFailed {
			t.Fatalf("%q with %s: %v, counted %v", src, args, got, again)
		}
	})
}
