package wire

import (
	"encoding/binary"
	"strconv"
	"sync"
	"unicode/utf8"
)

// Origin says who sent the bytes, which decides how strict Parse is.
type Origin uint8

// The origins. From a client everything must be clean. From a server, the
// inside of result and error is passed through with faults, which are counted.
const (
	FromClient Origin = iota
	FromServer
)

// Parse scans one whole message into m, which it overwrites. Leading and
// trailing white space is allowed, a batch is not. On error m is unspecified;
// the error is a *SyntaxError. It does not allocate for a small message whose
// method is known.
func Parse(data []byte, from Origin, m *Message) error {
	s := scanners.Get().(*scanner)
	s.reset(data, from)
	err := s.message(m)
	s.data = nil
	scanners.Put(s)
	return err
}

// ParseParams scans a params object by itself, as Parse does inside a message.
func ParseParams(data []byte, p *Params) error {
	*p = Params{}
	s := scanners.Get().(*scanner)
	s.reset(data, FromClient)
	err := s.params(p)
	if err == nil {
		s.space()
		if s.pos != len(data) {
			err = s.fail("text after the params object")
		}
	}
	s.data = nil
	scanners.Put(s)
	return err
}

// Valid reports whether data is one JSON value within the bounds, in the strictness meant for requests.
func Valid(data []byte) bool {
	s := scanners.Get().(*scanner)
	s.reset(data, FromClient)
	s.space()
	err := s.value()
	s.space()
	ok := err == nil && s.pos == len(data)
	s.data = nil
	scanners.Put(s)
	return ok
}

//nolint:gochecknoglobals // a pool has no state that anyone can observe
var scanners = sync.Pool{New: func() any { return new(scanner) }}

// scanner walks one message. It is used by one goroutine at a time.
type scanner struct {
	data    []byte
	pos     int
	depth   int
	from    Origin
	lenient bool // inside a server's result or error
	faults  Faults
	names   nameStack
}

func (s *scanner) reset(data []byte, from Origin) {
	s.data, s.pos, s.depth, s.from, s.lenient, s.faults = data, 0, 0, from, false, Faults{}
	s.names.reset()
}

func (s *scanner) fail(reason string) error { return &SyntaxError{Offset: s.pos, Reason: reason} }

func (s *scanner) span(start int) Span { return Span{uint32(start), uint32(s.pos)} } //nolint:gosec // bounded by message: data is at most 4 GiB

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

// value checks one JSON value and moves past it.
func (s *scanner) value() error {
	switch c := s.peek(); {
	case c == '"':
		_, err := s.str()
		return err
	case c == '{':
		return s.object(anyObject, func([]byte, int) error { return s.value() })
	case c == '[':
		return s.array()
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	case s.pos >= len(s.data):
		return s.fail("the message ends where a value should stand")
	default:
		return s.fail("this character starts no JSON value")
	}
}

func (s *scanner) literal(word string) error {
	if len(s.data)-s.pos < len(word) || string(s.data[s.pos:s.pos+len(word)]) != word {
		return s.fail("this is no JSON literal")
	}
	s.pos += len(word)
	return nil
}

func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
		s.pos++
	}
	return s.pos > start
}

// number follows RFC 8259 §6; its size does not matter since it is never converted.
func (s *scanner) number() error {
	if s.peek() == '-' {
		s.pos++
	}
	if s.peek() == '0' {
		s.pos++
	} else if !s.digits() {
		return s.fail("a number needs a digit here")
	}
	if s.peek() == '.' {
		s.pos++
		if !s.digits() {
			return s.fail("a number needs a digit after its point")
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if !s.digits() {
			return s.fail("a number needs a digit in its exponent")
		}
	}
	return nil
}

func (s *scanner) enter() error {
	if s.depth++; s.depth > MaxDepth {
		return s.fail("nested deeper than " + strconv.Itoa(MaxDepth) + " levels")
	}
	s.pos++
	s.space()
	return nil
}

func (s *scanner) array() error {
	if err := s.enter(); err != nil {
		return err
	}
	if s.peek() != ']' {
		for {
			if err := s.value(); err != nil {
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
	if s.peek() != ']' {
		return s.fail("an array needs ',' or ']' here")
	}
	s.pos++
	s.depth--
	return nil
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// str checks a string and moves past it. It reports whether the string holds an escape.
func (s *scanner) str() (escaped bool, err error) {
	i := s.pos + 1
	data := s.data
	for {
		// Eight bytes at a time past plain ASCII. A lane's high bit is set where
		// the byte is a control, a quote, a backslash or not ASCII; borrows can
		// only disturb lanes above the first such byte, which is the one we take.
		for i+8 <= len(data) {
			w := binary.LittleEndian.Uint64(data[i:])
			hit := (w | (w - ones*0x20) | ((w ^ ones*'"') - ones) | ((w ^ ones*'\\') - ones)) & highs
			if hit != 0 {
				break
			}
			i += 8
		}
		for i < len(data) && data[i] >= 0x20 && data[i] != '"' && data[i] != '\\' && data[i] < utf8.RuneSelf {
			i++
		}
		if i >= len(data) {
			s.pos = len(data)
			return escaped, s.fail("the message ends inside a string")
		}
		switch c := data[i]; {
		case c == '"':
			s.pos = i + 1
			return escaped, nil
		case c == '\\':
			escaped = true
			s.pos = i
			if i, err = s.escape(); err != nil {
				return escaped, err
			}
		case c < 0x20:
			s.pos = i
			return escaped, s.fail("a control character in a string must be escaped")
		default:
			r, n := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && n == 1 {
				s.pos = i
				if !s.lenient {
					return escaped, s.fail("invalid UTF-8")
				}
				s.faults.BadUTF8 = true
			}
			i += n
		}
	}
}

// escape checks the escape sequence at pos and returns the offset behind it.
func (s *scanner) escape() (int, error) {
	i := s.pos + 1
	if i >= len(s.data) {
		return i, s.fail("the message ends inside an escape")
	}
	switch s.data[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1, nil
	case 'u':
	default:
		return i, s.fail("no such escape")
	}
	r, ok := hex4(s.data, i+1)
	if !ok {
		return i, s.fail("\\u needs four hexadecimal digits")
	}
	i += 5
	if r < 0xD800 || r > 0xDFFF {
		return i, nil
	}
	if r < 0xDC00 && i+1 < len(s.data) && s.data[i] == '\\' && s.data[i+1] == 'u' {
		if low, ok := hex4(s.data, i+2); ok && low >= 0xDC00 && low <= 0xDFFF {
			return i + 6, nil
		}
	}
	if !s.lenient {
		return i, s.fail("a lone surrogate escape is no character")
	}
	s.faults.BadUTF8 = true
	return i, nil
}

func hex4(data []byte, i int) (rune, bool) {
	if i+4 > len(data) {
		return 0, false
	}
	var r rune
	for _, c := range data[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

func itoa(n int) string { return strconv.Itoa(n) }
