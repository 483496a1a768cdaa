package syntax_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
	"pgregory.net/rapid"

	"durward/internal/clientconf/syntax"
)

func seeds(f *testing.F) {
	for _, l := range layouts {
		f.Add([]byte(l.before))
	}
	for _, s := range []string{
		"[s.a]\ncommand = 'x'\n", "s = { a = { b = 1 } }\n", "s.a.b = 1 # c\n[t]\n[[u]]\nv = [1, { w = 2 }]\n", "s = [\n  1,\n]\n",
		"{\"s\": {\"a\": 1 // x\n, // y\n}}", "{\"s\":{\"a\":1/*\n*/}}", "{\"s\":{\"d\":1,\"d\":2},\"s\":{}}", "x = '''\n[s]\n'''\n",
	} {
		f.Add([]byte(s))
	}
}

// FuzzExplain: whatever the parser refuses is explained, with a place in the
// file; what it takes has places that hold the values.
func FuzzExplain(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range []syntax.Format{syntax.JSON, syntax.TOML} {
			root, bad := syntax.Parse(format, data)
			if (root == nil) == (bad == nil) {
				t.Fatal("neither a tree nor a fault, or both")
			}
			if bad != nil {
				if bad.Message == "" || bad.Offset < 0 || bad.Offset > len(data) {
					t.Fatalf("a fault without a place: %+v", bad)
				}
				continue
			}
			checkPlaces(t, format, data, root)
		}
	})
}

func checkPlaces(t *testing.T, f syntax.Format, data []byte, n *syntax.Node) {
	if n.Start < 0 || n.End > len(data) || n.Start > n.End {
		t.Fatalf("no place: %d-%d of %d", n.Start, n.End, len(data))
	}
	if f == syntax.JSON && n.Kind == syntax.Text {
		std, err := hujson.Standardize(append([]byte(nil), data[n.Start:n.End]...))
		var text string
		if err != nil || json.Unmarshal(std, &text) != nil || text != n.Text {
			t.Fatalf("%q is not %q", data[n.Start:n.End], n.Text)
		}
	}
	for _, m := range n.Members {
		checkPlaces(t, f, data, m.Value)
	}
	for _, e := range n.Elems {
		checkPlaces(t, f, data, e)
	}
}

// FuzzEdit: an edited file is valid, says what it said before and the new key,
// and everything else stands in it byte for byte.
func FuzzEdit(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range []syntax.Format{syntax.JSON, syntax.TOML} {
			checkEdit(t, format, data)
		}
	})
}

func checkEdit(t *testing.T, format syntax.Format, data []byte) {
	given := bytes.Clone(data)
	before, bad := syntax.Parse(format, data)
	if bad != nil || before.Kind != syntax.Object || before.At([]string{"s"}).Get("d") != nil {
		return
	}
	after, err := syntax.Insert(format, data, []string{"s"}, "d", ours())
	if !bytes.Equal(given, data) {
		t.Fatal("the given bytes were changed")
	}
	if err != nil {
		return
	}
	root, bad := syntax.Parse(format, after)
	if bad != nil {
		t.Fatalf("not valid after the edit: %s\nbefore %q\nafter  %q", bad.Message, data, after)
	}
	want := before.Clone()
	if s := want.Get("s"); s == nil || s.Kind != syntax.Object {
		want.Put("s", &syntax.Node{Kind: syntax.Object})
	}
	want.Get("s").Put("d", ours().Node())
	if !root.Equal(want, format == syntax.JSON) {
		t.Fatalf("says something else after the edit:\nbefore %q\nafter  %q", data, after)
	}
	if !isSubsequence(data, after) && before.Get("s") != nil && before.Get("s").Kind == syntax.Object {
		t.Fatalf("bytes were lost:\nbefore %q\nafter  %q", data, after)
	}
	back, _, err := syntax.Remove(format, after, []string{"s"}, []string{"d"})
	if err != nil {
		t.Fatalf("what was put in cannot be taken out: %v\n%q", err, after)
	}
	if format == syntax.JSON && before.Get("s") != nil && len(before.Get("s").Members) > 0 && !bytes.Equal(back, data) {
		t.Fatalf("not the same bytes:\nbefore %q\nafter  %q\nback   %q", data, after, back)
	}
	if n, bad := syntax.Parse(format, back); bad != nil || !sameBut(n, before) {
		t.Fatalf("not the same:\nbefore %q\nafter  %q\nback   %q", data, after, back)
	}
}

