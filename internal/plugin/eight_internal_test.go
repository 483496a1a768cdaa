package plugin

import (
	"bytes"
	eights "encoding/binary"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// What looks at eight bytes at once says what looking at each says.
func TestEightBytesAtOnce(t *testing.T) {
	anyByte := rapid.OneOf(rapid.ByteRange(0, 255), rapid.ByteRange('.', ';'), rapid.ByteRange(' ', '~'))
	sets := newSets()
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.SliceOfN(anyByte, 8, 8).Draw(rt, "text")
		c := rapid.OneOf(rapid.Just(text[7]), anyByte).Draw(rt, "c")
		x := eights.LittleEndian.Uint64(text)
		where := func(is func(byte) bool) int {
			if i := slices.IndexFunc(text, is); i >= 0 {
				return i
			}
			return 8
		}
		if got, want := nextDigit(text, 0), where(isDigit); got != want {
			rt.Fatalf("%q: a digit at %d, want %d", text, got, want)
		}
		if got, want := firstOf(unplain(x)), where(func(c byte) bool { return c < ' ' || c >= 0x7F }); got != want {
			rt.Fatalf("%q: plain to %d, want %d", text, got, want)
		}
		if got, want := firstOf(equal(x, uint64(c))), where(func(b byte) bool { return b == c }); got != want {
			rt.Fatalf("%q: %q at %d, want %d", text, c, got, want)
		}
		no := unencoded(x)
		for i, c := range text {
			if no>>(8*i)&0x80 != 0 && sets[c]&(base64Std|base64URL) != 0 {
				rt.Fatalf("%q: %q is of Base64", text, c)
			}
		}
	})
}

// Whether letters of both cases are there is what looking at each tells.
func TestBothCases(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := []byte(rapid.StringMatching(`[A-C0-9@+\[Z]{0,20}[a-c0-9{/`+"`"+`z]{0,20}[XZxz0]{0,2}`).Draw(rt, "text"))
		want := bytes.ContainsFunc(text, unicode.IsUpper) && bytes.ContainsFunc(text, unicode.IsLower)
		if got := bothCases(text); got != want {
			rt.Fatalf("%q: %t", text, got)
		}
	})
}

// Where Base64 begins is where looking at each byte finds it.
func TestEncodedBeginsWhereTheReferenceSays(t *testing.T) {
	sets := newSets()
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.SliceOfN(rapid.StringMatching(`[a-zA-Z0-9+/_-]{0,40}[ .,:=\\]?`), 0, 6).Draw(rt, "parts")
		s := secretScan{t: &tables{sets: sets}, text: []byte(strings.Join(parts, ""))}
		from := rapid.IntRange(0, len(s.text)).Draw(rt, "from")
		want, run := -1, 0
		for i := from; i < len(s.text) && want < 0; i++ {
			if run++; sets[s.text[i]]&(base64Std|base64URL) == 0 {
				run = 0
			}
			if run == minEncoded {
				want = i + 1 - minEncoded
			}
		}
		if got := s.nextEncoded(from); got != want {
			rt.Fatalf("%q from %d: %d, want %d", s.text, from, got, want)
		}
	})
}

// Undoing escapes eight bytes at a time is undoing them one by one.
func TestUnescapeAgainstAReference(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		raw := []byte(strings.Join(rapid.SliceOfN(rapid.StringMatching(`[a-z é]{0,12}(\\(["\\/bfnrtx]|u[0-9a-f]{3,4}|ud83d\\ude00|é)?)?`), 0, 8).Draw(rt, "raw"), ""))
		dst := make([]byte, 3, rapid.IntRange(3, 20).Draw(rt, "space"))
		want := bytes.Clone(dst)
		for i := 0; i < len(raw); {
			if raw[i] != '\\' {
				want = append(want, raw[i])
				i++
				continue
			}
			r, n := escape(raw[i:])
			want = utf8.AppendRune(want, r)
			i += n
		}
		if got := unescape(dst, raw); !bytes.Equal(got, want) {
			rt.Fatalf("%q: %q, want %q", raw, got, want)
		}
	})
}

