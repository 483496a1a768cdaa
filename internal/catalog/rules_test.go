package catalog_test

import (
	"fmt"
	"testing"

	"durward"
	"durward/internal/catalog"
	"durward/internal/wire"
)

func TestToolRules(t *testing.T) {
	native := tools("read", "read_all", "write", "a/b", "x.y")
	for _, c := range []struct {
		name        string
		allow, deny []string
		want        []string
	}{
		{"none", nil, nil, []string{"read", "read_all", "write", "a/b", "x.y"}},
		{"allow", []string{"read*"}, nil, []string{"read", "read_all"}},
		{"deny", nil, []string{"read*"}, []string{"write", "a/b", "x.y"}},
		{"deny beats allow", []string{"*"}, []string{"write"}, []string{"read", "read_all", "a/b", "x.y"}},
		{"a slash is no way out", nil, []string{"*"}, nil},
		{"a slash in a pattern", []string{"a/?", `x\.y`}, nil, []string{"a/b", "x.y"}},
		{"a class", []string{"[a/]/b"}, nil, []string{"a/b"}},
		{"exact names only", []string{"Read"}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			cat := servers(t, catalog.Options{}, durward.Server{Name: "s", Tools: durward.ToolRules{Allow: c.allow, Deny: c.deny}})
			cat.Put(catalog.Snapshot{Server: "s", Tools: native, Complete: true})
			own := view(t, cat, only("s"))
			equalNames(t, "own route", offered(own, catalog.Tool), c.want...)
			var got []string
			for e := range view(t, cat, all).Entries(catalog.Tool) {
				got = append(got, e.Name)
			}
			equalNames(t, "aggregate", got, c.want...)
			if _, ok := own.Tool("write"); ok != (fmt.Sprint(c.want) != "" && has(c.want, "write")) {
				t.Errorf("write can be called: %v", ok)
			}
		})
	}
}

func has(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

func TestRenameAndDescribe(t *testing.T) {
	rules := durward.ToolRules{
		Rename:   map[string]string{"x": "better"},
		Describe: map[string]string{"x": "say \"x\"\n", "y": "why", "p": "not of prompts"},
	}
	snapshot := catalog.Snapshot{
		Server: "s", Complete: true, Prompts: raw(`{"name":"p"}`, `{"name":"x"}`),
		Tools: raw(`{"description":"old","inputSchema":{"type":"object"},"name":"x","k":1}`, ` { "name":"y","inputSchema":{"type":"object"}}`),
	}
	for _, c := range []struct {
		what, prefix string
		route        durward.Route
		x, y         string
	}{
		{"aggregate", catalog.PrefixServer, all, "s__better", "s__y"},
		{"aggregate without prefix", catalog.PrefixNone, all, "better", "y"},
		{"own route", catalog.PrefixServer, only("s"), "x", "y"},
	} {
		cat := servers(t, catalog.Options{Prefix: c.prefix}, durward.Server{Name: "s", Tools: rules})
		cat.Put(snapshot)
		v := view(t, cat, c.route)
		equal(t, c.what, list(t, v, wire.MethodToolsList),
			`{"tools":[{"description":"say \"x\"\n","inputSchema":{"type":"object"},"name":"`+c.x+`","k":1},{"description":"why", "name":"`+c.y+`","inputSchema":{"type":"object"}}]}`)
		if e, ok := v.Tool(c.x); !ok || e.Name != "x" || string(e.Raw) != string(snapshot.Tools[0]) {
			t.Errorf("%s: %q leads to %+v", c.what, c.x, e)
		}
		if got := offered(v, catalog.Prompt)[1]; got != "x" && got != "s__x" {
			t.Errorf("%s: a prompt was renamed to %s", c.what, got)
		}
	}
}

func TestDeclarationsThatAreRefused(t *testing.T) {
	cat := catalog.New(catalog.Options{})
	_, err := cat.SetServers([]durward.Server{
		{Name: "a"}, {Name: "a"}, {Name: "b", Tools: durward.ToolRules{Deny: []string{"[x"}}}, {Name: "c"}, {Name: "d", Disabled: true},
	})
	if durward.KindOf(err) != durward.Invalid {
		t.Errorf("kind of %v", err)
	}
	contains(t, "errors", err.Error(), "server a: the name is used twice", `server b tools.deny: the pattern "[x" is malformed`)
	for name, want := range map[string]bool{"a": true, "b": false, "c": true, "d": false, "": false} {
		if _, ok := cat.View(only(name)); ok != want {
			t.Errorf("view of %q: %v", name, ok)
		}
	}

	bare := catalog.New(catalog.Options{Prefix: catalog.PrefixNone})
	_, err = bare.SetServers(append(named("a", "b"), durward.Server{Name: "c", Disabled: true}))
	if durward.KindOf(err) != durward.Invalid {
		t.Errorf("two servers without prefix: %v", err)
	}
	if _, err := bare.SetServers(named("b")); err != nil {
		t.Error(err)
	}
}

func TestSpecsThatChange(t *testing.T) {
	cat := servers(t, catalog.Options{}, named("a", "b")...)
	cat.Put(catalog.Snapshot{Server: "a", Tools: tools("x", "y"), Complete: true})
	cat.Put(catalog.Snapshot{Server: "b", Tools: tools("x"), Complete: true})
	before := view(t, cat, only("b"))

	change, err := cat.SetServers([]durward.Server{{Name: "b"}, {Name: "a", Tools: durward.ToolRules{Deny: []string{"y"}, Describe: map[string]string{"x": "new"}}}})
	if err != nil {
		t.Fatal(err)
	}
	equalNames(t, "order", offered(view(t, cat, all), catalog.Tool), "b__x", "a__x")
	equalNames(t, "removed", change.Tools.Removed, "a__y")
	equalNames(t, "changed", change.Tools.Changed, "a__x")
	if now := view(t, cat, only("b")); now != before {
		t.Error("a server that stayed as it was has a new view")
	}

	change, err = cat.SetServers(named("b"))
	if err != nil {
		t.Fatal(err)
	}
	equalNames(t, "removed with its server", change.Tools.Removed, "a__x")
	if tools, _, _ := change.Touches(only("a")); !tools {
		t.Error("who listens at the removed server's route is not told")
	}
	if c := cat.Put(catalog.Snapshot{Server: "a", Tools: tools("z")}); !c.Empty() {
		t.Errorf("a server that is not declared offers something: %+v", c)
	}
	if _, ok := cat.View(only("a")); ok {
		t.Error("the removed server has a view")
	}
}
