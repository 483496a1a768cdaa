package yamlx

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"durward"
)

// Editor changes a document as text: comments, order, quotes and layout of what
// is not changed stay as they are, byte for byte. A change that cannot be made in
// the way the document is written is an error of kind Conflict, says so, and
// changes nothing. It is not safe for concurrent use.
type Editor struct {
	name   string
	limits Limits
	mark   string // a byte order mark in front
	crlf   bool
	lines  []string
	src    *Source
}

// Edit starts to edit the document in data; name stands for it in messages. A
// document that is not sound YAML is refused with its [Problems].
func Edit(name string, data []byte, limits Limits) (*Editor, error) {
	e := &Editor{name: name, limits: limits}
	if rest, ok := bytes.CutPrefix(data, []byte("\ufeff")); ok {
		e.mark, data = "\ufeff", rest
	}
	text := string(data)
	if e.crlf = strings.Contains(text, "\r\n"); e.crlf {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	e.lines = strings.Split(text, "\n")
	e.src = Parse(name, []byte(text), limits)
	if err := e.src.Err(); err != nil {
		return nil, err
	}
	return e, nil
}

// Bytes returns the document as it is now.
func (e *Editor) Bytes() []byte {
	text := strings.Join(e.lines, "\n")
	if e.crlf {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return []byte(e.mark + text)
}

// Has says whether the document has a value at path, null included.
func (e *Editor) Has(path Path) bool { return e.src.Has(path) }

// Keys returns the keys of the mapping at path in the order of the document.
func (e *Editor) Keys(path Path) []string { return e.src.Keys(path) }

// Line returns the line of the key at path, from 1; 0 if there is none.
func (e *Editor) Line(path Path) int {
	line, _ := e.src.Where(path)
	return line
}

// Text returns the text of the single value at path; false if there is none.
func (e *Editor) Text(path Path) (string, bool) {
	_, value := e.src.find(path)
	value = resolve(value)
	if value == nil || value.Kind != yaml.ScalarNode {
		return "", false
	}
	return value.Value, true
}

// Rename gives the key at path another name.
func (e *Editor) Rename(path Path, name string) error {
	key, value := e.src.find(path)
	renamed := path[:len(path)-1].In(name)
	switch {
	case value == nil || key == nil:
		return e.conflict(path, "is not there")
	case e.Has(renamed):
		return e.conflict(path, "cannot be renamed, as %s is there already", renamed)
	}
	lines := slices.Clone(e.lines)
	e.replace(lines, key, Quote(name))
	return e.accept(lines, path, func(above map[string]any, _ any) {
		above[name] = above[path[len(path)-1]]
		delete(above, path[len(path)-1])
	})
}

// Set makes text the value at path, which must be a single value on one line.
func (e *Editor) Set(path Path, text string) error {
	_, value := e.src.find(path)
	if value == nil || value.Kind != yaml.ScalarNode || value.Value == "" && value.Style == 0 {
		return e.conflict(path, "is no single value")
	}
	lines := slices.Clone(e.lines)
	e.replace(lines, value, text)
	return e.accept(lines, path, nil)
}

// replace writes text over the scalar n, which is on one line; accept finds out
// when it was not.
func (e *Editor) replace(lines []string, n *yaml.Node, text string) {
	line := []rune(lines[n.Line-1])
	from := n.Column - 1
	to := min(len(line), from+e.src.width(n, n.Line, n.Column))
	lines[n.Line-1] = string(line[:from]) + text + string(line[to:])
}

// Remove removes the key at path with its value and the comment right above it.
func (e *Editor) Remove(path Path) error {
	key, value := e.src.find(path)
	if value == nil || key == nil {
		return e.conflict(path, "is not there")
	}
	indent := key.Column - 1
	first := key.Line - 1
	if strings.TrimSpace(string([]rune(e.lines[first])[:indent])) != "" {
		return e.conflict(path, "shares its line with others; remove it by hand")
	}
	last := e.blockEnd(first, indent)
	for first > 0 && isComment(e.lines[first-1], indent) {
		first--
	}
	lines := slices.Delete(slices.Clone(e.lines), first, last)
	if above := path[:len(path)-1]; len(e.src.Keys(above)) == 1 && len(above) > 0 {
		return e.Remove(above) // an empty mapping would be left
	}
	return e.accept(lines, path, func(above map[string]any, _ any) { delete(above, path[len(path)-1]) })
}

// blockEnd returns the index of the line after the block that begins at first
// with a key at indent; blank lines and comments behind it are not part of it.
func (e *Editor) blockEnd(first, indent int) int {
	end := first + 1
	for i := end; i < len(e.lines); i++ {
		line := e.lines[i]
		at := len(line) - len(strings.TrimLeft(line, " "))
		rest := line[at:]
		switch {
		case strings.TrimSpace(rest) == "":
			continue
		case at > indent, at == indent && (rest == "-" || strings.HasPrefix(rest, "- ")):
			end = i + 1
		default:
			return end
		}
	}
	return end
}

func isComment(line string, indent int) bool {
	return len(line) > indent && strings.TrimSpace(line[:indent]) == "" && line[indent] == '#'
}

// Insert adds a key with its value, block YAML of one or more lines that begin
// without indentation, as the last of the mapping it belongs to. Mappings on the
// way that are absent are made.
func (e *Editor) Insert(path Path, value string) error {
	if e.Has(path) {
		return e.conflict(path, "is there already")
	}
	depth := len(path) - 1
	for depth > 0 && !e.Has(path[:depth]) {
		depth--
	}
	key, above := e.src.find(path[:depth])
	above = resolve(above)
	end, indent, err := e.room(path[:depth], key, above)
	if err != nil {
		return err
	}
	lines := slices.Clone(e.lines)
	if key != nil && len(above.Content) == 0 { // "servers:" or "servers: {}" gets its first key
		lines[key.Line-1] = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(lines[key.Line-1], " "), "{}"), " ")
	}
	lines = slices.Insert(lines, end, block(path[depth:], value, indent)...)
	return e.accept(lines, path, nil)
}

