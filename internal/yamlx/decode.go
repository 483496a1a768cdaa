package yamlx

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"time"

	"go.yaml.in/yaml/v4"
)

// Decode fills out, a pointer to a struct, and adds every problem it meets.
// What the document does not name keeps the value it has, so defaults are set
// before. Struct tags:
//
//	yaml:"name"            the key; a field without the tag is left alone
//	yaml:"name,required"   the key must be there
//	yaml:",inline"         the fields of this struct belong to the outer one
//	min:"1" max:"10"       bounds of a number, Size or time.Duration, as written
//	enum:"a|b|c"           the texts permitted
//	sensitive:"true"       lines of this value are never shown in an excerpt
//
// Bounds and enum of a list or mapping hold for its elements. Types: string,
// [Text], bool, integers, float64, [Size], time.Duration, anything with
// UnmarshalText, slices, maps with string keys, structs, and pointers to these; and
// [Any], which is left alone.
// A null is an empty list, mapping or struct and an error elsewhere.
func (s *Source) Decode(out any) {
	if s.root == nil {
		return
	}
	if isEmpty(s.root) {
		s.fault(CodeEmpty, 1, 1, 0, "the document is empty")
		return
	}
	d := decoder{s: s, budget: s.limits.Nodes, active: make(map[*yaml.Node]bool)}
	d.value(s.root, reflect.ValueOf(out).Elem(), nil, rules{}, len(s.lines))
	for _, p := range s.problems {
		s.faulty[p.Path] = true
	}
}

type decoder struct {
	s      *Source
	budget int                 // nodes left; negative once it was reported
	active map[*yaml.Node]bool // collections being decoded, to notice one within itself
	hiding bool                // within a sensitive value
}

// value decodes n into v. last is the last line that can belong to n.
func (d *decoder) value(n *yaml.Node, v reflect.Value, path Path, r rules, last int) {
	if v.Type() == reflect.TypeFor[Any]() {
		return
	}
	if n = resolve(n); !d.admit(n, path) {
		return
	}
	if n.Kind != yaml.ScalarNode {
		d.active[n] = true
		defer delete(d.active, n)
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if isScalar(v) {
		d.scalar(n, v, path, r)
		return
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		if v.Kind() != reflect.Struct {
			v.SetZero() // empty, whatever it was before
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if d.expect(n, yaml.MappingNode, "a mapping (key: value)", path) {
			d.structure(n, v, path, last)
		}
	case reflect.Map:
		if d.expect(n, yaml.MappingNode, "a mapping (key: value)", path) {
			d.mapping(n, v, path, r, last)
		}
	case reflect.Slice:
		if d.expect(n, yaml.SequenceNode, "a list", path) {
			d.list(n, v, path, r, last)
		}
	}
}

// admit keeps documents finite: budget, cycles, tags.
func (d *decoder) admit(n *yaml.Node, path Path) bool {
	d.budget--
	switch {
	case d.budget == 0:
		d.s.fault(CodeAlias, max(n.Line, 1), max(n.Column, 1), 1, "the document has more than %d values with its aliases written out; write less or repeat less", d.s.limits.Nodes)
		return false
	case d.budget < 0:
		return false
	case d.active[n]:
		d.s.problem(CodeAlias, n, path, "the value contains itself by an alias")
		return false
	case n.Style&yaml.TaggedStyle != 0:
		d.s.problem(CodeTag, n, path, "the tag %s is not permitted; remove it", n.Tag)
		return false
	}
	return true
}

func (d *decoder) expect(n *yaml.Node, kind yaml.Kind, what string, path Path) bool {
	if n.Kind == kind {
		return true
	}
	d.s.problem(CodeType, n, path, "must be %s, is %s", what, describe(n))
	return false
}

func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "empty"
	case n.Tag == "!!int" || n.Tag == "!!float":
		return "a number"
	case n.Tag == "!!bool":
		return "a truth value"
	default:
		return "a text"
	}
}

