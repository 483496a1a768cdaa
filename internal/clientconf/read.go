package clientconf

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"durward/internal/clientconf/syntax"
)

// Read reads the file of a client. What cannot be used is left out and named in
// the problems, each with its place and with what to do; the rest is returned.
// The file is never nil. Limits: 16 MiB, 1,000 servers, nesting of 128.
func Read(src Source, data []byte) (*File, Problems) {
	r := &reader{file: &File{Source: src}, data: data, lines: syntax.NewLines(data), names: newNamer(nil), secrets: map[string]Value{}, asked: map[string]string{}}
	r.read()
	slices.SortStableFunc(r.file.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return r.file, r.file.Problems
}

func (r *reader) read() {
	traits, known := r.file.Client.traits()
	if r.traits = traits; !known {
		r.say(Error, CodeShape, 0, nil, "%q is no client that Durward knows", clip(string(r.file.Client)))
		return
	}
	if isEmpty(r.data) {
		if r.format == syntax.JSON {
			r.say(Warning, CodeEmpty, 0, nil, "the file is empty; there is nothing to take")
		}
		return
	}
	root, bad := syntax.Parse(r.format, r.data)
	if bad != nil {
		r.say(Error, Code(bad.Code), bad.Offset, nil, "%s", bad.Message)
		return
	}
	if root.Kind != syntax.Object {
		r.say(Error, CodeShape, root.Start, nil, "the file must hold an object ({…}), not %s", root.Kind)
		return
	}
	r.root = root
	r.checkComments()
	r.readInputs()
	r.readContainers()
}

// isEmpty reports whether there is nothing but white space.
func isEmpty(data []byte) bool {
	return len(bytes.Trim(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), " \t\r\n")) == 0
}

// checkComments warns of comments in the file of a client that reads plain JSON.
func (r *reader) checkComments() {
	if !r.comments && !json.Valid(bytes.TrimPrefix(r.data, []byte("\xef\xbb\xbf"))) {
		r.say(Warning, CodeSyntax, 0, nil, "the file has comments or trailing commas, which %s does not read: for it the file is broken", r.title)
	}
}

// reader reads one file.
type reader struct {
	traits
	file    *File
	root    *syntax.Node
	data    []byte
	lines   syntax.Lines
	names   namer
	inputs  map[string]input
	secrets map[string]Value  // by name; a value that is not known is empty
	asked   map[string]string // names of values that have to be asked for, by what needs them
}

// say notes a problem; what comes after the bound is noise.
func (r *reader) say(s Severity, code Code, offset int, path Path, message string, args ...any) {
	switch n := len(r.file.Problems); {
	case n > maxProblems:
		return
	case n == maxProblems:
		s, code, offset, path, message, args = Warning, CodeSize, len(r.data), nil, "there is more to say than the limit of %d remarks; correct these first", []any{maxProblems}
	}
	r.file.Problems = append(r.file.Problems, Problem{
		Severity: s, Code: code, File: r.file.Path, Position: r.position(offset),
		Path: path.String(), Message: fmt.Sprintf(message, args...),
	})
}

// Bounds of what is read out of one file.
const (
	maxEntries   = 1000
	maxSecrets   = 1000
	maxProblems  = 1000
	maxItems     = 1000 // arguments, variables or headers of one server
	maxAttention = 20   // things to complete on one server
	maxText      = 64 << 10
)

func (r *reader) position(offset int) Position {
	line, column := r.lines.Position(offset)
	return Position{Line: line, Column: column}
}

// sayPlanned is say for a warning that a plan shows in another place.
func (r *reader) sayPlanned(code Code, offset int, path Path, message string, args ...any) {
	n := len(r.file.Problems)
	r.say(Warning, code, offset, path, message, args...)
	if n < min(len(r.file.Problems), maxProblems) {
		r.file.Problems[n].planned = true
	}
}

// readContainers reads every place in which servers can be.
func (r *reader) readContainers() {
	found := r.readContainer(r.container, r.root.At(r.container), "")
	if r.client == VSCodeSettings {
		found = r.readContainer(Path{"mcp.servers"}, r.root.Get("mcp.servers"), "") || found
	}
	if r.client == ClaudeCode {
		found = r.readProjects() || found
	}
	for _, other := range []Path{{"mcpServers"}, {"servers"}, {"context_servers"}, {"mcp", "servers"}} {
		c := r.root.At(other)
		if r.format == syntax.TOML || slices.Equal(other, r.container) || c == nil || c.Kind != syntax.Object {
			continue
		}
		r.say(Warning, CodePlace, c.Start, other, "%s reads its servers from %q and ignores these; they are taken nevertheless",
			r.title, Path(r.container).String())
		found = r.readContainer(other, c, "") || found
	}
	if !found {
		r.missing()
	}
}

