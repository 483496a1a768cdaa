package policy

import "testing"

// A rule whose condition hangs on what only a call has hides nothing by itself, and
// need not be evaluated for lists; where that is in doubt it is.
func TestWhatMayBeCertainInLists(t *testing.T) {
	for src, want := range map[string]bool{
		`true`:                             true,
		`mcp.tool.name == "a"`:             true,
		`mcp.tool.arguments.force == true`: false,
		`mcp.tool.name == "a" && mcp.tool.arguments.force == true`:                     false,
		`mcp.tool.name == "a" || mcp.tool.arguments.force == true`:                     true,
		`(mcp.tool.name == "a" || mcp.tool.arguments.f == 1) && "x" in session.labels`: false,
		`mcp.tool.arguments.n > 3 ? true : mcp.tool.name == "a"`:                       true,
		`absent(mcp.tool.arguments.force)`:                                             true, // in doubt
		`!(mcp.tool.arguments.force == true)`:                                          false,
		`mcp.tool.arguments.list.exists(x, x == 1)`:                                    true, // in doubt
		`mcp.tool.arguments["force"] == true`:                                          false,
		`string(mcp.tool.arguments.path).startsWith("/etc")`:                           false,
		`mcp.tool.annotations.readOnlyHint == true`:                                    true,
	} {
		env, err := newEnvironment()
		if err != nil {
			t.Fatal(err)
		}
		c, f := env.compile(src)
		if f != nil {
			t.Fatalf("%s: %v", src, f)
		}
		if c.certain != want {
			t.Errorf("%s: %t, wanted %t", src, c.certain, want)
		}
	}
}
