package catalog_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"durward"
	"durward/internal/catalog"
	"durward/internal/wire"
)

// FuzzItems feeds one item of a hostile server, between two good ones: nothing
// panics, every list stays JSON, and what is offered leads back to the bytes that came.
func FuzzItems(f *testing.F) {
	for item := range badTools() {
		if len(item) < 4096 {
			f.Add([]byte(item))
		}
	}
	for _, item := range []string{odd.tool, odd.prompt, odd.resource, odd.template} {
		f.Add([]byte(item))
	}
	f.Add([]byte(`{"name":"x","uri":"ui://a","uriTemplate":"y:{z}","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://q","resourceUri":"ui://r"},"ui/resourceUri":"z"},"description":""}`))
	f.Fuzz(func(t *testing.T, item []byte) {
		cat := catalog.New(catalog.Options{})
		if _, err := cat.SetServers([]durward.Server{{Name: "a", Tools: durward.ToolRules{Describe: map[string]string{"x": "d"}}}, {Name: "b"}}); err != nil {
			t.Fatal(err)
		}
		cat.Put(catalog.Snapshot{
			Server: "a", Capabilities: item, Instructions: string(item), Complete: true,
			Tools: [][]byte{tool("1"), item, tool("2")}, Prompts: [][]byte{item}, Resources: [][]byte{item, resource("x:")}, Templates: [][]byte{item, template("y:{z}")},
		})
		for _, route := range []durward.Route{all, only("a")} {
			v := view(t, cat, route)
			for _, method := range listing {
				for _, a := range audiences {
					b, err := v.List(query(method, "", a, nil))
					if err != nil || !json.Valid(b) {
						t.Fatalf("%s on %s: %v %s", method, route, err, b)
					}
				}
			}
			if caps, _ := v.Describe(catalog.Tasked); !json.Valid(caps) {
				t.Fatalf("capabilities: %s", caps)
			}
			if n := v.Counts().Tools; n < 2 && item != nil && !bytes.Contains(item, []byte(`"1"`)) && !bytes.Contains(item, []byte(`"2"`)) {
				t.Fatalf("%d tools: the good ones suffered", n)
			}
			for e := range v.Entries(catalog.Tool) {
				if got, ok := v.Tool(e.Offered); !ok || got != e {
					t.Fatalf("%q does not lead back", e.Offered)
				}
				if route == all && !legal.MatchString(e.Offered) {
					t.Fatalf("%q is not legal", e.Offered)
				}
			}
			for e := range v.Entries(catalog.Resource) {
				if got, err := v.Resource(e.Offered); err != nil || got.URI != e.Name || got.Server != "a" {
					t.Fatalf("%q does not lead back: %+v, %v", e.Offered, got, err)
				}
			}
		}
	})
}

// FuzzURIs asks for anything: it is refused, or some server's.
func FuzzURIs(f *testing.F) {
	f.Add("durward://a/x%3A", "x:{+a}")
	f.Add("ui://b/a", "ui://{x}/y{?z}")
	f.Add("durward://a/%", "{")
	f.Add("x:%C3%a9", "x:é{/a}")
	f.Fuzz(func(t *testing.T, uri, tpl string) {
		cat := servers(t, catalog.Options{}, named("a", "b")...)
		cat.Put(catalog.Snapshot{Server: "a", Resources: [][]byte{resource(uri)}, Templates: [][]byte{template(tpl)}})
		cat.Put(catalog.Snapshot{Server: "b", Templates: [][]byte{template(tpl)}})
		for _, v := range []*catalog.View{view(t, cat, all), view(t, cat, only("a"))} {
			for _, ask := range []string{uri, tpl, "durward://a/" + uri, "ui://b/" + uri} {
				for _, resolve := range []func(string) (catalog.Target, error){v.Resource, v.Template} {
					got, err := resolve(ask)
					if err != nil {
						if wire.CodeOf(err) != wire.CodeInvalidParams {
							t.Fatalf("%q: %v", ask, err)
						}
						continue
					}
					if got.Server != "a" && got.Server != "b" || got.Entry != nil && got.Entry.Server != got.Server {
						t.Fatalf("%q: %+v", ask, got)
					}
				}
			}
		}
	})
}

// FuzzCursors asks for any page: it is one of the list's, or refused.
func FuzzCursors(f *testing.F) {
	cat := servers(f, catalog.Options{PageItems: 2}, named("a", "b")...)
	cat.Put(catalog.Snapshot{Server: "a", Tools: tools("1", "2", "3"), Complete: true})
	cat.Put(catalog.Snapshot{Server: "b", Tools: tools("1", "2", "3"), Complete: true})
	v := view(f, cat, all)
	first, _ := v.List(query(wire.MethodToolsList, "", catalog.Tasked, nil))
	cursor, _ := wire.Unquote(wire.Get(first, "nextCursor"))
	f.Add(cursor)
	f.Add("")
	f.Add("AQ")
	f.Fuzz(func(t *testing.T, cursor string) {
		b, err := v.List(query(wire.MethodToolsList, cursor, catalog.Tasked, nil))
		if err != nil && durward.KindOf(err) != durward.Invalid {
			t.Fatal(err)
		}
		if err == nil && !wire.Valid(b) {
			t.Fatalf("%s", b)
		}
	})
}
