package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"durward"
	"durward/internal/catalog"
	"durward/internal/wire"
)

const everything = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"completions":{},"logging":{}}`

func described(t testing.TB, c *catalog.Catalog, route durward.Route, a catalog.Audience) (string, string) {
	t.Helper()
	caps, text := view(t, c, route).Describe(a)
	if !wire.Valid(caps) {
		t.Fatalf("capabilities of %s: %s", route, caps)
	}
	return string(caps), text
}

func TestCapabilitiesOfOneServer(t *testing.T) {
	for _, c := range []struct {
		era                        wire.Era
		server, toLegacy, toModern string
	}{
		{
			wire.Legacy,
			`{"tools":{},"resources":{"subscribe":true,"listChanged":false,"x":1},"logging":{},"tasks":{"list":{},"cancel":{}},"experimental":{"a":{}},"extensions":{"b/c":{}},"own":1}`,
			`{"tools":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true,"x":1},"logging":{},"tasks":{"cancel":{}},"experimental":{"a":{}},"extensions":{"b/c":{}},"own":1}`,
			`{"tools":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true,"x":1},"logging":{},"experimental":{"a":{}},"extensions":{"b/c":{}},"own":1}`,
		},
		{wire.Modern, `{"prompts":true,"tasks":{},"prompts":{}}`, `{"prompts":{"listChanged":true}}`, `{"prompts":{"listChanged":true}}`},
		{wire.Legacy, `{}`, `{}`, `{}`},
		{wire.Legacy, ``, `{}`, `{}`},
	} {
		for _, prefix := range []string{catalog.PrefixServer, catalog.PrefixNone} {
			cat := servers(t, catalog.Options{Prefix: prefix}, named("a")...)
			route := only("a")
			if prefix == catalog.PrefixNone {
				route = all
			}
			caps, text := described(t, cat, route, catalog.Tasked)
			equal(t, "not read yet", caps, everything)
			equal(t, "not read yet", text, "")

			s := catalog.Snapshot{Server: "a", Instructions: "# as\r\nthey are", Era: c.era}
			if c.server != "" {
				s.Capabilities = []byte(c.server)
			}
			cat.Put(s)
			caps, text = described(t, cat, route, catalog.Tasked)
			equal(t, "to legacy", caps, c.toLegacy)
			equal(t, "instructions", text, "# as\r\nthey are")
			caps, _ = described(t, cat, route, catalog.Modern)
			equal(t, "to modern", caps, c.toModern)
		}
	}
}

func TestCapabilitiesOfTheAggregate(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{`{}`, `{}`, `{"tools":{"listChanged":true}}`},
		{`{"prompts":{},"own":1,"tasks":{},"experimental":{}}`, `{"logging":{}}`, `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"logging":{}}`},
		{`{"resources":{}}`, `{"resources":{"subscribe":false},"completions":{}}`, `{"tools":{"listChanged":true},"resources":{"listChanged":true},"completions":{}}`},
		{`{"resources":{}}`, `{"resources":{"subscribe":true}}`, `{"tools":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true}}`},
		{`{"extensions":{"x":{}}}`, `{"extensions":{"io.modelcontextprotocol/ui":{"k":1}}}`, `{"tools":{"listChanged":true},"extensions":{"io.modelcontextprotocol/ui":{"k":1}}}`},
	} {
		cat := servers(t, catalog.Options{}, named("a", "b")...)
		cat.Put(catalog.Snapshot{Server: "a", Capabilities: []byte(c.a)})
		caps, _ := described(t, cat, all, catalog.Tasked)
		contains(t, "what is not read may come", caps, everything[:len(everything)-1])
		cat.Put(catalog.Snapshot{Server: "b", Capabilities: []byte(c.b)})
		caps, _ = described(t, cat, all, catalog.Modern)
		equal(t, c.a+c.b, caps, c.want)
	}
	caps, _ := described(t, catalog.New(catalog.Options{}), all, catalog.Tasked)
	equal(t, "no server", caps, `{"tools":{"listChanged":true}}`)
}

func TestCapabilitiesOfAToolset(t *testing.T) {
	cat := servers(t, catalog.Options{}, named("a")...)
	if _, err := cat.ReplaceToolsets([]durward.Toolset{{Name: "s", Tools: []string{"*"}}}); err != nil {
		t.Fatal(err)
	}
	caps, _ := described(t, cat, toolset("s"), catalog.Tasked)
	equal(t, "not read yet", caps, `{"tools":{"listChanged":true},"resources":{"listChanged":true},"logging":{}}`)
	cat.Put(catalog.Snapshot{Server: "a", Capabilities: []byte(`{"prompts":{},"resources":{"subscribe":true},"completions":{}}`)})
	caps, _ = described(t, cat, toolset("s"), catalog.Tasked)
	equal(t, "tools only", caps, `{"tools":{"listChanged":true}}`)
}

func TestInstructionsOfTheAggregate(t *testing.T) {
	cat := servers(t, catalog.Options{}, named("a", "b", "c", "d")...)
	if _, err := cat.ReplaceToolsets([]durward.Toolset{{Name: "s", Tools: []string{"a__*"}}}); err != nil {
		t.Fatal(err)
	}
	cat.Put(catalog.Snapshot{Server: "a", Tools: tools("x"), Instructions: " Use x.\r\n# b (names here begin with b__)\n  ## Deep\nno # heading\n"})
	cat.Put(catalog.Snapshot{Server: "b", Instructions: "Bad \xff byte"})
	cat.Put(catalog.Snapshot{Server: "c", Instructions: " \n"})
	const a = "# a (names here begin with a__)\n\nUse x.\n## b (names here begin with b__)\n### Deep\nno # heading\n"
	_, text := described(t, cat, all, catalog.Modern)
	equal(t, "merged", text, a+"\n# b (names here begin with b__)\n\nBad \uFFFD byte\n")
	_, text = described(t, cat, toolset("s"), catalog.Modern)
	equal(t, "toolset", text, a)
}

func TestInstructionsHaveAFairCap(t *testing.T) {
	const most = 16 << 10
	long := strings.Repeat("é", 50_000)
	cat := servers(t, catalog.Options{}, named("a", "b", "c")...)
	cat.Put(catalog.Snapshot{Server: "a", Instructions: long})
	cat.Put(catalog.Snapshot{Server: "b", Instructions: "short and whole"})
	cat.Put(catalog.Snapshot{Server: "c", Instructions: long})
	_, text := described(t, cat, all, catalog.Modern)
	if len(text) > most || len(text) < most-1000 {
		t.Errorf("%d bytes", len(text))
	}
	contains(t, "merged", text, "short and whole\n", "of 100000 bytes; all of it is on /servers/a/mcp]", "all of it is on /servers/c/mcp]")
	if strings.ToValidUTF8(text, "") != text {
		t.Error("cut inside a character")
	}
	_, own := described(t, cat, only("a"), catalog.Modern)
	equal(t, "own route", own, long)

	var names []string
	for i := range 600 {
		names = append(names, fmt.Sprintf("server-%d", i))
	}
	many := servers(t, catalog.Options{}, named(names...)...)
	for _, n := range names {
		many.Put(catalog.Snapshot{Server: n, Instructions: long[:2000]})
	}
	_, text = described(t, many, all, catalog.Modern)
	if len(text) > most {
		t.Errorf("%d bytes", len(text))
	}
	contains(t, "with too many servers", text, "[cut: the instructions of ", " more servers]")
}
