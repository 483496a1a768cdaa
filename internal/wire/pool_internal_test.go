package wire

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
	"testing"
)

// TestPoolKeepsLittle: whatever a message was and however its scan ended, the
// scanner that goes back into the pool holds nothing of it and little memory.
func TestPoolKeepsLittle(t *testing.T) {
	var wide, params strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&wide, `"member %d":{"\u0061":%d},`, i, i)
		fmt.Fprintf(&params, `"Member%d":%d,`, i, i)
	}
	nested := strings.Repeat(`{`+wide.String()[:40_000]+`"n":`, 100)
	for name, data := range map[string]string{
		"wide":           `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":{` + wide.String() + `"end":1}}}`,
		"open at error":  `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":{` + wide.String() + `!`,
		"many tables":    `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":` + nested,
		"many in params": `{"jsonrpc":"2.0","id":1,"method":"x","params":{` + params.String() + `"name":"x"}}`,
		"too deep":       strings.Repeat(`{"a":`, 1000),
	} {
		s := borrow([]byte(data))
		var m Message
		end := s.message(FromClient, &m)
		err := s.done(end)
		if (err == nil) != strings.HasSuffix(data, `}}`) {
			t.Errorf("%s: %v", name, err)
		}
		if s.data != nil || s.depth != 0 || s.lenient || s.faults != (Faults{}) || s.failure != (SyntaxError{}) {
			t.Errorf("%s: state is left: %+v", name, s.failure)
		}
		n := &s.names
		if len(n.refs) != 0 || len(n.arena) != 0 || n.used != 0 {
			t.Errorf("%s: names are left: %d %d %d", name, len(n.refs), len(n.arena), n.used)
		}
		kept := cap(n.refs)*16 + cap(n.arena)
		for i := range n.tables {
			kept += 4 * cap(n.tables[i].slots)
		}
		if most := keepRefs*16 + keepArena + keepTables*keepSlots*4; kept > most {
			t.Errorf("%s: %d bytes are kept", name, kept)
		}
	}
}

// TestTablesBelongToTheirObject walks in and out of objects with and without a
// table; a name of one must never be found in another.
func TestTablesBelongToTheirObject(t *testing.T) {
	var n nameStack
	n.reset()
	data := []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	ref := func(i int) nameRef { return nameRef{off: uint32(i), len: 1} }
	addAll := func(base, count int, want bool) {
		t.Helper()
		for i := range count {
			if got := n.add(data, base, ref(i)); got != want {
				t.Fatalf("name %d of the object at %d: seen %v", i, base, got)
			}
		}
	}
	outer := n.open()
	addAll(outer.refs, 50, false)
	for range 3 {
		inner := n.open()
		addAll(inner.refs, 40, false)
		innermost := n.open()
		addAll(innermost.refs, 5, false)
		n.close(innermost)
		addAll(inner.refs, 40, true)
		n.close(inner)
		addAll(outer.refs, 50, true)
	}
	n.close(outer)
	if len(n.refs) != 0 || n.used != 0 {
		t.Errorf("%d names, %d tables are left", len(n.refs), n.used)
	}
	again := n.open()
	addAll(again.refs, 50, false)
}

// TestKeysCollide: the quick key of long names is no hash, so names that share it must be compared.
func TestKeysCollide(t *testing.T) {
	var n nameStack
	n.reset()
	var data []byte
	for i := range uint64(10) {
		// The key of 16 bytes is the first half xor the second one rotated: 0 for these.
		data = binary.LittleEndian.AppendUint64(data, bits.RotateLeft64(i, 29))
		data = binary.LittleEndian.AppendUint64(data, i)
	}
	for i := range 10 {
		if n.add(data, 0, nameRef{off: uint32(16 * i), len: 16}) {
			t.Errorf("name %d is taken for another", i)
		}
		if n.refs[i].key != 0 {
			t.Errorf("the key of name %d is %x", i, n.refs[i].key)
		}
	}
	if !n.add(data, 0, nameRef{off: 16 * 7, len: 16}) {
		t.Error("a name is not found again")
	}
}

// TestArenaIsReused: decoded names of objects that ended take no room.
func TestArenaIsReused(t *testing.T) {
	s := borrow([]byte("[" + strings.Repeat(`{"\u0061bc":{"\u0064":1}},`, 1000) + "0]"))
	if end := s.value(0); end != len(s.data) || len(s.names.arena) != 0 || cap(s.names.arena) > 64 {
		t.Errorf("at %d: %d of %d bytes in use", end, len(s.names.arena), cap(s.names.arena))
	}
	if err := s.done(0); err != nil {
		t.Error(err)
	}
}

// TestSeedsDiffer: who knows the seed of one process or scanner can collide names.
func TestSeedsDiffer(t *testing.T) {
	var a, b nameStack
	for _, n := range []*nameStack{&a, &b} {
		n.reset()
		for i := range 20 {
			n.add([]byte("abcdefghijklmnopqrstuvwxyz"), 0, nameRef{off: uint32(i), len: 1})
		}
	}
	if a.refs[0].key == b.refs[0].key {
		t.Error("two scanners hash alike")
	}
}

// TestPlain compares the fast search with the obvious one, at every alignment.
func TestPlain(t *testing.T) {
	slow := func(d []byte, i int) int {
		for i < len(d) && d[i] >= 0x20 && d[i] < 0x80 && d[i] != '"' && d[i] != '\\' {
			i++
		}
		return i
	}
	for size := range 80 {
		for at := range size {
			for _, c := range []byte{0, 0x1f, ' ', '!', '"', '#', '[', '\\', ']', 0x7f, 0x80, 0xA0, 0xA2, 0xDC, 0xff} {
				d := []byte(strings.Repeat("x", size))
				d[at] = c
				if at+1 < size {
					d[at+1] = 0x1f // what follows a hit must not disturb it
				}
				for _, start := range []int{0, 1, at} {
					if got, want := plain(d, start), slow(d, start); got != want {
						t.Fatalf("plain(%q, %d) = %d, want %d", d, start, got, want)
					}
				}
			}
		}
	}
}
