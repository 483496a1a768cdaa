package wire

import (
	"iter"
	"unicode/utf8"
)

// members walks the members of an object.
type members struct {
	skipper
	at      int    // offset of the quote before the name
	inside  []byte // the name between its quotes
	escaped bool
	value   Span
	begun   bool
}

// next moves to the next member, with pos at its value; false behind the last one.
func (m *members) next() bool {
	if !m.begun {
		m.begun = true
		if !m.take('{') {
			return false
		}
	} else if !m.take(',') {
		return false
	}
	if m.peek() != '"' {
		return false
	}
	m.at = m.pos
	var ok bool
	if m.inside, m.escaped, ok = m.str(); !ok {
		return false
	}
	return m.take(':')
}

// step is next, and moves past the value as well.
func (m *members) step() bool {
	if !m.next() {
		return false
	}
	start := m.pos
	ok := m.skipper.value()
	m.value = span(start, m.pos)
	return ok
}

// is reports whether the member is called name.
func (m *members) is(name string) bool {
	if !m.escaped {
		return string(m.inside) == name
	}
	var space [128]byte
	return string(appendUnescaped(space[:0], m.inside)) == name
}

// name returns the decoded name. Names that are common do not allocate.
func (m *members) name() string {
	if m.escaped || !utf8.Valid(m.inside) {
		return string(appendUnescaped(nil, m.inside))
	}
	return internName(m.inside)
}

// Members yields name (decoded) and value span of each member of obj, which
// must be a JSON object that Parse accepted. Of bytes that were not checked it
// yields what it can make of them, with spans inside of obj.
func Members(obj []byte) iter.Seq2[string, Span] {
	return func(yield func(string, Span) bool) {
		m := members{skipper: skipper{data: obj}}
		for m.step() && yield(m.name(), m.value) {
		}
	}
}

// Elements yields the span of each element of arr, which must be a JSON array
// that Parse accepted. Of bytes that were not checked it yields what it can make
// of them, with spans inside of arr.
func Elements(arr []byte) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		s := skipper{data: arr}
		for more := s.take('['); more; more = s.take(',') {
			start := s.pos
			if !s.value() || !yield(span(start, s.pos)) {
				return
			}
		}
	}
}

// Lookup returns the span of the value of the first member of obj called name,
// the zero Span if there is none. It does not allocate.
func Lookup(obj []byte, name string) Span {
	m := members{skipper: skipper{data: obj}}
	for m.step() {
		if m.is(name) {
			return m.value
		}
	}
	return Span{}
}

// Get returns the raw value of the first member of obj called name, nil if there is none.
func Get(obj []byte, name string) []byte { return Lookup(obj, name).Of(obj) }

// internName returns name as a string, for names of the protocol without allocating.
func internName(name []byte) string { //nolint:funlen // a table
	switch string(name) {
	case "name":
		return "name"
	case "title":
		return "title"
	case "description":
		return "description"
	case "inputSchema":
		return "inputSchema"
	case "outputSchema":
		return "outputSchema"
	case "annotations":
		return "annotations"
	case "execution":
		return "execution"
	case "icons":
		return "icons"
	case "_meta":
		return "_meta"
	case "uri":
		return "uri"
	case "uriTemplate":
		return "uriTemplate"
	case "mimeType":
		return "mimeType"
	case "size":
		return "size"
	case "arguments":
		return "arguments"
	case "required":
		return "required"
	case "type":
		return "type"
	case "text":
		return "text"
	case "content":
		return "content"
	case "contents":
		return "contents"
	case "structuredContent":
		return "structuredContent"
	case "isError":
		return "isError"
	case "resultType":
		return "resultType"
	case "ttlMs":
		return "ttlMs"
	case "cacheScope":
		return "cacheScope"
	case "nextCursor":
		return "nextCursor"
	case "tools":
		return "tools"
	case "properties":
		return "properties"
	case "ui":
		return "ui"
	case "traceparent":
		return "traceparent"
	case "tracestate":
		return "tracestate"
	case MetaProtocolVersion:
		return MetaProtocolVersion
	case MetaClientCapabilities:
		return MetaClientCapabilities
	case MetaClientInfo:
		return MetaClientInfo
	case MetaLogLevel:
		return MetaLogLevel
	case MetaServerInfo:
		return MetaServerInfo
	case MetaSubscriptionID:
		return MetaSubscriptionID
	case MetaProgressToken:
		return MetaProgressToken
	default:
		return string(name)
	}
}
