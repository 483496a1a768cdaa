package plugin

import "math/bits"

// words finds any of a fixed list of words in a text, in one pass that takes one
// step per byte whatever the text is (Aho and Corasick, as a table). Letters of
// ASCII are equal in both cases.
type words struct {
	class   [256]uint8
	shift   uint
	next    []uint32   // by state and class of the byte; states are multiples of 1<<shift
	first   uint32     // states from here on end a word
	longest int        // word
	ends    [][]uint16 // the words that such a state ends
}

// hit is a word that ends before end.
type hit struct {
	word uint16
	end  int
}

// newWords takes at most 65,535 words of at most 255 bytes each.
func newWords(list []string) *words {
	w := &words{}
	classes := 1
	for _, word := range list {
		w.longest = max(w.longest, len(word))
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
	if len(text) < 8*w.longest {
		return w.through(hits, text, 0, 0)
	}
	// A step waits for the one before. So four parts of a text are gone through at the
	// same time, each from so far before its beginning that no word is missed.
	quarter := len(text) / 4
	var at [4]int
	var state [4]uint32
	for part := 1; part < 4; part++ {
		at[part] = part * quarter
		for _, c := range text[at[part]-w.longest : at[part]] {
			state[part] = w.next[state[part]|uint32(w.class[c])]
		}
	}
	return w.together(hits, text, quarter, state)
}

// together goes through the four parts. What it finds in later ones waits for the
// earlier ones.
func (w *words) together(hits []hit, text []byte, quarter int, state [4]uint32) []hit {
	next, class := w.next, &w.class
	var found [4][]hit
	found[0] = hits
	a, b, c, d := text[:quarter], text[quarter:2*quarter], text[2*quarter:3*quarter], text[3*quarter:]
	b, c = b[:len(a)], c[:len(a)]
	rest := d[len(a):]
	d = d[:len(a)]
	s0, s1, s2, s3 := state[0], state[1], state[2], state[3]
	for i := range a {
		s0 = next[s0|uint32(class[a[i]])]
		s1 = next[s1|uint32(class[b[i]])]
		s2 = next[s2|uint32(class[c[i]])]
		s3 = next[s3|uint32(class[d[i]])]
		if max(s0, s1, s2, s3) < w.first {
			continue
		}
		for part, s := range [...]uint32{s0, s1, s2, s3} {
			if s >= w.first {
				found[part] = w.note(found[part], s, part*quarter+i+1)
			}
		}
	}
	hits = append(append(append(found[0], found[1]...), found[2]...), found[3]...)
	return w.through(hits, rest, s3, len(text)-len(rest))
}

// through goes through text from a state on; offset is added to ends.
func (w *words) through(hits []hit, text []byte, state uint32, offset int) []hit {
	for i, c := range text {
		if state = w.next[state|uint32(w.class[c])]; state >= w.first {
			hits = w.note(hits, state, offset+i+1)
		}
	}
	return hits
}

func (w *words) note(hits []hit, state uint32, end int) []hit {
	for _, word := range w.ends[(state-w.first)>>w.shift] {
		hits = append(hits, hit{word: word, end: end})
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
	number := make([]uint32, len(t.next))
	count := uint32(0)
	for _, ending := range [...]bool{false, true} {
		if ending {
			t.w.first = count << t.w.shift
		}
		for state, ends := range t.ends {
			if len(ends) > 0 == ending {
				number[state] = count << t.w.shift
				count++
				if ending {
					t.w.ends = append(t.w.ends, ends)
				}
			}
		}
	}
	t.w.next = make([]uint32, len(t.next)<<t.w.shift)
	for state, row := range t.next {
		for c, to := range row {
			t.w.next[int(number[state])|c] = number[to]
		}
	}
}
