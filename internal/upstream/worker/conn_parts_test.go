package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"durward/internal/exchange"
	"durward/internal/wire"
)

// The lines of a stream do not depend on how it is cut into reads, nor on the
// buffers: compared with splitting the whole text.
func TestLinesAgreeWithSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 600 << 10
		size := rapid.OneOf(
			rapid.IntRange(0, 40),
			rapid.IntRange(lineBuffer-3, lineBuffer+3), rapid.IntRange(lineGrown-3, lineGrown+3),
			rapid.IntRange(lineGrown, limit), rapid.IntRange(limit-2, limit+2), rapid.IntRange(limit, 2*limit))
		var text []byte
		for i, n := range rapid.SliceOfN(size, 0, 6).Draw(t, "sizes") {
			text = append(text, bytes.Repeat([]byte{'a' + byte(i)}, n)...)
			text = append(text, '\n')
		}
		if rapid.Bool().Draw(t, "cut") && len(text) > 0 {
			text = text[:len(text)-1]
		}
		var from io.Reader = bytes.NewReader(text)
		switch rapid.IntRange(0, 3).Draw(t, "reads") {
		case 1:
			from = iotest.HalfReader(from)
		case 2:
			from = iotest.DataErrReader(from)
		case 3:
			from = &chunked{from, rapid.IntRange(1000, 100_000).Draw(t, "chunk")}
		}
		checkLines(t, newLines(from, limit), text, limit)
	})
}

// chunked gives at most n bytes per read.
type chunked struct {
	from io.Reader
	n    int
}

func (c *chunked) Read(p []byte) (int, error) { return c.from.Read(p[:min(len(p), c.n)]) }

func checkLines(t *rapid.T, l *lines, text []byte, limit int) {
	t.Helper()
	for len(text) > 0 {
		want, rest, whole := bytes.Cut(text, []byte("\n"))
		text = rest
		got, err := l.next()
		if err != nil {
			t.Fatalf("%v before a line of %d bytes", err, len(want))
		}
		if len(want) > limit {
			if !got.oversized || !bytes.HasPrefix(want, got.data) || len(got.data) == 0 || !bytes.HasSuffix(want, got.tail) || len(got.tail) == 0 {
				t.Fatalf("a line of %d bytes: oversized=%t, %d and %d bytes of it", len(want), got.oversized, len(got.data), len(got.tail))
			}
		} else if got.oversized || !bytes.Equal(got.data, want) {
			t.Fatalf("a line of %d bytes came as %d bytes, oversized=%t", len(want), len(got.data), got.oversized)
		}
		if got.half == whole {
			t.Fatalf("a line of %d bytes: half=%t", len(want), got.half)
		}
	}
	if _, err := l.next(); !errors.Is(err, io.EOF) {
		t.Fatalf("at the end: %v", err)
	}
}

func TestLinesGiveTheirBufferBack(t *testing.T) {
	long := strings.Repeat("x", lineGrown-10) + "\n"
	l := newLines(strings.NewReader(long+"short\n"), 1<<20)
	for range 2 {
		if _, err := l.next(); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.buf) != lineGrown {
		t.Fatalf("the buffer holds %d bytes", len(l.buf))
	}
	if _, err := l.next(); !errors.Is(err, io.EOF) || len(l.buf) != lineBuffer {
		t.Fatalf("%v; an idle connection keeps %d bytes", err, len(l.buf))
	}
}

// What a request says beside its own hop's keys survives, whatever stands where:
// compared with decoding and changing the decoded value.
func TestRequestsAgreeWithDecoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := drawParams(t)
		r := exchange.Request{Method: "tools/call", Progress: rapid.Bool().Draw(t, "progress")}
		if rapid.Bool().Draw(t, "rename") {
			r.Name = []byte(`"new"`)
		}
		if err := wire.ParseParams([]byte(raw), &r.Params); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		era := wire.Legacy
		if rapid.Bool().Draw(t, "modern") {
			era = wire.Modern
		}
		got := newDialect(era, wire.RevisionModern, nil).appendCall(nil, 7, &r)
		var m wire.Message
		if err := wire.Parse(got, wire.FromClient, &m); err != nil {
			t.Fatalf("%s became %s: %v", raw, got, err)
		}
		want := decoded(t, raw)
		expect(want, &r, era)
		if diff := cmp.Diff(want, decoded(t, string(m.Params.Raw))); diff != "" {
			t.Fatalf("%s became %s:\n%s", raw, got, diff)
		}
	})
}

