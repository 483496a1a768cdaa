package sigma_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"durward/internal/sigma"
	"durward/internal/yamlx"
)

// FuzzTranslate: no file panics; every problem has a place; and what is translated
// is sound YAML with sound ids.
func FuzzTranslate(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.yml")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Add("title: \"\\u0000\\e\"\ndetection: {a: {mcp.tool.name: \"\\u0007\\\\*?\"}, condition: not a}")
	f.Add("title: x\ndetection: {a: {mcp.tool.arguments.a b.c|re|i: ['(', 'a|b']}, condition: ((a)}")
	id := regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)
	f.Fuzz(func(t *testing.T, text string) {
		rules, problems := sigma.Translate("f", []byte(text), sigma.Options{})
		if len(rules)+len(problems) == 0 {
			t.Fatal("neither rules nor problems")
		}
		for _, p := range problems {
			if p.Line < 1 || p.Column < 1 || p.String() == "" {
				t.Fatalf("no such place: %+v", p)
			}
		}
		src := yamlx.Parse("rules", sigma.Render(rules), yamlx.Limits{})
		root := src.Tree()
		if root == nil {
			t.Fatalf("no sound YAML: %v\n%s", src.Err(), sigma.Render(rules))
		}
		list := root.Get("rules")
		if len(list.Items) != len(rules) {
			t.Fatalf("%d rules became %d", len(rules), len(list.Items))
		}
		for i := range rules {
			if when := list.Items[i].Get("when").Text; when != rules[i].When || !id.MatchString(list.Items[i].Get("id").Text) {
				t.Fatalf("%q became %q", rules[i].When, when)
			}
		}
	})
}
