package pin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"durward/internal/reveal"
	"durward/internal/wire"
)

// Difference is one thing in which two definitions differ. Everything in it is
// safe to show: see [Reveal].
type Difference struct {
	Path string // JSON pointer within the definition; empty: all of it
	Text string // in words
	Old  string // JSON; empty: it was not there
	New  string // JSON; empty: it is gone
}

// maxDifferences bounds how many differences are told of two definitions.
const maxDifferences = 200

// Differences says in words how a definition changed. Without old, it says what the
// new one is. Two definitions that are not the same have at least one difference.
func Differences(kind string, old, now []byte) []Difference {
	if old == nil {
		return introduction(kind, now)
	}
	c := comparison{kind: kind}
	a, errA := decode(old)
	b, errB := decode(now)
	if errA == nil && errB == nil {
		c.value(nil, a, b)
	}
	if len(c.found) == 0 && !bytes.Equal(wire.AppendCanonical(nil, old), wire.AppendCanonical(nil, now)) {
		c.found = append(c.found, Difference{
			Text: "it differs in bytes that readers take differently, such as a member that stands twice; look at both before you accept it",
			Old:  shown(string(old)), New: shown(string(now)),
		})
	}
	if c.more > 0 {
		c.found = append(c.found, Difference{Text: fmt.Sprintf("and %d more differences", c.more)})
	}
	return c.found
}

// introduction says what a definition is that there is nothing to compare with.
func introduction(kind string, now []byte) []Difference {
	c := comparison{kind: kind}
	switch v, err := decode(now); d := v.(type) {
	case map[string]any:
		for _, name := range sorted(d) {
			if name != "name" && name != "uriTemplate" {
				c.value([]string{name}, nil, d[name])
			}
		}
	case nil:
		if err != nil {
			c.add(nil, "it is no JSON", nil, string(now))
		}
	default:
		c.add(nil, "it says: "+quoted(d), nil, d)
	}
	return c.found
}

