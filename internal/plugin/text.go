package plugin

import (
	"bytes"
	eights "encoding/binary"
	"slices"
	"sort"
	"unicode/utf8"
)

// token is one string of a JSON text: a value, or the name of a member.
type token struct {
	start, end int    // between its quotes
	coded      bool   // has escapes, so that its bytes are not its characters
	name       bool   // of a member
	key        part   // between quotes: the name under which the value stands, also through arrays; zero if none
	top        []byte // raw: the member of the outermost object within which it stands; nil if none
}

// walker goes through all strings of a JSON text that was checked before. Of
// bytes that were not checked it makes what it can, and stays inside of them.
type walker struct {
	raw   []byte
	pos   int
	level int
	names []level // of open objects and arrays
	name  bool    // the next string is the name of a member
	top   []byte
}

type level struct {
	object bool
	key    part
}

// part is a part of a text, [from, to).
type part struct{ from, to int }

// next finds the next string.
func (w *walker) next(t *token) bool {
	for w.pos < len(w.raw) {
		switch c := w.raw[w.pos]; c {
		case '{', '[':
			w.push(c == '{')
		case '}', ']':
			w.pop()
		case ',':
			w.name = w.level > 0 && w.names[w.level-1].object
		case '"':
			w.read(t)
			return true
		}
		w.pos++
	}
	return false
}

func (w *walker) push(object bool) {
	var key part
	if w.level > 0 && !object {
		key = w.names[w.level-1].key
	}
	if w.level < len(w.names) {
		w.names[w.level] = level{object: object, key: key}
	} else {
		w.names = append(w.names, level{object: object, key: key})
	}
	w.level++
	w.name = object
}

func (w *walker) pop() {
	if w.level > 0 {
		w.level--
	}
	w.name = false
}

// read takes the string at pos and moves behind it.
func (w *walker) read(t *token) {
	start := w.pos + 1
	end, coded := closing(w.raw, start)
	*t = token{start: start, end: end, coded: coded, name: w.name, top: w.top}
	w.pos = end + 1
	if w.level == 0 {
		return
	}
	at := &w.names[w.level-1]
	if !w.name {
		t.key = at.key
		return
	}
	w.name = false
	at.key = part{start, end}
	if w.level == 1 {
		w.top = w.raw[start:end]
		t.top = w.top
	}
}

// closing returns where the string ends whose inside begins at i: the offset of
// its closing quote, or the end of raw.
func closing(raw []byte, i int) (end int, coded bool) {
	quote := bytes.IndexByte(raw[i:], '"')
	if quote < 0 {
		return len(raw), bytes.IndexByte(raw[i:], '\\') >= 0
	}
	end = i + quote
	before := end
	for before > i && raw[before-1] == '\\' {
		before--
	}
	if (end-before)%2 == 0 { // each of those before it is of a pair: it is not escaped
		return end, bytes.IndexByte(raw[i:end], '\\') >= 0
	}
	return closingNear(raw, end+1), true
}

// closingNear is closing where escapes are many: it goes from one to the next.
func closingNear(raw []byte, i int) int {
	for i < len(raw) {
		if i+8 <= len(raw) {
			x := eights.LittleEndian.Uint64(raw[i:])
			high := equal(x, '"') | equal(x, '\\')
			if high == 0 {
				i += 8
				continue
			}
			i += firstOf(high)
		}
		switch raw[i] {
		case '"':
			return i
		case '\\':
			i++
		}
		i++
	}
	return len(raw)
}

// view is a text, and where its bytes come from.
type view struct {
	text   []byte
	points []point // in ascending order; nil: the text is where it was found
	base   int     // added to what points give
}

// point says that the byte at out of a text was at in of what it came from, and
// so are those behind it up to the next point; or, of a thing that was decoded,
// that all bytes up to the next point come from what is before the next one's in.
type point struct {
	out, in int
	decoded bool
}

// origin returns the part of the source that [start, end) of the text came from.
func (v *view) origin(start, end int) (int, int) {
	if v.points == nil {
		return v.base + start, v.base + end
	}
	from, _ := v.at(start)
	if end <= start {
		return v.base + from, v.base + from
	}
	_, to := v.at(end - 1)
	return v.base + from, v.base + to
}

