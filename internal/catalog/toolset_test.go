package catalog_test

import (
	"fmt"
	"testing"

	"durward"
	"durward/internal/catalog"
	"durward/internal/wire"
)

func TestToolsets(t *testing.T) {
	cat := servers(t, catalog.Options{}, named("a", "b")...)
	if _, err := cat.ReplaceToolsets([]durward.Toolset{{Name: "some", Tools: []string{"a__read*", "*__time"}}, {Name: "none"}}); err != nil {
		t.Fatal(err)
	}
	const ui = `{"name":"time","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://app"}}}`
	cat.Put(catalog.Snapshot{Server: "a", Tools: tools("write", "read", "read_all"), Prompts: raw(`{"name":"read"}`), Resources: [][]byte{resource("x:1")}, Templates: [][]byte{template("x:{y}")}})
	cat.Put(catalog.Snapshot{Server: "b", Tools: append(raw(ui), tool("read")), Resources: [][]byte{resource("ui://app"), resource("ui://other")}})

	v := view(t, cat, toolset("some"))
	equalNames(t, "tools", offered(v, catalog.Tool), "a__read", "a__read_all", "b__time")
	equal(t, "counts", fmt.Sprintf("%+v", v.Counts()), "{Tools:3 Prompts:0 Resources:1 Templates:0}")
	for name, want := range map[string]bool{"a__read": true, "a__write": false, "b__read": false, "b__time": true, "read": false} {
		if _, ok := v.Tool(name); ok != want {
			t.Errorf("%s: %v", name, ok)
		}
	}
	if _, ok := v.Prompt("a__read"); ok {
		t.Error("a prompt is part of a toolset")
	}
	for uri, want := range map[string]bool{
		"ui://b/app": true, "ui://app": true, "ui://b/other": false, "durward://a/x%3A1": false, "x:1": false, "durward://a/x:2": false, "durward://b/ui%3A%2F%2Fother": false,
	} {
		if got, err := v.Resource(uri); (err == nil) != want || err != nil && wire.CodeOf(err) != wire.CodeInvalidParams {
			t.Errorf("%s: %+v, %v", uri, got, err)
		}
	}
	if _, err := v.Template("durward://a/x:{y}"); err == nil {
		t.Error("a template is part of a toolset")
	}
	equal(t, "none", list(t, view(t, cat, toolset("none")), wire.MethodToolsList), `{"tools":[]}`)
	if _, ok := cat.View(toolset("other")); ok {
		t.Error("a toolset nobody defined has a view")
	}
}

func TestToolsetsThatAreRefused(t *testing.T) {
	cat := servers(t, catalog.Options{}, named("a")...)
	if _, err := cat.ReplaceToolsets([]durward.Toolset{{Name: "ok", Tools: []string{"*"}}}); err != nil {
		t.Fatal(err)
	}
	for want, sets := range map[string][]durward.Toolset{
		"must match":    {{Name: "Bad"}},
		"used twice":    {{Name: "x"}, {Name: "x"}},
		"x tools: the ": {{Name: "x", Tools: []string{`a\`}}},
	} {
		_, err := cat.ReplaceToolsets(sets)
		if durward.KindOf(err) != durward.Invalid || err == nil {
			t.Fatalf("%+v: %v", sets, err)
		}
		contains(t, "error", err.Error(), want)
	}
	if _, ok := cat.View(toolset("ok")); !ok {
		t.Error("a refused change took effect")
	}
}

func TestReplaceToolsets(t *testing.T) {
	cat := servers(t, catalog.Options{}, named("a")...)
	cat.Put(catalog.Snapshot{Server: "a", Tools: tools("x", "y")})
	sets := func(glob string) []durward.Toolset {
		return []durward.Toolset{{Name: "s", Tools: []string{glob}}, {Name: "t", Tools: []string{"*"}}}
	}
	if _, err := cat.ReplaceToolsets(sets("a__x")); err != nil {
		t.Fatal(err)
	}
	kept := view(t, cat, toolset("t"))
	change, err := cat.ReplaceToolsets(sets("a__y"))
	if err != nil {
		t.Fatal(err)
	}
	for route, want := range map[durward.Route]bool{toolset("s"): true, toolset("t"): false, all: false} {
		if tools, _, _ := change.Touches(route); tools != want {
			t.Errorf("%s: %v", route, tools)
		}
	}
	if view(t, cat, toolset("t")) != kept {
		t.Error("a toolset that stayed as it was has a new view")
	}
}
