package plugin

import (
	eights "encoding/binary"
	"unicode"
	"unicode/utf8"
)

// hiddenKinds are what the plugin invisible finds, with their weight and words.
func hiddenKinds() []kindInfo {
	return []kindInfo{
		{"tags", LevelCritical, "tag characters (U+E0000 to U+E007F) outside of the flags of England, Scotland, Wales and their like: text that only machines read"},
		{"bidi", LevelHigh, "overrides of the direction of text always; embeddings, isolates and marks where no right-to-left script stands, or where they are not closed"},
		{"variation", LevelHigh, "variation selectors that have nothing to vary: after another one, after a letter, or at the start"},
		{"zero-width", LevelMedium, "zero-width spaces, joiners and invisible operators, but for joiners within emoji and within words of scripts that need them, spaces in scripts without them, and a byte order mark in front"},
		{"filler", LevelMedium, "characters that are letters and are blank: Hangul fillers, the Braille blank, Khmer inherent vowels, the grapheme joiner"},
		{"ansi-control", LevelMedium, "terminal control sequences that move, erase, link or set titles"},
		{"ansi-color", LevelInfo, "terminal control sequences that set colours only"},
		{"control", LevelLow, "control characters other than tab, line ends and form feed"},
		{"soft-hyphen", LevelLow, "soft hyphens, but for single ones within longer words"},
		{"annotation", LevelMedium, "interlinear annotation characters, and musical controls"},
	}
}

// kindInfo says what a kind of finding is.
type kindInfo struct {
	kind  string
	level Level
	about string
}

// hiddenLeads has a bit for each byte with which something may begin that is not
// seen.
func hiddenLeads() (leads [256]bool) {
	for c := range 0x20 {
		leads[c] = c != '\t' && c != '\n' && c != '\r' && c != '\f'
	}
	leads[0x7F] = true
	for _, c := range [...]byte{0xC2, 0xCD, 0xD8, 0xE1, 0xE2, 0xE3, 0xEF, 0xF0, 0xF3} {
		leads[c] = true
	}
	return leads
}

// hiddenScan looks for characters that people do not see.
type hiddenScan struct {
	text  []byte
	found []Finding
	rtl   int8 // whether a right-to-left letter is in the text: 0 unknown, 1 yes, -1 no
}

// scanHidden appends what is hidden in the text. Neighbours of one kind are one
// finding. Odd says that there are bytes with which such characters begin.
func (t *tables) scanHidden(text []byte, found []Finding) (_ []Finding, odd bool) {
	s := hiddenScan{text: text, found: found}
	first := len(found)
	for i := 0; i < len(text); {
		if !t.leads[text[i]] {
			if wide(text, i) {
				i += 3
				continue
			}
			for i++; i+8 <= len(text); {
				if high := unplain(eights.LittleEndian.Uint64(text[i:])); high != 0 {
					i += firstOf(high)
					break
				}
				i += 8
			}
			continue
		}
		odd = true
		kind, n := s.look(i)
		if kind == hiddenNone {
			i += n
			continue
		}
		s.add(first, kind, i, i+n)
		i += n
		if len(s.found) > maxFindings {
			break
		}
	}
	return s.found, odd
}

// hidden is an index into hiddenKinds.
type hidden int8

const (
	hiddenNone hidden = iota - 1
	hiddenTags
	hiddenBidi
	hiddenVariation
	hiddenWidth
	hiddenFiller
	hiddenANSI
	hiddenColor
	hiddenControl
	hiddenHyphen
	hiddenAnnotation
)

func (s *hiddenScan) add(first int, kind hidden, from, to int) {
	info := hiddenKinds()[kind]
	if n := len(s.found); n > first && s.found[n-1].End == from && s.found[n-1].Kind == info.kind {
		s.found[n-1].End = to
		return
	}
	s.found = append(s.found, Finding{Kind: info.kind, Start: from, End: to, Detection: info.level})
}

