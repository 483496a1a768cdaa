package gateway_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"durward"
	"durward/gateway"
	"durward/internal/testkit/rawclient"
	"durward/internal/testkit/schemacheck"
	"durward/internal/wire"
)

const finders = "local__search_tools local__describe_tool local__call_tool"

// lazily starts a gateway whose aggregate and one toolset are lazy.
func lazily(t *testing.T, opt gateway.Options) *running {
	t.Helper()
	opt.LazyTools, opt.PinnedTools = true, []string{"h__ec*"}
	opt.Toolsets = []durward.Toolset{
		{Name: "lazy", Tools: []string{"h__*"}, Lazy: true},
		{Name: "pinned", Tools: []string{"h__*"}, Lazy: true, Pinned: []string{"h__get", "h__set"}},
		{Name: "eager", Tools: []string{"*"}},
	}
	if opt.Servers == nil {
		opt.Servers = []durward.Server{hostileServer("h")}
	}
	return ready(t, opt)
}

// offering returns the names that a route lists, and their raw tools.
func offering(t *testing.T, c *rawclient.Client) (names string, raw map[string]string) {
	t.Helper()
	raw = map[string]string{}
	var all []string
	list := wire.Get(do(t, c, "tools/list", `{}`).Msg.Result, "tools")
	for at := range wire.Elements(list) {
		name, _ := wire.Unquote(wire.Get(at.Of(list), "name"))
		all = append(all, name)
		raw[name] = string(at.Of(list))
	}
	return strings.Join(all, " "), raw
}

// through calls a tool through call_tool.
func through(t *testing.T, c *rawclient.Client, name, arguments string) *rawclient.Answer {
	t.Helper()
	return call(t, c, "local__call_tool", `{"name":`+wire.Quote(name)+`,"arguments":`+wire.Quote(arguments)+`}`)
}

func TestLazyRoutesListWhatFindsTheOthersAndWhatIsPinned(t *testing.T) {
	r := lazily(t, gateway.Options{})
	for route, want := range map[string]string{
		"/mcp":                 finders + " h__echo",
		"/toolsets/lazy/mcp":   finders,
		"/toolsets/pinned/mcp": finders + " h__set h__get",
	} {
		for era, c := range r.clients(t, route) {
			if got, _ := offering(t, c); got != want {
				t.Errorf("%s %s lists %q, wanted %q", era, route, got, want)
			}
			if a := call(t, c, "h__count", `{}`); a.Text() != "counted" {
				t.Errorf("%s %s: a tool that is not listed cannot be called: %s", era, route, a.Msg.Error)
			}
		}
	}
	for _, route := range []string{"/toolsets/eager/mcp", "/servers/local/mcp"} {
		if got, _ := offering(t, r.modern(route)); strings.Contains(got, "search_tools") {
			t.Errorf("%s is not lazy, and lists %q", route, got)
		}
	}
}

