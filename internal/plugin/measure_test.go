package plugin_test

import (
	"fmt"
	"strings"
	"testing"

	"durward"
	"durward/internal/plugin"
	"durward/internal/wire"
)

// figures are what a plugin made of the corpus.
type figures struct {
	name                         string
	samples, found, clean, false int
	recall, precision            float64 // bounds
	missed, wrong                []string
}

func (f *figures) rates() (recall, precision float64) {
	return float64(f.found) / float64(f.samples), float64(f.found) / float64(f.found+f.false)
}

// measured runs each plugin over its own samples, and over the clean ones of all.
func measured(t *testing.T) []*figures {
	t.Helper()
	list := []*figures{
		{name: "secrets", recall: 0.97, precision: 0.98},
		{name: "pii", recall: 0.97, precision: 0.97},
		{name: "invisible", recall: 1, precision: 0.98},
		{name: "injection", recall: 0.9, precision: 0.95},
	}
	for _, f := range list {
		config := plugin.Config{Mode: "observe"}
		if f.name == "invisible" {
			config.Detect = []string{"tags", "bidi", "variation", "zero-width", "filler", "ansi-control", "ansi-color", "control", "soft-hyphen", "annotation"}
		}
		set := newSet(t, map[string]plugin.Config{f.name: config})
		own := readSamples(t, "testdata/corpus/"+f.name+".txt")
		for _, s := range own {
			if s.kind != "clean" {
				f.positive(t, set, s)
			}
		}
		for _, s := range readSamples(t, "testdata/corpus/clean.txt") {
			f.negative(t, set, s)
		}
		for _, s := range own {
			if s.kind == "clean" {
				f.negative(t, set, s)
			}
		}
	}
	return list
}

func (f *figures) positive(t *testing.T, set *plugin.Set, s sample) {
	t.Helper()
	f.samples++
	detail := look(t, set, s.text)
	if detail == "" || s.kind != "attack" && !strings.Contains(" "+detail, " "+s.kind) {
		f.missed = append(f.missed, fmt.Sprintf("%s: found %q in %q", s, detail, s.text))
		return
	}
	f.found++
}

func (f *figures) negative(t *testing.T, set *plugin.Set, s sample) {
	t.Helper()
	f.clean++
	if detail := look(t, set, s.text); detail != "" {
		f.false++
		f.wrong = append(f.wrong, fmt.Sprintf("%s: found %q in %q", s, detail, s.text))
	}
}

// look returns what the one plugin of a set says of a text.
func look(t *testing.T, set *plugin.Set, text string) string {
	t.Helper()
	result := []byte(`{"content":[{"type":"text","text":` + wire.Quote(text) + `}]}`)
	d, _, _, err := set.Postprocess(t.Context(), &durward.Call{Method: "tools/call"}, result, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Matches) == 0 {
		return ""
	}
	return d.Matches[0].Detail
}

// TestCorpus fails when a plugin misses more, or finds more that is nothing, than
// is said of it.
func TestCorpus(t *testing.T) {
	for _, f := range measured(t) {
		recall, precision := f.rates()
		t.Logf("%-10s found %3d of %3d (recall %.3f), false %2d of %3d clean (precision %.3f)", f.name, f.found, f.samples, recall, f.false, f.clean, precision)
		for _, m := range f.missed {
			t.Logf("missed %s", m)
		}
		for _, w := range f.wrong {
			t.Logf("false  %s", w)
		}
		if recall < f.recall || precision < f.precision {
			t.Errorf("%s: recall %.3f and precision %.3f; at least %.3f and %.3f are stated", f.name, recall, precision, f.recall, f.precision)
		}
	}
}
