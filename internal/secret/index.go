package secret

import (
	"cmp"
	"slices"
	"strings"
)

// windowMost is how many bytes at the beginning of a form are looked at, at most:
// more would make the steps longer, but a step is one byte in memory.
const windowMost = 16

// index finds many forms at once, in steps of nearly the length of the shortest
// (S. Wu, U. Manber, A fast algorithm for multi-pattern searching, 1994). It looks
// at windows of text of that length, only at their last four bytes: where those do
// not occur in the beginning of any form, the next window lies behind them.
type index struct {
	window  int // length of the shortest form, at most windowMost
	longest int // length of the longest
	// step is, by the hash of the last four bytes of a window, how far the next one
	// is away at least; 0: a form may begin with this one.
	step [1 << 16]uint8
	// forms are listed by the last four bytes of their window, longest first, so
	// that a value which contains another is masked as a whole.
	forms map[uint32][]string
}

func newIndex(all map[string]bool) *index {
	ix := &index{window: windowMost, forms: make(map[uint32][]string)}
	for form := range all {
		ix.window, ix.longest = min(ix.window, len(form)), max(ix.longest, len(form))
	}
	for i := range ix.step {
		ix.step[i] = uint8(ix.window - MinLength + 1)
	}
	for form := range all {
		for end := MinLength; end <= ix.window; end++ {
			step := &ix.step[place(four(form[end-MinLength:end]))]
			*step = min(*step, uint8(ix.window-end))
		}
		last := four(form[ix.window-MinLength : ix.window])
		ix.forms[last] = append(ix.forms[last], form)
	}
	for _, list := range ix.forms {
		slices.SortFunc(list, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	}
	return ix
}

func four[T string | []byte](data T) uint32 {
	return uint32(data[0]) | uint32(data[1])<<8 | uint32(data[2])<<16 | uint32(data[3])<<24
}

// place is the hash of four bytes: multiplication by 2^32/φ.
func place(four uint32) uint16 { return uint16(four * 0x9e3779b1 >> 16) }

// plain appends where forms stand as they are.
func plain(ix *index, data []byte, found []span) []span {
	for end := ix.window; end <= len(data); {
		last := four(data[end-MinLength : end])
		if step := int(ix.step[place(last)]); step > 0 {
			end += step
			continue
		}
		at := end - ix.window
		if length := longest(ix.forms[last], data[at:]); length > 0 {
			found = append(found, span{at, at + length})
			end += length
		} else {
			end++
		}
	}
	return found
}

// longest returns the length of the first of the forms that data begins with; 0 for none.
func longest(forms []string, data []byte) int {
	for _, form := range forms {
		if len(form) <= len(data) && string(data[:len(form)]) == form {
			return len(form)
		}
	}
	return 0
}
