package catalog_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"durward"
	"durward/internal/catalog"
	"durward/internal/wire"
)

var legal = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// The aliases are golden: they must never change.
func TestB13_Names(t *testing.T) {
	long := strings.Repeat("x", 60)
	for _, c := range []struct{ server, native, want string }{
		{"github", "create_issue", "github__create_issue"},
		{"github", "a-B_9", "github__a-B_9"},
		{"a", "b__c", "a__b__c"},
		{"a", "_b", "a___b"},
		{"a", strings.Repeat("x", 61), "a__" + strings.Repeat("x", 61)},
		{"a", "repo.search", "a__repo_search_193e467a"},
		{"a", "repo/search", "a__repo_search_cfcfad6d"},
		{"a", "naïve tool", "a__na_ve_tool_e9eb6a36"},
		{"a", "x" + long + "y", "a__" + strings.Repeat("x", 52) + "_2775cb2c"},
		{"a", "x" + long + "z", "a__" + strings.Repeat("x", 52) + "_5ec7a7f2"},
		{strings.Repeat("s", 32), long, strings.Repeat("s", 32) + "__" + strings.Repeat("x", 21) + "_489e96cc"},
	} {
		cat := servers(t, catalog.Options{}, named(c.server)...)
		cat.Put(catalog.Snapshot{Server: c.server, Tools: tools(c.native), Prompts: raw(`{"name":` + wire.Quote(c.native) + `}`), Complete: true})
		v := view(t, cat, all)
		equalNames(t, "tool", offered(v, catalog.Tool), c.want)
		equalNames(t, "prompt", offered(v, catalog.Prompt), c.want)
		e, ok := v.Tool(c.want)
		if !ok || e.Name != c.native || e.Server != c.server {
			t.Errorf("%q does not lead back to %q", c.want, c.native)
		}
		if own, ok := view(t, cat, only(c.server)).Tool(c.native); !ok || own.Offered != c.native {
			t.Errorf("%q is not offered untouched", c.native)
		}
		if len(v.Problems()) > 0 {
			t.Error(v.Problems())
		}
	}
}

