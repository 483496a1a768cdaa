package yamlx

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"durward"
)

// Code is the stable, machine-readable class of a problem.
type Code string

// The codes of this package. Users of the package add their own.
const (
	CodeSize       Code = "E_SIZE"          // the document or its nesting is larger than permitted
	CodeEncoding   Code = "E_ENCODING"      // not UTF-8
	CodeSyntax     Code = "E_SYNTAX"        // not YAML
	CodeEmpty      Code = "E_EMPTY"         // no document at all
	CodeDocuments  Code = "E_DOCUMENTS"     // more than one document
	CodeAlias      Code = "E_ALIAS"         // an alias refers to itself or expands to too much
	CodeMergeKey   Code = "E_MERGE_KEY"     // "<<"
	CodeTag        Code = "E_TAG"           // an explicit tag such as !!binary
	CodeKey        Code = "E_KEY"           // a key that is not text
	CodeDuplicate  Code = "E_DUPLICATE_KEY" // a key for the second time
	CodeUnknownKey Code = "E_UNKNOWN_KEY"   // a key that means nothing here
	CodeType       Code = "E_TYPE"          // a value of another type
	CodeRange      Code = "E_RANGE"         // a number, size or duration out of range
	CodeValue      Code = "E_VALUE"         // a text that is not one of those permitted, or cannot be read
	CodeRequired   Code = "E_REQUIRED"      // a key that must be there is not
)

// Problem is one thing that is wrong, and where.
type Problem struct {
	Code    Code
	File    string // as given to Parse
	Line    int    // from 1
	Column  int    // from 1, in characters
	Path    string // "servers.github.args[1]"; empty for the document
	Message string // what is wrong and what to do
	Excerpt string // the line, up to the end of what is wrong; empty if it may hold a secret
	Width   int    // how many characters of Excerpt are underlined
}

// String renders the problem with its excerpt, without a final newline.
func (p Problem) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: %s: ", p.File, p.Line, p.Column, p.Code)
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	if p.Excerpt != "" {
		fmt.Fprintf(&b, "\n%5d | %s\n      | %s", p.Line, p.Excerpt, p.marker())
	}
	return b.String()
}

// marker underlines the fault; tabs are kept so that it stays aligned.
func (p Problem) marker() string {
	var b strings.Builder
	column := 1
	for _, r := range p.Excerpt {
		if column >= p.Column {
			break
		}
		if r != '\t' {
			r = ' '
		}
		b.WriteRune(r)
		column++
	}
	b.WriteByte('^')
	b.WriteString(strings.Repeat("~", max(0, p.Width-1)))
	return b.String()
}

// What comes after a hundred faults is noise: so many are shown, and so many kept.
const (
	maxProblems = 100
	keptOnes    = 1000
)

// Problems is everything that is wrong with a document, sorted by position. It
// is an error of kind durward.Invalid.
type Problems []Problem

// Error renders all problems, one below the other.
func (ps Problems) Error() string {
	lines := make([]string, 0, len(ps)+1)
	for _, p := range ps[:min(len(ps), maxProblems)] {
		lines = append(lines, p.String())
	}
	if more := len(ps) - maxProblems; more > 0 {
		lines = append(lines, fmt.Sprintf("and at least %d more problems", more))
	}
	return strings.Join(lines, "\n")
}

// As lets durward.KindOf see an error of kind Invalid.
func (ps Problems) As(target any) bool {
	e, ok := target.(**durward.Error)
	if ok {
		*e = &durward.Error{Kind: durward.Invalid, Message: ps.Error()}
	}
	return ok
}

func (ps Problems) sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
}

// Path leads to a value: keys, and indices in decimal.
type Path []string

// In returns the path of a value below p; p stays as it is.
func (p Path) In(steps ...string) Path {
	return append(slices.Clip(p), steps...)
}

// String renders "servers.github.args[1]".
func (p Path) String() string {
	var b strings.Builder
	for i, step := range p {
		switch {
		case isIndex(step) && i > 0:
			b.WriteString("[" + step + "]")
		case !isPlain(step):
			fmt.Fprintf(&b, "[%q]", step)
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		}
	}
	return b.String()
}

func isIndex(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func isPlain(s string) bool {
	for _, r := range s {
		if r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return s != ""
}
