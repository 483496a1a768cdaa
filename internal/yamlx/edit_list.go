package yamlx

import (
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Append adds an element to the list at path: block YAML of one or more lines that
// begin without indentation, such as a mapping with one key a line. A list that is
// absent, empty or null is made.
func (e *Editor) Append(path Path, value string) error {
	key, list := e.src.find(path)
	list = resolve(list)
	switch {
	case list == nil:
		return e.Insert(path, "- "+indented(value, 2))
	case len(list.Content) == 0 && (list.Tag == "!!null" || list.Kind == yaml.SequenceNode) && key != nil:
		return e.first(path, key, value)
	case list.Kind != yaml.SequenceNode:
		return e.conflict(path, "is no list")
	case list.Style&yaml.FlowStyle != 0:
		return e.conflict(path, "is written in brackets; write it as a block, one element a line")
	}
	dash := list.Column - 1
	last := list.Content[len(list.Content)-1]
	at := e.elementEnd(last.Line-1, dash)
	lines := make([]string, 0, len(e.lines)+8)
	lines = append(lines, e.lines[:at]...)
	lines = append(lines, strings.Split(strings.Repeat(" ", dash)+"- "+indented(value, dash+2), "\n")...)
	lines = append(lines, e.lines[at:]...)
	return e.accept(lines, path, func(above map[string]any, now any) {
		name := path[len(path)-1]
		before, _ := above[name].([]any)
		if after, ok := now.([]any); ok && len(after) == len(before)+1 && reflect.DeepEqual(before, after[:len(before)]) {
			above[name] = now // else what was there changed, too, and accept finds that
		}
	})
}

// first gives an empty list its first element.
func (e *Editor) first(path Path, key *yaml.Node, value string) error {
	line := key.Line - 1
	head := strings.TrimRight(strings.TrimSuffix(strings.TrimRight(e.lines[line], " "), "[]"), " ")
	if !strings.HasSuffix(head, ":") {
		return e.conflict(path, "cannot be changed in the way it is written; change it by hand")
	}
	indent := key.Column - 1 + 2
	lines := make([]string, 0, len(e.lines)+8)
	lines = append(lines, e.lines[:line]...)
	lines = append(lines, head)
	lines = append(lines, strings.Split(strings.Repeat(" ", indent)+"- "+indented(value, indent+2), "\n")...)
	lines = append(lines, e.lines[line+1:]...)
	return e.accept(lines, path, nil)
}

// indented moves all lines of a text but the first to the right.
func indented(text string, by int) string {
	rows := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 1; i < len(rows); i++ {
		if rows[i] != "" {
			rows[i] = strings.Repeat(" ", by) + rows[i]
		}
	}
	return strings.Join(rows, "\n")
}

// elementEnd returns the index of the line after the element of a list whose dash
// is at column dash and that has a line at first.
func (e *Editor) elementEnd(first, dash int) int {
	end := first + 1
	for i := end; i < len(e.lines); i++ {
		line := e.lines[i]
		at := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case strings.TrimSpace(line) == "":
			continue
		case at > dash:
			end = i + 1
		default:
			return end
		}
	}
	return end
}

// Len returns the number of elements of the list at path; 0 if there is none.
func (e *Editor) Len(path Path) int {
	n := 0
	for e.Has(path.In(strconv.Itoa(n))) {
		n++
	}
	return n
}