func genName() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[a-c_.]{1,3}`),
		rapid.StringMatching(`[a-zA-Z0-9_-]{50,70}`),
		rapid.StringMatching(`x{60}[ab]{1,3}`),
		rapid.StringOfN(rapid.Rune(), 1, 80, -1).Filter(func(s string) bool { return s != "" && !strings.ContainsRune(s, 0xFFFD) }),
	)
}

func genServers() *rapid.Generator[map[string][]string] {
	return rapid.MapOfN(
		rapid.OneOf(rapid.StringMatching(`[a-c][a-c-]{0,2}`), rapid.StringMatching(`[a-z]{32}`)),
		rapid.SliceOfNDistinct(genName(), 0, 8, rapid.ID[string]), 1, 5,
	)
}

func fill(t testing.TB, offers map[string][]string, leave string) *catalog.Catalog {
	var order []string
	for s := range offers {
		if s != leave {
			order = append(order, s)
		}
	}
	slices.Sort(order)
	cat := servers(t, catalog.Options{}, named(order...)...)
	for _, s := range order {
		cat.Put(catalog.Snapshot{Server: s, Tools: tools(offers[s]...), Complete: true})
	}
	return cat
}

func TestB13_NamesAreUniqueLegalAndLeadBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		offers := genServers().Draw(rt, "offers")
		v := view(t, fill(t, offers, ""), all)
		seen := map[string]bool{}
		count := 0
		for e := range v.Entries(catalog.Tool) {
			if !legal.MatchString(e.Offered) {
				rt.Fatalf("%q is not legal", e.Offered)
			}
			if seen[e.Offered] {
				rt.Fatalf("%q is offered twice", e.Offered)
			}
			seen[e.Offered] = true
			back, ok := v.Tool(e.Offered)
			if !ok || back != e || !slices.Contains(offers[e.Server], e.Name) {
				rt.Fatalf("%q does not lead back", e.Offered)
			}
			if catalog.ServerOf(e.Offered) != e.Server {
				rt.Fatalf("ServerOf(%q) = %q", e.Offered, catalog.ServerOf(e.Offered))
			}
			count++
		}
		declared := 0
		for _, names := range offers {
			declared += len(names)
		}
		if count+len(v.Problems()) != declared {
			rt.Fatalf("%d offered and %d problems for %d tools", count, len(v.Problems()), declared)
		}
	})
}

func TestB13_OtherServersRenameNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		offers := genServers().Draw(rt, "offers")
		gone := rapid.SampledFrom(slices.Sorted(keys(offers))).Draw(rt, "gone")
		with := byNative(view(t, fill(t, offers, ""), all))
		without := byNative(view(t, fill(t, offers, gone), all))
		for native, name := range with {
			if native[0] == gone {
				continue
			}
			if without[native] != name {
				rt.Fatalf("%q is %q with %s and %q without", native, name, gone, without[native])
			}
		}
	})
}

// A tool keeps its name whatever else its server offers and in whatever order.
func TestB13_OtherToolsRenameNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		names := rapid.SliceOfNDistinct(genName(), 1, 10, rapid.ID[string]).Draw(rt, "names")
		some := rapid.Permutation(names).Draw(rt, "order")[:rapid.IntRange(1, len(names)).Draw(rt, "n")]
		full := byNative(view(t, fill(t, map[string][]string{"s": names}, ""), all))
		part := byNative(view(t, fill(t, map[string][]string{"s": some}, ""), all))
		for native, name := range full {
			if now, ok := part[native]; ok && now != name {
				rt.Fatalf("%q is %q or %q", native, name, now)
			}
		}
	})
}

func keys(m map[string][]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func byNative(v *catalog.View) map[[2]string]string {
	names := map[[2]string]string{}
	for e := range v.Entries(catalog.Tool) {
		names[[2]string{e.Server, e.Name}] = e.Offered
	}
	return names
}

func TestB13_Collisions(t *testing.T) {
	const alias = "repo_search_193e467a" // what repo.search of server a is offered as
	for _, c := range []struct {
		name    string
		rename  map[string]string
		tools   []string
		want    []string // offered=native
		problem string
	}{
		{"the first of two stays", nil, []string{"x", "y", "x"}, []string{"a__x=x", "a__y=y"}, `"x" is listed more than once`},
		{"a name beats an alias", nil, []string{"repo.search", alias}, []string{"a__" + alias + "=" + alias}, `"repo.search" is not offered`},
		{"in either order", nil, []string{alias, "repo.search"}, []string{"a__" + alias + "=" + alias}, `"repo.search" is not offered`},
		{"a rename beats a name", map[string]string{"x": "y"}, []string{"y", "x"}, []string{"a__y=x"}, `"y" is not offered: the name "a__y" belongs to the rename of "x"`},
		{"even when its tool is gone", map[string]string{"x": "y"}, []string{"y"}, nil, `belongs to the rename of "x"`},
		{"two can swap", map[string]string{"x": "y", "y": "x"}, []string{"x", "y"}, []string{"a__y=x", "a__x=y"}, ""},
		{"two renames to one name", map[string]string{"y": "z", "x": "z"}, []string{"y", "x"}, []string{"a__z=x"}, `"y" is not offered`},
		{"a rename that is not legal", map[string]string{"x": "repo.search"}, []string{"x"}, []string{"a__" + alias + "=x"}, ""},
		{"an empty rename is none", map[string]string{"x": ""}, []string{"x"}, []string{"a__x=x"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cat := servers(t, catalog.Options{}, durward.Server{Name: "a", Tools: durward.ToolRules{Rename: c.rename}})
			cat.Put(catalog.Snapshot{Server: "a", Tools: tools(c.tools...), Complete: true})
			v := view(t, cat, all)
			var got []string
			for e := range v.Entries(catalog.Tool) {
				got = append(got, e.Offered+"="+e.Name)
			}
			equalNames(t, "offered", got, c.want...)
			problems := view(t, cat, only("a")).Problems()
			if c.problem == "" && len(problems) > 0 || c.problem != "" && len(problems) != 1 {
				t.Fatalf("problems: %q", problems)
			}
			if c.problem != "" {
				contains(t, "problem", problems[0], c.problem)
				contains(t, "problem on the aggregate", v.Problems()[0], "a: ", c.problem)
			}
			equal(t, "renames on the server's own route", fmt.Sprint(len(offered(view(t, cat, only("a")), catalog.Tool))), fmt.Sprint(len(distinct(c.tools))))
		})
	}
}

func distinct(names []string) map[string]bool {
	set := map[string]bool{}
	for _, n := range names {
		set[n] = true
	}
	return set
}

func TestServerOf(t *testing.T) {
	for name, want := range map[string]string{"a__b": "a", "a___b": "a", "a__b__c": "a", "a_b": "", "": "", "__b": ""} {
		equal(t, name, catalog.ServerOf(name), want)
	}
}

func TestNamesThatAreNotThere(t *testing.T) {
	cat := servers(t, catalog.Options{}, named("a", "b")...)
	cat.Put(catalog.Snapshot{Server: "a", Tools: tools("x"), Complete: true})
	v := view(t, cat, all)
	for _, name := range []string{"x", "", "a__", "a__y", "b__x", "c__x", "a_x", "A__x", "a__x ", "__x"} {
		if e, ok := v.Tool(name); ok {
			t.Errorf("%q leads to %q", name, e.Name)
		}
	}
	if _, ok := v.Prompt("a__x"); ok {
		t.Error("a tool is no prompt")
	}
	if _, ok := view(t, catalog.New(catalog.Options{Prefix: catalog.PrefixNone}), all).Tool("x"); ok {
		t.Error("an empty catalog offers a tool")
	}
}
