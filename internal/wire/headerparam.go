package wire

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"durward"
)

// MaxHeaderParams is how many arguments of one tool can be mirrored in headers.
const MaxHeaderParams = 128

const headerKeyword = "x-mcp-header"

// HeaderParam is one argument of a tool that is mirrored in a header (2026-07-28,
// basic/transports/streamable-http "Custom Headers from Tool Parameters").
type HeaderParam struct {
	Header string   // name of the header without ParamHeaderPrefix, as the schema spells it
	Path   []string // names of the properties from the arguments object down to the value; at least one
	Type   string   // "integer", "string" or "boolean"
}

// HeaderValue is a mirrored argument, or the header that mirrors it: Name is
// without ParamHeaderPrefix.
type HeaderValue struct{ Name, Value string }

// HeaderParams reads the x-mcp-header annotations of a tool's raw inputSchema, in
// the order in which they stand. Where one breaks a rule of the protocol the
// whole tool is invalid on HTTP, and the error, of kind Invalid, says which
// rule: each must stand on a property that is reached from the root through
// properties alone, with the type integer, string or boolean; be a header token
// (RFC 9110 §5.6.2) that is not empty; and be unlike all others, case ignored.
// At most MaxHeaderParams are accepted. A schema without annotations gives nil.
func HeaderParams(inputSchema []byte) ([]HeaderParam, error) {
	if !bytes.Contains(inputSchema, []byte(headerKeyword)) && !bytes.Contains(inputSchema, []byte(`\u`)) {
		return nil, nil
	}
	w := schemaWalk{data: inputSchema, seen: map[string]string{}}
	s := skipper{data: inputSchema}
	s.space()
	w.schema(s.pos, nil, true)
	if w.err == nil && w.found != nil && !Valid(inputSchema) {
		w.refuse(nil, "a schema with annotations must be clean JSON, each name once in an object and at most %d levels deep", MaxDepth)
	}
	if w.err != nil {
		return nil, w.err
	}
	return w.found, nil
}

// schemaWalk visits every place of a schema where a subschema can stand, in one
// pass. Data (default, const, enum, examples) is no such place, and neither is
// what unknown keywords hold.
type schemaWalk struct {
	data  []byte
	depth int
	seen  map[string]string // headers in lower case, as they were spelled
	found []HeaderParam
	err   error // the first broken rule; nil while there is none
}

func (w *schemaWalk) refuse(path []string, format string, args ...any) {
	if w.err == nil {
		where := "the schema"
		if len(path) > 0 {
			where = "property " + Quote(strings.Join(path, "."))
		}
		w.err = durward.Errorf(durward.Invalid, "", "%s at %s: %s", headerKeyword, where, fmt.Sprintf(format, args...))
	}
}

// schema visits the schema at pos and returns the offset behind it. reachable
// says that only properties led here.
func (w *schemaWalk) schema(pos int, path []string, reachable bool) int {
	m := members{skipper: skipper{data: w.data, pos: pos}}
	if m.peek() != '{' || w.depth > MaxDepth {
		m.skipper.value()
		return m.pos
	}
	w.depth++
	var header, kind []byte
	for m.next() {
		switch start := m.pos; m.name() {
		case headerKeyword:
			m.skipper.value()
			header = m.data[start:m.pos]
		case "type":
			m.skipper.value()
			kind = m.data[start:m.pos]
		case "properties":
			m.pos = w.properties(start, path, reachable)
		case "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions":
			m.pos = w.properties(start, path, false)
		case "items", "prefixItems", "additionalItems", "contains", "unevaluatedItems",
			"additionalProperties", "unevaluatedProperties", "propertyNames", "contentSchema",
			"oneOf", "anyOf", "allOf", "not", "if", "then", "else":
			m.pos = w.branches(start, path)
		default:
			m.skipper.value()
		}
	}
	if header != nil {
		w.annotation(header, kind, path, reachable)
	}
	w.depth--
	m.take('}')
	return m.pos
}

// properties visits an object whose values are schemas.
func (w *schemaWalk) properties(pos int, path []string, reachable bool) int {
	m := members{skipper: skipper{data: w.data, pos: pos}}
	if m.peek() != '{' {
		m.skipper.value()
		return m.pos
	}
	for m.next() {
		m.pos = w.schema(m.pos, append(path, m.name()), reachable)
	}
	m.take('}')
	return m.pos
}

// branches visits a schema, or an array of schemas, to which no path of properties leads.
func (w *schemaWalk) branches(pos int, path []string) int {
	s := skipper{data: w.data, pos: pos}
	if s.peek() != '[' {
		return w.schema(pos, path, false)
	}
	for more := s.take('['); more && s.peek() != ']'; more = s.take(',') {
		s.pos = w.schema(s.pos, path, false)
	}
	s.take(']')
	return s.pos
}

// annotation checks one annotation and notes it.
func (w *schemaWalk) annotation(raw, kind []byte, path []string, reachable bool) {
	header, ok := Unquote(raw)
	if !ok || header == "" {
		w.refuse(path, "the annotation must be a string that is not empty")
		return
	}
	declared, _ := Unquote(kind)
	lower := strings.ToLower(header)
	twin, taken := w.seen[lower]
	switch {
	case !reachable || len(path) == 0:
		w.refuse(path, "only properties that are reached through \"properties\" alone may have it, not what is under items, anyOf, $defs and the like")
	case !isToken(header):
		w.refuse(path, "%s is no header name; use letters, digits and !#$%%&'*+-.^_`|~", Quote(header))
	case declared != "string" && declared != "integer" && declared != "boolean":
		w.refuse(path, "the property must have the type string, integer or boolean")
	case taken:
		w.refuse(path, "%s is used twice, also as %s; header names ignore case", Quote(header), Quote(twin))
	case len(w.found) == MaxHeaderParams:
		w.refuse(path, "more than %d arguments are mirrored in headers", MaxHeaderParams)
	default:
		w.seen[lower] = header
		w.found = append(w.found, HeaderParam{Header: header, Path: slices.Clone(path), Type: declared})
	}
}

// isToken reports whether s is a token (RFC 9110 §5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}
