package catalog_test

import (
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"durward"
	"durward/internal/catalog"
	"durward/internal/wire"
)

func offering(t testing.TB, resources, templates []string) *catalog.View {
	cat := servers(t, catalog.Options{}, named("a", "fs", "z")...)
	s := catalog.Snapshot{Server: "fs", Complete: true}
	for _, r := range resources {
		s.Resources = append(s.Resources, resource(r))
	}
	for _, tpl := range templates {
		s.Templates = append(s.Templates, template(tpl))
	}
	cat.Put(s)
	return view(t, cat, all)
}

func TestURIsOnTheAggregate(t *testing.T) {
	for _, c := range []struct{ native, offered string }{
		{"file:///a b", "durward://fs/file%3A%2F%2F%2Fa%20b"},
		{"file:///a%20b", "durward://fs/file%3A%2F%2F%2Fa%2520b"},
		{"x:/../é?q=1&r=%zz#f", "durward://fs/x%3A%2F..%2F%C3%A9%3Fq%3D1%26r%3D%25zz%23f"},
		{`https://u:p@h:1/"'<>`, "durward://fs/https%3A%2F%2Fu%3Ap%40h%3A1%2F%22%27%3C%3E"},
		{"durward://a/x", "durward://fs/durward%3A%2F%2Fa%2Fx"},
		{"plain", "durward://fs/plain"},
		{"ui://clock/app.html", "ui://fs/clock/app.html"},
		{"ui://a/app.html", "ui://fs/a/app.html"},
	} {
		v := offering(t, []string{c.native}, nil)
		equalNames(t, c.native, offered(v, catalog.Resource), c.offered)
		got, err := v.Resource(c.offered)
		if err != nil || got.Server != "fs" || got.URI != c.native || got.Entry == nil {
			t.Errorf("%s resolves to %+v, %v", c.offered, got, err)
		}
	}
}

func genURI() *rapid.Generator[string] {
	text := rapid.StringOf(rapid.OneOf(
		rapid.SampledFrom([]rune(" %/?#&=+\"'<>{}[]@:;.~\\^`|é日\u202e\x00\n")), rapid.Rune(),
	)).Filter(func(s string) bool { return !strings.ContainsRune(s, 0xFFFD) })
	return rapid.OneOf(
		rapid.Custom(func(t *rapid.T) string {
			return rapid.SampledFrom([]string{"file:///", "ui://", "x:", "durward://fs/", "https://u:p@h/", "", "%41%", "%2F", "..", "/"}).Draw(t, "head") + text.Draw(t, "tail")
		}).Filter(func(s string) bool { return s != "" }),
	)
}

func TestURIsRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		native := genURI().Draw(rt, "uri")
		listed := offering(t, []string{native}, nil)
		name := offered(listed, catalog.Resource)[0]
		for _, v := range []*catalog.View{listed, offering(t, nil, nil)} { // listed, and no more listed
			got, err := v.Resource(name)
			if err != nil || got.Server != "fs" || got.URI != native {
				rt.Fatalf("%q -> %q -> %+v, %v", native, name, got, err)
			}
		}
		if _, err := url.Parse(name); err != nil && !strings.HasPrefix(native, "ui://") {
			rt.Fatalf("%q is no URI: %v", name, err)
		}
		for _, head := range []string{"durward://", "ui://a/", "ui://fs/", "ui://z/"} {
			if strings.HasPrefix(native, head) {
				return // names a server of the aggregate
			}
		}
		if bare, err := listed.Resource(native); err != nil || bare.Server != "fs" || bare.URI != native {
			rt.Fatalf("bare %q -> %+v, %v", native, bare, err)
		}
	})
}

// expand is a plain reading of RFC 6570 for one value per variable.
func expand(tpl string, values map[string]string) string {
	var b strings.Builder
	for i := 0; i < len(tpl); i++ {
		if tpl[i] != '{' {
			b.WriteByte(tpl[i])
			continue
		}
		end := i + strings.IndexByte(tpl[i:], '}')
		b.WriteString(expansion(tpl[i+1:end], values))
		i = end
	}
	return b.String()
}

