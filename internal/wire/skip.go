package wire

import "bytes"

// skipper moves over JSON that was checked before: it trusts the syntax and
// therefore only has to find quotes and brackets. On bytes that were not
// checked it stops early, but never outside of them.
type skipper struct {
	data []byte
	pos  int
}

func (s *skipper) space() {
	for s.pos < len(s.data) && s.data[s.pos] <= ' ' {
		s.pos++
	}
}

func (s *skipper) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

// str moves past a string and reports whether it holds an escape.
func (s *skipper) str() (escaped bool) {
	s.pos++
	for s.pos < len(s.data) {
		n := bytes.IndexByte(s.data[s.pos:], '"')
		if n < 0 {
			s.pos = len(s.data)
			return escaped
		}
		part := s.data[s.pos : s.pos+n]
		if bytes.IndexByte(part, '\\') >= 0 {
			escaped = true
		}
		s.pos += n + 1
		if backslashes(part)%2 == 0 {
			return escaped
		}
	}
	return escaped
}

// backslashes counts those at the end of b. An escape never spans a quote
// otherwise, so an odd number means that the quote behind b is escaped.
func backslashes(b []byte) int {
	n := 0
	for n < len(b) && b[len(b)-1-n] == '\\' {
		n++
	}
	return n
}

func (s *skipper) value() {
	switch s.peek() {
	case '"':
		s.str()
	case '{', '[':
		depth := 0
		for s.pos < len(s.data) {
			switch s.data[s.pos] {
			case '"':
				s.str()
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			s.pos++
			if depth == 0 {
				return
			}
		}
	default:
		for s.pos < len(s.data) {
			switch s.data[s.pos] {
			case ',', '}', ']', ' ', '\t', '\r', '\n':
				return
			}
			s.pos++
		}
	}
}
