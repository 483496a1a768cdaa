package config

import (
	"cmp"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"durward/internal/yamlx"
)

// Setting is a value that some layer, or else the default, decided.
type Setting struct {
	Path  string `json:"path"`  // limits.sessions, servers.github.env.TOKEN, allowed_hosts
	Value string `json:"value"` // as it would be written; of what may hold a secret only its references
	Layer Layer  `json:"layer"`
	File  string `json:"file,omitempty"` // of the layer; empty for the default
	Line  int    `json:"line,omitempty"` // from 1
	// Overruled are values of lower layers that this one takes the place of.
	Overruled []Place `json:"overruled,omitempty"`
}

// Place is where a layer says something.
type Place struct {
	Layer Layer  `json:"layer"`
	File  string `json:"file"`
	Line  int    `json:"line"`
}

// Settings lists every single value of the configuration with the layer it comes
// from, sorted by path: all keys outside servers, toolsets and principals, and of those
// what their entries say. It shows no secrets.
func (c *Config) Settings() []Setting { return slices.Clone(c.settings) }

// settings collects the settings of raw, which ls were decoded into.
func settings(ls layers, raw *file, policy string) []Setting {
	out := []Setting{{Path: policyPath.String(), Value: "sha256:" + policy, Layer: LayerDefault}}
	for _, l := range ls {
		if line, _ := l.src.Where(policyPath); line > 0 {
			out[0].Layer, out[0].File, out[0].Line = l.layer, l.name, line
		}
	}
	tree().each(reflect.ValueOf(raw).Elem(), nil, func(n *node, v reflect.Value, at yamlx.Path) {
		if at[0] == policyPath[0] {
			return // its layers are not merged by key; durward policy effective shows it
		}
		l := ls.origin(at)
		if l == nil && (byName(at[0]) || v.IsZero() && v.Kind() != reflect.Bool) || written(v) == "" {
			return // nobody said, and there is no default
		}
		s := Setting{Path: at.String(), Value: shown(n, v), Layer: LayerDefault}
		if l != nil {
			s.Layer, s.File = l.layer, l.name
			s.Line, _ = l.src.Where(at)
			s.Overruled = ls.below(l, at)
		}
		out = append(out, s)
	})
	slices.SortStableFunc(out, func(a, b Setting) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// each calls f for every single value and list below n, of which v is the value.
func (n *node) each(v reflect.Value, at yamlx.Path, f func(*node, reflect.Value, yamlx.Path)) {
	switch {
	case n.list:
		f(n, v, at)
	case n.free:
		for _, name := range v.MapKeys() {
			n.below[0].each(v.MapIndex(name), at.In(name.String()), f)
		}
	case len(n.below) > 0:
		for _, child := range n.below {
			child.each(v.FieldByIndex(child.index), at.In(child.name), f)
		}
	default:
		f(n, v, at)
	}
}

// origin returns the layer that says what is at path; nil if none does.
func (ls layers) origin(path yamlx.Path) *layer {
	if l := ls.owner(path); l.layer != LayerDefault && l.src.Has(path) {
		return l
	}
	return nil
}

// below returns the places in lower layers that are overruled at path.
func (ls layers) below(l *layer, path yamlx.Path) []Place {
	var out []Place
	for _, lower := range ls {
		if lower == l {
			break
		}
		if line, _ := lower.src.Where(path); line > 0 {
			out = append(out, Place{lower.layer, lower.name, line})
		}
	}
	return out
}

var reference = regexp.MustCompile(`\$\{(?:env|file|secret):[^}]*\}`)

// shown writes a value; of a sensitive one nothing but its references.
func shown(n *node, v reflect.Value) string {
	if !n.key.Sensitive {
		return written(v)
	}
	if v.Kind() != reflect.Slice {
		return onlyReferences(written(v))
	}
	var items []string
	for i := range v.Len() {
		items = append(items, onlyReferences(written(v.Index(i))))
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// onlyReferences leaves out what is not a reference, and the default in one.
func onlyReferences(text string) string {
	found := reference.FindAllString(text, -1)
	for i, ref := range found {
		if name, _, ok := strings.Cut(ref, ":-"); ok {
			found[i] = name + ":-…}"
		}
	}
	if len(found) == 0 {
		return strconv.Itoa(len(text)) + " bytes, not shown"
	}
	if strings.Join(found, "") == text {
		return text
	}
	return "…" + strings.Join(found, "…") + "…"
}
