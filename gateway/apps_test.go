package gateway_test

import (
	"context"
	"strings"
	"testing"

	"durward"
	"durward/gateway"
	"durward/internal/testkit/taskserver"
	"durward/internal/wire"
)

// offeredView returns the URI that a list gives for the page that shows a tool's results.
func offeredView(t *testing.T, list []byte, tool string) string {
	t.Helper()
	tools := wire.Get(list, "tools")
	for at := range wire.Elements(tools) {
		item := at.Of(tools)
		if name, _ := wire.Unquote(wire.Get(item, "name")); name == tool {
			uri, _ := wire.Unquote(wire.Get(wire.Get(wire.Get(item, "_meta"), "ui"), "resourceUri"))
			return uri
		}
	}
	t.Fatalf("%s is not listed: %s", tool, list)
	return ""
}

// What a host does with an app: it lists the tools, reads the page it was given for
// one, finds it among the contents by that URI, and passes on what the app asks for.
func TestAppsWorkOnEveryRoute(t *testing.T) {
	app := &taskserver.Server{}
	r := start(t, gateway.Options{
		Servers:  []durward.Server{taskOverHTTP(t, "app", app), taskProcess("old", "-legacy"), hostileServer("plain")},
		Toolsets: []durward.Toolset{{Name: "some", Tools: []string{"app__show", "app__refresh", "old__echo", "plain__*"}}},
	})
	for _, name := range []string{"app", "old", "plain"} {
		r.await(t, name, isReady)
	}
	for _, tt := range []struct{ route, prefix, view string }{
		{"/mcp", "app__", "ui://app/taskserver/view.html"},
		{"/mcp", "old__", "ui://old/taskserver/view.html"},
		{"/toolsets/some/mcp", "app__", "ui://app/taskserver/view.html"},
		{"/servers/app/mcp", "", taskserver.View},
		{"/servers/old/mcp", "", taskserver.View},
	} {
		for era, c := range r.clients(t, tt.route) {
			view := offeredView(t, do(t, c, "tools/list", `{}`).Msg.Result, tt.prefix+"show")
			if view != tt.view {
				t.Errorf("%s %s: the page is offered as %s", era, tt.route, view)
			}
			a := do(t, c, "resources/read", `{"uri":"`+view+`"}`)
			contents := wire.Get(a.Msg.Result, "contents")
			if want := `[{"mimeType":"text/html;profile=mcp-app","uri":"` + view + `","text":"<html>"},{"uri":"other:thing","text":"x"}]`; string(contents) != want {
				t.Errorf("%s %s: the page is %s %s", era, tt.route, a.Msg.Result, a.Msg.Error)
			}
			if a := call(t, c, tt.prefix+"show", `{"text":"now"}`); a.Text() != "show now" {
				t.Errorf("%s %s: %s %s", era, tt.route, a.Msg.Result, a.Msg.Error)
			}
		}
	}
	// The app knows its server's own names. On the aggregate two servers have apps
	// that know these; in the toolset one of them shows no app.
	for era, c := range r.clients(t, "/toolsets/some/mcp") {
		if a := call(t, c, "refresh", `{"text":"again"}`); a.Text() != "refresh again" {
			t.Errorf("%s: %s %s", era, a.Msg.Result, a.Msg.Error)
		}
		a := do(t, c, "resources/read", `{"uri":"`+taskserver.View+`"}`)
		if !strings.Contains(string(a.Msg.Result), `"uri":"`+taskserver.View+`"`) {
			t.Errorf("%s: what an app reads by its own URI has another: %s %s", era, a.Msg.Result, a.Msg.Error)
		}
		if a := call(t, c, "get", `{}`); a.Code() != wire.CodeInvalidParams || a.Message() != "unknown tool get" {
			t.Errorf("%s: a server without apps lends a tool: %s %s", era, a.Msg.Result, a.Msg.Error)
		}
	}
	for era, c := range r.clients(t, "/mcp") {
		if a := call(t, c, "refresh", `{}`); a.Code() != wire.CodeInvalidParams || !strings.Contains(a.Message(), "could be any of app__refresh, old__refresh") {
			t.Errorf("%s: %s %s", era, a.Msg.Result, a.Msg.Error)
		}
	}
	for era, c := range r.clients(t, "/servers/app/mcp") {
		if a := call(t, c, "refresh", `{"text":"again"}`); a.Text() != "refresh again" {
			t.Errorf("%s: %s %s", era, a.Msg.Result, a.Msg.Error)
		}
	}
	for _, seen := range app.Seen() {
		if name, _ := wire.Unquote(wire.Get([]byte(seen.Params), "name")); seen.Method == "tools/call" && name != seen.Name {
			t.Errorf("the server got name %q, Mcp-Name %q", name, seen.Name)
		}
	}
}

// nameGate blocks a tool by the name it is offered by.
type nameGate struct{ gate }

func (g *nameGate) Decide(ctx context.Context, c *durward.Call) (durward.Decision, error) {
	g.note("decide " + c.Server + " " + c.Name + " " + c.FullName)
	if c.FullName == "app__finish" {
		return durward.Decision{Action: durward.Block, Rule: "no-finish"}, nil
	}
	return durward.Decision{Action: durward.Allow}, nil
}

// However a tool is called, the decision sees the same names (B15).
func TestB15_TheBareNameOfAnAppEvadesNoRule(t *testing.T) {
	g := &nameGate{}
	r := start(t, gateway.Options{Servers: []durward.Server{taskOverHTTP(t, "app", &taskserver.Server{})}, Decider: g, Recorder: g})
	r.await(t, "app", isReady)
	for era, c := range r.clients(t, "/mcp") {
		for _, name := range []string{"finish", "app__finish"} {
			g.taken()
			if a := call(t, c, name, `{}`); a.Code() != wire.CodeRefused {
				t.Errorf("%s %s: %s %s", era, name, a.Msg.Result, a.Msg.Error)
			}
			if notes := g.taken(); !strings.HasPrefix(notes, "decide app finish app__finish\n") {
				t.Errorf("%s %s: the rules saw\n%s", era, name, notes)
			}
		}
	}
}
