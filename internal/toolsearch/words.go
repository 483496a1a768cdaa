package toolsearch

import (
	"strings"
	"unicode"
)

// maxTerm is the longest term in bytes; what is longer (base64, URLs) is cut.
const maxTerm = 32

// word is a stretch of letters and digits with the terms it stands for: itself,
// and its parts where its writing shows them ("pullRequest", "sha256").
type word struct {
	whole string
	parts []string // nil when there is one only
}

// words splits text into words, without those that say nothing. At most n are returned.
func words(text string, n int) []word {
	var out []word
	for text != "" && len(out) < n {
		start := strings.IndexFunc(text, isWordRune)
		if start < 0 {
			return out
		}
		text = text[start:]
		end := strings.IndexFunc(text, func(r rune) bool { return !isWordRune(r) })
		if end < 0 {
			end = len(text)
		}
		if w, ok := wordOf(text[:end]); ok {
			out = append(out, w)
		}
		text = text[end:]
	}
	return out
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func wordOf(s string) (word, bool) {
	lower := strings.ToLower(s)
	if isStopWord(lower) {
		return word{}, false
	}
	w := word{whole: fold(lower)}
	for _, part := range parts(s) {
		if part = strings.ToLower(part); len(part) > 1 && !isStopWord(part) {
			w.parts = append(w.parts, fold(part))
		}
	}
	return w, true
}

// parts splits a word where its case or its kind of character changes; nil when it does not.
func parts(s string) []string {
	var out []string
	runes := []rune(s)
	start := 0
	for i := 1; i < len(runes); i++ {
		if boundary(runes, i) {
			out = append(out, string(runes[start:i]))
			start = i
		}
	}
	if start == 0 {
		return nil
	}
	return append(out, string(runes[start:]))
}

// boundary reports whether a part begins at i: aB, ABc before B, a1, 1a.
func boundary(r []rune, i int) bool {
	before, here := r[i-1], r[i]
	switch {
	case unicode.IsDigit(before) != unicode.IsDigit(here):
		return true
	case unicode.IsLower(before) && unicode.IsUpper(here):
		return true
	default:
		return unicode.IsUpper(before) && unicode.IsUpper(here) && i+1 < len(r) && unicode.IsLower(r[i+1])
	}
}

// fold takes the ending off a lower-case word, so that plurals and verb forms
// meet: issue, issues; create, creates, created, creating. It is coarse on
// purpose: terms are never shown.
func fold(s string) string {
	if len(s) > maxTerm {
		s = strings.ToValidUTF8(s[:maxTerm], "")
	}
	s = singular(s)
	for _, ending := range []string{"ing", "ed"} {
		if stem, ok := strings.CutSuffix(s, ending); ok && len(stem) >= 3 && strings.ContainsAny(stem, "aeiouy") {
			return undouble(stem)
		}
	}
	if len(s) >= 4 {
		s = strings.TrimSuffix(s, "e")
	}
	return s
}

func singular(s string) string {
	switch {
	case len(s) < 4 || strings.HasSuffix(s, "ss") || strings.HasSuffix(s, "us") || strings.HasSuffix(s, "is"):
		return s
	case len(s) > 4 && strings.HasSuffix(s, "ies"):
		return s[:len(s)-3] + "y"
	case hasAnySuffix(s, "sses", "xes", "ches", "shes", "zzes"):
		return s[:len(s)-2]
	default:
		return strings.TrimSuffix(s, "s")
	}
}

func hasAnySuffix(s string, endings ...string) bool {
	for _, e := range endings {
		if strings.HasSuffix(s, e) {
			return true
		}
	}
	return false
}

// undouble takes the second of two equal consonants off: stopp, runn.
func undouble(s string) string {
	n := len(s)
	if n > 3 && s[n-1] == s[n-2] && !strings.ContainsRune("aeioulsz", rune(s[n-1])) {
		return s[:n-1]
	}
	return s
}

// isStopWord reports whether a word says nothing about what a tool does.
func isStopWord(s string) bool {
	switch s {
	case "a", "an", "the", "of", "to", "in", "on", "at", "by", "for", "from", "with", "into", "and", "or", "not", "is", "are", "be", "was",
		"it", "its", "this", "that", "these", "those", "as", "if", "so", "than", "then", "when", "which", "who", "what", "how", "where",
		"i", "me", "my", "we", "our", "you", "your", "do", "does", "can", "could", "should", "would", "will", "want", "need", "please",
		"there", "their", "them", "some", "any", "also", "only", "other", "tool", "use", "using", "used", "given", "optional":
		return true
	default:
		return false
	}
}