// room finds where a mapping takes another key: the line before which, and the indentation.
func (e *Editor) room(path Path, key, above *yaml.Node) (end, indent int, err error) {
	empty := len(above.Content) == 0 && (above.Kind == yaml.MappingNode || above.Tag == "!!null")
	switch {
	case above.Kind == yaml.MappingNode && above.Style&yaml.FlowStyle == 0 && !empty:
		first := above.Content[0]
		indent = first.Column - 1
		last := above.Content[len(above.Content)-2]
		return e.blockEnd(last.Line-1, indent), indent, nil
	case empty && key != nil:
		return key.Line, key.Column - 1 + 2, nil
	default:
		return 0, 0, e.conflict(path, "is written in braces; write it as a block, one key a line")
	}
}

// block renders path: value as lines.
func block(path Path, value string, indent int) []string {
	var lines []string
	for i, step := range path[:len(path)-1] {
		lines = append(lines, strings.Repeat(" ", indent+2*i)+Quote(step)+":")
	}
	indent += 2 * (len(path) - 1)
	head := strings.Repeat(" ", indent) + Quote(path[len(path)-1]) + ":"
	rows := strings.Split(strings.TrimRight(value, "\n"), "\n")
	if len(rows) == 1 && !keyed.MatchString(rows[0]) {
		return append(lines, head+" "+rows[0])
	}
	lines = append(lines, head)
	for _, row := range rows {
		if row != "" {
			row = strings.Repeat(" ", indent+2) + row
		}
		lines = append(lines, row)
	}
	return lines
}

// keyed is a line that begins a mapping or a list.
var keyed = regexp.MustCompile(`^(- |[A-Za-z0-9_-]+:( |$)|"(\\.|[^"\\])*":( |$))`)

