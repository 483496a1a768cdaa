package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"durward"
	"durward/internal/yamlx"
)

// Key is what there is to say of one key of the configuration.
type Key struct {
	// Path leads to the key; NAME stands for each name of a mapping with free
	// keys: "servers.NAME.env.NAME".
	Path string `json:"path"`
	// Type is the kind of value: text, boolean, integer, number, size, duration, mapping
	// (of other keys), "list of …" or "mapping of …".
	Type       string   `json:"type"`
	Doc        string   `json:"doc"`                // what it is, with its bounds and default
	Default    string   `json:"default,omitempty"`  // as it would be written
	Min        string   `json:"min,omitempty"`      // as it would be written
	Max        string   `json:"max,omitempty"`      // as it would be written
	Enum       []string `json:"enum,omitempty"`     // the texts permitted
	Required   bool     `json:"required,omitempty"` // in the mapping it belongs to
	References bool     `json:"references,omitempty"`
	Sensitive  bool     `json:"sensitive,omitempty"` // may hold a secret and is not shown

}

// node is a value of the format: what it may be and what is below it.
type node struct {
	key   Key
	name  string // the last step of the path
	typ   reflect.Type
	index []int // of the field in the struct above
	below []*node
	free  bool // below is one node, for every name there may be
	list  bool // below are the members of each entry
}

// free is how a path writes "any name".
const freeName = "NAME"

// tree describes the whole format; its root is the document.
func tree() *node {
	root := &node{key: Key{Type: "mapping"}, typ: reflect.TypeFor[file]()}
	defaults := defaultFile()
	root.grow(reflect.ValueOf(defaults))
	return root
}

// grow adds what is below n. defaults is the value with all defaults; invalid
// where there are none.
func (n *node) grow(defaults reflect.Value) {
	switch {
	case n.typ.Kind() == reflect.Map:
		child := &node{name: freeName, typ: n.typ.Elem()}
		child.key = Key{Path: join(n.key.Path, freeName), Sensitive: n.key.Sensitive, References: n.key.References}
		child.describe(n.typ.Elem().Name(), "", reflect.Value{})
		n.free, n.below = true, []*node{child}
		child.grow(reflect.Value{})
	case n.typ.Kind() == reflect.Slice && n.typ.Elem().Kind() == reflect.Struct && !isText(n.typ.Elem()):
		entry := &node{key: Key{Path: n.key.Path, Sensitive: n.key.Sensitive}, typ: n.typ.Elem()}
		entry.grow(reflect.Value{})
		n.list, n.below = true, entry.below
	case n.typ.Kind() == reflect.Struct && !isText(n.typ):
		for _, f := range yamlx.Fields(n.typ) {
			child := &node{name: f.Name, typ: f.Type, index: f.Index}
			child.key = Key{
				Path: join(n.key.Path, f.Name), Min: f.Min, Max: f.Max, Enum: f.Enum, Required: f.Required, Sensitive: f.Sensitive,
				References: f.Tag.Get("references") == "true",
			}
			var value reflect.Value
			if defaults.IsValid() {
				value = defaults.FieldByIndex(f.Index)
			}
			child.describe(f.Owner.Name(), f.GoName, value)
			n.below = append(n.below, child)
			child.grow(value)
		}
	}
}

func join(path, step string) string {
	if path == "" {
		return step
	}
	return path + "." + step
}

// describe fills in what the type, the comment and the default say. field is
// empty for what stands under a free name: the comment is that of the type.
func (n *node) describe(owner, field string, defaults reflect.Value) {
	n.key.Type = typeName(n.typ)
	said := owner
	if field != "" {
		said = owner + "." + field
		owner = field
	}
	n.key.Doc = comments()[said]
	if rest, ok := strings.CutPrefix(n.key.Doc, owner+" "); ok {
		n.key.Doc = n.name + " " + rest // a comment begins with the name of what it describes
	}
	if defaults.IsValid() && !defaults.IsZero() {
		n.key.Default = written(defaults)
	}
}

// isText says whether values of the type are written as one text.
func isText(t reflect.Type) bool {
	_, ok := reflect.New(t).Interface().(interface{ UnmarshalText([]byte) error })
	return ok
}

func typeName(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "duration"
	case t == reflect.TypeFor[callTimeout]():
		return "duration or none"
	case t == reflect.TypeFor[idleStop]():
		return "duration or never"
	case t == reflect.TypeFor[keepTime]():
		return "duration or forever"
	case t == reflect.TypeFor[yamlx.Size]():
		return "size"
	case t == reflect.TypeFor[keepSize]():
		return "size or none"
	case isText(t):
		return "text"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Bool:
		return "boolean"
	case reflect.Int:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		return "list of " + plural(typeName(t.Elem()))
	case reflect.Map:
		if t.Elem().Kind() == reflect.Struct {
			return "mapping by name"
		}
		return "mapping of names to " + plural(typeName(t.Elem()))
	case reflect.Struct:
		return "mapping"
	default:
		return "text"
	}
}

func plural(word string) string { return word + "s" }

// written is a value as it could stand in a file; "" for mappings and empty lists.
func written(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case time.Duration:
		return writtenDuration(x)
	case fmt.Stringer:
		return x.String()
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return ""
		}
		return written(v.Elem())
	case reflect.String:
		if v.Len() == 0 {
			return `""`
		}
		return v.String()
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Int:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case reflect.Slice:
		var items []string
		for i := range v.Len() {
			items = append(items, written(v.Index(i)))
		}
		return "[" + strings.Join(items, ", ") + "]"
	default:
		return ""
	}
}

// writtenDuration leaves out what is zero, and has days from two on: 1h, not
// 1h0m0s; 30d, not 720h.
func writtenDuration(d time.Duration) string {
	if d >= 2*day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	text := d.String()
	for _, end := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, end) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// Keys lists every key of the format, outer before inner, in the order in which
// they are documented.
func Keys() []Key {
	var out []Key
	var walk func(n *node)
	walk = func(n *node) {
		for _, child := range n.below {
			if !n.free || child.typ.Kind() == reflect.Struct { // a value under a free name says nothing of its own
				out = append(out, child.key)
			}
			walk(child)
		}
	}
	walk(tree())
	return out
}

// Explain describes the key at a path such as "limits.message" or
// "servers.github.env"; each name of a mapping may be any, also NAME and *. An
// unknown key is an error of kind NotFound that suggests another.
func Explain(path string) (Key, error) {
	n := tree()
	var so []string
	for step := range strings.SplitSeq(path, ".") {
		next := n.child(step)
		if next == nil {
			return Key{}, durward.Errorf(durward.NotFound, "", "there is no key %q%s", clip(path), n.hint(so, step))
		}
		n, so = next, append(so, step)
	}
	key := n.key
	key.Path = path
	return key, nil
}

func (n *node) child(step string) *node {
	for _, child := range n.below {
		if n.free && step != "" || child.name == step {
			return child
		}
	}
	return nil
}

// hint names the keys there are instead.
func (n *node) hint(so []string, step string) string {
	var known []string
	for _, child := range n.below {
		known = append(known, strings.Join(append(so, child.name), "."))
	}
	if len(known) == 0 {
		return "; " + strings.Join(so, ".") + " is a single value"
	}
	return yamlx.DidYouMean(strings.Join(append(so, step), "."), known)
}
