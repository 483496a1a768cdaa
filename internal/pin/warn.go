package pin

import (
	"fmt"
	"strconv"

	"durward/internal/reveal"
	"durward/internal/wire"
)

// maxWarnings bounds what is told of one definition.
const maxWarnings = 20

// Warnings says what of a definition a reader would not see: hidden characters,
// words that look like others, and members that stand twice, of which programs take
// one or the other. Everything in it is safe to show.
func Warnings(kind string, raw []byte) []string {
	w := warner{kind: kind}
	w.twice(nil, raw, 0)
	if v, err := decode(raw); err == nil {
		w.walk(nil, v)
	}
	if w.more > 0 {
		w.found = append(w.found, fmt.Sprintf("and %d more of the kind", w.more))
	}
	return w.found
}

type warner struct {
	kind  string
	found []string
	more  int
}

func (w *warner) add(text string) {
	if len(w.found) == maxWarnings {
		w.more++
		return
	}
	w.found = append(w.found, text)
}

// walk looks at all texts, names of members included.
func (w *warner) walk(path []string, v any) {
	switch v := v.(type) {
	case string:
		w.text(subject(w.kind, path), v)
	case []any:
		for i, one := range v {
			w.walk(down(path, strconv.Itoa(i)), one)
		}
	case map[string]any:
		for _, name := range sorted(v) {
			w.text("the name of "+subject(w.kind, down(path, name)), name)
			w.walk(down(path, name), v[name])
		}
	}
}

func (w *warner) text(what, text string) {
	switch n := reveal.Hidden(text); {
	case n == 1:
		w.add(what + " holds a hidden character")
	case n > 1:
		w.add(fmt.Sprintf("%s holds %d hidden characters", what, n))
	}
	for _, l := range reveal.LookAlikes(text) {
		w.add(what + ": " + l.String())
	}
}

// twice finds members of one name in one object.
func (w *warner) twice(path []string, raw []byte, depth int) {
	if len(raw) == 0 || depth > wire.MaxDepth {
		return
	}
	switch raw[0] {
	case '{':
		seen := map[string]bool{}
		for name, at := range wire.Members(raw) {
			if seen[name] {
				w.add(subject(w.kind, down(path, name)) + " stands twice, and programs differ in which one they take")
			}
			seen[name] = true
			w.twice(down(path, name), at.Of(raw), depth+1)
		}
	case '[':
		i := 0
		for at := range wire.Elements(raw) {
			w.twice(down(path, strconv.Itoa(i)), at.Of(raw), depth+1)
			i++
		}
	}
}

func down(path []string, name string) []string {
	return append(path[:len(path):len(path)], name)
}
