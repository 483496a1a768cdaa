package plugin

import eights "encoding/binary"

// Most of a text is of no interest to a detector; what is not is passed over eight
// bytes at a time. High bits tell: a byte below n is one where subtracting n borrows, if it had none itself.
const (
	each1  = 0x0101010101010101
	each80 = 0x80 * each1
)

// hasDigit reports whether one of the eight bytes from i on is a digit.
func hasDigit(text []byte, i int) bool {
	x := eights.LittleEndian.Uint64(text[i:]) ^ '0'*each1
	return (x-10*each1)&^x&each80 != 0
}

// isPlain reports whether all of the eight bytes from i on are visible ASCII or
// blanks. Doubt is false.
func isPlain(text []byte, i int) bool {
	x := eights.LittleEndian.Uint64(text[i:])
	return (x|(x+each1)|(x-' '*each1))&each80 == 0
}

// wide reports whether three bytes are one character of those from U+3000 to U+9FFF,
// which most of Chinese, Japanese and Korean texts consist of.
func wide(text []byte, i int) bool {
	return i+3 <= len(text) && text[i]-0xE3 <= 0xE9-0xE3 && text[i+1]&0xC0 == 0x80 && text[i+2]&0xC0 == 0x80
}
