package wire

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"slices"
	"unicode"
	"unicode/utf8"
)

// nameStack remembers the member names of the objects that are open, so that
// each object can tell whether a name stood in it before. Few names are compared
// one by one; from linear on an object gets a hash table, so that a million
// names cost a million steps. The hash is seeded: nobody outside can choose
// names that collide.
//
// It holds offsets, no pointers into the message, so a pooled one keeps nothing
// of a message alive.
type nameStack struct {
	seed   maphash.Seed
	seeded bool
	refs   []nameRef
	arena  []byte // names that are not in the message as they are: unescaped or folded
	tables []nameTable
	used   int // tables in use: those of the open objects that needed one, innermost last
	space  [32]nameRef
}

// nameRef is a name: off and len mark it in the message or, with inArena, in the arena.
type nameRef struct {
	key      uint64 // derived from the name; in an object with a table its hash
	off, len uint32
}

const inArena = 1 << 31 // both are shorter than that: MaxScan, and three bytes of arena for each of the message

type nameTable struct {
	base  int
	slots []int32 // index into refs + 1; open addressing; the length is a power of two
}

const (
	linear = 12 // names of one object that are compared one by one

	// What a pooled stack may keep.
	keepRefs, keepArena, keepTables, keepSlots = 4096, 64 << 10, 16, 16384
)

// nameMark is the state of a stack at the start of an object.
type nameMark struct{ refs, arena int }

func (n *nameStack) open() nameMark { return nameMark{len(n.refs), len(n.arena)} }

func (n *nameStack) close(m nameMark) {
	n.refs, n.arena = n.refs[:m.refs], n.arena[:m.arena]
	if n.used > 0 && n.tables[n.used-1].base == m.refs {
		n.used--
	}
}

// reset empties the stack, whatever state an error left it in, and frees what
// only a huge message needed.
func (n *nameStack) reset() {
	n.refs, n.arena, n.used = n.refs[:0], n.arena[:0], 0
	if cap(n.refs) > keepRefs || n.refs == nil {
		n.refs = n.space[:0]
	}
	if cap(n.arena) > keepArena {
		n.arena = nil
	}
	if len(n.tables) > keepTables {
		n.tables = nil
	}
	for i := range n.tables {
		if cap(n.tables[i].slots) > keepSlots {
			n.tables[i].slots = nil
		}
	}
}

// text returns the bytes of the name.
func (n *nameStack) text(data []byte, r nameRef) []byte {
	if r.off&inArena != 0 {
		off := r.off &^ inArena
		return n.arena[off : off+r.len]
	}
	return data[r.off : r.off+r.len]
}

// room doubles the arena when a name of n bytes does not fit, and returns where it begins.
func (n *nameStack) room(size int) int {
	if len(n.arena)+size > cap(n.arena) {
		n.arena = slices.Grow(n.arena, len(n.arena)+size)
	}
	return len(n.arena)
}

// keep returns a ref to what was appended to the arena from start on.
func (n *nameStack) keep(start int) nameRef {
	return nameRef{off: uint32(start) | inArena, len: uint32(len(n.arena) - start)}
}

// unescaped returns a ref to the decoded form of a raw name.
func (n *nameStack) unescaped(raw []byte) nameRef {
	start := n.room(len(raw))
	n.arena = appendUnescaped(n.arena, raw)
	return n.keep(start)
}

// folded returns a ref to the form of the name in which names that differ in
// case only are equal. A name in lower case, as most are, is that already.
func (n *nameStack) folded(data []byte, r nameRef) nameRef {
	name := n.text(data, r)
	for _, c := range name {
		if c >= utf8.RuneSelf || c >= 'A' && c <= 'Z' {
			start := n.room(len(name))
			n.arena = appendFolded(n.arena, name)
			return n.keep(start)
		}
	}
	return r
}