// sameBut compares, where an empty "s" counts as none.
func sameBut(a, b *syntax.Node) bool {
	a, b = a.Clone(), b.Clone()
	for _, n := range []*syntax.Node{a, b} {
		if s := n.Get("s"); s != nil && len(s.Members) == 0 && (s.Kind == syntax.Object || s.Kind == syntax.Null) {
			n.Drop("s")
		}
	}
	return a.Equal(b, false)
}

func isSubsequence(part, whole []byte) bool {
	for _, c := range whole {
		if len(part) > 0 && part[0] == c {
			part = part[1:]
		}
	}
	return len(part) == 0
}

// objects draws a JSON file with comments, odd white space and trailing commas.
func objects(t *rapid.T, depth int) string {
	space := func() string {
		return rapid.SampledFrom([]string{"", " ", "\n", "\n  ", "\r\n\t", " // c, }\n", "/* { */", "\n\n"}).Draw(t, "space")
	}
	var b strings.Builder
	b.WriteString("{" + space())
	n := rapid.IntRange(0, 4).Draw(t, "members")
	for i := range n {
		key := rapid.SampledFrom([]string{"a", "b", "c", "x y", "s"}).Draw(t, "key") + strings.Repeat("'", i)
		value := rapid.SampledFrom([]string{"1", "\"d\"", "null", "[1, // x\n 2,]", "{}", "true", `"\"}"`}).Draw(t, "value")
		if depth < 2 && rapid.Bool().Draw(t, "nest") {
			value = objects(t, depth+1)
		}
		b.WriteString("\"" + key + "\"" + space() + ":" + space() + value + space())
		if i < n-1 || rapid.Bool().Draw(t, "trailing") {
			b.WriteString("," + space())
		}
	}
	return b.String() + "}"
}

func TestEditsOfDrawnFiles(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := "{ \"s\":" + objects(rt, 0) + ", \"t\": 1 }"
		if rapid.Bool().Draw(rt, "bare") {
			text = objects(rt, 0)
		}
		checkEdit(t, syntax.JSON, []byte(text))
		root, bad := syntax.Parse(syntax.JSON, []byte(text))
		if bad != nil {
			rt.Fatalf("%s: %q", bad.Message, text)
		}
		keys := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "b'", "c'", "c''", "s", "x y"}), 0, 4).Draw(rt, "keys")
		after, taken, err := syntax.Remove(syntax.JSON, []byte(text), []string{"s"}, keys)
		if err != nil {
			rt.Fatal(err)
		}
		want := root.Clone()
		if s := want.Get("s"); s != nil && s.Kind == syntax.Object {
			for _, k := range keys {
				for s.Index(k) >= 0 {
					s.Drop(k)
				}
			}
		}
		got, bad := syntax.Parse(syntax.JSON, after)
		if bad != nil || !got.Equal(want, true) {
			rt.Fatalf("removed %q (%d):\nbefore %q\nafter  %q", keys, len(taken), text, after)
		}
	})
}

// TestTOMLAgreesWithTheDecoder compares the tree with what the library decodes.
func TestTOMLAgreesWithTheDecoder(t *testing.T) {
	text := "a.b = 'x'\nl = [1, [2, 'y'], { z = true }]\n[t]\nu = 1\n[t.v.w]\nk = \"\"\n[[arr]]\nn = 1\n[arr.sub]\nq = 1\n[[arr]]\nn = 2\n"
	root, bad := syntax.Parse(syntax.TOML, []byte(text))
	if bad != nil {
		t.Fatal(bad.Message)
	}
	var want map[string]any
	if err := toml.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	if got := plain(root); !jsonEqual(t, got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func plain(n *syntax.Node) any {
	switch n.Kind {
	case syntax.Object:
		out := map[string]any{}
		for _, m := range n.Members {
			out[m.Name] = plain(m.Value)
		}
		return out
	case syntax.List:
		out := []any{}
		for _, e := range n.Elems {
			out = append(out, plain(e))
		}
		return out
	case syntax.Text:
		return n.Text
	}
	return json.RawMessage(n.Text)
}

func jsonEqual(t *testing.T, a, b any) bool {
	t.Helper()
	x, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(x, y)
}
