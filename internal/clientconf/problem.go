package clientconf

import (
	"fmt"
	"strconv"
	"strings"

	"durward"
)

// Severity says what a problem means for the one who imports.
type Severity uint8

// The severities.
const (
	Note    Severity = iota // how something was understood; nothing is to be done
	Warning                 // something was not taken, or needs a look
	Error                   // a file or an entry cannot be used
)

// String returns the word shown to people.
func (s Severity) String() string {
	switch s {
	case Note:
		return "note"
	case Warning:
		return "warning"
	default:
		return "error"
	}
}

// MarshalText writes the word.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Code is the stable, machine-readable class of a problem.
type Code string

// The codes.
const (
	CodeSize      Code = "E_SIZE"      // larger, deeper or more than permitted
	CodeEncoding  Code = "E_ENCODING"  // not UTF-8
	CodeSyntax    Code = "E_SYNTAX"    // not JSON or not TOML
	CodeEmpty     Code = "E_EMPTY"     // nothing in it
	CodeShape     Code = "E_SHAPE"     // a value of another type than expected, or a list where an object belongs
	CodeDuplicate Code = "E_DUPLICATE" // a key for the second time
	CodePlace     Code = "E_PLACE"     // servers under a key that the client does not read
	CodeName      Code = "E_NAME"      // a name that had to be changed
	CodeKey       Code = "E_KEY"       // a key that Durward does not use
	CodeTransport Code = "E_TRANSPORT" // a way to reach a server that Durward does not have
	CodeVariable  Code = "E_VARIABLE"  // a variable of the client that was translated, or cannot be
	CodeSecret    Code = "E_SECRET"    // a literal secret that was moved out
	CodeInput     Code = "E_INPUT"     // a value that somebody has to be asked for
	CodeAdvice    Code = "E_ADVICE"    // it works, but there is a better way
)

// Position is a place in a file; both count from 1, columns in characters. The
// zero value is no place.
type Position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// Path leads to a value: keys, and indices of lists in decimal.
type Path []string

// String renders `mcpServers.github.args[1]`.
func (p Path) String() string {
	var b strings.Builder
	for i, step := range p {
		switch {
		case step != "" && strings.Trim(step, "0123456789") == "" && i > 0:
			b.WriteString("[" + step + "]")
		case step == "" || strings.Trim(step, "_-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "":
			b.WriteString("[" + strconv.Quote(clip(step)) + "]")
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(clip(step))
		}
	}
	return b.String()
}

// in returns the path of a value below p; p stays as it is.
func (p Path) in(steps ...string) Path {
	out := make(Path, 0, len(p)+len(steps))
	return append(append(out, p...), steps...)
}

// Problem is one thing to know about a file, and where it is. It never holds a
// value of the file, only names.
type Problem struct {
	Severity Severity `json:"severity"`
	Code     Code     `json:"code"`
	File     string   `json:"file"`
	Position
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`

	planned bool // a plan says the same in another place
}

// String renders one line.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	fmt.Fprintf(&b, ": %s: ", p.Severity)
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Problems is everything to know about a file, in its order. As an error it is
// of kind durward.Invalid.
type Problems []Problem

// Failed reports whether something could not be used.
func (ps Problems) Failed() bool {
	for _, p := range ps {
		if p.Severity == Error {
			return true
		}
	}
	return false
}

// Err returns the problems of severity Error as an error, nil if there are none.
func (ps Problems) Err() error {
	var out Problems
	for _, p := range ps {
		if p.Severity == Error {
			out = append(out, p)
		}
	}
	if out == nil {
		return nil
	}
	return out
}

// shownProblems bounds a message; what comes after is noise.
const shownProblems = 100

// Error renders the problems, one below the other.
func (ps Problems) Error() string {
	lines := make([]string, 0, len(ps)+1)
	for _, p := range ps[:min(len(ps), shownProblems)] {
		lines = append(lines, p.String())
	}
	if more := len(ps) - shownProblems; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
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