// add notes a name of the object that began at base and reports whether it stood there before.
func (n *nameStack) add(data []byte, base int, r nameRef) (seen bool) {
	if len(n.refs)-base >= linear {
		return n.addHashed(data, base, r)
	}
	if r.off&inArena == 0 {
		r.key = shortKey(data[r.off:], int(r.len))
	} else {
		r.key = shortKey(n.arena[r.off&^inArena:], int(r.len))
	}
	for i := base; i < len(n.refs); i++ {
		// The key of a short name is the name.
		if o := &n.refs[i]; o.key == r.key && o.len == r.len && (r.len <= 8 || bytes.Equal(n.text(data, *o), n.text(data, r))) {
			return true
		}
	}
	n.push(r)
	return false
}

// push appends r. The stack doubles, so that all its copies together stay small
// beside a message of many names.
func (n *nameStack) push(r nameRef) {
	if len(n.refs) == cap(n.refs) {
		n.refs = slices.Grow(n.refs, len(n.refs)+1)
	}
	n.refs = append(n.refs, r)
}

// shortKey tells most different names of the same length apart, and all up to
// eight bytes. The name is the first n bytes of b.
func shortKey(b []byte, n int) uint64 {
	if n > 8 {
		return binary.LittleEndian.Uint64(b) ^ bits.RotateLeft64(binary.LittleEndian.Uint64(b[n-8:]), 29)
	}
	if len(b) >= 8 {
		return binary.LittleEndian.Uint64(b) & (1<<(8*n) - 1) // a shift by 64 gives 0, hence all ones
	}
	key := uint64(0)
	for i := n - 1; i >= 0; i-- {
		key = key<<8 | uint64(b[i])
	}
	return key
}

func (n *nameStack) hash(data []byte, r nameRef) uint64 {
	return maphash.Bytes(n.seed, n.text(data, r))
}

func (n *nameStack) addHashed(data []byte, base int, r nameRef) (seen bool) {
	t := n.table(data, base)
	r.key = n.hash(data, r)
	slot := n.find(data, t.slots, r)
	if t.slots[slot] != 0 {
		return true
	}
	n.push(r)
	t.slots[slot] = int32(len(n.refs))
	return false
}

// find returns the slot of r, or the empty one where it belongs.
func (n *nameStack) find(data []byte, slots []int32, r nameRef) int {
	mask := uint64(len(slots) - 1)
	for i := r.key & mask; ; i = (i + 1) & mask {
		at := slots[i]
		if at == 0 {
			return int(i)
		}
		if o := n.refs[at-1]; o.key == r.key && o.len == r.len && bytes.Equal(n.text(data, o), n.text(data, r)) {
			return int(i)
		}
	}
}

// table returns the table of the object that began at base with room for one
// more name, making or growing it when needed.
func (n *nameStack) table(data []byte, base int) *nameTable {
	if n.used == 0 || n.tables[n.used-1].base != base {
		if !n.seeded {
			n.seed, n.seeded = maphash.MakeSeed(), true
		}
		if n.used == len(n.tables) {
			n.tables = append(n.tables, nameTable{})
		}
		n.tables[n.used].base = base
		n.tables[n.used].slots = n.tables[n.used].slots[:0]
		n.used++
		for i := base; i < len(n.refs); i++ {
			n.refs[i].key = n.hash(data, n.refs[i])
		}
	}
	t := &n.tables[n.used-1]
	if 4*(len(n.refs)-base+1) > 3*len(t.slots) {
		n.grow(data, t)
	}
	return t
}

// grow makes t at least twice as large as its names need, and enters them again.
func (n *nameStack) grow(data []byte, t *nameTable) {
	size := 1 << bits.Len(uint(2*(len(n.refs)-t.base)-1))
	if cap(t.slots) >= size {
		t.slots = t.slots[:size]
		clear(t.slots)
	} else {
		t.slots = make([]int32, size)
	}
	for i := t.base; i < len(n.refs); i++ {
		t.slots[n.find(data, t.slots, n.refs[i])] = int32(i) + 1
	}
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
