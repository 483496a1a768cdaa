package syntax

import (
	"bytes"
	"slices"
	"strings"

	"durward"
)

// insertTOML writes a table at the end of the file, or a key into the inline
// table that the object at path is written as.
func insertTOML(data []byte, path []string, key string, value Fields) ([]byte, error) {
	doc, bad := parseTOML(data)
	if bad != nil {
		return nil, broken(data, bad)
	}
	if n := doc.root.At(path); n != nil && n.Kind != Object {
		return nil, notObject(data, path, n)
	}
	if i := doc.inlineAt(path); i >= 0 {
		if !slices.Equal(doc.exprs[i].path, path) {
			return nil, inTheWay(data, doc.exprs[i])
		}
		return addInline(data, doc.exprs[i].value, keyTOML(key)+" = "+renderTOML(value)), nil
	}
	nl := newline(data)
	var b strings.Builder
	b.WriteString("[" + joinTOML(append(slices.Clone(path), key)) + "]" + nl)
	for _, f := range value {
		b.WriteString(keyTOML(f.Key) + " = " + renderTOML(f.Value) + nl)
	}
	return appendTOML(data, b.String()), nil
}

// restoreTOML puts tables back: at the end of the file, or as a key of the inline
// table that the object at path is written as.
func restoreTOML(data []byte, path []string, taken Taken) ([]byte, error) {
	doc, bad := parseTOML(data)
	if bad != nil {
		return nil, broken(data, bad)
	}
	i := doc.inlineAt(path)
	if i < 0 {
		return appendTOML(data, taken.Text), nil
	}
	old, bad := parseTOML([]byte(taken.Text))
	if bad != nil || old.root.At(path).Get(taken.Name) == nil || !slices.Equal(doc.exprs[i].path, path) {
		return nil, inTheWay(data, doc.exprs[i])
	}
	text := tomlText(old.data, old.root.At(path).Get(taken.Name))
	return addInline(data, doc.exprs[i].value, keyTOML(taken.Name)+" = "+text), nil
}

// appendTOML writes tables at the end of a file, after an empty line.
func appendTOML(data []byte, text string) []byte {
	if len(data) == 0 {
		return []byte(text)
	}
	nl := newline(data)
	out := bytes.Clone(data)
	if out[len(out)-1] != '\n' {
		out = append(out, nl...)
	}
	return append(out, nl+text...)
}

// inlineAt returns the expression that writes the object at path, or one around
// it, as an inline table; -1 if there is none.
func (d *tomlDoc) inlineAt(path []string) int {
	return slices.IndexFunc(d.exprs, func(e tomlExpr) bool {
		return !e.header && e.value.Kind == Object && isPrefix(e.path, path)
	})
}

func isPrefix(prefix, path []string) bool {
	return len(prefix) <= len(path) && slices.Equal(prefix, path[:len(prefix)])
}

func inTheWay(data []byte, e tomlExpr) error {
	line, column := NewLines(data).Position(e.start)
	return durward.Errorf(durward.Invalid, "", "line %d, column %d: %q is an inline table, into which Durward cannot write; make it a table of its own: [%s]",
		line, column, strings.Join(e.path, "."), joinTOML(e.path))
}

// addInline writes a key at the end of an inline table.
func addInline(data []byte, table *Node, text string) []byte {
	closing := table.End - 1
	at := closing
	for at > table.Start+1 && bytes.IndexByte([]byte(" \t\r\n"), data[at-1]) >= 0 {
		at--
	}
	switch data[at-1] {
	case '{':
		text = " " + text
		if at == closing {
			text += " "
		}
	case ',':
		text = " " + text
	default:
		text = ", " + text
	}
	return splice(data, []edit{{at, at, text}})
}

func joinTOML(path []string) string {
	keys := make([]string, len(path))
	for i, name := range path {
		keys[i] = keyTOML(name)
	}
	return strings.Join(keys, ".")
}