func TestB14_WhatALazyRouteListsIsTakenByAllVendors(t *testing.T) {
	r := lazily(t, gateway.Options{Builtin: true})
	_, raw := offering(t, r.modern("/toolsets/lazy/mcp"))
	if len(raw) != 3 {
		t.Fatalf("%d tools", len(raw))
	}
	for name, tool := range raw {
		for _, problem := range schemacheck.Check([]byte(tool)) {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

func TestToolsAreFoundAndDescribed(t *testing.T) {
	r := lazily(t, gateway.Options{Builtin: true})
	_, raw := offering(t, r.modern("/toolsets/eager/mcp"))
	for _, route := range []string{"/mcp", "/toolsets/lazy/mcp"} {
		for era, c := range r.clients(t, route) {
			a := call(t, c, "local__search_tools", `{"query":"echo","limit":3}`)
			if !strings.HasPrefix(a.Text(), `{"tools":[{"name":`) || !strings.Contains(a.Text(), `"h__echo"`) {
				t.Errorf("%s %s: %s %s", era, route, a.Text(), a.Msg.Error)
			}
			if got := strings.Contains(a.Text(), `"local__echo"`); got != (route == "/mcp") {
				t.Errorf("%s %s finds what is no part of it, or not what is: %s", era, route, a.Text())
			}
			if a = call(t, c, "local__describe_tool", `{"name":"h__echo"}`); a.Text() != raw["h__echo"] || a.Text() == "" {
				t.Errorf("%s %s describes\n%s\nand lists\n%s", era, route, a.Text(), raw["h__echo"])
			}
			if typed := strings.Contains(string(a.Msg.Result), `"resultType"`); typed != c.Modern {
				t.Errorf("%s: %s", era, a.Msg.Result)
			}
			for tool, arguments := range map[string]string{
				"local__describe_tool": `{"name":"h__nothing"}`, "local__search_tools": `{"query":1}`,
			} {
				if a = call(t, c, tool, arguments); string(wire.Get(a.Msg.Result, "isError")) != "true" {
					t.Errorf("%s %s: %s %s", era, tool, a.Msg.Result, a.Msg.Error)
				}
			}
			if a = call(t, c, "local__search_tools", `{"query":"zzz","limit":"many"}`); !strings.Contains(a.Text(), "other words") {
				t.Errorf("%s: %s", era, a.Text())
			}
			if a = call(t, c, "local__search_tools", `{"query":"h","limit":2}`); strings.Count(a.Text(), `"name"`) != 2 {
				t.Errorf("%s: %s", era, a.Text())
			}
		}
	}
}

func TestASearchKnowsWhatChanged(t *testing.T) {
	r := lazily(t, gateway.Options{})
	c := r.modern("/toolsets/lazy/mcp")
	find := func() string { return call(t, c, "local__search_tools", `{"query":"extra 2","limit":50}`).Text() }
	if strings.Contains(find(), "h__extra_2") {
		t.Fatal("found before it was there")
	}
	changed := make(chan struct{}, 10)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opened := make(chan struct{})
	go func() {
		_ = c.Stream(ctx, `{"notifications":{"toolsListChanged":true}}`, func(m wire.Message) bool {
			switch m.Method {
			case wire.NoteToolsChanged:
				changed <- struct{}{}
			case wire.NoteAcknowledged:
				close(opened)
			}
			return true
		})
	}()
	await(t, "the acknowledgement", opened)
	through(t, c, "h__change", `{"n":3}`)
	untilTold(t, changed, func() bool { return strings.Contains(find(), `"h__extra_2"`) })
	through(t, c, "h__change", `{"n":0}`)
	untilTold(t, changed, func() bool { return !strings.Contains(find(), `"h__extra_2"`) })
}

func TestResultsPassThroughByteForByte(t *testing.T) {
	r := lazily(t, gateway.Options{})
	for era, c := range r.clients(t, "/mcp") {
		for _, result := range []string{
			`{"content":[{"type":"odd","x":1.50,"x":2}],"structuredContent":{"n":12345678901234567890, "b":[]},"_meta":{"k":"\u00e9"}}`,
			`{ "isError":true,"content":[],"structuredContent":null}`,
		} {
			arguments := `{"raw":` + wire.Quote(result) + `}`
			direct, indirect := call(t, c, "h__raw", arguments), through(t, c, "h__raw", arguments)
			if string(direct.Msg.Result) != string(indirect.Msg.Result) || !strings.Contains(string(direct.Msg.Result), `"structuredContent"`) {
				t.Errorf("%s: directly\n%s\nand through call_tool\n%s", era, direct.Msg.Result, indirect.Msg.Result)
			}
		}
		if a := through(t, c, "h__rpcerror", `{}`); a.Code() != -32000 {
			t.Errorf("%s: %s %s", era, a.Msg.Result, a.Msg.Error)
		}
	}
}

func TestArgumentsReachTheServerByteForByte(t *testing.T) {
	r := lazily(t, gateway.Options{})
	c := r.modern("/mcp")
	const arguments = `{"text" :"\u0041ü","n":1e0, "raw":"\"","big":9007199254740993}`
	for _, written := range []string{wire.Quote(arguments), wire.Quote(" " + arguments + "\n"), arguments} {
		a := call(t, c, "local__call_tool", `{"name":"h__seen","arguments":`+written+`}`)
		if got := string(wire.Get(wire.Get([]byte(a.Text()), "params"), "arguments")); got != arguments {
			t.Errorf("%s arrived as %s (%s)", written, got, a.Msg.Error)
		}
		if got := string(wire.Get(wire.Get([]byte(a.Text()), "params"), "name")); got != `"seen"` {
			t.Errorf("the server was asked for %s", got)
		}
	}
	for _, empty := range []string{`""`, `"{}"`, `{}`, `null`, `" "`} {
		if a := call(t, c, "local__call_tool", `{"name":"h__count","arguments":`+empty+`}`); a.Text() != "counted" {
			t.Errorf("%s: %s", empty, a.Msg.Error)
		}
	}
	if a := call(t, c, "local__call_tool", `{"name":"h__count"}`); a.Text() != "counted" {
		t.Errorf("without arguments: %s", a.Msg.Error)
	}
}

func TestWhatCannotBeCalledThroughATool(t *testing.T) {
	r := lazily(t, gateway.Options{})
	for era, c := range r.clients(t, "/mcp") {
		for _, arguments := range []string{
			`{}`, `{"name":1,"arguments":"{}"}`, `{"name":"h__echo","arguments":"[]"}`, `{"name":"h__echo","arguments":1}`,
			`{"name":"h__echo","arguments":"{"}`, `{"name":"h__echo","arguments":"{} {}"}`,
			`{"name":"h__echo","arguments":"{\"text\":\"a\",\"text\":\"b\"}"}`, // a name that stands twice
			`{"name":"h__nothing","arguments":"{}"}`,
			`{"name":"local__call_tool","arguments":"{\"name\":\"h__echo\",\"arguments\":\"{}\"}"}`,
			`{"name":"local__search_tools","arguments":"{\"query\":\"x\"}"}`,
		} {
			if a := call(t, c, "local__call_tool", arguments); a.Code() != wire.CodeInvalidParams {
				t.Errorf("%s %s: %s %s", era, arguments, a.Msg.Result, a.Msg.Error)
			}
		}
	}
}

func TestACallThroughAToolPassesTheGateOnceAsWhatItIs(t *testing.T) {
	g := &gate{}
	r := lazily(t, gateway.Options{Decider: g, Recorder: g})
	for era, c := range r.clients(t, "/toolsets/lazy/mcp") {
		g.taken()
		call(t, c, "h__echo", `{"text":"x"}`)
		direct := g.taken()
		through(t, c, "h__echo", `{"text":"x"}`)
		if got := g.taken(); got != direct || !strings.HasPrefix(got, `decide tools/call h echo {"text":"x"}`) {
			t.Errorf("%s: directly\n%s\nthrough call_tool\n%s", era, direct, got)
		}
		if a := through(t, c, "h__set", `{"name":"k","text":"v"}`); a.Code() != wire.CodeRefused {
			t.Errorf("%s: a blocked tool was called: %s", era, a.Msg.Result)
		}
		if got := g.taken(); !strings.HasSuffix(got, "intent block local http\noutcome refused") {
			t.Errorf("%s: %s", era, got)
		}
		if a := through(t, c, "h__echo", `{"text":"classified"}`); a.Code() != wire.CodeRefused {
			t.Errorf("%s: a blocked result came through: %s", era, a.Msg.Result)
		}
		if a := call(t, c, "local__search_tools", `{"query":"set","limit":50}`); strings.Contains(a.Text(), "h__set") {
			t.Errorf("%s: a hidden tool is found: %s", era, a.Text())
		}
		if a := call(t, c, "local__describe_tool", `{"name":"h__set"}`); !strings.HasPrefix(a.Text(), "unknown tool") {
			t.Errorf("%s: a hidden tool is described: %s", era, a.Text())
		}
	}
}

// noCalls hides call_tool.
type noCalls struct{ *gate }

func (noCalls) Visible(_ *durward.Caller, tool *durward.Call) bool { return tool.Name != "call_tool" }

func TestCallToolItselfCanBeForbidden(t *testing.T) {
	g := noCalls{&gate{}}
	r := lazily(t, gateway.Options{Decider: g, Recorder: g})
	c := r.modern("/mcp")
	if names, _ := offering(t, c); strings.Contains(names, "call_tool") {
		t.Error("it is listed")
	}
	if a := through(t, c, "h__echo", `{"text":"x"}`); a.Code() != wire.CodeRefused {
		t.Errorf("it can be called: %s", a.Msg.Result)
	}
}

func TestB9_ProgressAndCancellationOfACallThroughATool(t *testing.T) {
	notes, counter := filepath.Join(t.TempDir(), "notes"), filepath.Join(t.TempDir(), "counter")
	r := lazily(t, gateway.Options{Servers: []durward.Server{hostileServer("h", "-notes", notes, "-counter", counter)}})
	for era, c := range r.clients(t, "/mcp") {
		meta := `"progressToken":"my token"`
		if c.Modern {
			meta += `,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`
		}
		a := do(t, c, "tools/call", `{"name":"local__call_tool","arguments":{"name":"h__progress","arguments":"{\"n\":5}"},"_meta":{`+meta+`}}`)
		if a.Text() != "done" || len(a.Notes) != 5 || !strings.Contains(string(a.Notes[0].Params.Raw), `"progressToken":"my token"`) {
			t.Errorf("%s: %d notes, %s", era, len(a.Notes), a.Msg.Error)
		}
	}
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := r.modern("/mcp").CallTool(ctx, "local__call_tool", `{"name":"h__sleep","arguments":"{\"ms\":600000}"}`)
		left <- err
	}()
	awaitLines(t, counter, "x", 3) // the third call is at the server
	leave()
	await(t, "the end of the call", left)
	r.await(t, "h", func(s durward.ServerStatus) bool { return s.InFlight == 0 })
	awaitLines(t, notes, `"notifications/cancelled"`, 1)
}

// A client that never saw a tool's schema cannot mirror its arguments in headers.
func TestMirroredArgumentsAreNotExpectedOfACallThroughATool(t *testing.T) {
	items := filepath.Join(t.TempDir(), "items")
	tool := `{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string","x-mcp-header":"Text"}}}}`
	if err := os.WriteFile(items, []byte(tool), 0o600); err != nil {
		t.Fatal(err)
	}
	r := lazily(t, gateway.Options{Servers: []durward.Server{hostileServer("h", "-list", "fidelity", "-items", items)}})
	c := r.modern("/mcp")
	if a := call(t, c, "h__echo", `{"text":"x"}`); a.Code() != wire.CodeHeaderMismatch {
		t.Errorf("the tool mirrors nothing: %s %s", a.Msg.Result, a.Msg.Error)
	}
	if a := through(t, c, "h__echo", `{"text":"x"}`); a.Text() != "x" {
		t.Errorf("%s", a.Msg.Error)
	}
}

func TestReloadChangesWhatIsLazy(t *testing.T) {
	h := hostileServer("h")
	set := durward.Toolset{Name: "s", Tools: []string{"h__*"}, Lazy: true}
	opt := gateway.Options{Servers: []durward.Server{h}, Builtin: true, Toolsets: []durward.Toolset{set}}
	r := ready(t, opt)
	c := r.modern("/mcp")
	if names, _ := offering(t, c); strings.Contains(names, "search_tools") || !strings.Contains(names, "h__echo") {
		t.Fatalf("before: %s", names)
	}
	changed, opened := make(chan struct{}, 10), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_ = c.Stream(ctx, `{"notifications":{"toolsListChanged":true}}`, func(m wire.Message) bool {
			switch m.Method {
			case wire.NoteToolsChanged:
				changed <- struct{}{}
			case wire.NoteAcknowledged:
				close(opened)
			}
			return true
		})
	}()
	await(t, "the acknowledgement", opened)
	opt.LazyTools = true
	for _, step := range []struct {
		pinned []string
		want   string
	}{{nil, finders}, {[]string{"h__get"}, finders + " h__get"}} {
		opt.PinnedTools = step.pinned
		if err := r.Reload(opt); err != nil {
			t.Fatal(err)
		}
		untilTold(t, changed, func() bool { // though no server lists anything else
			names, _ := offering(t, c)
			return names == step.want
		})
	}
	opt.PinnedTools = []string{"h__["}
	if err := r.Reload(opt); durward.KindOf(err) != durward.Invalid {
		t.Errorf("a malformed pattern: %v", err)
	}
}

func TestLazyNeedsNames(t *testing.T) {
	for _, opt := range []gateway.Options{
		{NoPrefix: true, LazyTools: true, Servers: []durward.Server{hostileServer("h")}},
		{Toolsets: []durward.Toolset{{Name: "s", Tools: []string{"*"}, Lazy: true, Pinned: []string{"["}}}},
	} {
		g, err := gateway.New(opt)
		if durward.KindOf(err) != durward.Invalid {
			t.Errorf("%+v: %v", opt, err)
		}
		if err == nil {
			_ = g.Close()
		}
	}
}

func BenchmarkLazyList(b *testing.B) {
	items := filepath.Join(b.TempDir(), "items")
	var lines strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&lines, `{"name":"tool_%d","description":%q,"inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`+"\n", i, strings.Repeat("words ", 20))
	}
	if err := os.WriteFile(items, []byte(lines.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	opt := gateway.Options{Servers: []durward.Server{hostileServer("h", "-list", "fidelity", "-items", items)}, LazyTools: true}
	opt.Access.NoAuth = true
	g, err := gateway.New(opt)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = g.Close() })
	ask := gateway.Request{Method: wire.MethodToolsList}
	for b.Loop() {
		if _, err := g.Do(b.Context(), ask); err != nil {
			b.Fatal(err)
		}
	}
}
