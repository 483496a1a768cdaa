package syntax

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlDoc is a TOML file: what it says, and the expressions that say it.
type tomlDoc struct {
	data  []byte
	root  *Node
	exprs []tomlExpr
	keys  int
	index map[*Node]map[string]*Node // the members of a node by name, while it is built
}

// tomlExpr is a header or a key with its value.
type tomlExpr struct {
	header     bool     // [a.b] or [[a.b]]
	path       []string // from the root; of an element of an array of tables, without the index
	start, end int      // without white space and comments around it
	value      *Node    // nil of a header
}

// maxKeys bounds the keys and tables of a TOML file: the decoder's time grows
// with their square.
const maxKeys = 10_000

// parseTOML reads a TOML file. The library's parser, which has no stable
// interface, gives the places; its decoder judges whether the file is valid.
func parseTOML(data []byte) (*tomlDoc, *Fault) {
	data = withoutMark(data)
	d := &tomlDoc{data: data, root: &Node{Kind: Object, End: len(data)}, index: map[*Node]map[string]*Node{}}
	p := &unstable.Parser{}
	p.Reset(data)
	table, path := d.root, []string(nil)
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			keys, bad := tomlKeys(e)
			if bad != nil {
				return nil, bad
			}
			path = names(keys)
			start, end := headerExtent(data, keys)
			table = d.table(d.root, keys, start, e.Kind == unstable.ArrayTable)
			d.exprs = append(d.exprs, tomlExpr{header: true, path: path, start: start, end: end})
		case unstable.KeyValue:
			if bad := d.keyValue(table, path, e); bad != nil {
				return nil, bad
			}
		}
		if d.keys++; d.keys > maxKeys {
			return nil, &Fault{CodeSize, 0, fmt.Sprintf("the file has more keys and tables than the limit of %d; it is hardly a list of servers", maxKeys)}
		}
	}
	var all map[string]any
	if err := toml.Unmarshal(data, &all); err != nil {
		return nil, tomlFault(data, err)
	}
	if err := p.Error(); err != nil {
		return nil, tomlFault(data, err)
	}
	d.index = nil
	return d, nil
}

func tomlFault(data []byte, err error) *Fault {
	bad := &Fault{Code: CodeSyntax, Message: "the file is not TOML: " + strings.TrimPrefix(err.Error(), "toml: ")}
	var at *toml.DecodeError
	if errors.As(err, &at) {
		line, column := at.Position()
		bad.Offset = offsetOf(data, line, column)
	}
	if hint := hintTOML(data, bad.Offset); hint != "" {
		bad.Message = hint
	}
	return bad
}