func renderTOML(value any) string {
	switch v := value.(type) {
	case string:
		return quoteTOML(v)
	case []string:
		quoted := make([]string, len(v))
		for i, text := range v {
			quoted[i] = quoteTOML(text)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	case Fields:
		parts := make([]string, len(v))
		for i, f := range v {
			parts[i] = keyTOML(f.Key) + " = " + renderTOML(f.Value)
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	}
	return nodeOf(value).Text
}

// removeTOML takes out every expression that writes something below a key:
// tables with their headers, dotted keys, keys of inline tables.
func removeTOML(data []byte, path, keys []string) ([]byte, []Taken, error) {
	doc, bad := parseTOML(data)
	if bad != nil {
		return nil, nil, broken(data, bad)
	}
	var edits []edit
	var taken []Taken
	for _, key := range keys {
		if doc.root.At(path).Get(key) == nil {
			continue
		}
		whole := append(slices.Clone(path), key)
		if i := doc.inlineAt(path); i >= 0 {
			if !slices.Equal(doc.exprs[i].path, path) {
				return nil, nil, inTheWay(data, doc.exprs[i])
			}
			e, ok := cutInline(data, doc.exprs[i].value, key)
			if !ok {
				return nil, nil, inTheWay(data, doc.exprs[i])
			}
			edits = append(edits, e)
			taken = append(taken, Taken{Name: key, Text: inlineAsTable(data, doc, whole)})
			continue
		}
		cuts := doc.cuts(whole)
		taken = append(taken, Taken{Name: key, Text: doc.textOf(cuts, whole)})
		edits = append(edits, cuts...)
	}
	if len(edits) > 1 && doc.inlineAt(path) >= 0 {
		return removeOneByOne(data, path, keys)
	}
	return splice(data, edits), taken, nil
}

// removeOneByOne is for inline tables, where neighbours share a comma.
func removeOneByOne(data []byte, path, keys []string) ([]byte, []Taken, error) {
	var all []Taken
	for _, key := range keys {
		next, taken, err := removeTOML(data, path, []string{key})
		if err != nil {
			return nil, nil, err
		}
		data, all = next, append(all, taken...)
	}
	return data, all, nil
}

// cuts returns the lines that write what is at path or below it.
func (d *tomlDoc) cuts(path []string) []edit {
	var out []edit
	for i := 0; i < len(d.exprs); i++ {
		e := d.exprs[i]
		if !isPrefix(path, e.path) {
			continue
		}
		last := i
		if e.header {
			for last+1 < len(d.exprs) && !d.exprs[last+1].header {
				last++
			}
		}
		cut := edit{start: lineStart(d.data, e.start), end: lineEnd(d.data, d.exprs[last].end)}
		if e.header {
			cut.start = blankBefore(d.data, cut.start)
		}
		out = append(out, cut)
		i = last
	}
	return out
}

// blankBefore includes the empty line before an offset, if there is one.
func blankBefore(data []byte, start int) int {
	if start == 0 {
		return start
	}
	if before := lineStart(data, start-1); len(bytes.TrimSpace(data[before:start])) == 0 {
		return before
	}
	return start
}

// textOf returns what cuts take out, as tables that can stand anywhere: keys
// that were written dotted in a table around them get a header of their own.
func (d *tomlDoc) textOf(cuts []edit, path []string) string {
	var dotted, tables strings.Builder
	nl := newline(d.data)
	for _, c := range cuts {
		text := string(d.data[c.start:c.end])
		if !strings.HasSuffix(text, "\n") {
			text += nl
		}
		i := slices.IndexFunc(d.exprs, func(e tomlExpr) bool { return e.start >= c.start && e.start < c.end })
		if e := d.exprs[i]; e.header {
			tables.WriteString(text)
		} else if len(e.path) == len(path) { // key = { … }
			dotted.WriteString(inlineAsTable(d.data, d, path))
		} else {
			value := string(d.data[e.value.Start:e.value.End])
			dotted.WriteString(joinTOML(e.path[len(path):]) + " = " + value + nl)
		}
	}
	out := dotted.String() + tables.String()
	if dotted.Len() > 0 && !strings.HasPrefix(out, "[") {
		out = "[" + joinTOML(path) + "]" + nl + out
	}
	return strings.TrimLeft(out, "\r\n")
}

// inlineAsTable writes an inline table as a table with a header.
func inlineAsTable(data []byte, d *tomlDoc, path []string) string {
	nl := newline(data)
	out := "[" + joinTOML(path) + "]" + nl
	n := d.root.At(path)
	if n.Kind != Object {
		return "" // no server; it cannot be put back as a table
	}
	for _, m := range n.Members {
		out += keyTOML(m.Name) + " = " + tomlText(data, m.Value) + nl
	}
	return out
}

// tomlText returns the text of a value; of an object that dotted keys made, it
// is written anew.
func tomlText(data []byte, n *Node) string {
	if n.Kind != Object || data[n.Start] == '{' {
		return string(data[n.Start:n.End])
	}
	parts := make([]string, len(n.Members))
	for i, m := range n.Members {
		parts[i] = keyTOML(m.Name) + " = " + tomlText(data, m.Value)
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

// cutInline returns the edit that takes a key out of an inline table. A key that
// is written dotted, in several pieces, cannot be taken.
func cutInline(data []byte, table *Node, key string) (edit, bool) {
	i := table.Index(key)
	m := table.Members[i]
	between := strings.Trim(string(data[m.End:m.Value.Start]), " \t")
	if between != "=" {
		return edit{}, false
	}
	switch {
	case i > 0: // with the comma before it
		start := bytes.LastIndexByte(data[:m.Start], ',')
		return edit{start: start, end: m.Value.End}, start > table.Start
	case len(table.Members) > 1: // with the comma after it
		return edit{start: m.Start, end: table.Members[1].Start}, true
	}
	return edit{start: table.Start + 1, end: table.End - 1}, true
}

// setBoolTOML sets a key of a table that has a header.
func setBoolTOML(data []byte, path []string, key string, value bool) ([]byte, error) {
	doc, bad := parseTOML(data)
	if bad != nil {
		return nil, broken(data, bad)
	}
	if old := doc.root.At(path).Get(key); old != nil {
		return splice(data, []edit{{old.Start, old.End, nodeOf(value).Text}}), nil
	}
	if i := doc.inlineAt(path); i >= 0 {
		if !slices.Equal(doc.exprs[i].path, path) {
			return nil, inTheWay(data, doc.exprs[i])
		}
		return addInline(data, doc.exprs[i].value, keyTOML(key)+" = "+nodeOf(value).Text), nil
	}
	i := slices.IndexFunc(doc.exprs, func(e tomlExpr) bool { return e.header && slices.Equal(e.path, path) })
	if i < 0 {
		return nil, durward.Errorf(durward.Invalid, "", "%q has no table of its own; give it the header [%s] first", strings.Join(path, "."), joinTOML(path))
	}
	at := lineEnd(data, doc.exprs[i].end)
	text := keyTOML(key) + " = " + nodeOf(value).Text + newline(data)
	if at == len(data) && data[len(data)-1] != '\n' {
		text = newline(data) + text
	}
	return splice(data, []edit{{at, at, text}}), nil
}
