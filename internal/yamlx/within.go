package yamlx

import (
	"strings"

	"go.yaml.in/yaml/v4"
)

// ReportWithin adds a problem with a part of the text at path: width characters
// from line (from 1) and column (from 0, in characters) of the text on. Where the
// place cannot be found in the file, as in folded text, the whole value is pointed at.
func (s *Source) ReportWithin(code Code, path Path, line, column, width int, format string, args ...any) {
	if s.faulty[path.String()] || s.full() {
		return
	}
	_, value := s.find(path)
	at, from, ok := s.within(resolve(value), line, column)
	if !ok {
		s.Report(code, path, format, args...)
		return
	}
	before := len(s.problems)
	s.fault(code, at, from, max(width, 1), format, args...)
	s.problems[before].Path = path.String()
}

// within returns where in the file a place of the text of n is.
func (s *Source) within(n *yaml.Node, line, column int) (at, from int, ok bool) {
	if n == nil || n.Kind != yaml.ScalarNode || line < 1 || column < 0 || n.Line < 1 {
		return 0, 0, false
	}
	lines := strings.Split(n.Value, "\n")
	if line > len(lines) || column > len([]rune(lines[line-1])) {
		return 0, 0, false
	}
	wanted := []rune(lines[line-1])
	switch {
	case n.Style&yaml.LiteralStyle != 0:
		at = n.Line + line
		if at > len(s.lines) {
			return 0, 0, false
		}
		indent := strings.Index(s.lines[at-1], lines[line-1])
		if indent < 0 {
			return 0, 0, false
		}
		return at, len([]rune(s.lines[at-1][:indent])) + column + 1, true
	case n.Style&yaml.FoldedStyle != 0 || len(lines) > 1 || n.Line > len(s.lines):
		return 0, 0, false
	}
	from = n.Column + column
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		from++
	}
	if n.Style&yaml.SingleQuotedStyle != 0 {
		from += strings.Count(string(wanted[:column]), "'") // each is written twice
	}
	raw := []rune(s.lines[n.Line-1])
	if from-1 > len(raw) || column < len(wanted) && (from > len(raw) || raw[from-1] != wanted[column]) {
		return 0, 0, false // escapes, or text over several lines
	}
	return n.Line, from, true
}

// Count returns how many problems were found so far.
func (s *Source) Count() int { return len(s.problems) }

// Since returns the problems that were found after the first n, sorted by
// position. n is what Count returned, with no call of Err in between.
func (s *Source) Since(n int) Problems {
	found := append(Problems(nil), s.problems[min(n, len(s.problems)):]...)
	found.sort()
	return found
}
