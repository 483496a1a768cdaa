package yamlx

import (
	"encoding/json"
	"strconv"

	"go.yaml.in/yaml/v4"
)

// Any is a value of any shape. Decode leaves it alone; [Source.JSON] reads it.
type Any struct{}

// JSON returns the value at path as JSON, for values whose shape is others' business.
// Keys keep their order. ok is false if there is no such value, or if it has no
// equivalent (a key that is no text or is there twice, a number such as .inf, a
// tag, an alias within itself); the problem is reported then.
func (s *Source) JSON(path Path) (out []byte, ok bool) {
	_, value := s.find(path)
	if value == nil {
		return nil, false
	}
	w := jsonWriter{d: decoder{s: s, budget: s.limits.Nodes, active: make(map[*yaml.Node]bool)}}
	before := s.Count()
	w.value(value, path)
	return w.out, s.Count() == before
}

// jsonWriter writes nodes as JSON.
type jsonWriter struct {
	d   decoder
	out []byte
}

func (w *jsonWriter) value(n *yaml.Node, path Path) {
	if n = resolve(n); !w.d.admit(n, path) {
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		w.d.active[n] = true
		defer delete(w.d.active, n)
		w.mapping(n, path)
	case yaml.SequenceNode:
		w.d.active[n] = true
		defer delete(w.d.active, n)
		w.out = append(w.out, '[')
		for i, item := range n.Content {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			w.value(item, path.In(strconv.Itoa(i)))
		}
		w.out = append(w.out, ']')
	default:
		w.scalar(n, path)
	}
}

func (w *jsonWriter) mapping(n *yaml.Node, path Path) {
	w.out = append(w.out, '{')
	first := true
	w.d.pairs(n, path, len(w.d.s.lines), func(key, value *yaml.Node, _ int) {
		if !first {
			w.out = append(w.out, ',')
		}
		first = false
		w.text(key.Value)
		w.out = append(w.out, ':')
		w.value(value, path.In(key.Value))
	})
	w.out = append(w.out, '}')
}

func (w *jsonWriter) scalar(n *yaml.Node, path Path) {
	switch n.Tag {
	case "!!null":
		w.out = append(w.out, "null"...)
	case "!!bool":
		w.out = append(w.out, strconv.FormatBool(n.Value == "true" || n.Value == "True" || n.Value == "TRUE")...)
	case "!!int", "!!float":
		if !json.Valid([]byte(n.Value)) {
			w.d.s.problem(CodeType, n, path, "must be a number as JSON has it, is %s; put it in quotes if it is a text", w.d.show(n))
			return
		}
		w.out = append(w.out, n.Value...)
	default:
		w.text(n.Value)
	}
}

func (w *jsonWriter) text(s string) {
	quoted, _ := json.Marshal(s) // a string always can be
	w.out = append(w.out, quoted...)
}
