package yamlx

import (
	"strings"
	"unicode"
)

// suggest returns the known word that was probably meant, or "".
func suggest(word string, known []string) string {
	best, bestDistance := "", max(1, len(word)/3)+1
	for _, candidate := range known {
		if d := distance(plainWord(word), plainWord(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// plainWord makes spellings equal that people mix up: maxSize, max-size, MAX_SIZE.
func plainWord(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '_', '-', ' ':
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// maxWord bounds the work for one comparison.
const maxWord = 64

// distance is the number of insertions, deletions, replacements and swaps of
// neighbours between a and b (optimal string alignment).
func distance(a, b string) int {
	if len(a) > maxWord || len(b) > maxWord {
		return maxWord
	}
	before, previous, current := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		current[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			current[j] = min(previous[j]+1, current[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], before[j-2]+1)
			}
		}
		before, previous, current = previous, current, before
	}
	return previous[len(b)]
}

// DidYouMean is the end of a message; it lists the known words when there are few.
func DidYouMean(word string, known []string) string {
	if guess := suggest(word, known); guess != "" {
		return "; did you mean \"" + guess + "\"?"
	}
	if len(known) > 0 && len(known) <= 40 {
		return "; known here: " + strings.Join(known, ", ")
	}
	return ""
}
