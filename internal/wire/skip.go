package wire

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// skipper moves over JSON that was checked before: it trusts the syntax and
// therefore only has to find quotes and brackets. On bytes that were not
// checked it stops early or finds nonsense, but it ends and stays inside of them.
type skipper struct {
	data []byte
	pos  int // at most len(data)
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

// take moves past c and white space around it, if c is next.
func (s *skipper) take(c byte) bool {
	s.space()
	if s.peek() != c {
		return false
	}
	s.pos++
	s.space()
	return true
}

// str moves past the string at pos. It returns what is between its quotes, and
// whether that holds an escape; false if the string does not end.
func (s *skipper) str() (inside []byte, escaped, ok bool) {
	start := s.pos + 1
	if s.pos = stringEnd(s.data, start); s.pos < 0 {
		s.pos = len(s.data)
		return nil, false, false
	}
	inside = s.data[start : s.pos-1]
	return inside, bytes.IndexByte(inside, '\\') >= 0, true
}

// stringEnd returns the offset behind the string whose inside begins at i, -1 if it does not end.
func stringEnd(d []byte, i int) int {
	for {
		n := quote(d[i:])
		if n < 0 {
			return -1
		}
		part := d[i : i+n]
		i += n + 1
		// An escape never spans a quote otherwise, so an odd number of
		// backslashes before a quote means that it is escaped.
		if n == 0 || part[n-1] != '\\' || backslashes(part)%2 == 0 {
			return i
		}
	}
}

// quote returns the offset of the first quote in b, -1 if there is none. Most are near.
func quote(b []byte) int {
	if len(b) >= 8 {
		w := binary.LittleEndian.Uint64(b) ^ ones*'"'
		if hit := (w - ones) & ^w & highs; hit != 0 {
			return bits.TrailingZeros64(hit) >> 3
		}
	}
	return bytes.IndexByte(b, '"')
}

// backslashes counts those at the end of b.
func backslashes(b []byte) int {
	n := 0
	for n < len(b) && b[len(b)-1-n] == '\\' {
		n++
	}
	return n
}

// value moves past the value at pos; false if there is none.
func (s *skipper) value() bool {
	start := s.pos
	switch s.peek() {
	case '"':
		_, _, ok := s.str()
		return ok
	case '{', '[':
		return s.nested()
	}
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ',', ':', '}', ']', '"', ' ', '\t', '\r', '\n':
			return s.pos > start
		}
		s.pos++
	}
	return s.pos > start
}

// nested moves past an array or an object.
func (s *skipper) nested() bool {
	d, depth := s.data, 0
	for i := s.pos; i < len(d); i++ {
		switch d[i] {
		case '"':
			if i = stringEnd(d, i+1) - 1; i < 0 {
				s.pos = len(d)
				return false
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				s.pos = i + 1
				return true
			}
		}
	}
	s.pos = len(d)
	return false
}
