package syntax

import (
	"bytes"
	"slices"
	"strings"

	"durward"
)

// Field is a key with what is to be written under it: a string, a bool, a list
// of strings, or Fields.
type Field struct {
	Key   string
	Value any
}

// Fields are the keys of an object, in the order in which they are written.
type Fields []Field

// Node returns the tree that a written value would be read as.
func (fs Fields) Node() *Node {
	n := &Node{Kind: Object}
	for _, f := range fs {
		n.Members = append(n.Members, Member{Name: f.Key, Value: nodeOf(f.Value)})
	}
	return n
}

func nodeOf(value any) *Node {
	switch v := value.(type) {
	case string:
		return &Node{Kind: Text, Text: v}
	case bool:
		n := &Node{Kind: Bool, Text: "false"}
		if v {
			n.Text = "true"
		}
		return n
	case []string:
		n := &Node{Kind: List}
		for _, s := range v {
			n.Elems = append(n.Elems, nodeOf(s))
		}
		return n
	case Fields:
		return v.Node()
	}
	return &Node{}
}

// Taken is what [Remove] took out of a file: it can be put back with [Restore].
type Taken struct {
	Name string `json:"name"`
	Text string `json:"text"` // as it stood in the file
}

// Insert writes a new key at the end of the object at path. Objects that are
// missing on the way are made; the key itself must not be there yet. Errors are
// durward.Invalid: the file is broken, or something on the way is no object.
func Insert(f Format, data []byte, path []string, key string, value Fields) ([]byte, error) {
	if f == TOML {
		return insertTOML(data, path, key, value)
	}
	return insertJSON(data, path, key, func(s style, l layout) string { return s.render(value, l) })
}

// Restore puts back, at the end of the object at path, what Remove took out.
func Restore(f Format, data []byte, path []string, taken Taken) ([]byte, error) {
	if f == TOML {
		return restoreTOML(data, path, taken)
	}
	return insertJSON(data, path, taken.Name, func(style, layout) string { return taken.Text })
}

// Remove takes keys out of the object at path; keys that are not there are not
// missed. Comments stay.
func Remove(f Format, data []byte, path, keys []string) ([]byte, []Taken, error) {
	if f == TOML {
		return removeTOML(data, path, keys)
	}
	return removeJSON(data, path, keys)
}

// SetBool sets a key of the object at path, which must be there.
func SetBool(f Format, data []byte, path []string, key string, value bool) ([]byte, error) {
	if f == TOML {
		return setBoolTOML(data, path, key, value)
	}
	root, bad := parseJSON(data)
	if bad != nil {
		return nil, broken(data, bad)
	}
	if old := root.At(path).Get(key); old != nil {
		return splice(data, []edit{{old.Start, old.End, nodeOf(value).Text}}), nil
	}
	return insertJSON(data, path, key, func(style, layout) string { return nodeOf(value).Text })
}

// edit replaces the bytes from start to end.
type edit struct {
	start, end int
	text       string
}

// splice applies edits, which must not overlap.
func splice(data []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		out.Write(data[at:e.start])
		out.WriteString(e.text)
		at = e.end
	}
	out.Write(data[at:])
	return out.Bytes()
}

func broken(data []byte, bad *Fault) error {
	line, column := NewLines(data).Position(bad.Offset)
	return durward.Errorf(durward.Invalid, "", "line %d, column %d: %s", line, column, bad.Message)
}

func notObject(data []byte, path []string, n *Node) error {
	line, column := NewLines(data).Position(n.Start)
	return durward.Errorf(durward.Invalid, "", "line %d, column %d: %q is %s where an object of servers belongs; correct it first",
		line, column, strings.Join(path, "."), n.Kind)
}

// newline returns the line break that a file uses.
func newline(data []byte) string {
	if bytes.Contains(data, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// isBlank reports whether a file holds nothing but white space.
func isBlank(data []byte) bool { return len(bytes.Trim(withoutMark(data), " \t\r\n")) == 0 }

// indentBefore returns the white space between the start of the line and an
// offset, and whether there is nothing else.
func indentBefore(data []byte, offset int) (string, bool) {
	start := offset
	for start > 0 && (data[start-1] == ' ' || data[start-1] == '\t') {
		start--
	}
	return string(data[start:offset]), start == 0 || data[start-1] == '\n'
}

// lineStart returns the offset of the line that offset is in.
func lineStart(data []byte, offset int) int { return bytes.LastIndexByte(data[:offset], '\n') + 1 }

// lineEnd returns the offset after the line break of the line that offset is in.
func lineEnd(data []byte, offset int) int {
	if n := bytes.IndexByte(data[offset:], '\n'); n >= 0 {
		return offset + n + 1
	}
	return len(data)
}
