package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"durward"
	"durward/internal/catalog"
	"durward/internal/wire"
)

// shown is a tool whose results are shown by a resource.
func shown(name, uri string) []byte {
	return []byte(`{"name":` + wire.Quote(name) + `,"inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":` + wire.Quote(uri) + `}}}`)
}

func TestAppsCallTheToolsOfTheirServer(t *testing.T) {
	cat := servers(t, catalog.Options{}, durward.Server{Name: "clock", Tools: durward.ToolRules{Rename: map[string]string{"set": "adjust"}, Deny: []string{"wipe"}}},
		durward.Server{Name: "weather"}, durward.Server{Name: "plain"})
	cat.Put(catalog.Snapshot{Server: "clock", Tools: append(tools("get-time", "refresh", "set", "wipe", "with.dot", "plain__echo"), shown("show", "ui://clock/a")), Complete: true})
	cat.Put(catalog.Snapshot{Server: "weather", Tools: append(tools("refresh", "hidden"), shown("map", "ui://weather/map")), Complete: true})
	cat.Put(catalog.Snapshot{Server: "plain", Tools: tools("get-time", "echo"), Complete: true})
	if _, err := cat.ReplaceToolsets([]durward.Toolset{
		{Name: "bare", Tools: []string{"clock__get-time", "clock__refresh"}},
		{Name: "app", Tools: []string{"clock__*", "weather__refresh"}},
	}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		route      durward.Route
		name, want string // an offered name, "" for none, or the reason
	}{
		{all, "get-time", "clock__get-time"}, // of the two that have one, only clock has apps
		{all, "show", "clock__show"},
		{all, "set", "clock__adjust"}, // an app knows nothing of renames
		{all, "with.dot", catalogAlias(t, cat, "with.dot")},
		{all, "map", "weather__map"},
		{all, "echo", ""}, // its server has no app
		{all, "wipe", ""}, // the operator denied it
		{all, "nope", ""},
		{all, "refresh", "could be any of clock__refresh, weather__refresh"},
		{only("clock"), "get-time", ""}, // names are the server's own there anyway
		{toolset("bare"), "get-time", ""},
		{toolset("app"), "refresh", "clock__refresh"}, // the toolset shows no app of weather
		{toolset("app"), "map", ""},
	} {
		e, err := view(t, cat, c.route).AppTool(c.name)
		switch {
		case err != nil:
			if durward.KindOf(err) != durward.Invalid || c.want == "" || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s on %s: %v", c.name, c.route, err)
			}
		case e == nil && c.want != "", e != nil && e.Offered != c.want:
			t.Errorf("%s on %s: %+v, want %q", c.name, c.route, e, c.want)
		}
	}
	if e, _ := view(t, cat, all).Tool("plain__echo"); e == nil || e.Server != "plain" {
		t.Errorf("an offered name leads to %+v", e)
	}
}

// catalogAlias returns the name under which the aggregate offers a tool of clock.
func catalogAlias(t *testing.T, cat *catalog.Catalog, native string) string {
	t.Helper()
	for e := range view(t, cat, all).Entries(catalog.Tool) {
		if e.Server == "clock" && e.Name == native {
			return e.Offered
		}
	}
	t.Fatalf("%s is not offered", native)
	return ""
}

// An error about many owners stays short.
func TestAmbiguousAppToolsNameSomeCandidates(t *testing.T) {
	var names []string
	for i := range 50 {
		names = append(names, fmt.Sprintf("s%d", i))
	}
	cat := servers(t, catalog.Options{}, named(names...)...)
	for _, n := range names {
		cat.Put(catalog.Snapshot{Server: n, Tools: append(tools("refresh"), shown("show", "ui://"+n)), Complete: true})
	}
	_, err := view(t, cat, all).AppTool("refresh")
	if err == nil || len(err.Error()) > 300 || !strings.Contains(err.Error(), "s0__refresh") || !strings.Contains(err.Error(), "…") {
		t.Errorf("%v", err)
	}
}

// Compared with a search that goes through everything.
func TestAppToolAgreesWithASlowSearch(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cat := servers(t, catalog.Options{}, named("a", "b", "c")...)
		names := rapid.SampledFrom([]string{"x", "y", "z"})
		owners := map[string]int{}
		for _, s := range []string{"a", "b", "c"} {
			own := rapid.SliceOfNDistinct(names, 0, 3, rapid.ID).Draw(rt, s)
			items := tools(own...)
			app := rapid.Bool().Draw(rt, "app")
			if app {
				items = append(items, shown("app-"+s, "ui://"+s))
			}
			cat.Put(catalog.Snapshot{Server: s, Tools: items, Complete: true})
			for _, n := range own {
				if app {
					owners[n]++
				}
			}
		}
		for _, n := range []string{"x", "y", "z"} {
			e, err := view(t, cat, all).AppTool(n)
			if (err != nil) != (owners[n] > 1) || (e != nil) != (owners[n] == 1) || e != nil && e.Name != n {
				rt.Fatalf("%s with %d owners: %+v, %v", n, owners[n], e, err)
			}
		}
	})
}

// The resource of a view need not be listed, and its own URI may begin with the
// name of its server (MCP Apps, "Resource Discovery").
func TestResourcesOfAppsAreFound(t *testing.T) {
	cat := servers(t, catalog.Options{}, named("weather", "clock", "other")...)
	cat.Put(catalog.Snapshot{Server: "weather", Tools: [][]byte{shown("map", "ui://weather/map"), shown("list", "ui://list")}, Complete: true})
	cat.Put(catalog.Snapshot{Server: "clock", Tools: [][]byte{shown("show", "ui://face/a.html"), shown("both", "ui://both")}, Complete: true})
	cat.Put(catalog.Snapshot{Server: "other", Tools: [][]byte{shown("both", "ui://both")}, Resources: [][]byte{resource("ui://both")}, Complete: true})
	v := view(t, cat, all)
	for uri, want := range map[string]string{
		"ui://weather/weather/map": "weather ui://weather/map", // as the list says it
		"ui://weather/map":         "weather ui://weather/map", // as the app says it
		"ui://weather/list":        "weather ui://list",
		"ui://list":                "weather ui://list",
		"ui://face/a.html":         "clock ui://face/a.html", // listed by nobody
		"ui://clock/face/a.html":   "clock ui://face/a.html",
		"ui://clock/else":          "clock ui://else",
		"ui://other/both":          "other ui://both",
	} {
		if got, err := v.Resource(uri); err != nil || got.Server+" "+got.URI != want {
			t.Errorf("%s: %+v, %v, want %s", uri, got, err, want)
		}
	}
	if got, err := v.Resource("ui://both"); err == nil || !strings.Contains(err.Error(), "clock, other") {
		t.Errorf("ui://both: %+v, %v", got, err)
	}
}
