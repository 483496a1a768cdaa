//go:build !race

// The race detector makes sync.Pool forget at random, so allocations are counted without it.

package wire_test

import (
	"testing"

	"durward/internal/wire"
)

func TestNoAllocationsOfCanonical(t *testing.T) {
	dst := make([]byte, 0, 16384)
	for name, in := range map[string]string{
		"string": `"a\u00e9"`, "number": "1.50e3", "sorted": string(editCall()), "records": string(recordsCall()),
		"unsorted": `{"z":1,"y":{"b":[1,{"d":0,"c":"\n"}],"a":2},"\u0061":3}`,
	} {
		data := []byte(in)
		if n := testing.AllocsPerRun(200, func() { dst = wire.AppendCanonical(dst[:0], data) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkAppendCanonical(b *testing.B) {
	for name, data := range map[string][]byte{"small-request": []byte(smallRequest), "edit-4KB": editCall(), "records-4KB": recordsCall(), "members-1M": manyMembers(1_000_000)} {
		b.Run(name, func(b *testing.B) {
			dst := make([]byte, 0, 2*len(data))
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				dst = wire.AppendCanonical(dst[:0], data)
			}
		})
	}
}
