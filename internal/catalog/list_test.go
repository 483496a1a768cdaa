package catalog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"durward"
	"durward/internal/catalog"
	"durward/internal/wire"
)

// odd are items with everything a decoder would lose or change.
var odd = struct{ tool, prompt, resource, template string }{
	tool: `{ "z":1e400,"name" : "look","description":"a\u0041\/b","inputSchema":{"$schema":"x","type":"object","$defs":{"a":{"$ref":"#/$defs/b"}},` +
		`"properties":{"n":{"type":"integer","maximum":9007199254740993,"nullable":true}},"prefixItems":[true]},"outputSchema":{"type":"array"},` +
		`"icons":[{"src":"data:,"}],"execution":{"taskSupport":"required"},"annotations":{"title":null},"_meta":{"k":{"b":1,"a":2}},"a":-0.10}`,
	prompt:   `{"arguments":[{"required":true,"name":"x"}],"name":"ask","title":"T","_meta":{}}`,
	resource: `{"size":12345678901234567890,"uri":"file:\/\/\/a%20b","name":"n","annotations":{"priority":1.0}}`,
	template: `{"uriTemplate":"file:///{+path}","name":"n","mimeType":"x"}`,
}

func oddSnapshot(server string) catalog.Snapshot {
	return catalog.Snapshot{
		Server: server, Tools: raw(odd.tool), Prompts: raw(odd.prompt), Resources: raw(odd.resource), Templates: raw(odd.template),
		Era: wire.Modern, Complete: true,
	}
}

func TestB12_ListsOfOneServerAreUntouched(t *testing.T) {
	for _, c := range []struct {
		name  string
		opt   catalog.Options
		route durward.Route
	}{
		{"route to the server", catalog.Options{}, only("s")},
		{"aggregate without prefix", catalog.Options{Prefix: catalog.PrefixNone}, all},
	} {
		t.Run(c.name, func(t *testing.T) {
			cat := servers(t, c.opt, named("s")...)
			cat.Put(oddSnapshot("s"))
			v := view(t, cat, c.route)
			equal(t, "tools", list(t, v, wire.MethodToolsList), `{"tools":[`+odd.tool+`]}`)
			equal(t, "prompts", list(t, v, wire.MethodPromptsList), `{"prompts":[`+odd.prompt+`]}`)
			equal(t, "resources", list(t, v, wire.MethodResourcesList), `{"resources":[`+odd.resource+`]}`)
			equal(t, "templates", list(t, v, wire.MethodTemplatesList), `{"resourceTemplates":[`+odd.template+`]}`)
		})
	}
}

func TestB12_AggregateSplicesNamesOnly(t *testing.T) {
	cat := servers(t, catalog.Options{}, named("s")...)
	cat.Put(oddSnapshot("s"))
	v := view(t, cat, all)
	equal(t, "tools", list(t, v, wire.MethodToolsList),
		`{"tools":[`+strings.Replace(odd.tool, `"name" : "look"`, `"name" : "s__look"`, 1)+`]}`)
	equal(t, "prompts", list(t, v, wire.MethodPromptsList),
		`{"prompts":[`+strings.Replace(odd.prompt, `"name":"ask"`, `"name":"s__ask"`, 1)+`]}`)
	equal(t, "resources", list(t, v, wire.MethodResourcesList),
		`{"resources":[`+strings.Replace(odd.resource, `"file:\/\/\/a%20b"`, `"durward://s/file%3A%2F%2F%2Fa%2520b"`, 1)+`]}`)
	equal(t, "templates", list(t, v, wire.MethodTemplatesList),
		`{"resourceTemplates":[`+strings.Replace(odd.template, `file:///`, `durward://s/file:///`, 1)+`]}`)
}

