package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"durward"
	"durward/gateway"
	"durward/internal/approval"
	"durward/internal/testkit/hostile"
	"durward/internal/wire"
	"durward/policy"
)

// speaker is a client of some route, era and entrance.
type speaker struct {
	name string
	lazy bool // what is listed is found, described and called by tools
	full bool // names say the server
	do   func(method, params string) (wire.Message, error)
}

// speakers are clients of every route in both eras, by HTTP and on lines.
func (r *running) speakers(t *testing.T) []*speaker {
	t.Helper()
	var out []*speaker
	for _, route := range []durward.Route{{}, {Kind: durward.RouteServer, Name: "s1"}, {Kind: durward.RouteToolset, Name: "some"}, {Kind: durward.RouteToolset, Name: "lazy"}} {
		for era, c := range r.clients(t, route.String()) {
			s := &speaker{name: route.String() + " " + era, lazy: route.Name == "lazy", full: route.Kind != durward.RouteServer}
			s.do = func(method, params string) (wire.Message, error) {
				a, err := c.Do(context.Background(), method, params)
				if err != nil {
					return wire.Message{}, err
				}
				return a.Msg, nil
			}
			lines := &speaker{name: "lines " + s.name, lazy: s.lazy, full: s.full, do: r.onLines(t, route, era == "modern")}
			out = append(out, s, lines)
		}
	}
	return out
}

