// Package reveal makes foreign text safe to show to people: whatever could steer a
// terminal, or be there without being seen, is written out.
package reveal

import (
	"fmt"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns a foreign text on one line with everything visible in it:
// what steers a terminal (controls, escape sequences), what turns the direction of
// writing, what has no width, what looks like an ordinary space and is none, tag
// characters and other ways to write what only a model reads stand there as
// <U+200B>. A line end is shown as ⏎. Bytes that are no UTF-8 are shown as <0xFF>.
// What makes a picture of several characters, as is usual, stays.
func Line(text string) string { return reveal(text, false) }

// Text is Line for a text of several lines: line ends, also those of two characters,
// and tabs stay.
func Text(text string) string { return reveal(text, true) }

func reveal(text string, lines bool) string {
	if lines && strings.Contains(text, "\r\n") {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	if ASCII(text) {
		return text
	}
	var b strings.Builder
	for c := range characters(text) {
		switch {
		case c.bad:
			fmt.Fprintf(&b, "<0x%02X>", c.r)
		case lines && (c.r == '\n' || c.r == '\t'):
			b.WriteRune(c.r)
		case c.r == '\n':
			b.WriteString("⏎")
		case c.hidden:
			fmt.Fprintf(&b, "<U+%04X>", c.r)
		default:
			b.WriteRune(c.r)
		}
	}
	return b.String()
}

// character is one of a text, or a byte of it that is none.
type character struct {
	r           rune
	bad, hidden bool
}

// characters goes through a text and tells what of it a reader would not see.
func characters(text string) iter.Seq[character] {
	return func(yield func(character) bool) {
		marks := 0 // combining marks in a row
		var was pictured
		for i := 0; i < len(text); {
			r, size := utf8.DecodeRuneInString(text[i:])
			if r == utf8.RuneError && size == 1 {
				marks, was = 0, noPicture
				if !yield(character{r: rune(text[i]), bad: true}) {
					return
				}
				i++
				continue
			}
			i += size
			if marks++; !unicode.Is(unicode.Mn, r) {
				marks = 0
			}
			next := was.then(r, text[i:])
			if !yield(character{r: r, hidden: (next == noPicture || next == picture) && (hidden(r) || marks > maxMarks)}) {
				return
			}
			was = next
		}
	}
}

// pictured says how far a picture has come that is made of several characters.
type pictured uint8

const (
	noPicture pictured = iota
	picture            // a character that is a picture by itself
	dressed            // it was given a colour, or said to be a picture
	joined             // it is to be joined with the next one
)

// then is how far it is with one more character, which rest follows.
func (p pictured) then(r rune, rest string) pictured {
	switch {
	case unicode.Is(unicode.So, r):
		return picture
	case p == picture && (r == asPicture || unicode.Is(unicode.Sk, r)):
		return dressed
	case (p == picture || p == dressed) && r == joiner && startsPicture(rest):
		return joined
	default:
		return noPicture
	}
}

// The characters by which a picture is made of several: ❤ and this is a red heart, and
// a family is people that are joined. Anywhere else they are hidden.
const (
	asPicture = '\ufe0f'
	joiner    = '\u200d'
)

func startsPicture(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.Is(unicode.So, r)
}

// maxMarks is how many marks one letter may bear before they hide something.
const maxMarks = 2

// ASCII reports whether a text is of visible ASCII characters alone, so that there is
// nothing to reveal.
func ASCII(text string) bool {
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

// Hidden counts the characters of a text that Line writes out, line ends and tabs
// aside.
func Hidden(text string) int {
	if ASCII(text) {
		return 0
	}
	n := 0
	for c := range characters(text) {
		if c.hidden && c.r != '\n' && c.r != '\t' && c.r != '\r' {
			n++
		}
	}
	return n
}
