//go:build !race

// The race detector makes sync.Pool forget at random, so allocations are counted without it.

package wire_test

import (
	"strings"
	"testing"

	"durward/internal/wire"
)

// TestNoAllocations guards the path of a call: a small message costs none.
func TestNoAllocations(t *testing.T) {
	modern := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","progressToken":7}`
	messages := map[string]string{
		"request":      smallRequest,
		"modern":       `{"jsonrpc":"2.0","id":"a-1","method":"tools/call","params":{"name":"x","arguments":{"text":"a\nb \u00e9"},` + modern + `}}`,
		"notification": `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1,"total":3,"message":"half"}}`,
		"result":       `{"jsonrpc":"2.0","id":12,"result":{"content":[{"type":"text","text":"hello"}],"isError":false,"resultType":"complete"}}`,
		"error":        `{"jsonrpc":"2.0","id":12,"error":{"code":-32602,"message":"no such tool"}}`,
		"escaped name": `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"Vendor":1,"c\u0075rsor":"c"}}`,
		"twenty names": inArguments(`{` + strings.Join(numbered(20), ",") + `}`),
		"edit":         string(editCall()),
	}
	for _, method := range knownMethods() {
		messages[method] = `{"jsonrpc":"2.0","method":"` + method + `"}`
	}
	for name, in := range messages {
		data := []byte(in)
		if strings.Contains(in, `"method":"x"`) {
			data = []byte(strings.Replace(in, `"method":"x"`, `"method":"ping"`, 1))
		}
		n := testing.AllocsPerRun(200, func() {
			var m wire.Message
			if err := wire.Parse(data, wire.FromServer, &m); err != nil {
				t.Fatal(err)
			}
			_ = m.Type()
		})
		if n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestNoAllocationsOfReaders(t *testing.T) {
	obj := []byte(`{"name":"x","vendor/long":{"a":[1,2]},"text":"a\"b","_meta":{"progressToken":1,"io.modelcontextprotocol/logLevel":"info"},"u\u0072i":"y"}`)
	known := []byte(`{"name":1,"description":2,"_meta":3}`)
	arr := []byte(`[1,"a",{"b":[2]},[3]]`)
	total := 0
	for name, f := range map[string]func(){
		"Lookup": func() { total += int(wire.Lookup(obj, "uri").Start) },
		"Get":    func() { total += len(wire.Get(obj, "absent")) },
		"Members": func() {
			for name, span := range wire.Members(known) {
				total += len(name) + int(span.End)
			}
		},
		"Elements": func() {
			for span := range wire.Elements(arr) {
				total += int(span.End)
			}
		},
		"Valid": func() {
			if wire.Valid(obj) {
				total++
			}
		},
	} {
		if n := testing.AllocsPerRun(200, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	if total == 0 {
		t.Error("nothing was read")
	}
}

func TestNoAllocationsOfWriters(t *testing.T) {
	m := mustParse(t, string(editCall()), wire.FromClient)
	p := &m.Params
	values := []wire.Edit{{At: p.Name, With: []byte(`"edit_file"`)}}
	add := []wire.Member{{Name: wire.MetaProgressToken, Value: []byte("99")}, {Name: wire.MetaLogLevel, Value: []byte(`"info"`)}}
	result := []byte(`{"content":[{"type":"text","text":"x"}],"isError":false}`)
	complete := []wire.Member{{Name: "resultType", Value: []byte(`"complete"`)}}
	dst := make([]byte, 0, 16384)
	for name, f := range map[string]func(){
		"AppendParams": func() {
			dst = wire.AppendParams(dst[:0], p, &wire.Rewrite{Values: values, DropMeta: wire.ProtocolKey, AddMeta: add})
		},
		"AppendObject":       func() { dst = wire.AppendObject(dst[:0], p.Meta.Of(p.Raw), wire.ProtocolKey, add...) },
		"Splice":             func() { dst = wire.Splice(dst[:0], p.Raw, values...) },
		"AppendRequest":      func() { dst = wire.AppendRequest(dst[:0], m.ID, m.Method, p.Raw) },
		"AppendResult":       func() { dst = wire.AppendResult(dst[:0], m.ID, result) },
		"AppendFailure":      func() { dst = wire.AppendFailure(dst[:0], nil, result) },
		"SetResultMember":    func() { dst = wire.SetResultMember(dst[:0], result, complete...) },
		"RemoveResultMember": func() { dst = wire.RemoveResultMember(dst[:0], result, "isError") },
		"CleanLine":          func() { _ = wire.CleanLine(result) },
		"ToValidUTF8":        func() { _ = wire.ToValidUTF8(result) },
	} {
		if n := testing.AllocsPerRun(200, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
