package wire

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"sync"
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
// the error is a *SyntaxError. It does not allocate for a message whose method
// is known and whose objects are of usual size. Its time grows with the number
// of bytes only, whatever they are; its memory with the number of names in one
// object, which for the worst of messages is less than ten times their size.
func Parse(data []byte, from Origin, m *Message) error {
	s := borrow(data)
	end := s.message(from, m)
	return s.done(end)
}

// ParseParams scans a params object by itself, as Parse does inside a request.
func ParseParams(data []byte, p *Params) error {
	*p = Params{}
	s := borrow(data)
	t := target{p: p}
	end := s.start()
	if end >= 0 {
		end = s.whole(s.params(end, &t))
	}
	return s.done(end)
}

// Valid reports whether data is one JSON value within the bounds, in the
// strictness meant for requests.
func Valid(data []byte) bool {
	s := borrow(data)
	end := s.start()
	if end >= 0 {
		end = s.whole(s.value(end))
	}
	return s.done(end) == nil
}

// A pool has no state that anyone can observe.
var scanners = sync.Pool{New: func() any { return new(scanner) }}

// scanner walks one message. It is used by one goroutine at a time. Its methods
// take the offset where something begins and return the offset behind it, or -1
// after they called fail.
type scanner struct {
	data    []byte
	depth   int
	lenient bool // inside a server's result or error
	faults  Faults
	names   nameStack
	failure SyntaxError
}

func borrow(data []byte) *scanner {
	s := scanners.Get().(*scanner)
	s.data = data
	return s
}

// done gives the scanner back and returns the failure if end is -1.
func (s *scanner) done(end int) error {
	var err error
	if end < 0 {
		failure := s.failure
		err = &failure
	}
	s.names.reset()
	s.data, s.depth, s.lenient, s.faults, s.failure = nil, 0, false, Faults{}, SyntaxError{}
	scanners.Put(s)
	return err
}

func (s *scanner) fail(at int, reason string) int {
	s.failure = SyntaxError{Offset: at, Reason: reason}
	return -1
}

// start returns where the text begins.
func (s *scanner) start() int {
	if len(s.data) > MaxScan {
		return s.fail(0, "the text is larger than 512 MiB, the most that limits.message can allow; send less at a time")
	}
	return s.space(0)
}

// whole checks that nothing but white space follows.
func (s *scanner) whole(i int) int {
	if i < 0 {
		return i
	}
	if i = s.space(i); i != len(s.data) {
		return s.fail(i, "something follows the end of the JSON text; send one message at a time")
	}
	return i
}

// space skips white space (RFC 8259 §2).
func (s *scanner) space(i int) int {
	if i < len(s.data) && s.data[i] <= ' ' {
		return s.spaces(i)
	}
	return i
}

func (s *scanner) spaces(i int) int {
	for i < len(s.data) && (s.data[i] == ' ' || s.data[i] == '\n' || s.data[i] == '\r' || s.data[i] == '\t') {
		i++
	}
	return i
}

// peek returns the byte at i, 0 behind the end.
func (s *scanner) peek(i int) byte {
	if uint(i) < uint(len(s.data)) {
		return s.data[i]
	}
	return 0
}

// value checks one JSON value.
func (s *scanner) value(i int) int {
	switch c := s.peek(i); c {
	case '"':
		end, _ := s.str(i)
		return end
	case '{':
		return s.object(i)
	case '[':
		return s.array(i)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return s.number(i)
	case 't':
		return s.literal(i, "true")
	case 'f':
		return s.literal(i, "false")
	case 'n':
		return s.literal(i, "null")
	default:
		return s.noValue(i)
	}
}

func (s *scanner) noValue(i int) int {
	if i >= len(s.data) {
		return s.fail(i, "the message ends where a value should stand; it was cut off")
	}
	return s.fail(i, "no JSON value starts with "+strconv.QuoteRune(rune(s.data[i])))
}

func (s *scanner) literal(i int, word string) int {
	if len(s.data)-i < len(word) || string(s.data[i:i+len(word)]) != word {
		return s.fail(i, "a word that is not true, false or null; a string needs quotes")
	}
	return i + len(word)
}

// number follows RFC 8259 §6; its size does not matter since it is never converted.
func (s *scanner) number(i int) int {
	if s.data[i] == '-' {
		i++
	}
	start := i
	if i = s.digits(i); i == start {
		return s.fail(i, "a number needs a digit here")
	}
	if s.data[start] == '0' && i > start+1 {
		return s.fail(start, "a number must not begin with 0")
	}
	c := s.peek(i)
	if c == '.' {
		start = i + 1
		if i = s.digits(start); i == start {
			return s.fail(i, "a number needs a digit after its point")
		}
		c = s.peek(i)
	}
	if c == 'e' || c == 'E' {
		i++
		if c := s.peek(i); c == '+' || c == '-' {
			i++
		}
		start = i
		if i = s.digits(start); i == start {
			return s.fail(i, "a number needs a digit in its exponent")
		}
	}
	return i
}

func (s *scanner) digits(i int) int {
	for i < len(s.data) && s.data[i] >= '0' && s.data[i] <= '9' {
		i++
	}
	return i
}

// enter counts an array or object that begins at i and returns where its first element may stand.
func (s *scanner) enter(i int) int {
	if s.depth++; s.depth > MaxDepth {
		return s.tooDeep(i)
	}
	return s.space(i + 1)
}

