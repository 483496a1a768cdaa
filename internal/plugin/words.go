package plugin

import "math/bits"

// words finds any of a fixed list of words in a text, in one pass that takes one
// step per byte whatever the text is (Aho and Corasick, as a table). Letters of
// ASCII are equal in both cases.
type words struct {
	class [256]uint8
	shift uint
	next  []uint16   // state<<shift | class of the byte
	first uint16     // states from here on end a word
	ends  [][]uint16 // the words that such a state ends
}

// hit is a word that ends before end.
type hit struct {
	word uint16
	end  int
}

// newWords takes at most 65,535 words with less than as many letters together.
func newWords(list []string) *words {
	w := &words{}
	classes := 1
	for _, word := range list {
		for i := range len(word) {
			if c := lower(word[i]); w.class[c] == 0 {
				w.class[c] = uint8(classes)
				classes++
			}
		}
	}
	for c := 'a'; c <= 'z'; c++ {
		w.class[c-'a'+'A'] = w.class[c]
	}
	w.shift = uint(bits.Len(uint(classes - 1)))
	t := newTrie(w, list)
	t.link()
	t.order()
	return w
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// find appends the words of text, in the order of their ends.
func (w *words) find(hits []hit, text []byte) []hit {
	next, shift, first := w.next, w.shift, w.first
	state := uint16(0)
	for i, c := range text {
		state = next[int(state)<<shift|int(w.class[c])]
		if state >= first {
			for _, word := range w.ends[state-first] {
				hits = append(hits, hit{word: word, end: i + 1})
			}
		}
	}
	return hits
}

// trie is how words are made.
type trie struct {
	w    *words
	next [][]int // per state and class; -1: no such word goes on
	ends [][]uint16
}

func newTrie(w *words, list []string) *trie {
	t := &trie{w: w}
	t.add()
	for n, word := range list {
		state := 0
		for i := range len(word) {
			c := w.class[lower(word[i])]
			if t.next[state][c] < 0 {
				t.next[state][c] = t.add()
			}
			state = t.next[state][c]
		}
		t.ends[state] = append(t.ends[state], uint16(n))
	}
	return t
}

func (t *trie) add() int {
	row := make([]int, 1<<t.w.shift)
	for i := range row {
		row[i] = -1
	}
	t.next = append(t.next, row)
	t.ends = append(t.ends, nil)
	return len(t.next) - 1
}

// link completes the table: where a word does not go on, the longest end of what
// was read that begins another word does.
func (t *trie) link() {
	fail := make([]int, len(t.next))
	queue := []int{0}
	for n := 0; n < len(queue); n++ {
		state := queue[n]
		for c, to := range t.next[state] {
			back := 0
			if state != 0 {
				back = t.next[fail[state]][c]
			}
			if to < 0 {
				t.next[state][c] = back
				continue
			}
			fail[to] = back
			t.ends[to] = append(t.ends[to], t.ends[back]...)
			queue = append(queue, to)
		}
	}
}

// order numbers the states so that those that end a word come last.
func (t *trie) order() {
	number := make([]uint16, len(t.next))
	count := 0
	for _, ending := range [...]bool{false, true} {
		if ending {
			t.w.first = uint16(count)
		}
		for state, ends := range t.ends {
			if len(ends) > 0 == ending {
				number[state] = uint16(count)
				count++
				if ending {
					t.w.ends = append(t.w.ends, ends)
				}
			}
		}
	}
	t.w.next = make([]uint16, len(t.next)<<t.w.shift)
	for state, row := range t.next {
		for c, to := range row {
			t.w.next[int(number[state])<<t.w.shift|c] = number[to]
		}
	}
}