// hintTOML explains the commonest mistakes better than the library does.
func hintTOML(data []byte, offset int) string {
	start, end := lineStart(data, offset), lineEnd(data, offset)
	line := string(data[start:end])
	key, value, pair := strings.Cut(line, "=")
	value = strings.TrimSpace(value)
	switch {
	case strings.HasPrefix(line, "<<<<<<<"), strings.HasPrefix(line, "======="), strings.HasPrefix(line, ">>>>>>>"):
		return "the file holds the marks of a merge conflict; settle it first"
	case strings.HasPrefix(strings.TrimSpace(line), "//"):
		return "comments begin with # in TOML, not with //"
	case strings.HasPrefix(strings.TrimSpace(line), "{"):
		return "the file looks like JSON, but this client keeps TOML"
	case pair && value != "" && isLetter(value[0]) && strings.TrimSpace(key) != "" && !strings.ContainsAny(key, `"'[`):
		return "text stands in quotes"
	case pair && value == "":
		return "a value is missing after the ="
	case pair && strings.HasPrefix(value, `"`) && strings.Contains(value, `\`):
		return `a backslash is written \\ within "…"; or write the text in single quotes, as in 'C:\Users\me'`
	}
	return ""
}

// offsetOf turns a position with a column in bytes into an offset.
func offsetOf(data []byte, line, column int) int {
	l := NewLines(data)
	line = min(max(line, 1), len(l.starts))
	return min(l.starts[line-1]+max(column-1, 0), len(data))
}

func tomlKeys(e *unstable.Node) ([]Member, *Fault) {
	var out []Member
	for it := e.Key(); it.Next(); {
		k := it.Node()
		if len(out) == MaxDepth {
			return nil, tooNested(int(k.Raw.Offset))
		}
		out = append(out, Member{Name: string(k.Data), Start: int(k.Raw.Offset), End: int(k.Raw.Offset + k.Raw.Length)})
	}
	return out, nil
}

func tooNested(offset int) *Fault {
	return &Fault{CodeSize, offset, fmt.Sprintf("lists and tables are nested deeper than the limit of %d", MaxDepth)}
}

func names(keys []Member) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = k.Name
	}
	return out
}

// headerExtent returns where the brackets around the keys of a header are.
func headerExtent(data []byte, keys []Member) (start, end int) {
	start, end = keys[0].Start, keys[len(keys)-1].End
	for start > 0 && data[start-1] != '\n' {
		start--
	}
	for data[start] != '[' {
		start++
	}
	for end < len(data) && (data[end] == ' ' || data[end] == '\t') {
		end++
	}
	for end < len(data) && data[end] == ']' {
		end++
	}
	return start, end
}

// add puts a member at the end of a node.
func (d *tomlDoc) add(n *Node, m Member) {
	n.Members = append(n.Members, m)
	if d.index[n] == nil {
		d.index[n] = map[string]*Node{}
	}
	d.index[n][m.Name] = m.Value
}

// table returns the object at the end of keys below n, made where it is missing.
func (d *tomlDoc) table(n *Node, keys []Member, start int, array bool) *Node {
	for i, k := range keys {
		next := d.index[n][k.Name]
		last := i == len(keys)-1
		if next == nil {
			next = &Node{Kind: Object, Start: start, End: k.End}
			if array && last {
				next.Kind = List
			}
			d.add(n, Member{Name: k.Name, Start: k.Start, End: k.End, Value: next})
		}
		if next.Kind == List {
			if array && last || len(next.Elems) == 0 {
				next.Elems = append(next.Elems, &Node{Kind: Object, Start: start, End: k.End})
			}
			next = next.Elems[len(next.Elems)-1]
		}
		n = next
	}
	return n
}

func (d *tomlDoc) keyValue(table *Node, path []string, e *unstable.Node) *Fault {
	keys, bad := tomlKeys(e)
	if bad != nil {
		return bad
	}
	start, end := int(e.Raw.Offset), int(e.Raw.Offset+e.Raw.Length)
	value, bad := d.value(e.Value(), keys[len(keys)-1].End, end, 0)
	if bad != nil {
		return bad
	}
	last := keys[len(keys)-1]
	d.add(d.table(table, keys[:len(keys)-1], start, false), Member{Name: last.Name, Start: last.Start, End: last.End, Value: value})
	d.exprs = append(d.exprs, tomlExpr{path: slices.Concat(path, names(keys)), start: start, end: end, value: value})
	return nil
}

// value converts a value that lies between the offsets: the parser knows the
// places of scalars and of keys, not of lists and inline tables.
func (d *tomlDoc) value(v *unstable.Node, from, to, depth int) (*Node, *Fault) {
	if depth > MaxDepth {
		return nil, tooNested(from)
	}
	for from < to && bytes.IndexByte([]byte(" \t=\r\n"), d.data[from]) >= 0 {
		from++
	}
	n := &Node{Start: from, End: to, Text: string(v.Data)}
	switch v.Kind {
	case unstable.String:
		n.Kind = Text
	case unstable.Bool:
		n.Kind = Bool
	case unstable.Array:
		n.Kind, n.Text = List, ""
		return n, d.list(n, v, depth)
	case unstable.InlineTable:
		n.Kind, n.Text = Object, ""
		return n, d.inline(n, v, depth)
	default:
		n.Kind = Number
	}
	return n, nil
}

func (d *tomlDoc) list(n *Node, v *unstable.Node, depth int) *Fault {
	for it := v.Children(); it.Next(); {
		c := it.Node()
		from, to := n.Start, n.End
		if c.Raw.Length > 0 && c.Kind != unstable.InlineTable {
			from, to = int(c.Raw.Offset), int(c.Raw.Offset+c.Raw.Length)
		}
		elem, bad := d.value(c, from, to, depth+1)
		if bad != nil {
			return bad
		}
		n.Elems = append(n.Elems, elem)
	}
	return nil
}

func (d *tomlDoc) inline(n *Node, v *unstable.Node, depth int) *Fault {
	for it := v.Children(); it.Next(); {
		c := it.Node()
		if c.Kind != unstable.KeyValue {
			continue
		}
		if d.keys++; d.keys > maxKeys {
			return nil // the caller says so
		}
		keys, bad := tomlKeys(c)
		if bad != nil {
			return bad
		}
		last := keys[len(keys)-1]
		value, bad := d.value(c.Value(), last.End, int(c.Raw.Offset+c.Raw.Length), depth+1)
		if bad != nil {
			return bad
		}
		d.add(d.table(n, keys[:len(keys)-1], keys[0].Start, false), Member{Name: last.Name, Start: last.Start, End: last.End, Value: value})
	}
	return nil
}

// quoteTOML writes a text as a basic string. JSON's escapes are TOML's, except
// that TOML also wants DEL escaped.
func quoteTOML(text string) string {
	out := QuoteJSON(text)
	return string(bytes.ReplaceAll([]byte(out), []byte("\x7f"), []byte(`\u007F`)))
}

// keyTOML writes a key, in quotes if it needs them.
func keyTOML(name string) string {
	for _, r := range name {
		bare := r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !bare {
			return quoteTOML(name)
		}
	}
	if name == "" {
		return strconv.Quote(name)
	}
	return name
}
