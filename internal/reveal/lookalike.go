package reveal

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// LookAlike is a word that looks like another one in plain letters.
type LookAlike struct {
	Word    string
	Plain   string // what it looks like
	Letters string // which letters are not what they seem: U+0430 U+043E
}

// String says so in words that are safe to show.
func (l LookAlike) String() string {
	return fmt.Sprintf("%q is not %q: %s", Line(l.Word), l.Plain, l.Letters)
}

// maxWord bounds how much of a word is told, in bytes.
const maxWord = 200

// clip cuts a word to that.
func clip(text string) string {
	if len(text) <= maxWord {
		return text
	}
	return strings.ToValidUTF8(text[:maxWord], "") + "…"
}

// maxLookAlikes bounds how many words of one text are told.
const maxLookAlikes = 10

// LookAlikes finds words that a reader would take for others: in which letters of
// other scripts stand for Latin ones (pаypal with U+0430), or that are written in
// full-width, mathematical or other forms of plain letters. A word all of whose
// letters have Latin twins counts where nothing else in the text is written in its
// script: Russian in a Russian text is none.
//
// The twins are those of the Cyrillic, Greek, Armenian and Cherokee letters that
// common typefaces draw like Latin ones; forms of letters come from compatibility
// decomposition (NFKC).
func LookAlikes(text string) []LookAlike {
	if ASCII(text) {
		return nil
	}
	var found []LookAlike
	native := nativeScripts(text)
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' }) {
		if l, ok := lookAlike(word, native); ok {
			found = append(found, l)
			if len(found) == maxLookAlikes {
				break
			}
		}
	}
	return found
}

// lookAlike judges one word.
func lookAlike(word string, native map[*unicode.RangeTable]bool) (LookAlike, bool) {
	if ASCII(word) {
		return LookAlike{}, false
	}
	var looks, letters strings.Builder
	latin, foreign := false, false
	for _, r := range word {
		twin := plainLetters(r)
		switch {
		case twin == "" && (r <= unicode.MaxASCII || unicode.Is(unicode.Latin, r)):
			latin = latin || unicode.IsLetter(r)
			looks.WriteRune(r)
			continue
		case twin == "":
			return LookAlike{}, false // something in it says what it is
		case native[scriptOf(r)]:
			foreign = true
		}
		looks.WriteString(twin)
		fmt.Fprintf(&letters, " U+%04X", r)
	}
	if letters.Len() == 0 || foreign && !latin {
		return LookAlike{}, false
	}
	return LookAlike{Word: clip(word), Plain: clip(looks.String()), Letters: clip(strings.TrimSpace(letters.String()))}, true
}

// plainLetters returns the ASCII letters or digits that a character looks like; ""
// if it is one, or looks like none.
func plainLetters(r rune) string {
	if r <= unicode.MaxASCII {
		return ""
	}
	if twin, ok := twinOf(r); ok {
		return string(twin)
	}
	if r == 'ª' || r == 'º' || !unicode.IsLetter(r) && !unicode.IsDigit(r) { // ordinals, and what stands above a line, are themselves
		return ""
	}
	form := norm.NFKC.String(string(r))
	for _, c := range form {
		if c > unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return ""
		}
	}
	return form
}

// twins are letters and the Latin ones they are drawn like, in pairs.
const twins = "" +
	"аaеeоoрpсcуyхxіiјjѕsԁdԛqԝwһhӏlАAВBЕEКKМMНHОOРPСCТTУYХXІIЈJЅSԌGԚQԜWҮYҺhӀIЗ3ЬbѴVѵv" + // Cyrillic
	"αaοoνvρpιiκkυuχxϳjΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧX" + // Greek
	"օoսuոnհhցgԁdզqյjՏSՕOԼLսu" + // Armenian
	"ᎪAᏴBᏟCᎠDᎬEᎻHᎫJᏦKᏞLᎷMᏢPᏒRᏚSᎢTᏙVᎳWᏃZ" // Cherokee

func twinOf(r rune) (rune, bool) {
	at := strings.IndexRune(twins, r)
	if at < 0 {
		return 0, false
	}
	for i, c := range twins[at:] {
		if i > 0 {
			return c, c <= unicode.MaxASCII
		}
	}
	return 0, false
}

// nativeScripts returns the scripts in which some word of a text is written that
// no Latin word looks like.
func nativeScripts(text string) map[*unicode.RangeTable]bool {
	native := map[*unicode.RangeTable]bool{}
	for _, r := range text {
		if r <= unicode.MaxASCII || !unicode.IsLetter(r) {
			continue
		}
		if s := scriptOf(r); s != nil && !native[s] && plainLetters(r) == "" {
			native[s] = true
		}
	}
	return native
}

// scriptOf returns the script of a letter, of those that have twins.
func scriptOf(r rune) *unicode.RangeTable {
	for _, s := range []*unicode.RangeTable{unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee} {
		if unicode.Is(s, r) {
			return s
		}
	}
	return nil
}
