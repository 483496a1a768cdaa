package yamlx

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Limits bound a document. Zero fields mean the defaults.
type Limits struct {
	Bytes int // of the document; default 1 MiB
	Depth int // of nesting; default 64
	Nodes int // that are decoded, what aliases repeat included; default 200,000
}

func (l Limits) withDefaults() Limits {
	if l.Bytes <= 0 {
		l.Bytes = 1 << 20
	}
	if l.Depth <= 0 {
		l.Depth = 64
	}
	if l.Nodes <= 0 {
		l.Nodes = 200_000
	}
	return l
}

// Source is one document: where everything is, and what is wrong with it. It
// is not safe for concurrent use.
type Source struct {
	name     string
	limits   Limits
	lines    []string
	root     *yaml.Node // nil when the document could not be parsed
	hidden   map[int]bool
	problems Problems
	faulty   map[string]bool               // paths of the problems Decode found
	index    map[*yaml.Node]map[string]int // of the keys of large mappings
	known    map[fault]bool                // what was reported through one alias is not repeated for the next
}

// fault is what makes two problems the same one.
type fault struct {
	code         Code
	line, column int
	step         string // the last of the path
	message      string
}

// Parse reads the syntax of the document in data; name stands for it in
// messages. It never fails: what is wrong comes out of [Source.Err].
func Parse(name string, data []byte, limits Limits) *Source {
	s := &Source{name: name, limits: limits.withDefaults(), hidden: make(map[int]bool), faulty: make(map[string]bool), known: make(map[fault]bool)}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(data) > s.limits.Bytes {
		s.fault(CodeSize, 1, 1, 0, "the document has %d bytes, more than the limit of %d", len(data), s.limits.Bytes)
		return s
	}
	s.lines = strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	for i, line := range s.lines {
		if !utf8.ValidString(line) || strings.ContainsRune(line, 0) {
			s.fault(CodeEncoding, i+1, 1, 0, "the line is not UTF-8 text; save the file as UTF-8")
			return s
		}
	}
	s.parse(data)
	return s
}

func (s *Source) parse(data []byte) {
	limits := &treeLimits{depth: s.limits.Depth}
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithV4Defaults(), yaml.WithPlugin(limits))
	if err != nil {
		s.syntax(err, limits)
		return
	}
	var first, second yaml.Node
	if err := loader.Load(&first); err != nil {
		s.syntax(err, limits)
		return
	}
	switch err := loader.Load(&second); {
	case errors.Is(err, io.EOF):
		s.root = first.Content[0]
	case err != nil:
		s.syntax(err, limits)
	default:
		s.fault(CodeDocuments, second.Line, max(second.Column, 1), 0, "a second document starts here; one file holds one document")
	}
}

// treeLimits bounds the tree; aliases are bounded when they are decoded. It
// remembers that it refused, because the library keeps only the text of the reason.
type treeLimits struct {
	depth   int
	tooDeep bool
}

// CheckDepth is called for each level the library enters.
func (l *treeLimits) CheckDepth(depth int, _ *yaml.DepthContext) error {
	if depth <= l.depth {
		return nil
	}
	l.tooDeep = true
	return errors.New("nested too deeply")
}

// CheckAlias leaves the aliases to the decoder.
func (*treeLimits) CheckAlias(int, int) error { return nil }

func (s *Source) syntax(err error, limits *treeLimits) {
	if errors.Is(err, io.EOF) {
		s.fault(CodeEmpty, 1, 1, 0, "the document is empty")
		return
	}
	var at *yaml.LoadError
	if !errors.As(err, &at) {
		s.fault(CodeSyntax, 1, 1, 0, "%v", err)
		return
	}
	line, column := max(at.Mark.Line, 1), max(at.Mark.Column, 1)
	if limits.tooDeep {
		s.fault(CodeSize, line, column, 1, "nested more than %d levels deep", s.limits.Depth)
		return
	}
	message := at.Message
	if at.ContextMsg != "" {
		message += " (" + at.ContextMsg
		if at.ContextMark.Line != at.Mark.Line && at.ContextMark.Line > 0 {
			message += " from line " + strconv.Itoa(at.ContextMark.Line)
		}
		message += ")"
	}
	s.fault(CodeSyntax, line, column, 1, "%s", message)
}

// Err returns all problems found so far, sorted by position, as a [Problems];
// nil if there are none.
func (s *Source) Err() error {
	if len(s.problems) == 0 {
		return nil
	}
	s.problems.sort()
	return s.problems
}

// Report adds a problem with the value at path. Where the value is absent the
// nearest thing above it that exists is pointed at. Where Decode has found fault
// with the value already, what follows from that is not worth saying.
func (s *Source) Report(code Code, path Path, format string, args ...any) {
	if s.faulty[path.String()] {
		return
	}
	key, value := s.find(path)
	if value == nil {
		s.problem(code, key, path, format, args...)
		return
	}
	if value.Line == 0 || value.Value == "" && value.Kind == yaml.ScalarNode && value.Style == 0 && key != nil {
		value = key // an empty value has no place of its own worth showing
	}
	s.problem(code, value, path, format, args...)
}

