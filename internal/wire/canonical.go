package wire

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
	"unicode/utf8"
)

// AppendCanonical appends the canonical form of value, a JSON value that was
// checked before. Two values have the same form exactly if they are the same by
// these rules:
//
//   - white space between tokens does not count;
//   - neither does the order of the members of an object: they are sorted by
//     their decoded names, byte by byte. Members of the same name, which Valid
//     refuses and a server's result may have, keep their order;
//   - strings are compared by their characters, however these are escaped. A lone
//     surrogate escape and bytes that are no UTF-8 are equal to themselves only;
//   - numbers are compared by their exact decimal value, of whatever size: 1, 1.0
//     and 10e-1 are one number, 9007199254740993 and 9007199254740992 are two.
//
// The form is JSON as far as value is, and its own canonical form. It is meant for
// digests: of equal values they must be equal, of others they must not. It takes
// n log n steps for n bytes. Bytes that were not checked give a form that means
// nothing.
func AppendCanonical(dst, value []byte) []byte {
	s := skipper{data: value}
	s.space()
	if c := s.peek(); c != '{' && c != '[' {
		return s.appendScalar(dst)
	}
	if len(value) > MaxScan {
		return append(dst, value...) // was never checked; the form of nothing else
	}
	c := canons.Get().(*canon)
	c.skipper = s
	if c.index() {
		c.pos = s.pos
		dst = c.write(dst)
	} else {
		dst = append(dst, value...)
	}
	c.reset()
	canons.Put(c)
	return dst
}

// A pool has no state that anyone can observe.
var canons = sync.Pool{New: func() any { return new(canon) }}

// canon brings one value into its canonical form, in two passes: index finds the
// objects and sorts the members of each, write renders. Sorting what was written
// instead would copy a value once for each object around it.
type canon struct {
	skipper
	depth   int
	next    int           // the object that write meets next
	objects []canonObject // in the order they begin
	members []canonMember // those of one object together, sorted
	open    []canonMember // those of objects whose end was not seen yet
	arena   []byte        // decoded names
}

type canonObject struct {
	first, count int // in members
	end          int // offset behind it
	next         int // the first object that begins behind it
}

type canonMember struct {
	name   uint32  // offset of the quote before the name
	value  uint32  // offset of the value
	object uint32  // the first object that begins there or later
	key    nameRef // the decoded name; its field key holds the first eight bytes, for comparing
}

// What a pooled canon may keep: members and objects, bytes of names.
const keepCanon, keepNames = 1024, 16 << 10

func (c *canon) reset() {
	c.skipper, c.depth, c.next = skipper{}, 0, 0
	c.objects, c.members, c.open, c.arena = c.objects[:0], c.members[:0], c.open[:0], c.arena[:0]
	if cap(c.objects) > keepCanon {
		c.objects = nil
	}
	if cap(c.members) > keepCanon || cap(c.open) > keepCanon {
		c.members, c.open = nil, nil
	}
	if cap(c.arena) > keepNames {
		c.arena = nil
	}
}

// index moves past the value at pos and notes its objects; false if it is none.
func (c *canon) index() bool {
	switch c.peek() {
	case '{':
		return c.indexObject()
	case '[':
		return c.indexArray()
	default:
		return c.value()
	}
}

func (c *canon) indexArray() bool {
	if c.depth++; c.depth > MaxDepth {
		return false
	}
	if c.take('['); c.peek() != ']' {
		for more := true; more; more = c.take(',') {
			if !c.index() {
				return false
			}
		}
	}
	c.depth--
	return c.closes(']')
}

func (c *canon) indexObject() bool {
	if c.depth++; c.depth > MaxDepth {
		return false
	}
	at, base := len(c.objects), len(c.open)
	c.objects = append(c.objects, canonObject{})
	if c.take('{'); c.peek() != '}' {
		for more := true; more; more = c.take(',') {
			if !c.indexMember() {
				return false
			}
		}
	}
	if !c.closes('}') {
		return false
	}
	list := c.open[base:]
	if !slices.IsSortedFunc(list, c.compare) {
		slices.SortFunc(list, c.compare)
	}
	c.objects[at] = canonObject{first: len(c.members), count: len(list), end: c.pos, next: len(c.objects)}
	c.members, c.open = append(c.members, list...), c.open[:base]
	c.depth--
	return true
}

func (c *canon) indexMember() bool {
	if c.peek() != '"' {
		return false
	}
	name := c.pos
	inside, escaped, ok := c.str()
	if !ok || !c.take(':') {
		return false
	}
	key := nameRef{off: uint32(name + 1), len: uint32(len(inside))}
	if escaped {
		start := len(c.arena)
		c.arena = appendDecoded(c.arena, inside)
		key = nameRef{off: uint32(start) | inArena, len: uint32(len(c.arena) - start)}
	}
	key.key = prefix(c.key(key))
	c.open = append(c.open, canonMember{name: uint32(name), value: uint32(c.pos), object: uint32(len(c.objects)), key: key})
	return c.index()
}

// closes moves past the bracket that must stand at pos.
func (c *canon) closes(bracket byte) bool {
	if c.peek() != bracket {
		return false
	}
	c.pos++
	return true
}