func expansion(expr string, values map[string]string) string {
	op := expr[0]
	name := strings.TrimLeft(expr, "+#./;?&")
	value := values[name]
	switch op {
	case '+':
		return reservedEscape(value)
	case '#':
		return "#" + reservedEscape(value)
	case '.', '/':
		return string(op) + escape(value)
	case ';', '?', '&':
		return string(op) + name + "=" + escape(value)
	default:
		return escape(value)
	}
}

func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

func reservedEscape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(":/?#[]@!$&'()*+,;=", s[i]) >= 0 {
			b.WriteByte(s[i])
		} else {
			b.WriteString(escape(s[i : i+1]))
		}
	}
	return b.String()
}

func TestExpansionsOfTemplatesComeBackVerbatim(t *testing.T) {
	templates := []string{
		"file:///{+path}", "x://{host}/{a}/b{?q}", "ui://{a}/x{#frag}", "{scheme}", "{scheme}://h/{a}", "x:{a}{b}{c}", "x:{a}-{b}{/c}{;d}{?e}{&f}", "x%41:/{a}.{b}",
	}
	rapid.Check(t, func(rt *rapid.T) {
		tpl := rapid.SampledFrom(templates).Draw(rt, "template")
		values := map[string]string{}
		for _, name := range []string{"path", "host", "a", "b", "c", "d", "e", "f", "q", "frag", "scheme"} {
			values[name] = rapid.OneOf(rapid.String(), rapid.StringMatching(`[a/%:. -]{0,5}`)).Draw(rt, name)
		}
		want := expand(tpl, values)
		if want == "" {
			return
		}
		v := offering(t, []string{"file:///other"}, []string{tpl})
		asked := expand(offered(v, catalog.Template)[0], values)
		got, err := v.Resource(asked)
		if err != nil || got.Server != "fs" || got.URI != want {
			rt.Fatalf("%q expands to %q; offered as %q it resolves to %+v, %v", tpl, want, asked, got, err)
		}
		if got.Entry == nil || got.Entry.Name != tpl {
			rt.Fatalf("%q is not seen as an expansion of %q", want, tpl)
		}
	})
}

func TestBareURIs(t *testing.T) {
	cat := servers(t, catalog.Options{}, named("a", "b", "c")...)
	cat.Put(catalog.Snapshot{Server: "a", Resources: [][]byte{resource("x:both"), resource("x:a"), resource("ui://app/one")}, Templates: [][]byte{template("t:{x}"), template("both:{x}")}})
	cat.Put(catalog.Snapshot{Server: "b", Resources: [][]byte{resource("x:both"), resource("t:listed"), resource("ui://a/app")}, Templates: [][]byte{template("both:{+x}"), template("u:{x}/y")}})
	v := view(t, cat, all)
	for uri, want := range map[string]string{
		"x:a": "a", "t:other": "a", "t:listed": "b", "u:1/y": "b", "both:1/2": "b", "ui://app/one": "a",
		"ui://a/app": "a", "ui://b/a/app": "b", // the authority names the server, whoever lists it
	} {
		if got, err := v.Resource(uri); err != nil || got.Server != want {
			t.Errorf("%s: %+v, %v, want %s", uri, got, err, want)
		}
	}
	for uri, parts := range map[string][]string{
		"x:both": {"a, b"}, "both:1": {"a, b"}, "x:none": {"no server"}, "t:a/b": {"no server"}, "u:1/y/z": {"no server"}, "": {"no server"},
		"durward://d/x": {`no server is called "d"`}, "durward://a/": {"no resource"}, "durward://a": {"no server"}, "ui://none/x": {"no server"},
	} {
		got, err := v.Resource(uri)
		if err == nil {
			t.Errorf("%s resolves to %+v", uri, got)
			continue
		}
		contains(t, uri, err.Error(), parts...)
		if wire.CodeOf(err) != wire.CodeInvalidParams {
			t.Errorf("%s: code %d", uri, wire.CodeOf(err))
		}
	}
	if _, err := v.Resource("x:both"); durward.KindOf(err) != durward.Invalid {
		t.Errorf("kind %s", durward.KindOf(err))
	}
}

