package syntax

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// explain finds out why a text is not JSON and says it in words that help the
// one who wrote it. It is only asked when the parser has refused the text, and
// returns nil if it finds nothing wrong.
func explain(data []byte) *Fault {
	e := explainer{data: data, lines: NewLines(data)}
	if bad := e.space(); bad != nil {
		return bad
	}
	if e.pos == len(data) {
		return &Fault{CodeEmpty, 0, "there is nothing in the file; a JSON file holds at least {}"}
	}
	if bad := e.value(0); bad != nil {
		return bad
	}
	if bad := e.space(); bad != nil {
		return bad
	}
	if e.pos < len(data) {
		return e.say("something follows the end of the document; is there one closing bracket too many above, or are there two documents in the file?")
	}
	return nil
}

type explainer struct {
	data  []byte
	pos   int
	lines Lines
}

func (e *explainer) say(message string, args ...any) *Fault {
	return e.sayAt(e.pos, message, args...)
}

func (e *explainer) sayAt(offset int, message string, args ...any) *Fault {
	if bytes.HasPrefix(e.data[min(offset, len(e.data)):], []byte("<<<<<<<")) {
		return &Fault{CodeSyntax, offset, "the file holds the marks of a merge conflict; settle it first"}
	}
	return &Fault{CodeSyntax, offset, fmt.Sprintf(message, args...)}
}

// space skips white space and comments.
func (e *explainer) space() *Fault {
	for e.pos < len(e.data) {
		switch e.data[e.pos] {
		case ' ', '\t', '\r', '\n':
			e.pos++
		case '#':
			return e.say("comments begin with //, not with #")
		case '/':
			end := skipComment(e.data, e.pos)
			comment := e.data[e.pos:end]
			if end == e.pos || bytes.HasPrefix(comment, []byte("/*")) && !(len(comment) >= 4 && bytes.HasSuffix(comment, []byte("*/"))) {
				return e.say("this / begins no comment; comments are // … or /* … */")
			}
			e.pos = end
		default:
			return nil
		}
	}
	return nil
}

func (e *explainer) value(depth int) *Fault {
	if depth > MaxDepth {
		return nil
	}
	switch c := e.data[e.pos]; {
	case c == '{':
		return e.object(depth)
	case c == '[':
		return e.list(depth)
	case c == '"':
		return e.text()
	case c == ',' || c == '}' || c == ']':
		return e.say("a value is missing before this %q", c)
	case strings.IndexByte("-+.0123456789", c) >= 0 || isLetter(c):
		return e.literal()
	default:
		return e.strange("a value")
	}
}

// strange says what is wrong with a character that begins nothing.
func (e *explainer) strange(wanted string) *Fault {
	r, _ := utf8.DecodeRune(e.data[e.pos:])
	switch {
	case r == '\'':
		return e.say("text stands in double quotes, not in single ones")
	case strings.ContainsRune("“”„‟«»", r):
		return e.say("this is a typographic quote; write the plain \"")
	default:
		return e.say("%s is expected here, not %q", wanted, r)
	}
}

func (e *explainer) object(depth int) *Fault {
	open := e.pos
	e.pos++
	for {
		if bad := e.space(); bad != nil {
			return bad
		}
		if e.pos == len(e.data) {
			return e.unclosed(open, '}')
		}
		if e.data[e.pos] == '}' {
			e.pos++
			return nil
		}
		if bad := e.member(open, depth); bad != nil {
			return bad
		}
		if done, bad := e.separator(open, '}'); done || bad != nil {
			return bad
		}
	}
}

func (e *explainer) member(open, depth int) *Fault {
	switch c := e.data[e.pos]; {
	case c == ',':
		return e.say("there is a comma too many")
	case isLetter(c):
		return e.say("the name of a key stands in double quotes")
	case c != '"':
		return e.strange("the name of a key, in double quotes,")
	}
	if bad := e.text(); bad != nil {
		return bad
	}
	if bad := e.space(); bad != nil {
		return bad
	}
	switch {
	case e.pos == len(e.data):
		return e.unclosed(open, '}')
	case e.data[e.pos] == '=':
		return e.say("a key and its value are joined by a colon, not by =")
	case e.data[e.pos] != ':':
		return e.say("a colon is missing after the key")
	}
	e.pos++
	if bad := e.space(); bad != nil {
		return bad
	}
	if e.pos == len(e.data) {
		return e.unclosed(open, '}')
	}
	return e.value(depth + 1)
}

