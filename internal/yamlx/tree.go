package yamlx

import "go.yaml.in/yaml/v4"

// Kind is the kind of a [Value].
type Kind uint8

// The kinds.
const (
	Single  Kind = iota // a text, number, truth value or null
	List                // Items
	Mapping             // Keys and, in the same order, Items
)

// Value is a part of a document whose shape is not known beforehand: formats of
// others, whose keys are data. What has a known shape is read with [Source.Decode].
type Value struct {
	Kind Kind
	// Type of a single value: "text", "number", "truth" or "null"; what stands in
	// quotes is a text.
	Type         string
	Text         string // of a single value, as it is meant: quotes and escapes are resolved
	Keys         []Value
	Items        []Value
	Line, Column int // from 1
}

// Get returns the member called key of a mapping; nil if there is none.
func (v *Value) Get(key string) *Value {
	for i := range v.Keys {
		if v.Keys[i].Text == key {
			return &v.Items[i]
		}
	}
	return nil
}

// Tree returns the whole document. What is not strict YAML is reported: duplicate
// and merge keys, keys that are no single value, tags, aliases. It is nil if the
// document has a problem.
func (s *Source) Tree() *Value {
	if s.root == nil {
		return nil
	}
	t := treeReader{s: s, budget: s.limits.Nodes}
	v := t.value(s.root, nil)
	if s.Err() != nil {
		return nil
	}
	return &v
}

type treeReader struct {
	s      *Source
	budget int
}

func (t *treeReader) value(n *yaml.Node, path Path) Value {
	v := Value{Line: max(n.Line, 1), Column: max(n.Column, 1)}
	t.budget--
	switch {
	case t.budget == 0:
		t.s.fault(CodeSize, v.Line, v.Column, 1, "the document has more than %d values", t.s.limits.Nodes)
		return v
	case t.budget < 0:
		return v
	case n.Kind == yaml.AliasNode:
		t.s.problem(CodeAlias, n, path, "aliases are not supported here; write the value out")
		return v
	case n.Style&yaml.TaggedStyle != 0:
		t.s.problem(CodeTag, n, path, "the tag %s is not permitted; remove it", n.Tag)
		return v
	}
	switch n.Kind {
	case yaml.MappingNode:
		v.Kind = Mapping
		t.mapping(n, path, &v)
	case yaml.SequenceNode:
		v.Kind = List
		for _, item := range n.Content {
			v.Items = append(v.Items, t.value(item, path))
		}
	default:
		v.Text, v.Type = n.Value, typeOf(n)
	}
	return v
}

func (t *treeReader) mapping(n *yaml.Node, path Path, v *Value) {
	d := decoder{s: t.s}
	d.pairs(n, path, len(t.s.lines), func(key, value *yaml.Node, _ int) {
		v.Keys = append(v.Keys, Value{Type: "text", Text: key.Value, Line: key.Line, Column: key.Column})
		v.Items = append(v.Items, t.value(value, path.In(key.Value)))
	})
}

func typeOf(n *yaml.Node) string {
	switch n.Tag {
	case "!!null":
		return "null"
	case "!!bool":
		return "truth"
	case "!!int", "!!float":
		return "number"
	default:
		return "text"
	}
}