// look judges the character at i, which has n bytes; of a control sequence, all.
func (s *hiddenScan) look(i int) (kind hidden, n int) {
	r, n := utf8.DecodeRune(s.text[i:])
	switch {
	case r == utf8.RuneError && n <= 1:
		return hiddenNone, 1
	case r < 0xA0:
		return s.control(i, r, n)
	case r == 0xAD:
		return s.hyphen(i, n)
	case r == 0x061C, r == 0x200E, r == 0x200F:
		return only(!s.rightToLeft(), hiddenBidi), n
	case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069:
		return s.direction(i, r, n)
	case r == 0x200B, r == 0x200C, r == 0x200D:
		return s.width(i, r, n)
	case r == 0xFEFF:
		return only(i > 0, hiddenWidth), n
	case r >= 0x2060 && r <= 0x2064, r >= 0x206A && r <= 0x206F, r == 0x180E:
		return hiddenWidth, n
	case r == 0x115F, r == 0x1160:
		return only(!unicode.Is(unicode.Hangul, after(s.text, i+n)) && !unicode.Is(unicode.Hangul, before(s.text, i)), hiddenFiller), n
	case r == 0x034F:
		return only(!unicode.Is(unicode.M, after(s.text, i+n)), hiddenFiller), n
	case r == 0x3164, r == 0xFFA0, r == 0x17B4, r == 0x17B5:
		return hiddenFiller, n
	case r == 0x2800:
		return only(!braille(before(s.text, i)) && !braille(after(s.text, i+n)), hiddenFiller), n
	case r >= 0xFFF9 && r <= 0xFFFB, r >= 0x1D173 && r <= 0x1D17A:
		return hiddenAnnotation, n
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF, r >= 0x180B && r <= 0x180D, r == 0x180F:
		return s.variation(i, r, n)
	case r >= 0xE0000 && r <= 0xE007F:
		return s.tag(i, n)
	}
	return hiddenNone, n
}

func only(yes bool, kind hidden) hidden {
	if yes {
		return kind
	}
	return hiddenNone
}

func before(text []byte, i int) rune {
	r, n := utf8.DecodeLastRune(text[:i])
	if n == 0 {
		return 0
	}
	return r
}

func after(text []byte, i int) rune {
	r, n := utf8.DecodeRune(text[i:])
	if n == 0 {
		return 0
	}
	return r
}

func braille(r rune) bool { return r > 0x2800 && r <= 0x28FF }

// control judges a control character; those of terminals with all that belongs
// to their sequence.
func (s *hiddenScan) control(i int, r rune, n int) (hidden, int) {
	switch {
	case r == 0x1B && i+1 < len(s.text):
		return s.sequence(i, i+1)
	case r == 0x9B:
		kind, end := s.csi(i + n)
		return kind, end - i
	case r == 0x85: // a line end of old machines
		return hiddenNone, n
	case r == '\b' && i > 0 && (s.text[i-1] == '_' || i+1 < len(s.text) && s.text[i-1] == s.text[i+1]):
		return hiddenNone, n // bold and underlined letters of manual pages
	case r >= ' ' && r < 0x7F:
		return hiddenNone, n
	}
	return hiddenControl, n
}

// sequence judges what begins with an escape character (ECMA-48).
func (s *hiddenScan) sequence(i, next int) (hidden, int) {
	switch c := s.text[next]; {
	case c == '[':
		kind, end := s.csi(next + 1)
		return kind, end - i
	case c == ']' || c == 'P' || c == '_' || c == '^' || c == 'X':
		for end := next + 1; end < len(s.text) && end < next+4096; end++ {
			if s.text[end] == 0x07 {
				return hiddenANSI, end + 1 - i
			}
			if s.text[end] == 0x1B && end+1 < len(s.text) && s.text[end+1] == '\\' {
				return hiddenANSI, end + 2 - i
			}
		}
		return hiddenANSI, next + 1 - i
	case c >= 0x20 && c <= 0x2F && next+1 < len(s.text) && s.text[next+1] >= 0x30 && s.text[next+1] < 0x7F:
		return hiddenANSI, next + 2 - i
	case c >= 0x30 && c < 0x7F:
		return hiddenANSI, next + 1 - i
	}
	return hiddenControl, 1
}