func TestListForms(t *testing.T) {
	cat := servers(t, catalog.Options{Info: []byte(`{"name":"durward"}`)}, named("a", "b")...)
	cat.Put(catalog.Snapshot{Server: "a", Tools: tools("x"), Complete: true})
	const item = `{"name":"a__x","inputSchema":{"type":"object"}}`

	modern := func() string {
		b, err := view(t, cat, all).List(query(wire.MethodToolsList, "", catalog.Modern, nil))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	equal(t, "modern", modern(), `{"tools":[`+item+`],"resultType":"complete","ttlMs":5000,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"durward"}}}`)

	cat.Missing("b", "back-off", "exit status 1\n\x1b[31mno \"key\"")
	equal(t, "B1 legacy", list(t, view(t, cat, all), wire.MethodToolsList),
		`{"tools":[`+item+`],"_meta":{"dev.durward/missing":[{"server":"b","state":"back-off","reason":"exit status 1\n\u001b[31mno \"key\""}]}}`)
	contains(t, "B1 modern", modern(), `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"durward"},"dev.durward/missing":[{"server":"b"`)
	equal(t, "route to the other server", list(t, view(t, cat, only("a")), wire.MethodToolsList), `{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}`)
	contains(t, "route to the missing server", list(t, view(t, cat, only("b")), wire.MethodToolsList), `{"tools":[],"_meta":{"dev.durward/missing":[{"server":"b"`)

	if v := view(t, cat, all); !v.Missing("b") || v.Missing("a") || !view(t, cat, only("b")).Missing("b") {
		t.Error("views know of another server that is missing")
	}
	cat.Missing("b", "", "")
	if view(t, cat, all).Missing("b") {
		t.Error("a view knows of a server that is missing no more")
	}
	equal(t, "cleared", list(t, view(t, cat, all), wire.MethodToolsList), `{"tools":[`+item+`]}`)
	if _, err := view(t, cat, all).List(query("ping", "", catalog.Tasked, nil)); durward.KindOf(err) != durward.Invalid {
		t.Errorf("ping lists: %v", err)
	}
}

func TestMissingReasonIsCutBetweenRunes(t *testing.T) {
	cat := servers(t, catalog.Options{}, named("a")...)
	cat.Missing("a", "back-off", "x"+strings.Repeat("é", 2000))
	b := list(t, view(t, cat, all), wire.MethodToolsList)
	if len(b) > 1200 || !wire.Valid([]byte(b)) {
		t.Errorf("%d bytes: %s", len(b), b)
	}
}

func TestListsAreInConfiguredOrder(t *testing.T) {
	cat := servers(t, catalog.Options{}, named("b", "a", "c")...)
	for _, s := range []string{"c", "a", "b"} { // whatever the order of arrival
		cat.Put(catalog.Snapshot{Server: s, Tools: tools("z", "y"), Complete: true})
	}
	equalNames(t, "order", offered(view(t, cat, all), catalog.Tool), "b__z", "b__y", "a__z", "a__y", "c__z", "c__y")
}

func TestB20_PagesRunToTheEnd(t *testing.T) {
	for _, c := range []struct {
		name string
		opt  catalog.Options
		want int
	}{
		{"items", catalog.Options{PageItems: 3}, 7},
		{"bytes", catalog.Options{PageBytes: 200}, 5},
		{"an item longer than a page", catalog.Options{PageBytes: 1}, 20},
		{"one page", catalog.Options{}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			cat := servers(t, c.opt, named("a", "empty", "b")...)
			var want []string
			for _, s := range []string{"a", "b"} {
				var names []string
				for i := range 10 {
					names = append(names, fmt.Sprintf("t%d", i))
					want = append(want, fmt.Sprintf("%s__t%d", s, i))
				}
				cat.Put(catalog.Snapshot{Server: s, Tools: tools(names...), Complete: true})
			}
			v := view(t, cat, all)
			for range 2 { // the same set each time
				got := pages(t, v, wire.MethodToolsList, nil)
				equalNames(t, "all pages", slices.Concat(got...), want...)
				if len(got) != c.want {
					t.Errorf("%d pages, want %d", len(got), c.want)
				}
			}
		})
	}
}