func drawParams(t *rapid.T) string {
	space := rapid.SampledFrom([]string{"", " ", "\n\t", "  "})
	meta := rapid.SampledFrom([]string{
		`{}`, `{"progressToken":"x"}`, `{ "progressToken" : 1 , "k":{"_meta":1} }`, `{"k":1}`, `null`,
		`{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"}\""}}`,
		`{"a":1,"io.modelcontextprotocol/logLevel":"debug","b":[1,{"c":2}]}`,
	})
	members := []string{
		`"name"` + space.Draw(t, "s") + `:"old"`, `"arguments":{"_meta":{"progressToken":1},"name":"x"}`,
		rapid.SampledFrom([]string{`"_meta"`, `"\u005fmeta"`}).Draw(t, "spelt") + space.Draw(t, "s") + `:` + space.Draw(t, "s") + meta.Draw(t, "meta"),
		`"x,\"y":[1,2]`,
	}
	members = rapid.Permutation(members).Draw(t, "order")[:rapid.IntRange(0, 4).Draw(t, "count")]
	comma := space.Draw(t, "s") + "," + space.Draw(t, "s")
	return "{" + space.Draw(t, "s") + strings.Join(members, comma) + space.Draw(t, "s") + "}"
}

func decoded(t *rapid.T, raw string) map[string]any {
	t.Helper()
	var m map[string]any
	if raw == "" {
		return map[string]any{}
	}
	if err := json.Unmarshal([]byte(raw), &m); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return m
}

// expect is the rule in slow: change want as the request should be.
func expect(want map[string]any, r *exchange.Request, era wire.Era) {
	if _, ok := want["name"]; ok && r.Name != nil {
		want["name"] = "new"
	}
	value := want["_meta"]
	meta, isObject := value.(map[string]any)
	before := len(meta)
	kept := map[string]any{}
	for name, v := range meta {
		if !wire.ProtocolKey(name) {
			kept[name] = v
		}
	}
	add := map[string]any{}
	if era == wire.Modern {
		add[wire.MetaProtocolVersion] = wire.RevisionModern
		add[wire.MetaClientCapabilities] = map[string]any{}
	}
	if r.Progress {
		add[wire.MetaProgressToken] = 7.0
	}
	for name, v := range add {
		kept[name] = v
	}
	switch {
	case len(kept) > 0:
		want["_meta"] = kept
	case isObject && before > 0:
		delete(want, "_meta")
	}
}

func TestParseID(t *testing.T) {
	for raw, want := range map[string]string{
		"7": "7", "0": "0", "18446744073709551615": "18446744073709551615", "7.0": "7", "7.000": "7",
		"18446744073709551616": "", "99999999999999999999": "", "7.5": "", "-1": "", `"7"`: "", "": "", "7.": "7", ".0": "", "1e3": "", "null": "",
	} {
		got := ""
		if id, ok := parseID([]byte(raw)); ok {
			got = fmt.Sprint(id)
		}
		if got != want {
			t.Errorf("%q is %q, want %q", raw, got, want)
		}
	}
}

func TestTailID(t *testing.T) {
	for tail, want := range map[string]string{
		`xx"},"id":7}`: "7", `x,"jsonrpc":"2.0","id":8}`: "8", `x,"id":9,"jsonrpc":"2.0"}`: "9", `x, "id" : 10 } `: "10",
		`x,"id":"7"}`: "", `x,"id":7`: "", `"id":1,"x":2}`: "", `}`: "", ``: "", `"id"}`: "", `"id":}`: "",
	} {
		got := ""
		if id, ok := tailID([]byte(tail)); ok {
			got = fmt.Sprint(id)
		}
		if got != want {
			t.Errorf("%q ends with id %q, want %q", tail, got, want)
		}
	}
}

func TestScrubbed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		got := scrubbed(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))
		if len(got) > maxDetail || !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\x1b\n\r\x7f") {
			t.Fatalf("%q", got)
		}
	})
	if got := scrubbed([]byte(strings.Repeat("é", 150))); got != strings.Repeat("é", 100) {
		t.Fatalf("%q", got)
	}
}