func TestURIsOfOneServerAreUntouched(t *testing.T) {
	for _, prefix := range []string{catalog.PrefixServer, catalog.PrefixNone} {
		cat := servers(t, catalog.Options{Prefix: prefix}, named("a")...)
		cat.Put(catalog.Snapshot{Server: "a", Resources: [][]byte{resource("x:1")}, Templates: [][]byte{template("y:{z}")}})
		route := only("a")
		if prefix == catalog.PrefixNone {
			route = all
		}
		v := view(t, cat, route)
		for uri, listed := range map[string]bool{"x:1": true, "y:2": true, "durward://a/x%3A1": false, "ui://a/b": false, "anything at all": false} {
			got, err := v.Resource(uri)
			if err != nil || got.Server != "a" || got.URI != uri || (got.Entry != nil) != listed {
				t.Errorf("%s: %+v, %v", uri, got, err)
			}
		}
		if got, err := v.Template("y:{z}"); err != nil || got.Entry == nil || got.URI != "y:{z}" {
			t.Errorf("template: %+v, %v", got, err)
		}
	}
}

func TestReferencesOfCompletions(t *testing.T) {
	cat := servers(t, catalog.Options{}, named("a", "b")...)
	cat.Put(catalog.Snapshot{Server: "a", Templates: [][]byte{template("x:{y}"), template("ui://app/{y}"), template("both:{y}")}, Resources: [][]byte{resource("x:r")}})
	cat.Put(catalog.Snapshot{Server: "b", Templates: [][]byte{template("both:{y}")}})
	v := view(t, cat, all)
	equalNames(t, "offered", offered(v, catalog.Template), "durward://a/x:{y}", "ui://a/app/{y}", "durward://a/both:{y}", "durward://b/both:{y}")
	for ref, want := range map[string]string{
		"durward://a/x:{y}": "a x:{y}", "ui://a/app/{y}": "a ui://app/{y}", "durward://b/both:{y}": "b both:{y}",
		"x:{y}": "a x:{y}", "durward://a/x%3Ar": "a x:r", "x:r": "a x:r",
	} {
		got, err := v.Template(ref)
		if err != nil || got.Server+" "+got.URI != want || got.Entry == nil {
			t.Errorf("%s: %+v, %v", ref, got, err)
		}
	}
	for _, ref := range []string{"both:{y}", "none:{y}", ""} {
		if got, err := v.Template(ref); wire.CodeOf(err) != wire.CodeInvalidParams {
			t.Errorf("%s: %+v, %v", ref, got, err)
		}
	}
}

func TestHostileTemplatesAreOfferedAndNotMatched(t *testing.T) {
	for _, tpl := range []string{"x:{", "x:}", "x:{}", "x:{a{b}}", "x:" + strings.Repeat("{a}", 17), "x:{a}" + strings.Repeat("y", 2048)} {
		v := offering(t, nil, []string{tpl})
		if v.Counts().Templates != 1 {
			t.Errorf("%.20s is not offered", tpl)
		}
		if got, err := v.Resource("x:1"); err == nil {
			t.Errorf("%.20s matches: %+v", tpl, got)
		}
	}
	v := offering(t, nil, []string{"x:{+a}"})
	if _, err := v.Resource("x:" + strings.Repeat("y", 5000)); err == nil {
		t.Error("a URI beyond the bound is matched")
	}
}

// Apps name their resource in the tool, and hosts read it by the same name.
func TestAppsOnTheAggregate(t *testing.T) {
	const item = `{"name":"time","inputSchema":{"type":"object"},"_meta":{"ui/resourceUri":"ui://clock/app.html","x":1,"ui":{"a":1,"resourceUri" : "ui:\/\/clock\/app.html"}}}`
	cat := servers(t, catalog.Options{}, named("a", "clock")...)
	cat.Put(catalog.Snapshot{Server: "a", Tools: raw(item)})
	v := view(t, cat, all)
	equal(t, "aggregate", list(t, v, wire.MethodToolsList),
		`{"tools":[{"name":"a__time","inputSchema":{"type":"object"},"_meta":{"ui/resourceUri":"ui://a/clock/app.html","x":1,"ui":{"a":1,"resourceUri" : "ui://a/clock/app.html"}}}]}`)
	got, err := v.Resource("ui://a/clock/app.html")
	if err != nil || got.Server != "a" || got.URI != "ui://clock/app.html" {
		t.Errorf("%+v, %v", got, err)
	}
	equal(t, "own route", list(t, view(t, cat, only("a")), wire.MethodToolsList), `{"tools":[`+item+`]}`)
	for e := range v.Entries(catalog.Tool) {
		equal(t, "UI", e.UI, "ui://clock/app.html")
	}
}