func TestB20_FilteredPagesRunToTheEnd(t *testing.T) {
	cat := servers(t, catalog.Options{PageItems: 2}, named("a", "b")...)
	cat.Put(catalog.Snapshot{Server: "a", Tools: tools("1", "2", "3", "4", "5"), Complete: true})
	cat.Put(catalog.Snapshot{Server: "b", Tools: tools("1", "2", "3"), Complete: true})
	v := view(t, cat, all)
	got := pages(t, v, wire.MethodToolsList, func(e *catalog.Entry) bool { return e.Name != "2" && e.Name != "4" })
	equal(t, "filtered", fmt.Sprint(got), `[[a__1 a__3] [a__5 b__1] [b__3]]`)
	got = pages(t, v, wire.MethodToolsList, func(e *catalog.Entry) bool { return e.Server == "a" })
	equal(t, "a page is never a promise of nothing", fmt.Sprint(got), `[[a__1 a__2] [a__3 a__4] [a__5]]`)
	got = pages(t, v, wire.MethodToolsList, func(*catalog.Entry) bool { return false })
	equal(t, "nothing", fmt.Sprint(got), `[[]]`)
}

func TestB20_CursorsAndChanges(t *testing.T) {
	cat := servers(t, catalog.Options{PageItems: 2}, named("a", "b", "c")...)
	put := func(server string, names ...string) {
		cat.Put(catalog.Snapshot{Server: server, Tools: tools(names...), Prompts: tools(names...), Complete: true})
	}
	put("a", "1")
	put("b", "1", "2", "3")
	next := func(v *catalog.View) string {
		b, err := v.List(query(wire.MethodToolsList, "", catalog.Tasked, nil))
		if err != nil {
			t.Fatal(err)
		}
		cursor, _ := wire.Unquote(wire.Get(b, "nextCursor"))
		return cursor
	}
	cursor := next(view(t, cat, all)) // before b__2
	if cursor == "" {
		t.Fatal("no second page")
	}
	rest := func() string {
		b, err := view(t, cat, all).List(query(wire.MethodToolsList, cursor, catalog.Tasked, nil))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	want := rest()
	contains(t, "second page", want, "b__2", "b__3")
	put("a", "0", "1", "2")
	put("c")
	equal(t, "after another server changed", rest(), want)

	restarted := servers(t, catalog.Options{PageItems: 2}, named("b")...)
	restarted.Put(catalog.Snapshot{Server: "b", Tools: tools("1", "2", "3"), Complete: true})
	if _, err := view(t, restarted, all).List(query(wire.MethodToolsList, cursor, catalog.Tasked, nil)); err != nil {
		t.Errorf("after a restart: %v", err)
	}

	foreign := next(view(t, cat, only("b")))
	stale := cursor
	refused := func(what, method, cursor string) {
		t.Helper()
		_, err := view(t, cat, all).List(query(method, cursor, catalog.Modern, nil))
		if wire.CodeOf(err) != wire.CodeInvalidParams || durward.KindOf(err) != durward.Invalid {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("of another list", wire.MethodPromptsList, cursor)
	refused("of another route", wire.MethodToolsList, foreign)
	refused("garbage", wire.MethodToolsList, "x")
	refused("too long", wire.MethodToolsList, strings.Repeat("A", 10_000))
	refused("another alphabet", wire.MethodToolsList, cursor+"==")
	put("b", "1", "2", "4")
	refused("stale", wire.MethodToolsList, stale)
}

func TestAListOfOnePageCostsNoAllocation(t *testing.T) {
	cat := servers(t, catalog.Options{}, named("a")...)
	legacyTools := catalog.Snapshot{Server: "a", Tools: append(tools("1", "2"), mustBeTask("3")), Era: wire.Legacy, Capabilities: []byte(runsTasks), Complete: true}
	for _, s := range []catalog.Snapshot{{Server: "a", Tools: tools("1", "2", "3"), Complete: true}, legacyTools} {
		cat.Put(s)
		for _, a := range audiences {
			if n := testing.AllocsPerRun(100, func() {
				v, _ := cat.View(all)
				if _, err := v.List(query(wire.MethodToolsList, "", a, nil)); err != nil {
					t.Fatal(err)
				}
			}); n != 0 {
				t.Errorf("audience %d: %v allocations", a, n)
			}
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		v, _ := cat.View(all)
		if _, ok := v.Tool("a__2"); !ok {
			t.Fatal("not found")
		}
	}); n != 0 {
		t.Errorf("Tool: %v allocations", n)
	}
}
