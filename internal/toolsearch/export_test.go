package toolsearch

// Terms returns what a text is split into: whole words with their parts.
func Terms(text string) (out [][]string) {
	for _, w := range words(text, maxWords) {
		out = append(out, append([]string{w.whole}, w.parts...))
	}
	return out
}

// Synonyms returns the words that mean the same, folded, by folded word.
func Synonyms() map[string][]string { return synonyms() }
