package launch_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"durward/internal/launch"
)

// The reference keeps everything and cuts at the end.
func TestRingKeepsTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 20).Draw(t, "size")
		r := launch.NewRing(size)
		var all []byte
		for _, b := range rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 30)).Draw(t, "writes") {
			r.Write(b)
			all = append(all, b...)
			if want := all[max(0, len(all)-size):]; !bytes.Equal(r.Bytes(), want) {
				t.Fatalf("kept %q, want %q", r.Bytes(), want)
			}
		}
	})
}