// pairs calls f for each pair of a mapping whose key is sound, with the last
// line that can belong to it.
func (d *decoder) pairs(n *yaml.Node, path Path, last int, f func(key, value *yaml.Node, last int)) {
	seen := make(map[string]int)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, end := n.Content[i], last
		if i+2 < len(n.Content) {
			end = max(key.Line, n.Content[i+2].Line-1)
		}
		switch {
		case key.Kind == yaml.ScalarNode && key.Tag == "!!merge":
			d.s.problem(CodeMergeKey, key, path, "merge keys (<<) are not supported; write the keys out")
			continue
		case key.Kind != yaml.ScalarNode || key.Tag != "!!str" || key.Style&yaml.TaggedStyle != 0:
			d.s.problem(CodeKey, key, path, "a key must be a text; put it in quotes if it looks like something else")
			continue
		}
		if line, twice := seen[key.Value]; twice {
			d.s.problem(CodeDuplicate, key, path.In(key.Value), "the key is there twice, first on line %d; remove one", line)
			continue
		}
		seen[key.Value] = key.Line
		f(key, n.Content[i+1], end)
	}
}

func (d *decoder) structure(n *yaml.Node, v reflect.Value, path Path, last int) {
	known := fields(v.Type())
	found := make(map[string]bool)
	d.pairs(n, path, last, func(key, value *yaml.Node, last int) {
		for _, f := range known {
			if f.name == key.Value {
				found[f.name] = true
				d.member(key, value, v.FieldByIndex(f.index), f, path.In(f.name), last)
				return
			}
		}
		if !d.s.full() {
			d.s.problem(CodeUnknownKey, key, path.In(key.Value), "unknown key%s", DidYouMean(key.Value, names(known)))
		}
		d.hide(key.Line, last) // nobody knows what its value is
	})
	for _, f := range known {
		if f.required && !found[f.name] {
			d.s.problem(CodeRequired, n, path.In(f.name), "is missing")
		}
	}
}

func (d *decoder) member(key, value *yaml.Node, v reflect.Value, f field, path Path, last int) {
	if f.sensitive && !d.hiding {
		d.hiding = true
		defer func() { d.hiding = false }()
		d.hide(key.Line, last)
	}
	if isEmpty(value) && needsValue(v) {
		d.s.problem(CodeType, key, path, "has no value; give it one or remove the key")
		return
	}
	d.value(value, v, path, f.rules, last)
}

// hide keeps lines out of the excerpts of later problems.
func (d *decoder) hide(first, last int) {
	for line := first; line <= min(last, len(d.s.lines)); line++ {
		d.s.hidden[line] = true
	}
}

func isEmpty(n *yaml.Node) bool {
	n = resolve(n)
	return n.Kind == yaml.ScalarNode && n.Tag == "!!null"
}

func (d *decoder) mapping(n *yaml.Node, v reflect.Value, path Path, r rules, last int) {
	t := v.Type()
	out := reflect.MakeMap(t)
	d.pairs(n, path, last, func(key, value *yaml.Node, last int) {
		element := reflect.New(t.Elem()).Elem()
		if isEmpty(value) && needsValue(element) {
			d.s.problem(CodeType, key, path.In(key.Value), "has no value; write \"\" if it is to be empty")
			return
		}
		d.value(value, element, path.In(key.Value), r, last)
		out.SetMapIndex(reflect.ValueOf(key.Value).Convert(t.Key()), element)
	})
	v.Set(out)
}

func (d *decoder) list(n *yaml.Node, v reflect.Value, path Path, r rules, last int) {
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		end := last
		if i+1 < len(n.Content) {
			end = max(item.Line, n.Content[i+1].Line-1)
		}
		d.value(item, out.Index(i), path.In(strconv.Itoa(i)), r, end)
	}
	v.Set(out)
}

// needsValue says whether null means nothing for v.
func needsValue(v reflect.Value) bool { return v.Kind() == reflect.Pointer || isScalar(v) }

// isScalar says whether v takes a single value.
func isScalar(v reflect.Value) bool {
	if _, ok := textUnmarshaler(v); ok {
		return true
	}
	switch v.Kind() {
	case reflect.String, reflect.Bool, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	case reflect.Struct, reflect.Map, reflect.Slice:
		return false
	default:
		panic(fmt.Sprintf("yamlx: cannot decode into %s", v.Type())) // a defect of the caller's types
	}
}

func textUnmarshaler(v reflect.Value) (encoding.TextUnmarshaler, bool) {
	if !v.CanAddr() {
		return nil, false
	}
	u, ok := v.Addr().Interface().(encoding.TextUnmarshaler)
	return u, ok
}

func isDuration(v reflect.Value) bool { return v.Type() == reflect.TypeFor[time.Duration]() }
func isSize(v reflect.Value) bool     { return v.Type() == reflect.TypeFor[Size]() }
func isText(v reflect.Value) bool     { return v.Type() == reflect.TypeFor[Text]() }