// modernMeta is what a modern client says with each request.
const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// onLines is a client of the stdio entrance.
func (r *running) onLines(t *testing.T, route durward.Route, modern bool) func(method, params string) (wire.Message, error) {
	t.Helper()
	ours, theirs := net.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- r.ServeStdio(context.Background(), theirs, durward.Caller{Principal: "local", Entrance: durward.EntranceStdio}, route)
	}()
	t.Cleanup(func() {
		_ = ours.Close()
		<-served // how it ended is the client's doing
	})
	in, id := bufio.NewReader(ours), 0
	send := func(method, params string) (m wire.Message, err error) {
		id++
		if modern {
			params = strings.Replace("{"+modernMeta+","+params[1:], ",}", "}", 1)
		}
		if _, err := fmt.Fprintf(ours, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params); err != nil {
			return m, err
		}
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return m, err
			}
			m = wire.Message{}
			if err := wire.Parse(line, wire.FromServer, &m); err != nil || string(m.ID) == fmt.Sprint(id) {
				return m, err
			}
		}
	}
	if !modern {
		if _, err := send("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"lines","version":"1"}}`); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(ours, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	return send
}

// thing is something that may be listed and used.
type thing struct{ kind, server, name string }

func things() []thing {
	var all []thing
	for _, server := range []string{"s1", "s2"} {
		for _, name := range []string{"push", "pull", "get"} {
			all = append(all, thing{"tool", server, name})
		}
		all = append(all, thing{"prompt", server, "greet"}, thing{"template", server, server + ":///{path}"})
	}
	return all
}

// listed reports whether a client is listed a thing.
func (s *speaker) listed(t *rapid.T, th thing) bool {
	method, member, key := map[string]string{"tool": "tools/list", "prompt": "prompts/list", "template": "resources/templates/list"}[th.kind],
		map[string]string{"tool": "tools", "prompt": "prompts", "template": "resourceTemplates"}[th.kind], "name"
	if th.kind == "template" {
		key = "uriTemplate"
	}
	if s.lazy && th.kind == "tool" {
		m := s.must(t, "tools/call", `{"name":"local__describe_tool","arguments":{"name":`+wire.Quote(s.nameOf(th))+`}}`)
		return m.Error == nil && !m.IsError
	}
	m := s.must(t, method, `{}`)
	list := wire.Get(m.Result, member)
	for at := range wire.Elements(list) {
		if name, _ := wire.Unquote(wire.Get(at.Of(list), key)); name == s.nameOf(th) || th.kind == "template" && strings.Contains(name, th.server+":") {
			return true
		}
	}
	return false
}

func (s *speaker) nameOf(th thing) string {
	if s.full && th.kind != "template" {
		return th.server + "__" + th.name
	}
	return th.name
}

// usable reports whether a thing may be used with an argument, at least if somebody
// approved it.
func (s *speaker) usable(t *rapid.T, th thing, argument string) bool {
	name := wire.Quote(s.nameOf(th))
	var m wire.Message
	switch {
	case th.kind == "tool" && s.lazy:
		m = s.must(t, "tools/call", `{"name":"local__call_tool","arguments":{"name":`+name+`,"arguments":`+wire.Quote(argument)+`}}`)
	case th.kind == "tool":
		m = s.must(t, "tools/call", `{"name":`+name+`,"arguments":`+argument+`}`)
	case th.kind == "prompt":
		m = s.must(t, "prompts/get", `{"name":`+name+`,"arguments":`+argument+`}`)
	default:
		m = s.must(t, "resources/read", `{"uri":"`+th.server+`:///x"}`)
	}
	code, _ := wire.ErrorCode(m.Error)
	return m.Error == nil && !m.IsError || code == wire.CodeDeniedByPerson
}

func (s *speaker) must(t *rapid.T, method, params string) wire.Message {
	m, err := s.do(method, params)
	if err != nil {
		t.Fatalf("%s %s: %v", s.name, method, err)
	}
	return m
}

// ruleText makes a rule. blind: its condition does not look at arguments.
func ruleText(t *rapid.T, id int, blind bool) string {
	pick := func(label string, all ...string) string { return rapid.SampledFrom(all).Draw(t, label) }
	of := map[string][]string{
		"":               {"", `mcp.server.name.endsWith("1")`, `caller.entrance == "stdio"`, `caller.client.name == "lines"`, `caller.principal == "nobody"`},
		"tools/call":     {`mcp.tool.name.startsWith("pu")`, "mcp.tool.annotations.destructiveHint == true", `mcp.tool.risk == "critical"`, `mcp.tool.full_name.endsWith("push")`},
		"prompts/get":    {`mcp.prompt.name.startsWith("gr")`},
		"resources/read": nil,
	}
	if !blind {
		of["tools/call"] = append(of["tools/call"], `mcp.tool.arguments.a == "x"`, `!(mcp.tool.arguments.a == "x")`,
			`mcp.tool.arguments.a == "x" || mcp.server.name.endsWith("2")`, `has(mcp.tool.arguments.a) && mcp.tool.name.startsWith("g")`)
		of["prompts/get"] = append(of["prompts/get"], `mcp.prompt.arguments.a == "x"`)
		of["resources/read"] = append(of["resources/read"], `mcp.resource.uri.endsWith("x")`)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "- id: r%d\n  action: %s\n  servers: [%s]\n", id, pick("action", "allow", "ask", "block", "block"), pick("servers", "s1", "s2", "s1, s2", `"s*"`))
	on := pick("on", "", "tools/call", "tools/call", "prompts/get", "resources/read")
	if on != "" {
		fmt.Fprintf(&b, "  on: [%s]\n", on)
	}
	conditions := append(slices.Clone(of[""]), of[on]...)
	if on == "" {
		conditions = slices.Concat(of[""], of["tools/call"], of["prompts/get"], of["resources/read"])
	}
	if on == "tools/call" {
		if tools := pick("tools", "", "", "push", `"pu*"`, "get"); tools != "" {
			fmt.Fprintf(&b, "  tools: [%s]\n", tools)
		}
	}
	if when := rapid.SampledFrom(conditions).Draw(t, "when"); when != "" {
		fmt.Fprintf(&b, "  when: '%s'\n", when)
	}
	return b.String()
}

// policyText makes the policy of a layer.
func policyText(t *rapid.T, layer policy.Layer, blind bool) string {
	var b strings.Builder
	if action := rapid.SampledFrom([]string{"", "", "", "allow", "ask", "block"}).Draw(t, "default"); action != "" {
		b.WriteString("default: " + action + "\n")
	}
	if rapid.IntRange(0, 2).Draw(t, "with tools") == 0 {
		fmt.Fprintf(&b, "tools: {%s: {%q: %s}}\n", rapid.SampledFrom([]string{"s1", "s2"}).Draw(t, "server"),
			rapid.SampledFrom([]string{"push", "pu*", "*"}).Draw(t, "tool"), rapid.SampledFrom([]string{"allow", "ask", "block"}).Draw(t, "tool action"))
	}
	b.WriteString("rules:\n")
	if layer == policy.Corp { // defaults are for every method; clients have to be able to connect and to look
		b.WriteString("- {id: protocol, on: [initialize, server/discover, tools/list, prompts/list, resources/templates/list], action: allow}\n" +
			"- {id: finders, servers: [local], action: allow}\n")
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "rules") {
		b.WriteString(ruleText(t, int(layer)*10+i, blind))
	}
	return b.String()
}

// twoServers are two servers that offer the same, behind a gateway whose engine
// decides. Nobody is there who could be asked.
func twoServers(t *testing.T) (*running, *policy.Engine) {
	t.Helper()
	engine, err := policy.New(policy.Options{Set: rules(t, nil)})
	if err != nil {
		t.Fatal(err)
	}
	desk, err := approval.New(t.Context(), approval.Options{Record: func(context.Context, approval.Step) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	opt := gateway.Options{Decider: engine, Approver: desk, Toolsets: []durward.Toolset{{Name: "some", Tools: []string{"s*"}}, {Name: "lazy", Tools: []string{"*"}, Lazy: true}}}
	for _, name := range []string{"s1", "s2"} {
		file := filepath.Join(t.TempDir(), "surface")
		surface := hostile.Surface{
			Tools: []json.RawMessage{
				json.RawMessage(`{"name":"push","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}`),
				json.RawMessage(`{"name":"pull","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`),
				json.RawMessage(`{"name":"get","inputSchema":{"type":"object"}}`),
			},
			Prompts:   []json.RawMessage{json.RawMessage(`{"name":"greet","arguments":[{"name":"a"}]}`)},
			Templates: []json.RawMessage{json.RawMessage(`{"name":"f","uriTemplate":"` + name + `:///{path}"}`)},
		}
		if err := surface.Write(file); err != nil {
			t.Fatal(err)
		}
		opt.Servers = append(opt.Servers, hostileServer(name, "-surface", file))
	}
	r := start(t, opt)
	r.await(t, "s1", isReady)
	r.await(t, "s2", isReady)
	return r, engine
}

// What a client is not listed it cannot use, whatever the arguments; and where no
// condition looks at arguments, what it cannot use it is not listed: on every route and
// entrance, in both eras, by real requests.
func TestB15_ListsAgreeWithCallsOnEveryRoute(t *testing.T) {
	r, engine := twoServers(t)
	speakers := r.speakers(t)
	if len(speakers) != 16 {
		t.Fatalf("%d clients", len(speakers))
	}
	hidden := 0
	rapid.Check(t, func(rt *rapid.T) {
		blind := rapid.Bool().Draw(rt, "blind")
		docs := map[policy.Layer]string{policy.User: policyText(rt, policy.User, blind), policy.Corp: policyText(rt, policy.Corp, blind)}
		engine.Swap(rules(rt, docs), nil)
		for _, s := range []*speaker{rapid.SampledFrom(speakers).Draw(rt, "one"), rapid.SampledFrom(speakers).Draw(rt, "another")} {
			for _, th := range things() {
				if !s.full && th.server != "s1" {
					continue
				}
				listed, usable := s.listed(rt, th), false
				for _, a := range []string{`{}`, `{"a":"x"}`, `{"a":"y"}`} {
					usable = usable || s.usable(rt, th, a)
				}
				if !listed && usable {
					rt.Fatalf("%s: %+v is hidden and can be used\n%v", s.name, th, docs)
				}
				if listed && !usable && blind {
					rt.Fatalf("%s: %+v is listed and can never be used\n%v", s.name, th, docs)
				}
				if !listed {
					hidden++
				}
			}
		}
	})
	if hidden == 0 {
		t.Error("nothing was ever hidden, so that nothing was shown")
	}
}

// What is hidden from a caller is neither completed nor subscribed to: it learns no more
// of it than of what is not there.
func TestB15_WhatIsHiddenIsNotReferredTo(t *testing.T) {
	r, engine := twoServers(t)
	requests := map[string]string{
		"completion/complete of a prompt":   `{"ref":{"type":"ref/prompt","name":"s1__greet"},"argument":{"name":"a","value":"x"}}`,
		"completion/complete of an own URI": `{"ref":{"type":"ref/resource","uri":"s1:///{path}"},"argument":{"name":"path","value":"x"}}`,
		"resources/subscribe":               `{"uri":"durward://s1/s1%3A%2F%2F%2Fx"}`,
		"completion/complete of a template": `{"ref":{"type":"ref/resource","uri":"durward://s1/s1%3A%2F%2F%2F{path}"},"argument":{"name":"path","value":"x"}}`,
	}
	for name, docs := range map[string]map[policy.Layer]string{
		"open":    nil,
		"blocked": userRules("rules: [{id: no-prompts, on: [prompts/get], action: block}, {id: no-reading, on: [resources/read], action: block}]"),
	} {
		engine.Swap(rules(t, docs), nil)
		for what, params := range requests {
			method, _, _ := strings.Cut(what, " ")
			for era, c := range r.clients(t, "/mcp") {
				a := do(t, c, method, params)
				// The server knows neither, and says so, or was subscribed to: then it is no secret.
				if hidden := a.Code() == wire.CodeInvalidParams; hidden == (name == "open") && (era == "legacy" || method != "resources/subscribe") {
					t.Errorf("%s, %s, %s: %s", name, what, era, a.Msg.Error)
				}
			}
		}
	}
}
