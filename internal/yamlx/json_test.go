package yamlx_test

import (
	"encoding/json"
	"testing"

	"durward/internal/yamlx"
)

func TestAValueBecomesJSON(t *testing.T) {
	for text, want := range map[string]string{
		"v: {a: 1, b: [x, 'y', true, null, 1.5, 12345678901234567890], c: 2027-01-01}": `{"a":1,"b":["x","y",true,null,1.5,12345678901234567890],"c":"2027-01-01"}`,
		"v: \"a\\\"b\"":           `"a\"b"`,
		"v: 010":                  "",
		"v: .inf":                 "",
		"v: {1: a}":               "",
		"v: {a: 1, a: 2}":         "",
		"v: &x [*x]":              "",
		"w: 1":                    "",
		"v: !!str 1":              "",
		"w: &x {a: b}\nv: [*x]\n": `[{"a":"b"}]`,
	} {
		s := yamlx.Parse("f", []byte(text), yamlx.Limits{})
		got, ok := s.JSON(yamlx.Path{"v"})
		if ok != (want != "") || ok && string(got) != want {
			t.Errorf("%s: %s, %v; want %s", text, got, ok, want)
		}
	}
}

func TestAValueOfAnyShapeIsLeftAlone(t *testing.T) {
	var out struct {
		A yamlx.Any `yaml:"a"`
		B []struct {
			C yamlx.Any `yaml:"c,required"`
		} `yaml:"b"`
	}
	s := yamlx.Parse("f", []byte("a: [1, {x: 2}]\nb: [{c: text}, {c: {d: 1}}, {c: null}]\n"), yamlx.Limits{})
	s.Decode(&out)
	if err := s.Err(); err != nil || len(out.B) != 3 {
		t.Fatal(err, out)
	}
	if got, ok := s.JSON(yamlx.Path{"b", "1", "c"}); !ok || string(got) != `{"d":1}` {
		t.Errorf("%s", got)
	}
}

func FuzzJSON(f *testing.F) {
	f.Add("v: {a: [1, 2.5, x], b: {c: null}}")
	f.Add("v: &a [*a]\n")
	f.Fuzz(func(t *testing.T, text string) {
		s := yamlx.Parse("f", []byte(text), yamlx.Limits{})
		if got, ok := s.JSON(yamlx.Path{"v"}); ok && !json.Valid(got) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