func (s *scanner) tooDeep(i int) int {
	return s.fail(i, "nested deeper than the "+strconv.Itoa(MaxDepth)+" levels a message may have; flatten it")
}

func (s *scanner) array(i int) int {
	if i = s.enter(i); i < 0 {
		return i
	}
	if s.peek(i) == ']' {
		s.depth--
		return i + 1
	}
	for {
		if i = s.value(i); i < 0 {
			return i
		}
		i = s.space(i)
		switch s.peek(i) {
		case ',':
			i = s.space(i + 1)
		case ']':
			s.depth--
			return i + 1
		default:
			return s.unclosed(i, "an array", "']'")
		}
	}
}

func (s *scanner) unclosed(i int, what, bracket string) int {
	if i >= len(s.data) {
		return s.fail(i, "the message ends inside "+what+"; it was cut off")
	}
	return s.fail(i, what+" needs ',' or "+bracket+" here")
}

// object checks an object none of whose names mean anything to us.
func (s *scanner) object(i int) int {
	if i = s.enter(i); i < 0 {
		return i
	}
	if s.peek(i) == '}' {
		s.depth--
		return i + 1
	}
	d, mark := s.data, s.names.open()
	seen := uint64(0) // a Bloom filter of the names so far
	for {
		if end, bit := s.freshName(i, mark.refs, seen); end > 0 {
			i, seen = end, seen|bit
		} else if end, bit = s.anyName(i, mark.refs); end > 0 {
			i, seen = end, seen|bit
		} else {
			return end
		}
		if i = s.value(i); i < 0 {
			return i
		}
		if i = s.space(i); i >= len(d) || d[i] != ',' {
			break
		}
		i = s.space(i + 1)
	}
	if s.peek(i) != '}' {
		return s.unclosed(i, "an object", "'}'")
	}
	s.names.close(mark)
	s.depth--
	return i + 1
}

// freshName takes a name and its colon in the usual case only: less than eight
// plain characters, no space before the colon, in an object of few names whose
// filter says that it is new. It returns the offset of the value and the name's
// bit, or 0 in all other cases.
func (s *scanner) freshName(i, base int, seen uint64) (end int, bit uint64) {
	d := s.data
	if i+10 > len(d) || d[i] != '"' {
		return 0, 0
	}
	w := binary.LittleEndian.Uint64(d[i+1:])
	hit := special(w)
	n := bits.TrailingZeros64(hit) &^ 7 // bits of the name
	if hit == 0 || byte(w>>n) != '"' {
		return 0, 0
	}
	r := nameRef{key: w & (1<<n - 1), off: uint32(i + 1), len: uint32(n >> 3)}
	i += n>>3 + 2
	refs := s.names.refs
	if bit = bloom(r.key); seen&bit != 0 || len(refs)-base >= linear || len(refs) == cap(refs) || d[i] != ':' {
		return 0, 0
	}
	s.names.refs = append(refs, r)
	return s.space(i + 1), bit
}

// anyName takes a name and its colon in every case.
func (s *scanner) anyName(i, base int) (end int, bit uint64) {
	if s.peek(i) != '"' {
		return s.noName(i), 0
	}
	end, coded := s.str(i)
	if end < 0 {
		return end, 0
	}
	if s.names.add(s.data, base, s.ref(i, end, coded)) {
		if !s.duplicate(i, end) {
			return -1, 0
		}
	} else {
		bit = bloom(s.names.refs[len(s.names.refs)-1].key)
	}
	return s.colon(end), bit
}

// bloom maps the key of a name to one of 64 bits.
func bloom(key uint64) uint64 { return 1 << (key * 0x9E3779B97F4A7C15 >> 58) }

// noName fails where a member name is missing.
func (s *scanner) noName(i int) int {
	if i >= len(s.data) {
		return s.fail(i, "the message ends inside an object; it was cut off")
	}
	return s.fail(i, "a member name in double quotes must stand here")
}

// ref returns a reference to the decoded name between the quotes at start and before end.
func (s *scanner) ref(start, end int, coded bool) nameRef {
	if coded {
		return s.names.unescaped(s.data[start+1 : end-1])
	}
	return nameRef{off: uint32(start + 1), len: uint32(end - start - 2)}
}

// colon moves past the colon behind a name, to the value.
func (s *scanner) colon(i int) int {
	if d := s.data; i+1 < len(d) && d[i] == ':' && d[i+1] > ' ' {
		return i + 1
	}
	return s.spacedColon(i)
}

func (s *scanner) spacedColon(i int) int {
	if i = s.space(i); s.peek(i) != ':' {
		return s.fail(i, "a member needs ':' and a value after its name")
	}
	return s.space(i + 1)
}

// duplicate counts a name that stood before, or refuses it and reports false.
func (s *scanner) duplicate(start, end int) bool {
	if s.lenient {
		s.faults.Duplicates++
		return true
	}
	s.fail(start, "member name "+excerpt(s.data[start:end])+" stands twice in one object; send each name once")
	return false
}

// excerpt returns raw, a JSON string, cut to a length fit for an error message.
func excerpt(raw []byte) string {
	const most = 80
	if name, _ := Unquote(raw); len(name) > most {
		return Quote(name[:most]) + "…"
	}
	return string(raw)
}