// missing says that a file has no servers, and what may have been meant.
func (r *reader) missing() {
	want := r.container[len(r.container)-1]
	plain := func(s string) string { return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s)) }
	for _, m := range r.root.Members {
		if m.Name != want && slices.Contains([]string{plain(want), "mcpservers", "mcpserver"}, plain(m.Name)) {
			r.say(Warning, CodePlace, m.Start, Path{m.Name}, "is this meant to be %q? That is where %s looks", Path(r.container).String(), r.title)
			return
		}
		if m.Value.Kind == syntax.Object && (m.Value.Get("command") != nil || m.Value.Get("url") != nil) {
			r.say(Warning, CodePlace, m.Start, Path{m.Name}, "looks like a server, but %s only reads those below %q", r.title, Path(r.container).String())
			return
		}
	}
	r.say(Note, CodeEmpty, 0, nil, "there are no servers in the file (no %q)", Path(r.container).String())
}

// readProjects reads the servers that Claude Code keeps for single projects.
func (r *reader) readProjects() bool {
	found := false
	projects := r.root.Get("projects")
	if projects == nil || projects.Kind != syntax.Object {
		return false
	}
	for _, m := range projects.Members {
		before := len(r.file.Entries)
		found = r.readContainer(Path{"projects", m.Name, "mcpServers"}, m.Value.Get("mcpServers"), m.Name) || found
		for i := range r.file.Entries[before:] {
			e := &r.file.Entries[before+i]
			e.Disabled = e.Disabled || m.Value.Get("disabledMcpServers").Holds(e.Original)
		}
	}
	return found
}

// readContainer reads the servers in c, which is at path; it reports whether
// there is such a place.
func (r *reader) readContainer(path Path, c *syntax.Node, scope string) bool {
	if c == nil || c.Kind == syntax.Null {
		return false
	}
	if c.Kind == syntax.List && (r.client == Generic || slices.Equal(path, Path{"servers"})) {
		r.readList(path, c)
		return true
	}
	if c.Kind != syntax.Object {
		r.say(Error, CodeShape, c.Start, path, "must be an object of servers by name, not %s", c.Kind)
		return true
	}
	later := map[string]*syntax.Node{}
	for _, m := range c.Members {
		r.names.claim(m.Name)
		later[m.Name] = m.Value
	}
	for _, m := range c.Members {
		if m.Value != later[m.Name] {
			r.say(Warning, CodeDuplicate, m.Start, path.in(m.Name), "is there twice; the later one counts")
			continue
		}
		if !r.readEntry(path.in(m.Name), m.Name, m.Start, m.Value, scope) {
			break
		}
	}
	return true
}

// readList reads the generic form, in which a server carries its name.
func (r *reader) readList(path Path, list *syntax.Node) {
	for i, elem := range list.Elems {
		at := path.in(strconv.Itoa(i))
		name := ""
		for _, key := range []string{"id", "name"} {
			if v := elem.Get(key); v != nil && v.Kind == syntax.Text && name == "" {
				name = v.Text
			}
		}
		if name == "" && elem.Kind == syntax.Object {
			r.say(Warning, CodeName, elem.Start, at, "has neither an id nor a name")
		}
		if !r.readEntry(at, name, elem.Start, elem, "") {
			break
		}
	}
}

// readEntry reads one server; it reports whether there may be another one.
func (r *reader) readEntry(path Path, name string, offset int, v *syntax.Node, scope string) bool {
	if len(r.file.Entries) >= maxEntries {
		r.say(Error, CodeSize, offset, path, "there are more servers than the limit of %d; this one and those after it are left out", maxEntries)
		return false
	}
	if v.Kind != syntax.Object {
		r.say(Error, CodeShape, v.Start, path, "a server must be an object, not %s; it is left out", v.Kind)
		return true
	}
	e := &entryReader{reader: r, node: v, path: path, offset: offset}
	e.Original, e.Path, e.Pos, e.Scope = name, path, r.position(offset), scope
	e.read()
	r.file.Entries = append(r.file.Entries, e.Entry)
	return true
}

// input is a value that VS Code asks for.
type input struct {
	kind        string // promptString, pickString, command
	description string
	fallback    string
	options     []string
	password    bool
}

// readInputs reads the inputs of VS Code, which stand beside its servers.
func (r *reader) readInputs() {
	r.inputs = map[string]input{}
	list := r.root.At(append(Path(r.container[:len(r.container)-1]).in(), "inputs"))
	if list == nil || list.Kind != syntax.List {
		return
	}
	for i, elem := range list.Elems {
		id := elem.Get("id").Str()
		if id == "" {
			r.say(Warning, CodeInput, elem.Start, Path{"inputs", strconv.Itoa(i)}, "has no id, so that nothing can refer to it")
			continue
		}
		in := input{
			kind: elem.Get("type").Str(), description: elem.Get("description").Str(), fallback: elem.Get("default").Str(),
			password: elem.Get("password").Is(true),
		}
		if options := elem.Get("options"); options != nil {
			for _, o := range options.Elems {
				in.options = append(in.options, cmp.Or(o.Get("value").Str(), o.Str()))
			}
		}
		r.inputs[id] = in
	}
}