// ReportKey adds a problem with the key at path.
func (s *Source) ReportKey(code Code, path Path, format string, args ...any) {
	key, value := s.find(path)
	if key == nil {
		key = value
	}
	s.problem(code, key, path, format, args...)
}

// Has says whether the document has a value at path, null included.
func (s *Source) Has(path Path) bool {
	_, value := s.find(path)
	return value != nil
}

// Where returns the place of the key at path, or of the element of a list; 0, 0
// if the document has nothing there.
func (s *Source) Where(path Path) (line, column int) {
	key, value := s.find(path)
	if value == nil {
		return 0, 0
	}
	if key == nil {
		key = value
	}
	return key.Line, key.Column
}

// find returns key and value at path. If the value is absent, value is nil and
// key is the nearest node above it.
func (s *Source) find(path Path) (key, value *yaml.Node) {
	value = s.root
	for _, step := range path {
		above := value
		if key != nil {
			above = key
		}
		k, v := s.child(resolve(value), step)
		if v == nil {
			return above, nil
		}
		key, value = k, v
	}
	return key, value
}

// resolve follows an alias; the library made sure that its anchor exists, and
// an anchor is never an alias itself.
func resolve(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// manyKeys is from how many keys on a mapping is given an index.
const manyKeys = 16

// member returns the key called step of a mapping, and its value. Of a key that
// is there twice it is the first.
func (s *Source) member(n *yaml.Node, step string) (key, value *yaml.Node) {
	if len(n.Content) < 2*manyKeys {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == step {
				return n.Content[i], n.Content[i+1]
			}
		}
		return nil, nil
	}
	if s.index == nil {
		s.index = make(map[*yaml.Node]map[string]int)
	}
	index, ok := s.index[n]
	if !ok {
		index = make(map[string]int, len(n.Content)/2)
		for i := len(n.Content) - 2; i >= 0; i -= 2 {
			index[n.Content[i].Value] = i
		}
		s.index[n] = index
	}
	if i, ok := index[step]; ok {
		return n.Content[i], n.Content[i+1]
	}
	return nil, nil
}

func (s *Source) child(n *yaml.Node, step string) (key, value *yaml.Node) {
	if n == nil {
		return nil, nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		return s.member(n, step)
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.Content) {
			return nil, n.Content[i]
		}
	}
	return nil, nil
}

func (s *Source) full() bool { return len(s.problems) >= keptOnes }

func (s *Source) problem(code Code, n *yaml.Node, path Path, format string, args ...any) {
	if s.full() {
		return
	}
	line, column := 1, 1
	if n != nil && n.Line > 0 {
		line, column = n.Line, max(n.Column, 1)
	}
	message := fmt.Sprintf(format, args...)
	same := fault{code: code, line: line, column: column, message: message}
	if len(path) > 0 {
		same.step = path[len(path)-1]
	}
	if s.known[same] {
		return
	}
	s.known[same] = true
	width := s.width(n, line, column)
	if code == CodeRequired && n != nil && n.Kind != yaml.ScalarNode {
		width = 0 // what is missing cannot be shown
	}
	p := s.at(code, line, column, width)
	p.Path, p.Message = path.String(), message
	s.problems = append(s.problems, p)
}

func (s *Source) fault(code Code, line, column, width int, format string, args ...any) {
	p := s.at(code, line, column, width)
	p.Message = fmt.Sprintf(format, args...)
	s.problems = append(s.problems, p)
}

// maxExcerpt bounds a line shown, in characters.
const maxExcerpt = 160

// at builds a problem with its excerpt, which ends with what is wrong: the rest
// of the line may hold a value that nobody should print.
func (s *Source) at(code Code, line, column, width int) Problem {
	p := Problem{Code: code, File: s.name, Line: line, Column: column, Width: width}
	if width == 0 || line > len(s.lines) || s.hidden[line] {
		return p
	}
	text := []rune(strings.TrimRight(s.lines[line-1], "\r"))
	if column > len(text)+1 || column-1+width > maxExcerpt {
		return p
	}
	end := min(column-1+width, len(text))
	p.Excerpt = string(text[:end])
	if strings.TrimSpace(string(text[end:])) != "" {
		p.Excerpt += " …"
	}
	return p
}

// width is how many characters of its first line a scalar takes; 1 for everything else.
func (s *Source) width(n *yaml.Node, line, column int) int {
	if n == nil || n.Kind != yaml.ScalarNode || line > len(s.lines) {
		return 1
	}
	rest := []rune(s.lines[line-1])
	if column > len(rest) {
		return 1
	}
	rest = rest[column-1:]
	if quote := rest[0]; quote == '"' || quote == '\'' {
		for i := 1; i < len(rest); i++ {
			if rest[i] == quote {
				return i + 1
			}
		}
		return 1
	}
	if value := []rune(n.Value); len(value) > 0 && strings.HasPrefix(string(rest), n.Value) {
		return len(value)
	}
	return 1
}

// Keys returns the keys of the mapping at path in the order of the document;
// none if there is no mapping.
func (s *Source) Keys(path Path) []string {
	_, value := s.find(path)
	n := resolve(value)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	var keys []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		keys = append(keys, n.Content[i].Value)
	}
	return keys
}
