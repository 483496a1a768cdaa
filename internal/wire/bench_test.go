package wire_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"durward/internal/wire"
)

// smallRequest is what most of the traffic looks like: about 100 bytes.
const smallRequest = `{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}}}`

// editCall is a tools/call of about 4 KB as coding agents make them: some short
// arguments and source code in a few long strings.
func editCall() []byte {
	line := `\tfor i, part := range strings.Split(text, \"/\") { total += len(part) * i }\n`
	var b strings.Builder
	b.WriteString(`{"jsonrpc":"2.0","id":4711,"method":"tools/call","params":{"name":"filesystem__edit_file","arguments":{"path":"/home/user/project/main.go","edits":[`)
	for i := range 4 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"oldText":"%s","newText":"%s","line":%d}`, strings.Repeat(line, 5), strings.Repeat(line, 6), 10*i)
	}
	b.WriteString(`],"dryRun":false},"_meta":{"progressToken":12,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
	return []byte(b.String())
}

// recordsCall is a tools/call of about 4 KB made of many small members.
func recordsCall() []byte {
	var b strings.Builder
	b.WriteString(`{"jsonrpc":"2.0","id":4711,"method":"tools/call","params":{"name":"db__insert","arguments":{"table":"events","rows":[`)
	for i := range 48 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"kind":"page_view","user":"u-%06d","score":%d.5,"ok":true,"tags":["a","b"]}`, i, i*7919, i)
	}
	b.WriteString(`]}}}`)
	return []byte(b.String())
}

// result is a server's answer to tools/call with one text.
func result(text string) []byte {
	return []byte(`{"jsonrpc":"2.0","id":4711,"result":{"content":[{"type":"text","text":"` + text + `"}],"isError":false}}`)
}

// manyMembers is a request with one object of n members.
func manyMembers(n int) []byte {
	b := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{`)
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"', 'm')
		b = strconv.AppendInt(b, int64(i), 10)
		b = append(b, `":0`...)
	}
	return append(b, `}}}`...)
}

func BenchmarkParse(b *testing.B) {
	line := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 2)
	for _, c := range []struct {
		name string
		in   []byte
	}{
		{"small-request", []byte(smallRequest)},
		{"edit-4KB", editCall()},
		{"records-4KB", recordsCall()},
		{"text-64KB", result(strings.Repeat(line, 65536/len(line)))},
		{"lines-64KB", result(strings.Repeat(line+`\n`, 65536/(len(line)+2)))},
		{"chinese-64KB", result(strings.Repeat("敏捷的棕色狐狸跳过懒狗。", 65536/36))},
		{"members-1M", manyMembers(1_000_000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.in)))
			b.ReportAllocs()
			for b.Loop() {
				var m wire.Message
				if err := wire.Parse(c.in, wire.FromServer, &m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendParams(b *testing.B) {
	var m wire.Message
	if err := wire.Parse(editCall(), wire.FromClient, &m); err != nil {
		b.Fatal(err)
	}
	p := &m.Params
	values := []wire.Edit{{At: p.Name, With: []byte(`"edit_file"`)}}
	add := []wire.Member{{Name: wire.MetaProgressToken, Value: []byte("99")}}
	dst := make([]byte, 0, 8192)
	b.ReportAllocs()
	for b.Loop() {
		dst = wire.AppendParams(dst[:0], p, &wire.Rewrite{Values: values, DropMeta: wire.ProtocolKey, AddMeta: add})
	}
}

func BenchmarkLookup(b *testing.B) {
	var m wire.Message
	if err := wire.Parse(recordsCall(), wire.FromClient, &m); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(m.Params.Raw)))
	b.ReportAllocs()
	for b.Loop() {
		if wire.Get(m.Params.Raw, "absent") != nil {
			b.Fatal("found")
		}
	}
}