// accept takes the lines if what they mean differs from what the document meant
// in what was wanted and in nothing else; otherwise nothing is changed. change
// does to the mapping above path what was wanted; nil: path has the value that
// the lines give it, whatever that is.
func (e *Editor) accept(lines []string, path Path, change func(above map[string]any, value any)) error {
	src := Parse(e.name, []byte(strings.Join(lines, "\n")), e.limits)
	if src.Err() != nil || src.root == nil {
		return e.conflict(path, "cannot be changed in the way it is written; change it by hand")
	}
	budget := e.src.limits.Nodes
	want, okWant := meaning(e.src.root, &budget)
	got, okGot := meaning(src.root, &budget)
	if change == nil {
		change = func(above map[string]any, value any) { above[path[len(path)-1]] = value }
	}
	value, there := at(got, path)
	if !okWant || !okGot || !there && src.Has(path) {
		return e.conflict(path, "cannot be changed safely: the document repeats keys, or refers to itself; change it by hand")
	}
	if want = changed(want, path, value, change); !reflect.DeepEqual(want, got) {
		return e.conflict(path, "cannot be changed without changing something else too; change it by hand")
	}
	e.lines, e.src = lines, src
	return nil
}

// single is what a scalar means.
type single struct{ tag, text string }

// meaning is the value of a node: map[string]any, []any or single. It is not ok
// for a document that repeats keys, contains itself or is larger than budget.
func meaning(n *yaml.Node, budget *int) (value any, ok bool) {
	n = resolve(n)
	if *budget--; *budget < 0 {
		return nil, false
	}
	switch n.Kind {
	case yaml.MappingNode:
		out := make(map[string]any)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			_, twice := out[key.Value]
			member, sound := meaning(n.Content[i+1], budget)
			if twice || !sound || key.Kind != yaml.ScalarNode {
				return nil, false
			}
			out[key.Value] = member
		}
		return out, true
	case yaml.SequenceNode:
		out := make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			member, sound := meaning(item, budget)
			if !sound {
				return nil, false
			}
			out = append(out, member)
		}
		return out, true
	default:
		return single{n.Tag, n.Value}, true
	}
}

// at returns what is at path.
func at(value any, path Path) (any, bool) {
	for _, step := range path {
		switch x := value.(type) {
		case map[string]any:
			below, ok := x[step]
			if !ok {
				return nil, false
			}
			value = below
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(x) {
				return nil, false
			}
			value = x[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// changed returns value with the change made at path. Mappings on the way that
// are not there, or empty, are made.
func changed(value any, path Path, with any, change func(map[string]any, any)) any {
	if list, ok := value.([]any); ok {
		if i, err := strconv.Atoi(path[0]); err == nil && i >= 0 && i < len(list) {
			if len(path) == 1 {
				list[i] = with
			} else {
				list[i] = changed(list[i], path[1:], with, change)
			}
		}
		return list
	}
	above, ok := value.(map[string]any)
	if !ok {
		above = make(map[string]any)
	}
	if len(path) == 1 {
		change(above, with)
	} else {
		above[path[0]] = changed(above[path[0]], path[1:], with, change)
	}
	return above
}

func (e *Editor) conflict(path Path, format string, args ...any) error {
	err := durward.Errorf(durward.Conflict, e.name, format, args...)
	err.Message = path.String() + " " + err.Message
	return err
}

// plain is what needs no quotes and is never taken for something else.
var plain = regexp.MustCompile(`^[A-Za-z_./][A-Za-z0-9_./-]*$`)

// Quote writes text as a YAML scalar on one line, with quotes if it needs them.
func Quote(text string) string {
	if plain.MatchString(text) && !isWord(text) {
		return text
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		panic(errors.Join(errors.New("yamlx: a text did not encode"), err)) // it always does
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// isWord says whether some version of YAML takes the text for a truth value or null.
func isWord(text string) bool {
	return slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null", ".nan", ".inf"}, strings.ToLower(text))
}