// csi returns the end of a control sequence whose parameters begin at i.
func (s *hiddenScan) csi(i int) (hidden, int) {
	for limit := min(len(s.text), i+64); i < limit && s.text[i] >= 0x20 && s.text[i] <= 0x3F; i++ {
	}
	if i >= len(s.text) || s.text[i] < 0x40 || s.text[i] > 0x7E {
		return hiddenANSI, i
	}
	if s.text[i] == 'm' {
		return hiddenColor, i + 1
	}
	return hiddenANSI, i + 1
}

// hyphen: a place where a long word may be parted has letters on both sides.
func (s *hiddenScan) hyphen(i, n int) (hidden, int) {
	left, right := 0, 0
	for at := i; left < 2; left++ {
		r, size := utf8.DecodeLastRune(s.text[:at])
		if size == 0 || !unicode.IsLetter(r) {
			break
		}
		at -= size
	}
	for at := i + n; right < 2; right++ {
		r, size := utf8.DecodeRune(s.text[at:])
		if size == 0 || !unicode.IsLetter(r) {
			break
		}
		at += size
	}
	return only(left < 2 || right < 2, hiddenHyphen), n
}

// rightToLeft reports whether the text has letters of a script that is written so.
func (s *hiddenScan) rightToLeft() bool {
	if s.rtl == 0 {
		s.rtl = -1
		for i := 0; i < len(s.text) && s.rtl < 0; {
			if s.text[i] < utf8.RuneSelf {
				i++
				continue
			}
			r, n := utf8.DecodeRune(s.text[i:])
			i += n
			if r >= 0x590 && r <= 0x8FF && unicode.IsLetter(r) || r >= 0xFB1D && r <= 0xFDFF || r >= 0xFE70 && r <= 0xFEFC || r >= 0x10800 && r <= 0x10FFF || r >= 0x1E800 && r <= 0x1EFFF {
				s.rtl = 1
			}
		}
	}
	return s.rtl > 0
}

// direction judges embeddings, overrides and isolates. What libraries put around
// values (U+2068 … U+2069, U+2066 … U+2069) changes nothing where all is written
// from left to right.
func (s *hiddenScan) direction(i int, r rune, n int) (hidden, int) {
	switch r {
	case 0x202D, 0x202E:
		return hiddenBidi, n
	case 0x202A, 0x202B, 0x2067:
		return only(!s.rightToLeft() || !s.closed(i), hiddenBidi), n
	case 0x2066, 0x2068:
		return only(!s.closed(i), hiddenBidi), n
	}
	return only(!s.opened(i, r), hiddenBidi), n
}

// reach is how far the other half of a pair of such characters is looked for.
const reach = 1 << 10

// closed reports whether what opens at i is closed in the same line.
func (s *hiddenScan) closed(i int) bool {
	depth := 0
	for at, limit := i, min(len(s.text), i+reach); at < limit && s.text[at] != '\n'; {
		r, n := utf8.DecodeRune(s.text[at:])
		switch r {
		case 0x202A, 0x202B, 0x202D, 0x202E, 0x2066, 0x2067, 0x2068:
			depth++
		case 0x202C, 0x2069:
			if depth--; depth == 0 {
				return true
			}
		}
		at += n
	}
	return false
}

