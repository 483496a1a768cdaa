package policy

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
)

// fault is what is wrong with a condition, and where in its text.
type fault struct {
	offset       int // in characters, from 0
	line, column int // from 1, in characters
	width        int // characters that are to be underlined; at least 1
	message      string
	suggestion   string // what was probably meant, or what to write; may be empty
}

// Error renders the fault.
func (f *fault) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", f.line, f.column, f.text())
}

// text is the message with the suggestion.
func (f *fault) text() string {
	if f.suggestion == "" {
		return f.message
	}
	return f.message + "; " + f.suggestion
}

// compile compiles a condition: an expression that gives true or false.
func (env *environment) compile(src string) (*condition, *fault) {
	checked, walk, f := env.check(src)
	if f != nil {
		return nil, f
	}
	if checked.OutputType() != cel.BoolType {
		return nil, walk.whole("the condition gives "+kindOf(checked.OutputType().TypeName())+", not true or false", env.compareHint(checked.OutputType()))
	}
	p, f := env.program(checked, walk)
	if f != nil {
		return nil, f
	}
	c := &condition{program: *p, looks: walk.needs(), fields: walk.used, certain: walk.certain}
	if walk.contradiction != nil {
		return nil, walk.contradiction
	}
	c.only = walk.only
	if f := c.neverMatches(walk); f != nil {
		return nil, f
	}
	return c, nil
}

func (env *environment) compareHint(t *cel.Type) string {
	if t == cel.DynType {
		return "compare it, for example with == true"
	}
	return "compare it with something"
}

// compileValue compiles the value of a rewrite.
func (env *environment) compileValue(src string) (*value, *fault) {
	checked, walk, f := env.check(src)
	if f != nil {
		return nil, f
	}
	p, f := env.program(checked, walk)
	if f != nil {
		return nil, f
	}
	return &value{program: *p, looks: walk.needs(), fields: walk.used}, nil
}

// check parses, looks at the names, prepares what is absent, and checks the types.
func (env *environment) check(src string) (*cel.Ast, *walker, *fault) {
	if strings.TrimSpace(src) == "" {
		return nil, nil, &fault{line: 1, column: 1, width: 1, message: "the condition is empty", suggestion: "leave it out, or write true"}
	}
	if !utf8.ValidString(src) {
		return nil, nil, &fault{line: 1, column: 1, width: 1, message: "the condition is no valid UTF-8"}
	}
	parsed, issues := env.cel.Parse(src)
	if issues.Err() != nil {
		return nil, nil, env.faultOf(src, issues)
	}
	w := newWalker(env, src, parsed.NativeRep())
	if f := w.walk(); f != nil {
		return nil, nil, f
	}
	w.onlyValues() // now: the check joins names to one word and forgets where they began
	checked, issues := env.cel.Check(parsed)
	if issues.Err() != nil {
		return nil, nil, env.faultOf(src, issues)
	}
	return checked, w, nil
}

// faultOf returns the first thing that the library found, in our words where they
// are clearer.
func (env *environment) faultOf(src string, issues *cel.Issues) *fault {
	first := issues.Errors()[0]
	f := &fault{line: max(1, first.Location.Line()), column: first.Location.Column() + 1, width: 1, message: plain(first.Message)}
	f.offset = offsetOf(src, f.line, f.column)
	f.help(src)
	return f
}

// plain writes the library's message in the words of the reference.
func plain(message string) string {
	message, _, _ = strings.Cut(message, "\n")
	return strings.NewReplacer(
		"found no matching overload for ", "there is no ", " applied to ", " for ",
		"'_==_'", "==", "'_!=_'", "!=", "'_&&_'", "&&", "'_||_'", "||", "'!_'", "!", "'_<_'", "<", "'_<=_'", "<=", "'_>_'", ">", "'_>=_'", ">=",
		"'_+_'", "+", "'_-_'", "-", "'_*_'", "*", "'_/_'", "/", "'_%_'", "%", "'-_'", "-", "'@in'", "in", "'_?_:_'", "?:", "'_[_]'", "[]",
		"'"+testFunction+"'", "&& or ||", " (in container '')", "", "Syntax error: ", "",
	).Replace(message)
}

// offsetOf returns the place of a line and column, both from 1, in characters.
func offsetOf(src string, line, column int) int {
	n := 0
	for _, r := range src {
		if line <= 1 {
			break
		}
		n++
		if r == '\n' {
			line--
		}
	}
	return n + column - 1
}

// kindOf calls a type of the library as the reference does.
func kindOf(name string) string {
	switch name {
	case "string":
		return kindText
	case "double":
		return kindNumber
	case "map":
		return kindObject
	case "dyn":
		return "any value"
	case types.TimestampType.TypeName():
		return kindTime
	default:
		return name
	}
}
