package plugin

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// What looks at eight bytes at once says what looking at each says.
func TestEightBytesAtOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.SliceOfN(rapid.OneOf(rapid.ByteRange(0, 255), rapid.ByteRange('.', ';'), rapid.ByteRange(' ', '~')), 8, 8).Draw(rt, "text")
		digit, plain := false, true
		for _, c := range text {
			digit = digit || c >= '0' && c <= '9'
			plain = plain && c >= ' ' && c < 0x7F
		}
		if got := hasDigit(text, 0); got != digit {
			rt.Fatalf("%q: a digit %t", text, got)
		}
		if got := isPlain(text, 0); got && !plain || !got && plain {
			rt.Fatalf("%q: plain %t", text, got)
		}
	})
}

// The end of a string is where reading it byte by byte finds it.
func TestStringsEndWhereTheReferenceSays(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		raw := []byte(rapid.StringMatching(`[a\\\\"]{0,20}`).Draw(rt, "raw"))
		want, coded := len(raw), bytes.IndexByte(raw, '\\') >= 0
		for i := 0; i < len(raw); i++ {
			if raw[i] == '"' {
				want, coded = i, bytes.IndexByte(raw[:i], '\\') >= 0
				break
			}
			if raw[i] == '\\' {
				i++
			}
		}
		if end, is := closing(raw, 0); end != want || is != coded {
			rt.Fatalf("%q: %d %t, want %d %t", raw, end, is, want, coded)
		}
	})
}
