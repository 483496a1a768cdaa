package yamlx_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"durward"
	"durward/internal/yamlx"
)

const edited = `# head
version: 1   # one

# about servers
servers:
  # the first
  # in two lines
  a:
    command: "x"  # program
    args:
    - one
    - two

  b: {command: y, dir: /z}
  'c d':
    text: |
      line

      # no comment
# between
limits:
  sessions: 5
log: {}
empty:
`

func edit(t *testing.T, text string) *yamlx.Editor {
	t.Helper()
	e, err := yamlx.Edit("f.yaml", []byte(text), yamlx.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Each edit changes these lines and no other.
func TestEdits(t *testing.T) {
	path := func(steps ...string) yamlx.Path { return steps }
	for name, test := range map[string]struct {
		do       func(*yamlx.Editor) error
		old, now string
	}{
		"rename":            {func(e *yamlx.Editor) error { return e.Rename(path("limits", "sessions"), "legacy") }, "  sessions: 5\n", "  legacy: 5\n"},
		"rename quoted":     {func(e *yamlx.Editor) error { return e.Rename(path("servers", "c d"), "1") }, "  'c d':\n", "  \"1\":\n"},
		"rename in braces":  {func(e *yamlx.Editor) error { return e.Rename(path("servers", "b", "dir"), "wd") }, "dir: /z", "wd: /z"},
		"set":               {func(e *yamlx.Editor) error { return e.Set(path("version"), "2") }, "version: 1 ", "version: 2 "},
		"set quoted":        {func(e *yamlx.Editor) error { return e.Set(path("servers", "a", "command"), `'y z'`) }, `"x"  #`, `'y z'  #`},
		"set in braces":     {func(e *yamlx.Editor) error { return e.Set(path("servers", "b", "command"), "long") }, "command: y,", "command: long,"},
		"set in a list":     {func(e *yamlx.Editor) error { return e.Set(path("servers", "a", "args", "1"), "three") }, "- two", "- three"},
		"remove":            {func(e *yamlx.Editor) error { return e.Remove(path("servers", "b")) }, "  b: {command: y, dir: /z}\n", ""},
		"remove a list":     {func(e *yamlx.Editor) error { return e.Remove(path("servers", "a", "args")) }, "    args:\n    - one\n    - two\n", ""},
		"remove a comment":  {func(e *yamlx.Editor) error { return e.Remove(path("servers", "a")) }, "  # the first\n  # in two lines\n  a:\n    command: \"x\"  # program\n    args:\n    - one\n    - two\n", ""},
		"remove a block":    {func(e *yamlx.Editor) error { return e.Remove(path("servers", "c d")) }, "  'c d':\n    text: |\n      line\n\n      # no comment\n", ""},
		"remove the last":   {func(e *yamlx.Editor) error { return e.Remove(path("limits", "sessions")) }, "# between\nlimits:\n  sessions: 5\n", ""},
		"insert":            {func(e *yamlx.Editor) error { return e.Insert(path("servers", "m"), "command: x\nenv:\n  A: \"1\"\n") }, "      # no comment\n", "      # no comment\n  m:\n    command: x\n    env:\n      A: \"1\"\n"},
		"insert a scalar":   {func(e *yamlx.Editor) error { return e.Insert(path("limits", "streams"), "7") }, "  sessions: 5\n", "  sessions: 5\n  streams: 7\n"},
		"insert in empty":   {func(e *yamlx.Editor) error { return e.Insert(path("log", "level"), "debug") }, "log: {}\n", "log:\n  level: debug\n"},
		"insert in nothing": {func(e *yamlx.Editor) error { return e.Insert(path("empty", "a"), "b: 1") }, "empty:\n", "empty:\n  a:\n    b: 1\n"},
		"insert a list":     {func(e *yamlx.Editor) error { return e.Insert(path("hosts"), "- a\n- b") }, "empty:\n", "empty:\nhosts:\n  - a\n  - b\n"},
		"insert deep":       {func(e *yamlx.Editor) error { return e.Insert(path("new", "er", "newest"), "1") }, "empty:\n", "empty:\nnew:\n  er:\n    newest: 1\n"},
	} {
		e := edit(t, edited)
		if err := test.do(e); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.Contains(edited, test.old) {
			t.Fatalf("%s: the text has no %q", name, test.old)
		}
		if got, want := string(e.Bytes()), strings.Replace(edited, test.old, test.now, 1); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestEditsThatCannotBeMadeChangeNothing(t *testing.T) {
	path := func(steps ...string) yamlx.Path { return steps }
	for name, do := range map[string]func(*yamlx.Editor) error{
		"rename what is not there":        func(e *yamlx.Editor) error { return e.Rename(path("limits", "x"), "y") },
		"rename to what is there":         func(e *yamlx.Editor) error { return e.Rename(path("servers", "a"), "b") },
		"set a mapping":                   func(e *yamlx.Editor) error { return e.Set(path("servers"), "1") },
		"set nothing":                     func(e *yamlx.Editor) error { return e.Set(path("empty"), "1") },
		"set what breaks the document":    func(e *yamlx.Editor) error { return e.Set(path("version"), "[") },
		"remove what is not there":        func(e *yamlx.Editor) error { return e.Remove(path("servers", "x")) },
		"remove in braces":                func(e *yamlx.Editor) error { return e.Remove(path("servers", "b", "command")) },
		"insert what is there":            func(e *yamlx.Editor) error { return e.Insert(path("servers", "a"), "1") },
		"insert in braces":                func(e *yamlx.Editor) error { return e.Insert(path("servers", "b", "x"), "1") },
		"insert below a single value":     func(e *yamlx.Editor) error { return e.Insert(path("version", "x"), "1") },
		"insert what breaks the document": func(e *yamlx.Editor) error { return e.Insert(path("x"), "{") },
	} {
		e := edit(t, edited)
		if err := do(e); durward.KindOf(err) != durward.Conflict || err.Error() == "" {
			t.Errorf("%s: %v", name, err)
		}
		if string(e.Bytes()) != edited {
			t.Errorf("%s: changed\n%s", name, e.Bytes())
		}
	}
	if _, err := yamlx.Edit("f.yaml", []byte("a: ["), yamlx.Limits{}); durward.KindOf(err) != durward.Invalid {
		t.Errorf("%v", err)
	}
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"npx": "npx", "@scope/x": `"@scope/x"`, "/usr/bin/x": "/usr/bin/x", "true": `"true"`, "No": `"No"`, "1": `"1"`, "": `""`,
		"a b": `"a b"`, "a: b": `"a: b"`, "<x>": `"<x>"`, "ä\n\"": `"ä\n\""`, "#": `"#"`, "-x": `"-x"`, ".inf": `".inf"`,
	} {
		got := yamlx.Quote(text)
		if got != want {
			t.Errorf("%q: %s", text, got)
		}
		var back any
		if err := yaml.Unmarshal([]byte(got), &back); err != nil || back != text {
			t.Errorf("%q comes back as %v, %v", text, back, err)
		}
	}
}

// FuzzEdit: an edit makes what it says of the values, or it makes nothing.
func FuzzEdit(f *testing.F) {
	f.Add(edited, "servers", "a", "n", uint8(0))
	f.Add(edited, "limits", "sessions", "n", uint8(1))
	f.Add("a: {b: 1, c: 2}\n", "a", "b", "n", uint8(1))
	f.Add("a:\n- b: 1\n  c: 2", "a", "", "n", uint8(2))
	f.Add("? a\n: b: 1\n", "a", "b", "n", uint8(2))
	f.Add("a: &x {b: 1}\nc: *x\n", "a", "b", "n", uint8(0))
	f.Fuzz(func(t *testing.T, text, one, two, name string, what uint8) {
		e, err := yamlx.Edit("f.yaml", []byte(text), yamlx.Limits{})
		if err != nil {
			return
		}
		path := yamlx.Path{one}
		if two != "" {
			path = path.In(two)
		}
		before := e.Bytes()
		switch what % 3 {
		case 0:
			err = e.Rename(path, name)
		case 1:
			err = e.Remove(path)
		default:
			err = e.Insert(path, "fuzzed")
		}
		after := e.Bytes()
		if err != nil {
			if string(after) != string(before) {
				t.Fatalf("%v, and changed\n%s\nto\n%s", err, before, after)
			}
			return
		}
		compare(t, before, after, path, name, what%3)
	})
}

// compare applies the edit to the decoded values, and looks whether the text means the same.
func compare(t *testing.T, before, after []byte, path yamlx.Path, name string, what uint8) {
	t.Helper()
	var old, now any
	if yaml.Unmarshal(before, &old) != nil || yaml.Unmarshal(after, &now) != nil {
		return // duplicate keys and the like, which are for others to refuse
	}
	if !named(old) {
		return // keys that are no texts, which are for others to refuse too
	}
	model := apply(old, path, name, what)
	if !reflect.DeepEqual(model, now) {
		t.Fatalf("edit %d of %s: %v became %v, not %v\n%s\n---\n%s", what, path, old, now, model, before, after)
	}
}

// named says whether all mappings have texts as keys.
func named(value any) bool {
	switch x := value.(type) {
	case map[any]any:
		return false
	case map[string]any:
		for _, member := range x {
			if !named(member) {
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(x, func(member any) bool { return !named(member) })
	}
	return true
}

func apply(value any, path yamlx.Path, name string, what uint8) any {
	m, ok := value.(map[string]any)
	if !ok {
		if what == 2 {
			m = map[string]any{}
		} else {
			return value
		}
	}
	if len(path) > 1 {
		below := apply(m[path[0]], path[1:], name, what)
		if made, ok := below.(map[string]any); ok && len(made) == 0 && what == 1 {
			delete(m, path[0]) // an empty mapping is not left behind
			return m
		}
		m[path[0]] = below
		return m
	}
	switch what {
	case 0:
		m[name] = m[path[0]]
		delete(m, path[0])
	case 1:
		delete(m, path[0])
	default:
		m[path[0]] = "fuzzed"
	}
	return m
}
