package pin

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"durward/internal/lcs"
	"durward/internal/reveal"
)

// Bounds of comparing two texts.
const (
	maxContext = 6       // words kept around a change
	maxText    = 2 << 10 // bytes shown of one text, or of one run of changed words
)

// wordDiff shows how a text changed, word by word: [-gone-] {+new+}. Of long runs
// that did not change, the middle is left out. What it returns is revealed.
func wordDiff(old, now string) string {
	a, b := words(old), words(now)
	all := lcs.Compare(a, b)
	var out strings.Builder
	for i, r := range all {
		switch r.Kind {
		case lcs.Gone:
			out.WriteString("[-" + shown(strings.TrimRight(strings.Join(a[r.A:r.A+r.N], ""), " ")) + "-] ")
		case lcs.New:
			out.WriteString("{+" + shown(strings.TrimRight(strings.Join(b[r.B:r.B+r.N], ""), " ")) + "+} ")
		default:
			out.WriteString(around(a[r.A:r.A+r.N], i == 0, i == len(all)-1))
		}
	}
	return strings.TrimSpace(out.String())
}

// words splits a text so that its pieces together are the text: a word with the
// space behind it, or a single other character.
func words(text string) []string {
	var out []string
	start, inSpace := 0, false
	for i, r := range text {
		space := unicode.IsSpace(r)
		if i > start && inSpace && !space {
			out = append(out, text[start:i])
			start = i
		}
		inSpace = space
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}

// around shows what did not change around a change.
func around(text []string, first, last bool) string {
	if len(text) <= 2*maxContext {
		return shown(strings.Join(text, ""))
	}
	var head, tail string
	if !first {
		head = strings.Join(text[:maxContext], "")
	}
	if !last {
		tail = strings.Join(text[len(text)-maxContext:], "")
	}
	return shown(head) + "… " + shown(tail)
}

// shown is a foreign text as it may be shown: on one line, all of it visible, not too long.
func shown(text string) string { return reveal.Line(clip(text, maxText)) }

// shownName bounds how much of a name is shown, in bytes.
const shownName = 200

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
