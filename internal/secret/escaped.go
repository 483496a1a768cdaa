package secret

import (
	"bytes"
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON and URLs let an encoder escape any character it likes, so that a text has
// more forms than can be listed: Java writes \u00e4, .NET \u00E4 and \u002B, PHP \/,
// many escape %2D without need. So around such an escape the text is decoded and
// looked through once more. Escapes that encoders cannot do without, as \" and \n,
// are among the listed forms and no reason to decode.

// Bounds of what is decoded at once, in bytes.
const (
	piece = 64 << 10
	// reachFactor is how much longer an escaped form can be: \u00XX stands for one
	// byte, and there may be a backslash or two more where JSON stands in JSON.
	reachFactor = 8
)

// escapes finds the escapes that an encoder could have done without.
type escapes struct {
	data               []byte
	backslash, percent span // the next of each kind; at the end of data if there is none
}

func newEscapes(data []byte) escapes {
	e := escapes{data: data}
	e.backslash, e.percent = e.needless(0), e.octet(0)
	return e
}

// next returns the first of them and goes on behind it; false: there are no more.
func (e *escapes) next() (s span, ok bool) {
	if e.backslash.from < e.percent.from {
		s = e.backslash
		e.backslash = e.needless(s.to)
		return s, true
	}
	s = e.percent
	if s.from == len(e.data) {
		return s, false
	}
	e.percent = e.octet(s.to)
	return s, true
}

// needless finds backslashes, as many as there are, before u or /. Where one is needed
// for a quotation mark there are many, so it looks for both bytes at once.
func (e *escapes) needless(from int) span {
	first := bytes.IndexByte(e.data[from:], '\\')
	if first < 0 {
		return span{len(e.data), len(e.data)}
	}
	for i, rest := from+first, e.data[from+first:]; len(rest) > 1; i, rest = i+1, rest[1:] {
		if two := uint16(rest[0]) | uint16(rest[1])<<8; two == '\\'|'u'<<8 || two == '\\'|'/'<<8 {
			at := i
			for at > from && e.data[at-1] == '\\' {
				at--
			}
			return span{at, i + 2}
		}
	}
	return span{len(e.data), len(e.data)}
}

// octet finds %XX.
func (e *escapes) octet(from int) span {
	for {
		at := bytes.IndexByte(e.data[from:], '%')
		if at < 0 || from+at+2 >= len(e.data) {
			return span{len(e.data), len(e.data)}
		}
		at += from
		if digit(e.data[at+1]) >= 0 && digit(e.data[at+2]) >= 0 {
			return span{at, at + 3}
		}
		from = at + 1
	}
}

// escaped appends where forms stand that have such escapes.
func escaped(ix *index, data []byte, found []span) []span {
	reach := reachFactor * ix.longest
	all := newEscapes(data)
	for s, ok := all.next(); ok; {
		from, to := max(0, s.from-reach), min(s.to+reach, len(data))
		for from > 0 && data[from-1] == '\\' { // not in the middle of an escape
			from--
		}
		for s, ok = all.next(); ok && s.from < to && to-from < piece+2*reach; s, ok = all.next() {
			to = min(s.to+reach, len(data))
		}
		found = decoded(ix, data[from:to], from, found)
	}
	return found
}

// decoded appends where forms stand in a text that is decoded as JSON, JSON within
// JSON, and URLs, also within one another.
func decoded(ix *index, text []byte, offset int, found []span) []span {
	var origins []origin
	for _, decode := range [...]func([]byte) ([]byte, origin){decodeJSON, decodeJSON, decodeURL, decodeJSON} {
		next, from := decode(text)
		if len(from) == 0 {
			continue
		}
		text, origins = next, append(origins, from)
		for _, s := range plain(ix, text, nil) {
			for i := len(origins) - 1; i >= 0; i-- {
				s = origins[i].of(s)
			}
			found = append(found, span{offset + s.from, offset + s.to})
		}
	}
	return found
}

// origin says where the bytes of a decoded text come from: the escapes in order,
// with their places in both. What is between them was copied.
type origin []escape

type escape struct{ in, out span }

// of returns where a part of the decoded text comes from; of an escape, all.
func (o origin) of(s span) span {
	from, _ := o.at(s.from)
	_, last := o.at(s.to - 1)
	return span{from, last}
}

// at returns what the byte at i of the decoded text comes from.
func (o origin) at(i int) (from, to int) {
	n := sort.Search(len(o), func(n int) bool { return o[n].out.from > i }) - 1
	switch {
	case n < 0:
		return i, i + 1
	case i < o[n].out.to:
		return o[n].in.from, o[n].in.to
	default:
		from = o[n].in.to + i - o[n].out.to
		return from, from + 1
	}
}

func decodeJSON(text []byte) ([]byte, origin) {
	return decodeWith(text, '\\', func(dst, rest []byte) ([]byte, int) {
		if len(rest) < 2 {
			return dst, 0
		}
		if rest[1] == 'u' {
			return decodeUnicode(dst, rest)
		}
		if i := strings.IndexByte(`"\/bfnrt`, rest[1]); i >= 0 {
			return append(dst, "\"\\/\b\f\n\r\t"[i]), 2
		}
		return dst, 0
	})
}

func decodeURL(text []byte) ([]byte, origin) {
	return decodeWith(text, '%', func(dst, rest []byte) ([]byte, int) {
		if len(rest) < 3 || digit(rest[1]) < 0 || digit(rest[2]) < 0 {
			return dst, 0
		}
		return append(dst, byte(digit(rest[1])<<4|digit(rest[2]))), 3
	})
}

// decodeWith replaces escapes that begin with mark. decode appends what the
// beginning of rest stands for, and returns how long that escape is; 0: it is none.
func decodeWith(text []byte, mark byte, decode func(dst, rest []byte) ([]byte, int)) (out []byte, from origin) {
	copied := 0
	for i := 0; i < len(text); {
		n := bytes.IndexByte(text[i:], mark)
		if n < 0 {
			break
		}
		if out == nil {
			out = make([]byte, 0, len(text))
		}
		i += n
		out = append(out, text[copied:i]...)
		begin := len(out)
		var length int
		if out, length = decode(out, text[i:]); length == 0 {
			copied, i = i, i+1
			continue
		}
		from = append(from, escape{in: span{i, i + length}, out: span{begin, len(out)}})
		i += length
		copied = i
	}
	return append(out, text[copied:]...), from
}

// decodeUnicode decodes \uXXXX, and two of them when they are a surrogate pair.
func decodeUnicode(dst, rest []byte) ([]byte, int) {
	r := unit(rest)
	if r < 0 {
		return dst, 0
	}
	if utf16.IsSurrogate(r) {
		if pair := utf16.DecodeRune(r, unit(rest[6:])); pair != utf8.RuneError {
			return utf8.AppendRune(dst, pair), 12
		}
	}
	return utf8.AppendRune(dst, r), 6
}

// unit is the code unit that a text begins with as \uXXXX; -1: it does not.
func unit(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	var r rune
	for _, c := range text[2:6] {
		d := digit(c)
		if d < 0 {
			return -1
		}
		r = r<<4 | rune(d)
	}
	return r
}

// digit is the value of a hexadecimal digit; -1: it is none.
func digit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c - 'a' + 10)
	case 'A' <= c && c <= 'F':
		return int(c - 'A' + 10)
	default:
		return -1
	}
}