// compare orders the members of an object.
func (c *canon) compare(a, b canonMember) int {
	if a.key.key != b.key.key {
		return cmp.Compare(a.key.key, b.key.key)
	}
	if n := bytes.Compare(c.key(a.key), c.key(b.key)); n != 0 {
		return n
	}
	if (a.key.off|b.key.off)&inArena != 0 {
		// A surrogate escape and the same surrogate in bytes that are no UTF-8 look
		// alike once decoded. They are not the same name.
		if n := bytes.Compare(c.appendNameOf(nil, a), c.appendNameOf(nil, b)); n != 0 {
			return n
		}
	}
	return cmp.Compare(a.value, b.value)
}

// prefix returns the first eight bytes of b as a number that is ordered as they are.
func prefix(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	n := uint64(0)
	for i, x := range b {
		n |= uint64(x) << (56 - 8*i)
	}
	return n
}

// key returns the decoded name.
func (c *canon) key(r nameRef) []byte {
	if r.off&inArena != 0 {
		off := r.off &^ inArena
		return c.arena[off : off+r.len]
	}
	return c.data[r.off : r.off+r.len]
}

func (c *canon) appendNameOf(dst []byte, m canonMember) []byte {
	s := skipper{data: c.data, pos: int(m.name)}
	return s.appendScalar(dst)
}

// write writes the value at pos and moves past it.
func (c *canon) write(dst []byte) []byte {
	switch c.peek() {
	case '{':
		return c.appendObject(dst)
	case '[':
		return c.appendArray(dst)
	default:
		return c.appendScalar(dst)
	}
}

func (c *canon) appendArray(dst []byte) []byte {
	dst = append(dst, '[')
	if c.take('['); c.peek() != ']' {
		for dst = c.write(dst); c.take(','); dst = c.write(dst) {
			dst = append(dst, ',')
		}
	}
	c.closes(']')
	return append(dst, ']')
}

func (c *canon) appendObject(dst []byte) []byte {
	o := c.objects[c.next]
	dst = append(dst, '{')
	for i := range c.members[o.first : o.first+o.count] {
		m := &c.members[o.first+i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(c.appendNameOf(dst, *m), ':')
		c.pos, c.next = int(m.value), int(m.object)
		dst = c.write(dst)
	}
	c.pos, c.next = o.end, o.next
	return append(dst, '}')
}

// appendScalar writes the string, number or word at pos and moves past it.
func (s *skipper) appendScalar(dst []byte) []byte {
	start := s.pos
	switch first := s.peek(); {
	case first == '"':
		inside, escaped, ok := s.str()
		if ok && escaped {
			return append(appendRequoted(append(dst, '"'), inside), '"')
		}
	case first == '-' || first >= '0' && first <= '9':
		s.value()
		return appendNumber(dst, s.data[start:s.pos])
	default:
		s.value()
	}
	return append(dst, s.data[start:s.pos]...)
}

// appendRequoted appends the inside of a JSON string with no other escapes than
// AppendQuote writes, and those of lone surrogates. What is no UTF-8 is kept.
func appendRequoted(dst, raw []byte) []byte {
	const hex = "0123456789abcdef"
	kept := 0 // what is before was appended
	for i := 0; ; {
		n := bytes.IndexByte(raw[i:], '\\')
		if n < 0 || i+n+1 == len(raw) {
			return append(dst, raw[kept:]...)
		}
		i += n
		switch raw[i+1] {
		case '"', '\\', 'n', 'r', 't': // written like that
			i += 2
			continue
		}
		r, end, ok := escaped(raw, i)
		if end == i { // was never checked
			return append(dst, raw[kept:]...)
		}
		dst = append(dst, raw[kept:i]...)
		switch {
		case !ok:
			dst = append(dst, '\\', 'u', hex[r>>12], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\r':
			dst = append(dst, '\\', 'r')
		case r == '\t':
			dst = append(dst, '\\', 't')
		case r < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
		i, kept = end, end
	}
}

// appendDecoded appends the decoded inside of a JSON string, with lone surrogates
// in the three bytes that UTF-8 would have for them, so that they have a place in
// the order of names.
func appendDecoded(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		n := bytes.IndexByte(raw[i:], '\\')
		if n < 0 {
			return append(dst, raw[i:]...)
		}
		dst = append(dst, raw[i:i+n]...)
		i += n
		r, end, ok := escaped(raw, i)
		switch {
		case end == i: // was never checked
			return append(dst, raw[i:]...)
		case !ok:
			dst = append(dst, 0xE0|byte(r>>12), 0x80|byte(r>>6&0x3F), 0x80|byte(r&0x3F))
		default:
			dst = utf8.AppendRune(dst, r)
		}
		i = end
	}
	return dst
}

// escaped decodes the escape at i; not ok with the surrogate if it is a lone one,
// and with end == i if it is no escape.
func escaped(raw []byte, i int) (r rune, end int, ok bool) {
	if i+1 >= len(raw) {
		return 0, i, false
	}
	if raw[i+1] != 'u' {
		r, end = unescape(raw, i)
		return r, end, true
	}
	if r, end, ok = surrogates(raw, i); !ok && end > i {
		r, _ = hex4(raw, i+2)
	}
	return r, end, ok
}
