package syntax

import (
	"bytes"
	"slices"
	"strings"
)

// style is how a JSON file is laid out.
type style struct {
	newline string
	unit    string // one step of indentation
	dense   bool   // everything on one line
}

// layout is how the members of one object are laid out.
type layout struct {
	multi  bool   // each on its own line
	indent string // before a member
	base   string // before the closing brace
}

func styleOf(data []byte, root *Node) style {
	s := style{newline: newline(data), unit: "  "}
	if root == nil || len(root.Members) == 0 {
		return s
	}
	indent, own := indentBefore(data, root.Members[0].Start)
	s.dense = !own
	if own && indent != "" {
		s.unit = indent
	}
	return s
}

func (s style) layoutOf(data []byte, obj *Node) layout {
	if len(obj.Members) == 0 {
		return s.nested(data, obj.Start)
	}
	last := obj.Members[len(obj.Members)-1]
	indent, own := indentBefore(data, last.Start)
	if !own {
		return layout{}
	}
	base, closes := indentBefore(data, obj.End-1)
	if !closes {
		base = strings.TrimSuffix(indent, s.unit)
	}
	return layout{multi: true, indent: indent, base: base}
}

// nested is the layout of an object that begins at an offset and has no members yet.
func (s style) nested(data []byte, offset int) layout {
	if s.dense {
		return layout{}
	}
	start := lineStart(data, offset)
	line := data[start:offset]
	base := string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
	return layout{multi: true, indent: base + s.unit, base: base}
}

// below is the layout of the object that is the value of a member laid out by l.
func (s style) below(l layout) layout {
	return layout{multi: l.multi, indent: l.indent + s.unit, base: l.indent}
}

