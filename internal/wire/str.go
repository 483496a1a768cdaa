package wire

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks the bytes of w that end a run of plain text in a string:
// controls, quotes, backslashes, and what is not ASCII. The high bit of such a
// byte is set. Borrows can disturb only bytes above the lowest marked one, so
// that one and the absence of marks are exact.
func special(w uint64) uint64 {
	return (w | (w - ones*0x20) | ((w ^ ones*'"') - ones) | ((w ^ ones*'\\') - ones)) & highs
}

// plain returns the offset of the first byte from i on that is no plain text, at most len(d).
func plain(d []byte, i int) int {
	for i+32 <= len(d) {
		b := d[i : i+32 : i+32]
		h0 := special(binary.LittleEndian.Uint64(b))
		h1 := special(binary.LittleEndian.Uint64(b[8:]))
		h2 := special(binary.LittleEndian.Uint64(b[16:]))
		h3 := special(binary.LittleEndian.Uint64(b[24:]))
		switch {
		case h0|h1|h2|h3 == 0:
			i += 32
		case h0 != 0:
			return i + bits.TrailingZeros64(h0)>>3
		case h1 != 0:
			return i + 8 + bits.TrailingZeros64(h1)>>3
		case h2 != 0:
			return i + 16 + bits.TrailingZeros64(h2)>>3
		default:
			return i + 24 + bits.TrailingZeros64(h3)>>3
		}
	}
	for i+8 <= len(d) {
		if hit := special(binary.LittleEndian.Uint64(d[i:])); hit != 0 {
			return i + bits.TrailingZeros64(hit)>>3
		}
		i += 8
	}
	for i < len(d) && d[i] >= 0x20 && d[i] != '"' && d[i] != '\\' && d[i] < utf8.RuneSelf {
		i++
	}
	return i
}

// str checks a string. It reports whether the string is coded: that it holds an
// escape or a fault, so that its bytes are not its characters.
func (s *scanner) str(i int) (end int, coded bool) {
	d := s.data
	if i+9 <= len(d) { // most strings are short
		if hit := special(binary.LittleEndian.Uint64(d[i+1:])); hit != 0 {
			if at := i + 1 + bits.TrailingZeros64(hit)>>3; d[at] == '"' {
				return at + 1, false
			}
		}
	}
	for i++; ; {
		if i = plain(d, i); i >= len(d) {
			return s.fail(i, "the message ends inside a string; it was cut off"), coded
		}
		c := d[i]
		switch {
		case c == '"':
			return i + 1, coded
		case c == '\\' && i+1 < len(d) && simpleEscape[d[i+1]]:
			coded = true
			i += 2
			continue
		case c == '\\':
			coded = true
			i = s.escape(i)
		case c < 0x20:
			return s.fail(i, "a control character in a string; write it as an escape"), coded
		default:
			var clean bool
			i, clean = s.runes(i)
			coded = coded || !clean
		}
		if i < 0 {
			return i, coded
		}
	}
}

// simpleEscape holds the letters of two-byte escapes; a constant.
var simpleEscape = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// runes checks a run of characters that are not ASCII.
func (s *scanner) runes(i int) (end int, clean bool) {
	d := s.data
	clean = true
	for i < len(d) && d[i] >= utf8.RuneSelf {
		// The bulk of all text: two bytes, and three without the edge cases.
		switch c := d[i]; {
		case c >= 0xC2 && c <= 0xDF && i+1 < len(d) && d[i+1]&0xC0 == 0x80:
			i += 2
			continue
		case c > 0xE0 && c < 0xF0 && c != 0xED && i+2 < len(d) && d[i+1]&0xC0 == 0x80 && d[i+2]&0xC0 == 0x80:
			i += 3
			continue
		}
		r, n := utf8.DecodeRune(d[i:])
		if r == utf8.RuneError && n == 1 {
			if !s.lenient {
				return s.fail(i, "bytes that are no UTF-8; send text as UTF-8"), false
			}
			s.faults.BadUTF8, clean = true, false
		}
		i += n
	}
	return i, clean
}

// escape checks the escape sequence at i that is not a simple one.
func (s *scanner) escape(i int) int {
	if s.peek(i+1) != 'u' {
		return s.fail(i, `no such escape in JSON; a backslash by itself is written "\\"`)
	}
	_, end, ok := surrogates(s.data, i)
	switch {
	case ok:
		return end
	case end == i:
		return s.fail(i, `\u needs four hexadecimal digits`)
	case !s.lenient:
		return s.fail(i, "a surrogate escape without its other half is no character; send both halves")
	}
	s.faults.BadUTF8 = true
	return end
}

// surrogates decodes the \u escape at i, a surrogate pair as one character. ok
// is false if it is a lone surrogate, or with end == i if it is no escape at all.
func surrogates(d []byte, i int) (r rune, end int, ok bool) {
	r, ok = hex4(d, i+2)
	if !ok {
		return utf8.RuneError, i, false
	}
	if r < 0xD800 || r > 0xDFFF {
		return r, i + 6, true
	}
	if r < 0xDC00 && i+7 < len(d) && d[i+6] == '\\' && d[i+7] == 'u' {
		if low, ok := hex4(d, i+8); ok && low >= 0xDC00 && low <= 0xDFFF {
			return 0x10000 + (r-0xD800)<<10 + (low - 0xDC00), i + 12, true
		}
	}
	return utf8.RuneError, i + 6, false
}

// hex4 reads four hexadecimal digits at i.
func hex4(d []byte, i int) (rune, bool) {
	if i+4 > len(d) {
		return 0, false
	}
	var r rune
	for _, c := range d[i : i+4] {
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
