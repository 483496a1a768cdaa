package wire_test

import (
	"testing"

	"durward/internal/wire"
)

func TestServerFaults(t *testing.T) {
	for _, c := range []struct {
		in   string
		want wire.Faults
	}{
		{`{"jsonrpc":"2.0","id":1,"result":{"a":1}}`, wire.Faults{}},
		{`{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2,"\u0061":3}}`, wire.Faults{Duplicates: 2}},
		{`{"jsonrpc":"2.0","id":1,"result":{"isError":true,"isError":false,"x":[{"b":{"c":1,"c":1}}]}}`, wire.Faults{Duplicates: 2}},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1,"code":2,"data":{"d":1,"d":2}}}`, wire.Faults{Duplicates: 2}},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"t\":\"\xff\"}}", wire.Faults{BadUTF8: true}},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\xed\xa0\x80\"}", wire.Faults{BadUTF8: true}},
		{`{"jsonrpc":"2.0","id":1,"result":["\ud800"]}`, wire.Faults{BadUTF8: true}},
		{`{"jsonrpc":"2.0","id":1,"result":["\udc00\ud800x"]}`, wire.Faults{BadUTF8: true}},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"message\":\"\xff\"}}", wire.Faults{BadUTF8: true}},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"\xff\":1,\"\xfe\":2,\"\\ud800\":3}}", wire.Faults{Duplicates: 2, BadUTF8: true}}, // all read as U+FFFD
	} {
		m := mustParse(t, c.in, wire.FromServer)
		if m.Faults != c.want {
			t.Errorf("%s: %+v, want %+v", c.in, m.Faults, c.want)
		}
		var strict wire.Message
		if err := wire.Parse([]byte(c.in), wire.FromClient, &strict); (err == nil) != (c.want == wire.Faults{}) {
			t.Errorf("from a client %s: %v", c.in, err)
		}
	}
}

// TestServerStrictOutsideOfResults: tolerance begins and ends with result and error.
func TestServerStrictOutsideOfResults(t *testing.T) {
	for _, in := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{},"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":1},"x":{"a":1,"a":1}}`,
		"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"result\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\xff\"},\"b\":\"\xff\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"a\":\"\xff\"},\"\xff\":1}",
		`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"a":{"b":1,"b":1}}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"\ud800"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"a":1,}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"a":"\u00"}}`,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\x01\"}",
	} {
		var m wire.Message
		if err := wire.Parse([]byte(in), wire.FromServer, &m); err == nil {
			t.Errorf("accepted %s", in)
		}
	}
}

// TestLastOneCounts: of a name that stands twice most readers take the last.
func TestLastOneCounts(t *testing.T) {
	m := mustParse(t, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","isError":true,"resultType":"task","isError":false}}`, wire.FromServer)
	if m.Type() != "task" || m.IsError {
		t.Errorf("%q %v", m.Type(), m.IsError)
	}
}
