package wire

import (
	"bytes"
	"hash/maphash"
	"unicode"
	"unicode/utf8"
)

// nameStack remembers the member names of the objects that are open, so that
// each object can tell whether a name stood in it before. Few names are compared
// one by one; from linear on an object gets a hash table, so that a million
// names cost a million steps.
type nameStack struct {
	seed   maphash.Seed
	names  []nameRef
	tables []nameTable // of the open objects that needed one, innermost last
	space  [32]nameRef
}

type nameRef struct {
	hash uint64
	name []byte
}

type nameTable struct {
	base  int
	slots []int32 // index into names + 1; open addressing
}

const linear = 12

func (n *nameStack) reset() {
	if n.names == nil {
		n.names = n.space[:0]
		n.seed = maphash.MakeSeed()
	}
	clear(n.names)
	n.names = n.names[:0]
	if cap(n.names) > 4096 {
		n.names = n.space[:0]
	}
	n.tables = n.tables[:0]
}

func (n *nameStack) open() int { return len(n.names) }

func (n *nameStack) close(base int) {
	n.names = n.names[:base]
	if last := len(n.tables) - 1; last >= 0 && n.tables[last].base == base {
		n.tables[last].slots = nil
		n.tables = n.tables[:last]
	}
}

// seen notes name in the object that began at base and reports whether it, or
// with fold a name that differs in case only, stood there before.
func (n *nameStack) seen(base int, name []byte, fold bool) bool {
	if fold {
		name = n.folded(name)
	}
	h := maphash.Bytes(n.seed, name)
	if len(n.names)-base < linear {
		for i := base; i < len(n.names); i++ {
			if n.names[i].hash == h && bytes.Equal(n.names[i].name, name) {
				return true
			}
		}
		n.names = append(n.names, nameRef{h, name})
		return false
	}
	return n.table(base).add(n, nameRef{h, name})
}

// table returns the table of the object that began at base, making or growing it when needed.
func (n *nameStack) table(base int) *nameTable {
	last := len(n.tables) - 1
	if last < 0 || n.tables[last].base != base {
		n.tables = append(n.tables, nameTable{base: base})
		last++
	}
	t := &n.tables[last]
	if used := len(n.names) - base; len(t.slots) < 2*(used+1) {
		t.slots = make([]int32, 4*nextPowerOfTwo(used+1))
		for i := base; i < len(n.names); i++ {
			t.slots[t.free(n, n.names[i])] = int32(i) + 1 //nolint:gosec // bounded by the message
		}
	}
	return t
}

// free returns the slot of ref, or the empty one where it belongs.
func (t *nameTable) free(n *nameStack, ref nameRef) int {
	mask := uint64(len(t.slots) - 1)
	for i := ref.hash & mask; ; i = (i + 1) & mask {
		at := t.slots[i]
		if at == 0 || n.names[at-1].hash == ref.hash && bytes.Equal(n.names[at-1].name, ref.name) {
			return int(i) //nolint:gosec // below len(slots)
		}
	}
}

func (t *nameTable) add(n *nameStack, ref nameRef) bool {
	slot := t.free(n, ref)
	if t.slots[slot] != 0 {
		return true
	}
	n.names = append(n.names, ref)
	t.slots[slot] = int32(len(n.names)) //nolint:gosec // bounded by the message
	return false
}

func nextPowerOfTwo(n int) int {
	p := 1
	for p < n {
		p <<= 1
	}
	return p
}

// folded returns name in the form in which names that differ in case only are
// equal. A name that is lower case already, as the protocol's mostly are, is returned as it is.
func (n *nameStack) folded(name []byte) []byte {
	for _, c := range name {
		if c >= utf8.RuneSelf || c >= 'A' && c <= 'Z' {
			return appendFolded(nil, name)
		}
	}
	return name
}

// appendFolded appends name with each rune replaced by the smallest one it folds
// to (Unicode simple folding, as encoding/json compares names), ASCII in lower case.
func appendFolded(dst, name []byte) []byte {
	for _, r := range string(name) {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		if least >= 'A' && least <= 'Z' {
			least += 'a' - 'A'
		}
		dst = utf8.AppendRune(dst, least)
	}
	return dst
}