// What is hidden is what looking at each character finds.
func TestHiddenAgainstAReference(t *testing.T) {
	tables := &tables{leads: hiddenLeads()}
	piece := rapid.SampledFrom([]string{"plain text ", "a", "\n", "\t\r\f", "\x00", "\x7f", "漢字", "\u200b", "é", "\u00ad", "\U000E0041", "\x1b[2J", "\xff", "😀\ufe0f", "12345678"})
	rapid.Check(t, func(rt *rapid.T) {
		text := []byte(strings.Join(rapid.SliceOfN(piece, 0, 20).Draw(rt, "text"), ""))
		s, odd := hiddenScan{text: text}, false
		for i := 0; i < len(text); {
			if !tables.leads[text[i]] {
				i++
				continue
			}
			kind, n := s.look(i)
			if odd = true; kind != hiddenNone {
				s.add(0, kind, i, i+n)
			}
			i += n
		}
		if got, is := tables.scanHidden(text, nil); is != odd || !slices.Equal(got, s.found) {
			rt.Fatalf("%q: %v %t, want %v %t", text, got, is, s.found, odd)
		}
	})
}

// numbersSlowly is numbers without anything that is passed over quickly.
func (s *piiScan) numbersSlowly() {
	for i := 0; i < len(s.text); {
		switch {
		case !isDigit(s.text[i]):
			i++
		case i > 0 && s.t.sets[s.text[i-1]]&word != 0 && !s.mayBegin(i):
			i = s.t.sets.run(s.text, i, len(s.text), alnum)
		default:
			i = s.number(s.collect(i))
		}
	}
}

// Numbers that are passed over quickly are none that would be found.
func TestNumbersAgainstAReference(t *testing.T) {
	tables := &tables{sets: newSets()}
	sign := rapid.SampledFrom([]string{"", " ", "-", ".", "/", "(", ")", ") ", "+", "#", "X", "\u00a0", "\\n", ":", ", ", "\n", "AB ", " C", "Z", "a", "_", "tel: ", "Тел. ", "电话", "FAX\"", "DE"})
	number := rapid.OneOf(
		rapid.StringMatching(`[0-9]{1,20}`), rapid.StringMatching(`[0-9]{1,4}`), rapid.StringMatching(`[0-9]{2,3}`), rapid.StringMatching(`[0-9]{28,33}`),
		rapid.SampledFrom([]string{
			"4111 1111 1111 1111", "4111111111111111", "3782 822463 10005", "378282246310005", "30569309025904", "5555-5555-5555-4444", "4532015112830366",
			"212-456-7890", "(212) 456-7890", "1 (212) 456-7890", "1-212-456-7890", "212.456.7890", "+41 44 668 18 00", "+442079460958", "030 1234567", "4155552671",
			"123-45-6780", "756.9217.0769.85", "7569217076985", "529.982.247-25", "2341 2341 2346", "234123412346", "185057800608436", "1 85 05 78 006 084 36",
			"11010519491231002X", "110105194912310029", "12345678Z", "12345678-Z", "X1234567L", "AB 12 34 56 C", "DE89 3704 0044 0532 0130 00", "8.8.8.8", "2026-03-04T05:06:12.310Z",
		}),
	)
	rapid.Check(t, func(rt *rapid.T) {
		var text []byte
		for range rapid.IntRange(1, 8).Draw(rt, "numbers") {
			text = append(append(text, sign.Draw(rt, "sign")...), number.Draw(rt, "number")...)
		}
		text = append(text, sign.Draw(rt, "end")...)
		quick := piiScan{t: tables, text: text, ip: rapid.Bool().Draw(rt, "ip"), calls: rapid.Bool().Draw(rt, "calls")}
		slow := quick
		quick.numbers()
		slow.numbersSlowly()
		if !slices.Equal(quick.found, slow.found) {
			rt.Fatalf("%q: %v, want %v", text, quick.found, slow.found)
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
