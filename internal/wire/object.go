package wire

import "iter"

// objectKind says which names an object may hold.
type objectKind uint8

const (
	anyObject      objectKind = iota
	envelopeObject            // the message itself
	paramsObject
	metaObject
)

// object checks an object and moves past it; member is called with the decoded
// name, with pos at the value, and must move past the value.
func (s *scanner) object(kind objectKind, member func(name []byte, start int) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	base := s.names.open()
	if s.peek() != '}' {
		for {
			name, err := s.name(kind, base)
			if err != nil {
				return err
			}
			if err := member(name, s.pos); err != nil {
				return err
			}
			s.space()
			if s.peek() != ',' {
				break
			}
			s.pos++
			s.space()
		}
	}
	if s.peek() != '}' {
		return s.fail("an object needs ',' or '}' here")
	}
	s.names.close(base)
	s.pos++
	s.depth--
	return nil
}

// name reads a member name and its colon and refuses it if it stood before.
func (s *scanner) name(kind objectKind, base int) ([]byte, error) {
	if s.peek() != '"' {
		return nil, s.fail("an object needs a member name here")
	}
	start := s.pos
	escaped, err := s.str()
	if err != nil {
		return nil, err
	}
	name := s.data[start+1 : s.pos-1]
	if escaped {
		name = appendUnescaped(nil, name)
	}
	if kind != anyObject && misspelt(kind, name) {
		s.pos = start
		return nil, s.fail("member name " + Quote(string(name)) + " differs from a name of the protocol in case only")
	}
	if s.names.seen(base, name, kind != anyObject) {
		if !s.lenient {
			s.pos = start
			return nil, s.fail("member name " + Quote(string(name)) + " stands twice in one object")
		}
		s.faults.Duplicates++
	}
	s.space()
	if s.peek() != ':' {
		return nil, s.fail("a member needs ':' here")
	}
	s.pos++
	s.space()
	return name, nil
}

// Members yields name (decoded) and value span of each member of obj, which
// must be a JSON object that Parse accepted; of anything else it yields nothing.
func Members(obj []byte) iter.Seq2[string, Span] {
	return func(yield func(string, Span) bool) {
		walk(obj, func(name []byte, value Span, _ int) bool { return yield(string(name), value) })
	}
}

// Elements yields the span of each element of arr, which must be a JSON array
// that Parse accepted; of anything else it yields nothing.
func Elements(arr []byte) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		s := skipper{data: arr}
		s.space()
		if s.peek() != '[' {
			return
		}
		s.pos++
		for {
			s.space()
			if c := s.peek(); c == ']' || c == 0 {
				return
			}
			start := s.pos
			s.value()
			if !yield(Span{uint32(start), uint32(s.pos)}) { //nolint:gosec // bounded by the message
				return
			}
			s.space()
			if s.peek() == ',' {
				s.pos++
			}
		}
	}
}

// Lookup returns the span of the value of the first member of obj called name.
func Lookup(obj []byte, name string) (found Span) {
	walk(obj, func(n []byte, value Span, _ int) bool {
		if string(n) == name {
			found = value
			return false
		}
		return true
	})
	return found
}

// Get returns the raw value of the first member of obj called name, nil if there is none.
func Get(obj []byte, name string) []byte { return Lookup(obj, name).Of(obj) }

// walk calls f with name, value and the offset of the name's quote, until f says stop.
func walk(obj []byte, f func(name []byte, value Span, at int) bool) {
	s := skipper{data: obj}
	s.space()
	if s.peek() != '{' {
		return
	}
	s.pos++
	for {
		s.space()
		if s.peek() != '"' {
			return
		}
		at := s.pos
		escaped := s.str()
		name := obj[at+1 : s.pos-1]
		if escaped {
			name = appendUnescaped(nil, name)
		}
		s.space()
		s.pos++ // the colon
		s.space()
		start := s.pos
		s.value()
		if !f(name, Span{uint32(start), uint32(s.pos)}, at) { //nolint:gosec // bounded by the message
			return
		}
		s.space()
		if s.peek() == ',' {
			s.pos++
		}
	}
}