// opened reports whether what closes at i was opened in the same line, by what is
// no finding itself.
func (s *hiddenScan) opened(i int, r rune) bool {
	depth := 1
	for at, limit := i, max(0, i-reach); at > limit && s.text[at-1] != '\n'; {
		c, n := utf8.DecodeLastRune(s.text[:at])
		at -= n
		switch c {
		case 0x202C, 0x2069:
			depth++
		case 0x202A, 0x202B, 0x202D, 0x202E, 0x2066, 0x2067, 0x2068:
			if depth--; depth == 0 {
				isolate := c >= 0x2066
				return isolate == (r == 0x2069) && c != 0x202D && c != 0x202E && (c == 0x2066 || c == 0x2068 || s.rightToLeft())
			}
		}
	}
	return false
}

// width judges zero-width spaces and joiners by what is on both sides.
func (s *hiddenScan) width(i int, r rune, n int) (hidden, int) {
	left, right := before(s.text, i), after(s.text, i+n)
	switch r {
	case 0x200B:
		return only(!unspaced(left) || !unspaced(right), hiddenWidth), n
	case 0x200D:
		if emojiPart(left) && pictograph(right) {
			return hiddenNone, n
		}
	}
	return only(!joining(left) || !joining(right) && unicode.IsLetter(right), hiddenWidth), n
}

// unspaced reports whether r is of a script that puts no spaces between words.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Javanese, unicode.Balinese)
}

// joining reports whether r is of a script in which joiners choose the shape of
// letters.
func joining(r rune) bool {
	return r >= 0x590 && unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
		unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Balinese)
}

// pictograph reports whether r can be a part of an emoji sequence.
func pictograph(r rune) bool {
	return r >= 0x1F000 && r <= 0x1FAFF || r >= 0x2190 && r <= 0x2BFF || r == 0x3030 || r == 0x303D || r == 0x3297 || r == 0x3299 || r == 0xA9 || r == 0xAE
}

// emojiPart reports whether r may stand before a joiner of an emoji sequence.
func emojiPart(r rune) bool {
	return pictograph(r) || r == 0xFE0F || r >= 0x1F3FB && r <= 0x1F3FF || r >= 0xE0020 && r <= 0xE007F
}

// variation judges a variation selector by what it varies.
func (s *hiddenScan) variation(i int, r rune, n int) (hidden, int) {
	base := before(s.text, i)
	var fits bool
	switch {
	case base >= 0xFE00 && base <= 0xFE0F, base >= 0xE0100 && base <= 0xE01EF:
	case r >= 0xE0100:
		fits = unicode.In(base, unicode.Han, unicode.Mongolian) || base >= 0x3000 && base <= 0x30FF
	case r >= 0x180B && r <= 0x180F:
		fits = unicode.Is(unicode.Mongolian, base)
	case r == 0xFE0E || r == 0xFE0F:
		fits = pictograph(base) || base >= '0' && base <= '9' || base == '#' || base == '*' || base == 0x203C || base == 0x2049 || base == 0x2122 || base == 0x2139
		fits = fits || unicode.In(base, unicode.Han) || base >= 0x3000 && base <= 0x303F || base == 0x20E3 || base >= 0x2000 && base <= 0x206F && unicode.IsPunct(base)
	default:
		fits = base >= 0x1000 && (unicode.IsLetter(base) || unicode.IsSymbol(base) || unicode.IsPunct(base)) || base >= '0' && base <= '9'
	}
	return only(!fits, hiddenVariation), n
}

// tag judges tag characters. Those of a flag follow a black flag, name a region
// in at most six letters and digits, and end with a cancel tag.
func (s *hiddenScan) tag(i, n int) (hidden, int) {
	if before(s.text, i) != 0x1F3F4 {
		return hiddenTags, n
	}
	count := 0
	for at := i; count < 7; count++ {
		r, size := utf8.DecodeRune(s.text[at:])
		if r == 0xE007F && count >= 4 {
			return hiddenNone, at + size - i
		}
		if (r < 0xE0061 || r > 0xE007A) && (r < 0xE0030 || r > 0xE0039) {
			break
		}
		at += size
	}
	return hiddenTags, n
}
