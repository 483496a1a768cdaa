package catalog_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"durward"
	"durward/internal/catalog"
	"durward/internal/wire"
)

var (
	all     = durward.Route{}
	listing = [...]string{wire.MethodToolsList, wire.MethodPromptsList, wire.MethodResourcesList, wire.MethodTemplatesList}
)

func only(server string) durward.Route {
	return durward.Route{Kind: durward.RouteServer, Name: server}
}

func toolset(name string) durward.Route {
	return durward.Route{Kind: durward.RouteToolset, Name: name}
}

// servers returns a catalog in which the servers are declared.
func servers(t testing.TB, opt catalog.Options, specs ...durward.Server) *catalog.Catalog {
	t.Helper()
	c := catalog.New(opt)
	if _, err := c.SetServers(specs); err != nil {
		t.Fatal(err)
	}
	return c
}

func named(names ...string) []durward.Server {
	specs := make([]durward.Server, len(names))
	for i, name := range names {
		specs[i].Name = name
	}
	return specs
}

func view(t testing.TB, c *catalog.Catalog, route durward.Route) *catalog.View {
	t.Helper()
	v, ok := c.View(route)
	if !ok {
		t.Fatalf("no view for %s", route)
	}
	return v
}

// audiences are all there are.
var audiences = []catalog.Audience{catalog.Plain, catalog.Tasked, catalog.Modern}

// open are cursors that anybody can read.
type open struct{}

func (open) Seal(payload []byte) string { return base64.RawURLEncoding.EncodeToString(payload) }
func (open) Open(text string) ([]byte, error) {
	return base64.RawURLEncoding.Strict().DecodeString(text)
}

func query(method, cursor string, a catalog.Audience, keep func(*catalog.Entry) bool) catalog.Query {
	return catalog.Query{Method: method, Cursor: cursor, Audience: a, Cursors: open{}, Keep: keep}
}

// list returns the first page of a list in legacy form.
func list(t testing.TB, v *catalog.View, method string) string {
	t.Helper()
	b, err := v.List(query(method, "", catalog.Tasked, nil))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func tool(name string) []byte {
	return []byte(`{"name":` + wire.Quote(name) + `,"inputSchema":{"type":"object"}}`)
}

func tools(names ...string) [][]byte {
	items := make([][]byte, len(names))
	for i, name := range names {
		items[i] = tool(name)
	}
	return items
}

func resource(uri string) []byte {
	return []byte(`{"uri":` + wire.Quote(uri) + `,"name":"r"}`)
}

func template(uri string) []byte {
	return []byte(`{"uriTemplate":` + wire.Quote(uri) + `,"name":"t"}`)
}

func raw(items ...string) [][]byte {
	out := make([][]byte, len(items))
	for i, item := range items {
		out[i] = []byte(item)
	}
	return out
}

// offered returns the offered names or URIs of a kind, in the order of the list.
func offered(v *catalog.View, k catalog.Kind) []string {
	var names []string
	for e := range v.Entries(k) {
		names = append(names, e.Offered)
	}
	return names
}

// pages lists to the end and returns the names on each page.
func pages(t testing.TB, v *catalog.View, method string, keep func(*catalog.Entry) bool) (names [][]string) {
	t.Helper()
	member := map[string]string{
		wire.MethodToolsList: "tools", wire.MethodPromptsList: "prompts",
		wire.MethodResourcesList: "resources", wire.MethodTemplatesList: "resourceTemplates",
	}[method]
	key := map[string]string{"resources": "uri", "resourceTemplates": "uriTemplate"}[member]
	if key == "" {
		key = "name"
	}
	for cursor := ""; ; {
		b, err := v.List(query(method, cursor, catalog.Modern, keep))
		if err != nil {
			t.Fatal(err)
		}
		if !wire.Valid(b) {
			t.Fatalf("invalid JSON: %s", b)
		}
		page := []string{}
		items := wire.Get(b, member)
		for at := range wire.Elements(items) {
			name, _ := wire.Unquote(wire.Get(at.Of(items), key))
			page = append(page, name)
		}
		names = append(names, page)
		if cursor, _ = wire.Unquote(wire.Get(b, "nextCursor")); cursor == "" {
			return names
		}
		if len(names) > 10_000 {
			t.Fatal("the pages do not end")
		}
	}
}

func equal(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

func equalNames(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	equal(t, what, fmt.Sprintf("%q", got), fmt.Sprintf("%q", append([]string(nil), want...)))
}

func contains(t testing.TB, what, in string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(in, part) {
			t.Errorf("%s: %q is not in %s", what, part, in)
		}
	}
}