// render writes a value as the value of a member laid out by l.
func (s style) render(value any, l layout) string {
	switch v := value.(type) {
	case string:
		return QuoteJSON(v)
	case []string:
		quoted := make([]string, len(v))
		for i, text := range v {
			quoted[i] = QuoteJSON(text)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	case Fields:
		in := s.below(l)
		parts := make([]string, len(v))
		for i, f := range v {
			parts[i] = QuoteJSON(f.Key) + ": " + s.render(f.Value, in)
		}
		switch {
		case len(v) == 0:
			return "{}"
		case l.multi:
			gap := s.newline + in.indent
			return "{" + gap + strings.Join(parts, ","+gap) + s.newline + in.base + "}"
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return nodeOf(value).Text
}

// insertJSON writes a key whose value is rendered for its place.
func insertJSON(data []byte, path []string, key string, value func(style, layout) string) ([]byte, error) {
	if isBlank(data) {
		s := style{newline: newline(data), unit: "  "}
		text := s.wrap(path, key, value, layout{multi: true, base: ""})
		return slices.Concat(bytes.TrimRight(data, " \t\r\n"), []byte(text+s.newline)), nil
	}
	root, bad := parseJSON(data)
	if bad != nil {
		return nil, broken(data, bad)
	}
	s := styleOf(data, root)
	obj := root
	for i, name := range path {
		next := obj.Get(name)
		switch {
		case obj.Kind != Object:
			return nil, notObject(data, path[:i], obj)
		case next == nil:
			l := s.layoutOf(data, obj)
			return s.add(data, obj, QuoteJSON(name)+": "+s.wrap(path[i+1:], key, value, s.below(l))), nil
		case next.Kind == Null:
			l := s.nested(data, next.Start)
			return splice(data, []edit{{next.Start, next.End, s.wrap(path[i+1:], key, value, l)}}), nil
		}
		obj = next
	}
	if obj.Kind != Object {
		return nil, notObject(data, path, obj)
	}
	l := s.layoutOf(data, obj)
	return s.add(data, obj, QuoteJSON(key)+": "+value(s, l)), nil
}

// wrap writes a new object, laid out by l, that holds objects for path with the
// key in the innermost.
func (s style) wrap(path []string, key string, value func(style, layout) string, l layout) string {
	if l.multi && l.indent == "" {
		l.indent = l.base + s.unit
	}
	var inner string
	if len(path) == 0 {
		inner = QuoteJSON(key) + ": " + value(s, l)
	} else {
		inner = QuoteJSON(path[0]) + ": " + s.wrap(path[1:], key, value, s.below(l))
	}
	if !l.multi {
		return "{" + inner + "}"
	}
	return "{" + s.newline + l.indent + inner + s.newline + l.base + "}"
}

// add writes a member at the end of an object that is there.
func (s style) add(data []byte, obj *Node, text string) []byte {
	l := s.layoutOf(data, obj)
	gap := ""
	if l.multi {
		gap = s.newline + l.indent
	}
	if len(obj.Members) == 0 {
		at := obj.Start + 1
		if l.multi {
			at = afterComment(data, at, obj.End-1)
			if !bytes.ContainsRune(data[at:obj.End-1], '\n') {
				text += s.newline + l.base
			}
		}
		return splice(data, []edit{{at, at, gap + text}})
	}
	if !l.multi {
		gap = " "
	}
	last := obj.Members[len(obj.Members)-1].Value.End
	comma := commaIn(data, last, obj.End-1)
	if comma < 0 {
		at := last
		if l.multi {
			at = afterComment(data, last, obj.End-1)
		}
		return splice(data, []edit{{last, last, ","}, {at, at, gap + text}})
	}
	at := comma + 1
	if l.multi {
		at = afterComment(data, at, obj.End-1)
	}
	return splice(data, []edit{{at, at, gap + text + ","}})
}

// afterComment moves past comments that stand on the same line, if the line
// ends after them; otherwise it stays.
func afterComment(data []byte, from, to int) int {
	at := from
	for at < to {
		switch data[at] {
		case ' ', '\t':
			at++
		case '/':
			at = skipComment(data, at)
			if at > from && data[at-1] == '\r' { // a line comment takes the \r of its line break
				return at - 1
			}
		case '\r', '\n':
			if onlySpace(data[from:at]) {
				return from
			}
			return at
		default:
			return from
		}
	}
	return from
}

func onlySpace(b []byte) bool { return len(bytes.Trim(b, " \t")) == 0 }

// commaIn finds the comma among the white space and comments of a gap, -1 if
// there is none.
func commaIn(data []byte, from, to int) int {
	for at := from; at < to; {
		switch data[at] {
		case ',':
			return at
		case '/':
			at = max(skipComment(data, at), at+1)
		default:
			at++
		}
	}
	return -1
}

// removeJSON takes members out, with their commas and the white space before them.
func removeJSON(data []byte, path, keys []string) ([]byte, []Taken, error) {
	root, bad := parseJSON(data)
	if bad != nil {
		return nil, nil, broken(data, bad)
	}
	obj := root.At(path)
	if obj == nil || obj.Kind != Object {
		return data, nil, nil
	}
	var edits []edit
	var taken []Taken
	kept, keptComma := -1, -1 // the last member that stays, and the comma after it
	commas, after := gaps(data, obj, keys)
	for i, m := range obj.Members {
		if !slices.Contains(keys, m.Name) {
			kept, keptComma = i, commas[i]
			continue
		}
		before := obj.Start + 1
		if i > 0 {
			before = obj.Members[i-1].Value.End
		}
		taken = append(taken, Taken{Name: m.Name, Text: string(data[m.Value.Start:m.Value.End])})
		edits = append(edits, edit{start: gapStart(data, before, m.Start, after[i]), end: m.Value.End})
		if commas[i] >= 0 {
			edits = append(edits, edit{start: commas[i], end: commas[i] + 1})
		}
	}
	if len(taken) == 0 {
		return data, nil, nil
	}
	if kept < 0 && onlySpaceAround(data, obj, edits) {
		return splice(data, []edit{{obj.Start + 1, obj.End - 1, ""}}), taken, nil
	}
	if commas[len(commas)-1] < 0 && keptComma >= 0 && kept < len(obj.Members)-1 {
		edits = append(edits, edit{start: keptComma, end: keptComma + 1})
	}
	return splice(data, edits), taken, nil
}

// gaps returns for each member where the comma after it is (-1: there is none),
// and where what is taken out ends: with the last of the members in a row that
// are taken out, and its comma.
func gaps(data []byte, obj *Node, keys []string) (commas, after []int) {
	n := len(obj.Members)
	commas, after = make([]int, n), make([]int, n)
	for i := n - 1; i >= 0; i-- {
		end := obj.End - 1
		if i+1 < n {
			end = obj.Members[i+1].Start
		}
		value := obj.Members[i].Value.End
		commas[i] = commaIn(data, value, end)
		if after[i] = max(commas[i]+1, value); i+1 < n && slices.Contains(keys, obj.Members[i+1].Name) {
			after[i] = after[i+1]
		}
	}
	return commas, after
}

// gapStart returns where the line break and the white space before a key begin.
// before is the end of what precedes, after the end of what is taken out. The
// line break stays where it ends a comment that would swallow what follows.
func gapStart(data []byte, before, key, after int) int {
	at := key
	for at > before && (data[at-1] == ' ' || data[at-1] == '\t') {
		at--
	}
	if at == before || data[at-1] != '\n' {
		return at
	}
	rest := bytes.TrimLeft(data[after:], " \t")
	ends := bytes.HasPrefix(rest, []byte("\n")) || bytes.HasPrefix(rest, []byte("\r\n"))
	if !ends && endsInComment(data, before, at-1) {
		return at
	}
	at--
	if at > before && data[at-1] == '\r' {
		at--
	}
	return at
}

// endsInComment reports whether the line break at an offset ends a comment.
func endsInComment(data []byte, from, at int) bool {
	for from < at {
		if data[from] != '/' {
			from++
			continue
		}
		line := from+1 < len(data) && data[from+1] == '/'
		from = max(skipComment(data, from), from+1)
		if line && from == at {
			return true
		}
	}
	return false
}

// onlySpaceAround reports whether an object holds nothing but the edits and white space.
func onlySpaceAround(data []byte, obj *Node, edits []edit) bool {
	at := obj.Start + 1
	for _, e := range edits {
		if len(bytes.TrimSpace(data[at:e.start])) > 0 {
			return false
		}
		at = e.end
	}
	return len(bytes.TrimSpace(data[at:obj.End-1])) == 0
}
