package plugin

import (
	eights "encoding/binary"
	"math/bits"
)

// Most of a text is of no interest to a detector; what is not is passed over eight
// bytes at a time. High bits tell: a byte below n is one where subtracting n borrows, if it had none itself.
const (
	each1  = 0x0101010101010101
	each80 = 0x80 * each1
)

// firstOf returns the place of the first byte whose high bit is set, 8 if none is.
// Where a borrow or a carry sets more of them, that first one is right. In loops, ask
// first whether there is one: the processor then need not wait for the place.
func firstOf(high uint64) int { return bits.TrailingZeros64(high) / 8 }

// equal sets the high bit of the first byte that is c.
func equal(x, c uint64) uint64 {
	x ^= c * each1
	return (x - each1) &^ x & each80
}

// nextDigit returns where the first digit is from i on, the end of text if there is none.
func nextDigit(text []byte, i int) int {
	for i+8 <= len(text) {
		x := eights.LittleEndian.Uint64(text[i:]) ^ '0'*each1
		if high := (x - 10*each1) &^ x & each80; high != 0 {
			return i + firstOf(high)
		}
		i += 8
	}
	for i < len(text) && !isDigit(text[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// unplain sets the high bit of the first byte that is not visible ASCII or a blank.
func unplain(x uint64) uint64 {
	return (x | (x + each1) | (x-' '*each1)&^x) & each80
}

// unencoded sets the high bits of bytes that are not part of Base64, of either
// alphabet: of most of them, and of no others.
func unencoded(x uint64) uint64 {
	all := x | each80 // so nothing borrows
	return (x | ^(all - '+'*each1) | (all-':'*each1)&^(all-'A'*each1)) & each80
}

// between sets the high bits of bytes from a to z. All of x must be ASCII.
func between(x, a, z uint64) uint64 {
	return (x + (0x80-a)*each1) &^ (x + (0x7F-z)*each1) & each80
}

// wide reports whether three bytes are one character of those from U+3000 to U+9FFF,
// which most of Chinese, Japanese and Korean texts consist of.
func wide(text []byte, i int) bool {
	return i+3 <= len(text) && text[i]-0xE3 <= 0xE9-0xE3 && text[i+1]&0xC0 == 0x80 && text[i+2]&0xC0 == 0x80
}
