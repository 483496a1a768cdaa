package yamlx_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"durward/internal/yamlx"
)

type fuzzed struct {
	Name string            `yaml:"name"`
	N    int               `yaml:"n"`
	B    bool              `yaml:"b"`
	L    []string          `yaml:"l"`
	M    map[string]string `yaml:"m"`
	S    struct {
		L [][]int `yaml:"l"`
	} `yaml:"s"`
}

// FuzzDecode: no input panics, every problem has a place in the document, and
// what is accepted is what the library reads.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"name: a\nn: 1\nb: true\nl: [a, b]\nm: {a: b}\ns: {l: [[1]]}",
		"a: &a [*a]", "l: &l [x]\nm: *l", "<<: {n: 1}", "n: 0x1f", "name: |\n  a\n  b\nzz: >-\n c", "? a\n: b", "%YAML 1.2\n---\nn: 1\n...",
		"m: {\"a\\\n b\": 'c''d'}", "\ufeffn: 1\r\nname: x\r\n", "!!map {n: 1}", "- a", "name: \"\\u0000\"", "l:\n- a\n-\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got, want fuzzed
		s := yamlx.Parse("f", []byte(text), yamlx.Limits{})
		s.Decode(&got)
		s.Report("E", yamlx.Path{"s", "l", "0", "0"}, "place")
		s.ReportKey("E", yamlx.Path{"m", "a"}, "place")
		var ps yamlx.Problems
		if !errors.As(s.Err(), &ps) || ps.Error() == "" {
			t.Fatal("the reports are lost")
		}
		lines := strings.Count(text, "\n") + strings.Count(text, "\r") + strings.Count(text, "\u2028") + strings.Count(text, "\u2029") + strings.Count(text, "\u0085") + 2
		for _, p := range ps {
			if p.Line < 1 || p.Line > lines || p.Column < 1 {
				t.Fatalf("no such place: %+v", p)
			}
		}
		if len(ps) > 2 {
			return
		}
		if err := yaml.Load([]byte(text), &want, yaml.WithV4Defaults(), yaml.WithKnownFields()); err != nil {
			t.Fatalf("accepted, but the library says %v", err)
		}
		if !same(got, want) {
			t.Fatalf("got %+v, the library reads %+v", got, want)
		}
	})
}

// same ignores the difference between nil and empty.
func same(a, b fuzzed) bool {
	norm := func(f *fuzzed) {
		if len(f.L) == 0 {
			f.L = nil
		}
		if len(f.M) == 0 {
			f.M = nil
		}
		if len(f.S.L) == 0 {
			f.S.L = nil
		}
		for i, l := range f.S.L {
			if len(l) == 0 {
				f.S.L[i] = nil
			}
		}
	}
	norm(&a)
	norm(&b)
	return reflect.DeepEqual(a, b)
}
