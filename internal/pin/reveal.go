package pin

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shownName bounds how much of a name is shown, in bytes.
const shownName = 200

// Reveal returns a foreign text on one line with everything visible in it:
// what steers a terminal (controls, escape sequences), what turns the direction of
// writing, what has no width, what looks like an ordinary space and is none, tag
// characters and other ways to write what only a model reads stand there as
// <U+200B>. A line end is shown as ⏎. Bytes that are no UTF-8 are shown as <0xFF>.
func Reveal(text string) string {
	if plain(text) {
		return text
	}
	var b strings.Builder
	marks := 0 // combining marks in a row
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, "<0x%02X>", text[i])
			i++
			continue
		}
		i += size
		if unicode.Is(unicode.Mn, r) {
			marks++
		} else {
			marks = 0
		}
		switch {
		case r == '\n':
			b.WriteString("⏎")
		case hidden(r) || marks > maxMarks:
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// maxMarks is how many marks one letter may bear before they hide something.
const maxMarks = 2

// plain reports whether there is nothing to reveal: the fast way for ASCII.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

// hidden reports whether a reader would not see a character, or not as what it is.
func hidden(r rune) bool {
	switch {
	case r == ' ':
		return false
	case !unicode.IsGraphic(r): // controls, formats, surrogates, private use, unassigned
		return true
	case unicode.Is(unicode.Zs, r): // spaces that are none of ASCII
		return true
	case unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r), unicode.Is(unicode.Variation_Selector, r):
		return true
	case r == '\u2800', r == '\u3164', r == '\uffa0', r == '\u115f', r == '\u1160': // blanks that count as letters and symbols
		return true
	default:
		return false
	}
}

// Hidden counts the characters of a text that Reveal writes out, line ends and tabs
// aside.
func Hidden(text string) int {
	n := 0
	for _, r := range text {
		if r != '\n' && r != '\t' && r != '\r' && hidden(r) {
			n++
		}
	}
	return n
}

// clip cuts a text to at most so many bytes.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}
