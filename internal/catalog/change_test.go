package catalog_test

import (
	"fmt"
	"testing"

	"durward"
	"durward/internal/catalog"
)

func TestB11_ChangesAreToldToTheRoutesTheyTouch(t *testing.T) {
	cat := servers(t, catalog.Options{}, durward.Server{Name: "a", Tools: durward.ToolRules{Deny: []string{"hidden*"}}}, durward.Server{Name: "b"})
	if _, err := cat.ReplaceToolsets([]durward.Toolset{{Name: "x", Tools: []string{"a__x*"}}}); err != nil {
		t.Fatal(err)
	}
	s := catalog.Snapshot{Server: "a", Complete: true}
	for _, step := range []struct {
		what   string
		do     func()
		routes string
		tools  string
		others string
	}{
		{"it comes", func() { s.Tools = tools("x1", "y1") }, "/mcp:t /servers/a/mcp:t /toolsets/x/mcp:t", "+[a__x1 a__y1] -[] ~[]", ""},
		{"nothing", func() {}, "", "+[] -[] ~[]", ""},
		{"a tool outside of the toolset", func() { s.Tools = tools("x1", "y1", "y2") }, "/mcp:t /servers/a/mcp:t", "+[a__y2] -[] ~[]", ""},
		{"a tool inside", func() { s.Tools = tools("x2", "y1") }, "/mcp:t /servers/a/mcp:t /toolsets/x/mcp:t", "+[a__x2] -[a__x1 a__y2] ~[]", ""},
		{"a hidden tool", func() { s.Tools = tools("x2", "y1", "hidden") }, "", "+[] -[] ~[]", ""},
		{"a description", func() { s.Tools[0] = []byte(`{"name":"x2","inputSchema":{"type":"object"},"description":"d"}`) }, "/mcp:t /servers/a/mcp:t /toolsets/x/mcp:t", "+[] -[] ~[a__x2]", ""},
		{"the order", func() { s.Tools[0], s.Tools[1] = s.Tools[1], s.Tools[0] }, "/mcp:t /servers/a/mcp:t", "+[] -[] ~[]", ""},
		{"a prompt", func() { s.Prompts = raw(`{"name":"p"}`) }, "/mcp:p /servers/a/mcp:p", "+[] -[] ~[]", "+[a__p] -[] ~[]"},
		{"a resource and a template", func() {
			s.Prompts = nil
			s.Resources = [][]byte{resource("x:")}
			s.Templates = [][]byte{template("y:{z}")}
		},
			"/mcp:pr /servers/a/mcp:pr", "+[] -[] ~[]", "+[durward://a/x%3A durward://a/y:{z}] -[a__p] ~[]"},
		{"a template", func() { s.Templates = nil }, "/mcp:r /servers/a/mcp:r", "+[] -[] ~[]", "+[] -[durward://a/y:{z}] ~[]"},
		{"instructions", func() { s.Instructions = "new" }, "", "+[] -[] ~[]", ""},
	} {
		step.do()
		s.Tools = append([][]byte(nil), s.Tools...)
		c := cat.Put(s)
		var got, now string
		for _, r := range []durward.Route{all, only("a"), only("b"), toolset("x")} {
			if tools, prompts, resources := c.Touches(r); tools || prompts || resources {
				got += fmt.Sprintf(" %s:%s%s%s", r, flag(tools, "t"), flag(prompts, "p"), flag(resources, "r"))
			}
		}
		if got != "" {
			got = got[1:]
		}
		equal(t, step.what, got, step.routes)
		equal(t, step.what, show(c.Tools), step.tools)
		if step.others != "" {
			now = show(catalog.Diff{
				Added:   append(append([]string(nil), c.Prompts.Added...), c.Resources.Added...),
				Removed: append(append([]string(nil), c.Prompts.Removed...), c.Resources.Removed...),
				Changed: append(append([]string(nil), c.Prompts.Changed...), c.Resources.Changed...),
			})
			equal(t, step.what, now, step.others)
		}
		if c.Empty() != (step.routes == "") {
			t.Errorf("%s: Empty is %v", step.what, c.Empty())
		}
	}
	_, instructions := view(t, cat, only("a")).Describe(catalog.Plain)
	equal(t, "instructions without a changed list", instructions, "new")

	c := cat.Drop("a")
	equal(t, "dropped", show(c.Tools), "+[] -[a__y1 a__x2] ~[]")
	if v := view(t, cat, all); v.Counts() != (catalog.Counts{}) {
		t.Errorf("after Drop: %+v", v.Counts())
	}
	if _, ok := view(t, cat, all).Tool("a__y1"); ok {
		t.Error("a dropped tool can be called")
	}
	if c := cat.Drop("a"); !c.Empty() {
		t.Errorf("dropped twice: %+v", c)
	}
	if c := cat.Drop("nobody"); !c.Empty() {
		t.Errorf("dropped nobody: %+v", c)
	}
}

func flag(on bool, letter string) string {
	if on {
		return letter
	}
	return ""
}

func show(d catalog.Diff) string { return fmt.Sprintf("+%v -%v ~%v", d.Added, d.Removed, d.Changed) }

// A client may hold a view while the world changes.
func TestViewsNeverChange(t *testing.T) {
	cat := servers(t, catalog.Options{}, named("a", "b")...)
	cat.Put(catalog.Snapshot{Server: "a", Tools: tools("x"), Complete: true})
	old := view(t, cat, all)
	cat.Put(catalog.Snapshot{Server: "a", Tools: tools("y"), Complete: true})
	equalNames(t, "held", offered(old, catalog.Tool), "a__x")
	equalNames(t, "new", offered(view(t, cat, all), catalog.Tool), "a__y")

	now := view(t, cat, all)
	cat.Put(catalog.Snapshot{Server: "a", Tools: tools("y"), Complete: true})
	cat.Missing("b", "", "")
	cat.Missing("nobody", "back-off", "x")
	if view(t, cat, all) != now {
		t.Error("a refresh without news threw the assembled lists away")
	}
	own := view(t, cat, only("a"))
	cat.Put(catalog.Snapshot{Server: "b", Tools: tools("z"), Complete: true})
	if view(t, cat, only("a")) != own {
		t.Error("another server's news threw the assembled lists away")
	}
}