// at returns the part of the source that the byte at i came from.
func (v *view) at(i int) (from, to int) {
	n := sort.Search(len(v.points), func(n int) bool { return v.points[n].out > i }) - 1
	if n < 0 {
		return i, i + 1
	}
	p := v.points[n]
	if !p.decoded {
		return p.in + i - p.out, p.in + i - p.out + 1
	}
	return p.in, v.points[n+1].in
}

// unescape appends the inside of a JSON string with its escapes undone.
func unescape(dst, raw []byte) []byte {
	out := len(dst)
	dst = room(dst, len(raw)+8)
	for i := 0; ; {
		n := copyPlain(dst[out:], raw[i:])
		if i, out = i+n, out+n; i >= len(raw) {
			return dst[:out]
		}
		if i+1 < len(raw) {
			if c := short(raw[i+1]); c != 0 {
				dst[out] = c
				i, out = i+2, out+1
				continue
			}
		}
		r, n := escape(raw[i:])
		dst = utf8.AppendRune(dst[:out], r)
		i, out = i+n, len(dst)
		dst = room(dst, len(raw)-i+8) // what was no escape may have become longer
	}
}

// copyPlain copies what is before the first backslash, and returns how much it is.
// Mostly it is near: eight bytes are copied at a time, of which the last may be too many.
func copyPlain(dst, raw []byte) int {
	i := 0
	for ; i < 64 && i+8 <= len(raw); i += 8 {
		x := eights.LittleEndian.Uint64(raw[i:])
		eights.LittleEndian.PutUint64(dst[i:], x)
		if high := equal(x, '\\'); high != 0 {
			return i + firstOf(high)
		}
	}
	rest := raw[i:]
	if n := bytes.IndexByte(rest, '\\'); n >= 0 {
		rest = rest[:n]
	}
	return i + copy(dst[i:], rest)
}

// room returns dst with all of its space, of which at least n bytes are free.
func room(dst []byte, n int) []byte {
	dst = slices.Grow(dst, n)
	return dst[:cap(dst)]
}

// short returns what the commonest escapes stand for, 0 for all others.
func short(c byte) byte {
	switch c {
	case '"', '\\', '/':
		return c
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	}
	return 0
}

// escapePoints says where the bytes of an unescaped string come from.
func escapePoints(raw []byte) []point {
	points := []point{{}}
	var space [utf8.UTFMax]byte
	for in, out := 0, 0; ; {
		i := bytes.IndexByte(raw[in:], '\\')
		if i < 0 {
			return points
		}
		in, out = in+i, out+i
		r, n := escape(raw[in:])
		points = append(points, point{out: out, in: in, decoded: true})
		in, out = in+n, out+len(utf8.AppendRune(space[:0], r))
		points = append(points, point{out: out, in: in})
	}
}

// escape decodes the escape at the beginning of raw.
func escape(raw []byte) (r rune, n int) {
	if len(raw) < 2 {
		return utf8.RuneError, len(raw)
	}
	switch raw[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		return unicodeEscape(raw)
	default:
		if raw[1] < utf8.RuneSelf {
			return rune(raw[1]), 2
		}
		return utf8.RuneError, 1
	}
}

func unicodeEscape(raw []byte) (rune, int) {
	r, ok := hex(raw[2:], 4)
	switch {
	case !ok:
		return utf8.RuneError, 2
	case r < 0xD800 || r > 0xDFFF:
		return r, 6
	}
	if r < 0xDC00 && len(raw) >= 12 && raw[6] == '\\' && raw[7] == 'u' {
		if low, ok := hex(raw[8:], 4); ok && low >= 0xDC00 && low <= 0xDFFF {
			return 0x10000 + (r-0xD800)<<10 + (low - 0xDC00), 12
		}
	}
	return utf8.RuneError, 6
}

// hex reads n hexadecimal digits.
func hex(b []byte, n int) (r rune, ok bool) {
	if len(b) < n {
		return 0, false
	}
	for _, c := range b[:n] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
