package plugin_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"durward"
	"durward/internal/plugin"
	"durward/internal/wire"
)

// every is all built-in plugins on every event.
func every() map[string]plugin.Config {
	return map[string]plugin.Config{
		"secrets": {Mode: "redact"}, "pii": {Mode: "redact"}, "invisible": {Mode: "redact"}, "size": {Mode: "redact"},
		"injection": {Mode: "observe"}, "taint": {Mode: "observe"},
	}
}

// BenchmarkClean is what clean results cost with all built-in plugins: at most
// 50 µs for 4 KB, and 1 ms for 64 KB.
func BenchmarkClean(b *testing.B) {
	set, err := plugin.New(plugin.Options{Plugins: every()})
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"code", "prose", "log", "json", "chinese", "base64"} {
		text, err := os.ReadFile("testdata/bench/" + name + ".txt")
		if err != nil {
			b.Fatal(err)
		}
		for _, size := range []int{4 << 10, 64 << 10} {
			result := []byte(`{"content":[{"type":"text","text":` + wire.Quote(string(bytes.Repeat(text, 1+size/len(text))[:size])) + `}]}`)
			b.Run(fmt.Sprintf("%s/%dK", name, size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(result)))
				b.ReportAllocs()
				call := &durward.Call{Method: "tools/call", Server: "files", Name: "read"}
				for b.Loop() {
					d, _, _, err := set.Postprocess(b.Context(), call, result, nil)
					if err != nil || d.Changed != nil || len(d.Matches) > 0 {
						b.Fatal(err, d.Matches)
					}
				}
			})
		}
	}
}
