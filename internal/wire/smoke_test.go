package wire_test

import (
	"testing"

	"durward/internal/wire"
)

func TestParseToolsCall(t *testing.T) {
	in := []byte(`{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"a__b","arguments":{"x":1e400},"_meta":{"progressToken":7,"k":1}}}`)
	var m wire.Message
	if err := wire.Parse(in, wire.FromClient, &m); err != nil {
		t.Fatal(err)
	}
	if m.Kind != wire.Request || string(m.ID) != "9007199254740993" || m.Method != "tools/call" {
		t.Fatalf("%+v", m)
	}
	p := &m.Params
	if n, _ := p.String(p.Name); n != "a__b" {
		t.Fatal(n)
	}
	out := wire.AppendParams(nil, p, &wire.Rewrite{
		Values: []wire.Edit{{At: p.Name, With: []byte(`"b"`)}}, DropMeta: wire.ProtocolKey,
		AddMeta: []wire.Member{{Name: "progressToken", Value: []byte("1")}},
	})
	if want := `{"name":"b","arguments":{"x":1e400},"_meta":{"progressToken":1,"k":1}}`; string(out) != want {
		t.Fatal(string(out))
	}
	if n := testing.AllocsPerRun(100, func() { _ = wire.Parse(in, wire.FromClient, &m) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestRefusals(t *testing.T) {
	for _, in := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":"a","name":"b"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":"a","n\u0061me":"b"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":"a","NAME":"b"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"Arguments":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"arguments":{"a":{"b":1,"b":2}}}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"x"}]`, `{"jsonrpc":"2.0","id":null,"method":"x"}`, `{"id":1,"method":"x"}`, ``, `{`,
	} {
		var m wire.Message
		if err := wire.Parse([]byte(in), wire.FromClient, &m); err == nil {
			t.Errorf("accepted %s", in)
		}
	}
}