func decode(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

// comparison collects differences.
type comparison struct {
	kind  string
	found []Difference
	more  int
}

func (c *comparison) add(path []string, text string, old, now any) {
	if len(c.found) == maxDifferences {
		c.more++
		return
	}
	c.found = append(c.found, Difference{Path: pointer(path), Text: text, Old: jsonOf(old), New: jsonOf(now)})
}

// value compares two values; nil is one that is not there.
func (c *comparison) value(path []string, a, b any) {
	if same(a, b) {
		return
	}
	if c.list(path, a, b) {
		return
	}
	x, isX := a.(map[string]any)
	y, isY := b.(map[string]any)
	switch {
	case isX && isY, isX && b == nil && group(path), a == nil && isY && group(path):
		c.object(path, x, y)
	default:
		c.leaf(path, a, b)
	}
}

// object compares member by member.
func (c *comparison) object(path []string, a, b map[string]any) {
	names := maps.Clone(a)
	if names == nil {
		names = map[string]any{}
	}
	maps.Copy(names, b)
	required := requiredOf(a, b)
	for _, name := range sorted(names) {
		if name == "required" && required {
			continue // told where the parameter is
		}
		at := append(slices.Clone(path), name)
		if what := member(path); what != "" {
			c.parameter(what, at, name, a, b)
			continue
		}
		if name == "properties" && required {
			c.properties(at, a, b)
			continue
		}
		c.value(at, a[name], b[name])
	}
}

// requiredOf reports whether the objects are schemas whose required names can be
// told with the properties.
func requiredOf(a, b map[string]any) bool {
	for _, o := range []map[string]any{a, b} {
		if o == nil {
			continue
		}
		properties, ok := o["properties"].(map[string]any)
		if _, there := o["properties"]; there && !ok {
			return false
		}
		if _, there := o["required"]; !there {
			continue
		}
		list, ok := o["required"].([]any)
		if !ok {
			return false
		}
		for _, name := range list {
			text, ok := name.(string)
			if _, there := properties[text]; !ok || !there {
				return false
			}
		}
	}
	return true
}

// list compares arrays, and reports whether they were: those of objects with names
// by these, others as sets where both are plain, others by place.
func (c *comparison) list(path []string, a, b any) bool {
	x, isX := a.([]any)
	y, isY := b.([]any)
	if !isX && !isY || a != nil && !isX || b != nil && !isY {
		return false
	}
	if named(x) && named(y) && len(path) == 1 && path[0] == "arguments" {
		c.object(path, byName(x), byName(y))
		return true
	}
	if a == nil || b == nil {
		return false
	}
	if scalars(x) && scalars(y) {
		c.set(path, x, y)
		return true
	}
	for i := range max(len(x), len(y)) {
		var u, v any
		if i < len(x) {
			u = x[i]
		}
		if i < len(y) {
			v = y[i]
		}
		c.value(append(slices.Clone(path), fmt.Sprint(i)), u, v)
	}
	return true
}

func (c *comparison) set(path []string, a, b []any) {
	var gone, come []string
	for _, v := range a {
		if !slices.ContainsFunc(b, func(w any) bool { return same(v, w) }) {
			gone = append(gone, quoted(v))
		}
	}
	for _, v := range b {
		if !slices.ContainsFunc(a, func(w any) bool { return same(v, w) }) {
			come = append(come, quoted(v))
		}
	}
	var parts []string
	if len(come) > 0 {
		parts = append(parts, "new: "+clip(strings.Join(come, ", "), maxText))
	}
	if len(gone) > 0 {
		parts = append(parts, "gone: "+clip(strings.Join(gone, ", "), maxText))
	}
	if len(parts) == 0 {
		parts = []string{"in another order, or some of them more often"}
	}
	c.add(path, subject(c.kind, path)+" changed: "+strings.Join(parts, "; "), a, b)
}

// leaf tells of one value that changed, came or went.
func (c *comparison) leaf(path []string, a, b any) {
	what := subject(c.kind, path)
	x, isX := a.(string)
	y, isY := b.(string)
	switch {
	case isX && isY:
		c.add(path, what+" changed: "+wordDiff(x, y), a, b)
	case a == nil:
		c.add(path, what+" is new: "+quoted(b), nil, b)
	case b == nil:
		c.add(path, what+" is gone (it was "+quoted(a)+")", a, nil)
	default:
		c.add(path, what+" "+quoted(a)+" → "+quoted(b), a, b)
	}
}

// same compares by canonical form.
func same(a, b any) bool {
	if (a == nil) != (b == nil) {
		return false
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(wire.AppendCanonical(nil, x), wire.AppendCanonical(nil, y))
}

func sorted(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// named reports whether all of a list are objects with names of their own.
func named(list []any) bool {
	seen := map[string]bool{}
	for _, v := range list {
		o, ok := v.(map[string]any)
		name, isText := o["name"].(string)
		if !ok || !isText || seen[name] {
			return false
		}
		seen[name] = true
	}
	return true
}

func byName(list []any) map[string]any {
	out := make(map[string]any, len(list))
	for _, v := range list {
		if o, ok := v.(map[string]any); ok {
			if name, ok := o["name"].(string); ok {
				out[name] = o
			}
		}
	}
	return out
}

func scalars(list []any) bool {
	return !slices.ContainsFunc(list, func(v any) bool {
		switch v.(type) {
		case map[string]any, []any:
			return true
		default:
			return false
		}
	})
}

func pointer(path []string) string {
	var b strings.Builder
	for _, p := range path {
		b.WriteString("/" + reveal.Line(clip(strings.NewReplacer("~", "~0", "/", "~1").Replace(p), shownName)))
	}
	return b.String()
}

// jsonOf writes a value as JSON in which nothing is hidden; "" for none.
func jsonOf(v any) string {
	if v == nil {
		return ""
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return ""
	}
	return shown(strings.TrimSuffix(b.String(), "\n"))
}

// quoted is a value for a sentence.
func quoted(v any) string {
	if text, ok := v.(string); ok {
		return `"` + shown(text) + `"`
	}
	return jsonOf(v)
}
