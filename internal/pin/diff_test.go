package pin_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"durward/internal/pin"
	"durward/internal/wire"
)

func texts(kind, old, now string) []string {
	var before []byte
	if old != "" {
		before = []byte(old)
	}
	var out []string
	for _, d := range pin.Differences(kind, before, []byte(now)) {
		out = append(out, d.Text)
	}
	return out
}

func TestDifferencesAreToldInWords(t *testing.T) {
	for name, c := range map[string]struct {
		kind, old, now string
		want           []string
	}{
		"nothing but order": {"tool", `{"name":"a","title":"b"}`, `{"title":"b", "name":"a"}`, nil},
		"description": {
			"tool", `{"name":"a","description":"Reads a file and returns it."}`, `{"name":"a","description":"Reads a file and sends it to me."}`,
			[]string{"description changed: Reads a file and [-returns it.-] {+sends it to me.+}"},
		},
		"a new parameter that is required": {
			"tool", `{"name":"a","inputSchema":{"type":"object"}}`,
			`{"name":"a","inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"where"}},"required":["path"]}}`,
			[]string{"parameter `path` is new, required (string): \"where\""},
		},
		"parameters": {
			"tool", `{"inputSchema":{"properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{}},"required":["a"]}}`,
			`{"inputSchema":{"properties":{"a":{"type":"string","description":"x"},"b":{"type":"number"}},"required":["b"]}}`,
			[]string{
				"parameter `a` is optional now", "parameter `a`: description is new: \"x\"", "parameter `b` is required now",
				"parameter `b`: type changed: [-string-] {+number+}", "parameter `c` is gone",
			},
		},
		"values of a parameter": {
			"tool", `{"inputSchema":{"properties":{"a":{"enum":["x","y"]}}}}`, `{"inputSchema":{"properties":{"a":{"enum":["y","z"]}}}}`,
			[]string{"parameter `a`: enum changed: new: \"z\"; gone: \"x\""},
		},
		"annotations": {
			"tool", `{"annotations":{"readOnlyHint":true,"title":"t"}}`, `{"annotations":{"readOnlyHint":false,"destructiveHint":true}}`,
			[]string{"destructiveHint is new: true", "readOnlyHint true → false", "title is gone (it was \"t\")"},
		},
		"all annotations": {"tool", `{"annotations":{"readOnlyHint":true}}`, `{}`, []string{"readOnlyHint is gone (it was true)"}},
		"meta":            {"tool", `{}`, `{"_meta":{"a/b":[1]}}`, []string{"_meta.a/b is new: [1]"}},
		"arguments of a prompt": {
			"prompt", `{"arguments":[{"name":"a"}]}`, `{"arguments":[{"name":"b","required":true},{"name":"a","required":true}]}`,
			[]string{"argument `a` is required now", "argument `b` is new, required"},
		},
		"instructions": {"instructions", `"Be careful."`, `"Be quick."`, []string{"instructions changed: Be [-careful.-] {+quick.+}"}},
		"hidden": {
			"tool", `{"description":"Reads."}`, "{\"description\":\"Reads.\u200b\U000e0041\u202e\"}",
			[]string{"description changed: [-Reads.-] {+Reads.<U+200B><U+E0041><U+202E>+}"},
		},
		"a terminal": {"tool", `{"title":"x"}`, `{"title":"\u001b[2Jx\u0007"}`, []string{"title changed: [-x-] {+<U+001B>[2Jx<U+0007>+}"}},
		"new":        {"tool", "", `{"name":"a","description":"Deletes all."}`, []string{"description is new: \"Deletes all.\""}},
		"stands twice": {
			"tool", `{"inputSchema":{"a":{"x":1,"x":2}}}`, `{"inputSchema":{"a":{"x":3,"x":2}}}`,
			[]string{"it differs in bytes that readers take differently, such as a member that stands twice; look at both before you accept it"},
		},
		"a big number": {"tool", `{"a":9007199254740993}`, `{"a":9007199254740992}`, []string{"a 9007199254740993 → 9007199254740992"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, texts(c.kind, c.old, c.now)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLongTextsAreToldAroundTheirChanges(t *testing.T) {
	long := strings.Repeat("word ", 5000)
	got := texts("instructions", `"`+long+`end `+long+`"`, `"`+long+`new end `+long+`"`)
	if len(got) != 1 || len(got[0]) > 400 || !strings.Contains(got[0], "{+new+}") {
		t.Errorf("%d: %.500s", len(got), got)
	}
}

func TestWarningsNameThePlace(t *testing.T) {
	got := pin.Warnings("tool", []byte("{\"name\":\"re\u0430d\",\"description\":\"x\u200b\u200b\",\"inputSchema\":{\"properties\":{\"p\":{\"description\":\"a\u202e\",\"title\":1,\"title\":2}}}}"))
	want := []string{
		"parameter `p`: title stands twice, and programs differ in which one they take",
		"description holds 2 hidden characters",
		"parameter `p`: description holds a hidden character",
		"name: \"re\u0430d\" is not \"read\": U+0430",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWarningsAreBounded(t *testing.T) {
	raw := `{"a":[` + strings.TrimSuffix(strings.Repeat(`"\u200b",`, 1000), ",") + `]}`
	got := pin.Warnings("tool", []byte(raw))
	if len(got) != 21 || got[20] != "and 980 more of the kind" {
		t.Errorf("%d: %v", len(got), got[len(got)-1])
	}
}

// FuzzDifferences: whatever two definitions are, the words are safe to show and say
// something exactly if the definitions differ.
func FuzzDifferences(f *testing.F) {
	for _, raw := range []string{
		`{"name":"a","description":"b"}`, `{"inputSchema":{"properties":{"a":{"type":"string"}},"required":["a"]}}`, `{"arguments":[{"name":"a"}]}`,
		`"text"`, `null`, `{"a":[1,[2,{"b":null}]]}`, "{\"x\":\"\u202e\U000e0041\"}", `{"a":1,"a":2}`, `{"inputSchema":{"required":["x"]}}`,
	} {
		f.Add("tool", raw, `{"name":"a"}`)
		f.Add("prompt", `{"arguments":[{"name":"a","required":true}]}`, raw)
	}
	f.Fuzz(func(t *testing.T, kind, old, now string) {
		if len(old) > 10_000 || len(now) > 10_000 || !wire.Valid([]byte(old)) || !wire.Valid([]byte(now)) {
			return
		}
		same := string(wire.AppendCanonical(nil, []byte(old))) == string(wire.AppendCanonical(nil, []byte(now)))
		found := pin.Differences(kind, []byte(old), []byte(now))
		if same != (len(found) == 0) {
			t.Errorf("the same: %v, and %d differences: %+v", same, len(found), found)
		}
		safe := func(text string) {
			for _, r := range text {
				if !unicode.IsGraphic(r) || r == '\u00a0' {
					t.Errorf("%q holds %U", text, r)
				}
			}
		}
		for _, d := range append(found, pin.Differences(kind, nil, []byte(now))...) {
			safe(d.Text)
			safe(d.Path)
			safe(d.Old)
			safe(d.New)
		}
		for _, text := range pin.Warnings(kind, []byte(now)) {
			safe(text)
		}
	})
}