func (e *explainer) list(depth int) *Fault {
	open := e.pos
	e.pos++
	for {
		if bad := e.space(); bad != nil {
			return bad
		}
		if e.pos == len(e.data) {
			return e.unclosed(open, ']')
		}
		if e.data[e.pos] == ']' {
			e.pos++
			return nil
		}
		if bad := e.value(depth + 1); bad != nil {
			return bad
		}
		if done, bad := e.separator(open, ']'); done || bad != nil {
			return bad
		}
	}
}

// separator reads the comma after a value, or the closing bracket.
func (e *explainer) separator(open int, closing byte) (done bool, bad *Fault) {
	after := e.pos
	if bad := e.space(); bad != nil {
		return false, bad
	}
	if e.pos == len(e.data) {
		return false, e.unclosed(open, closing)
	}
	switch c := e.data[e.pos]; {
	case c == ',':
		e.pos++
		return false, nil
	case c == closing:
		e.pos++
		return true, nil
	case c == '}' || c == ']':
		return false, e.say("%q closes the %q of line %d; %q is expected", c, e.data[open], e.line(open), closing)
	case c == '"' || c == '{' || c == '[' || isLetter(c):
		return false, e.sayAt(after, "a comma is missing here, after the value")
	default:
		return false, e.strange(fmt.Sprintf("a comma or %q", closing))
	}
}

func (e *explainer) unclosed(open int, closing byte) *Fault {
	return e.say("the file ends inside the %q of line %d; the closing %q is missing, or the file was cut off",
		e.data[open], e.line(open), closing)
}

// line returns the number of the line at an offset.
func (e *explainer) line(offset int) int {
	line, _ := e.lines.Position(offset)
	return line
}

func (e *explainer) text() *Fault {
	open := e.pos
	for e.pos++; e.pos < len(e.data); e.pos++ {
		switch c := e.data[e.pos]; {
		case c == '"':
			e.pos++
			return nil
		case c == '\n' || c == '\r':
			return e.sayAt(open, "the text that begins here does not end on its line; the closing double quote is missing")
		case c < ' ':
			return e.say("a text must not hold the control character %#x; write \\u%04x", c, c)
		case c == '\\':
			if bad := e.escape(); bad != nil {
				return bad
			}
		}
	}
	return e.sayAt(open, "the text that begins here never ends; the closing double quote is missing")
}

// escape checks the escape at pos and moves to its last byte.
func (e *explainer) escape() *Fault {
	at := e.pos
	e.pos++
	if e.pos == len(e.data) {
		return nil // text says that it never ends
	}
	c := e.data[e.pos]
	if c == 'u' {
		hex := e.data[min(e.pos+1, len(e.data)):min(e.pos+5, len(e.data))]
		if len(hex) < 4 || strings.Trim(string(hex), "0123456789abcdefABCDEF") != "" {
			return e.sayAt(at, `\u needs four hexadecimal digits; a backslash itself is written \\, as in C:\\users`)
		}
		e.pos += 4
		return nil
	}
	if strings.IndexByte(`"\/bfnrt`, c) < 0 {
		return e.sayAt(at, `a backslash is written \\ in JSON, as in C:\\Users\\me`)
	}
	return nil
}

func (e *explainer) literal() *Fault {
	start := e.pos
	for e.pos < len(e.data) && (isLetter(e.data[e.pos]) || strings.IndexByte("-+.0123456789", e.data[e.pos]) >= 0) {
		e.pos++
	}
	word := string(e.data[start:e.pos])
	if json.Valid([]byte(word)) {
		return nil
	}
	switch strings.ToLower(word) {
	case "true", "false", "null":
		return e.sayAt(start, "%s is written %s in JSON", word, strings.ToLower(word))
	case "none", "nil", "undefined":
		return e.sayAt(start, "%s is written null in JSON", word)
	}
	if isLetter(word[0]) {
		return e.sayAt(start, "text stands in double quotes")
	}
	return e.sayAt(start, "this is no number as JSON writes it; put it in double quotes if it is text")
}

func isLetter(c byte) bool {
	return c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
