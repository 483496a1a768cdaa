package syntax

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/tailscale/hujson"
)

// parseJSON reads JSON with comments and trailing commas.
func parseJSON(data []byte) (*Node, *Fault) {
	data = withoutMark(data)
	if at := tooDeep(data); at >= 0 {
		return nil, &Fault{CodeSize, at, fmt.Sprintf("objects and lists are nested deeper than the limit of %d", MaxDepth)}
	}
	// The library wants a line break at the end of every // comment.
	v, err := hujson.Parse(append(bytes.Clone(data), '\n'))
	if err != nil {
		if bad := explain(data); bad != nil {
			return nil, bad
		}
		return nil, &Fault{CodeSyntax, 0, "the file is not JSON: " + err.Error()}
	}
	return convert(&v), nil
}

// tooDeep returns where brackets nest too deep, -1 if they do not. The library
// recurses without a bound, so this comes first.
func tooDeep(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch c := data[i]; c {
		case '"':
			i = skipText(data, i) - 1
		case '/':
			i = max(i, skipComment(data, i)-1)
		case '{', '[':
			if depth++; depth > MaxDepth {
				return i
			}
		case '}', ']':
			depth--
		}
	}
	return -1
}

// skipText returns the offset after the text that begins at i.
func skipText(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

// skipComment returns the offset after the comment that begins at i, i if none
// does. A line comment ends before its line break.
func skipComment(data []byte, i int) int {
	rest := data[i:]
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		if n := bytes.IndexByte(rest, '\n'); n >= 0 {
			return i + n
		}
		return len(data)
	case bytes.HasPrefix(rest, []byte("/*")):
		if n := bytes.Index(rest[2:], []byte("*/")); n >= 0 {
			return i + n + 4
		}
		return len(data)
	}
	return i
}

func convert(v *hujson.Value) *Node {
	n := &Node{Start: v.StartOffset, End: v.EndOffset}
	switch value := v.Value.(type) {
	case *hujson.Object:
		n.Kind = Object
		for i := range value.Members {
			m := &value.Members[i]
			n.Members = append(n.Members, Member{
				Name:  m.Name.Value.(hujson.Literal).String(),
				Start: m.Name.StartOffset, End: m.Name.EndOffset,
				Value: convert(&m.Value),
			})
		}
	case *hujson.Array:
		n.Kind = List
		for i := range value.Elements {
			n.Elems = append(n.Elems, convert(&value.Elements[i]))
		}
	case hujson.Literal:
		n.Text = value.String()
		switch value.Kind() {
		case '"':
			n.Kind = Text
		case '0':
			n.Kind = Number
		case 't', 'f':
			n.Kind = Bool
		}
	}
	return n
}

// QuoteJSON writes a text as JSON, without the escapes that only HTML needs.
func QuoteJSON(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return `""` // a string can always be encoded
	}
	return string(bytes.TrimRight(b.Bytes(), "\n"))
}
