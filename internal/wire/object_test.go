package wire_test

import (
	"fmt"
	"slices"
	"testing"

	"durward/internal/wire"
)

func TestMembers(t *testing.T) {
	for _, c := range []struct {
		obj  string
		want []string
	}{
		{`{}`, nil},
		{` { } `, nil},
		{`{"a":1}`, []string{"a=1"}},
		{` { "a" : [1, "]"] , "b\n" : {"c":"}"} , "" : "x\\" , "é" : null } `, []string{"a=[1, \"]\"]", "b\n={\"c\":\"}\"}", "=\"x\\\\\"", "é=null"}},
		{`{"a":1,"a":2}`, []string{"a=1", "a=2"}},
		{`[1]`, nil},
		{`"x"`, nil},
		{`null`, nil},
		{``, nil},
	} {
		var got []string
		for name, span := range wire.Members([]byte(c.obj)) {
			got = append(got, name+"="+string(span.Of([]byte(c.obj))))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.obj, got, c.want)
		}
	}
}

func TestMembersStop(t *testing.T) {
	n := 0
	for range wire.Members([]byte(`{"a":1,"b":2,"c":3}`)) {
		if n++; n == 2 {
			break
		}
	}
	for range wire.Elements([]byte(`[1,2,3]`)) {
		if n++; n == 4 {
			break
		}
	}
	if n != 4 {
		t.Error(n)
	}
}

func TestElements(t *testing.T) {
	for _, c := range []struct {
		arr  string
		want []string
	}{
		{`[]`, nil},
		{` [ ] `, nil},
		{`[1]`, []string{"1"}},
		{` [ 1 , "a,]" , [2,[3]] , {"x":[4]} ] `, []string{"1", `"a,]"`, "[2,[3]]", `{"x":[4]}`}},
		{`{}`, nil},
		{``, nil},
	} {
		var got []string
		for span := range wire.Elements([]byte(c.arr)) {
			got = append(got, string(span.Of([]byte(c.arr))))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.arr, got, c.want)
		}
	}
}

func TestLookup(t *testing.T) {
	obj := []byte(`{"a":{"b":1},"b":2,"n\u0061me":"x","b":3,"\ud83d\ude00":4,"null":null}`)
	for name, want := range map[string]string{"a": `{"b":1}`, "b": "2", "name": `"x"`, "😀": "4", "null": "null", "absent": "", "": ""} {
		if got := string(wire.Get(obj, name)); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
		if wire.Lookup(obj, name).Present() != (want != "") {
			t.Errorf("%q: %v", name, wire.Lookup(obj, name))
		}
	}
	if got := wire.Get(obj, "a"); cap(got) != len(got) {
		t.Error("appending to a value would overwrite what follows it")
	}
}

// TestReadersOnUncheckedBytes: they may find nonsense, but end and stay inside.
func TestReadersOnUncheckedBytes(t *testing.T) {
	whole := `{"a\"b":[{"c":"d\\"},-1.5e3,tru],"e" : {"f":[[]],"":""}}`
	inputs := []string{`[}`, `[,`, `[,,]`, `[:`, `{"a"}`, `{"a"1}`, `{"a":}`, `{"a":,`, `{:`, `{"a":1:2}`, `[1"a"2]`, `["`, `["\`, `{"\`, `{"a":"\"`, `[[[[`, `]`, `}`, "{\x00\"a\":1}"}
	for i := range whole {
		inputs = append(inputs, whole[:i], whole[i:], whole[:i]+"\""+whole[i:], whole[:i]+"]"+whole[i:])
	}
	for _, in := range inputs {
		b := []byte(in)
		n := 0
		for _, span := range wire.Members(b) {
			_ = span.Of(b)
			n++
		}
		for span := range wire.Elements(b) {
			_ = span.Of(b)
			n++
		}
		if n > len(b) {
			t.Errorf("%q has %d parts", in, n)
		}
		wire.Get(b, "absent")
		wire.Unquote(b)
		wire.SetResultMember(nil, b, wire.Member{Name: "x", Value: []byte("1")})
		wire.RemoveResultMember(nil, b, "a")
		wire.AppendObject(nil, b, nil)
		wire.ErrorCode(b)
	}
}

// TestMemberNames: names come out decoded, the common ones too.
func TestMemberNames(t *testing.T) {
	for _, name := range []string{
		"name", "title", "description", "inputSchema", "outputSchema", "annotations", "execution", "icons", "_meta", "uri", "uriTemplate",
		"mimeType", "size", "arguments", "required", "type", "text", "content", "contents", "structuredContent", "isError", "resultType",
		"ttlMs", "cacheScope", "nextCursor", "tools", "properties", "ui", "traceparent", "tracestate", wire.MetaProtocolVersion,
		wire.MetaClientCapabilities, wire.MetaClientInfo, wire.MetaLogLevel, wire.MetaServerInfo, wire.MetaSubscriptionID, wire.MetaProgressToken,
		"vendor/x", "", "é", "a\"b", "tab\there",
	} {
		for got := range wire.Members([]byte("{" + wire.Quote(name) + ":1}")) {
			if got != name {
				t.Errorf("%q became %q", name, got)
			}
		}
	}
	for got := range wire.Members([]byte("{\"a\xff\":1}")) {
		if got != "a\uFFFD" {
			t.Errorf("%q", got)
		}
	}
}

func ExampleMembers() {
	tool := []byte(`{"name":"echo","inputSchema":{"type":"object"},"vendor/x":9007199254740993}`)
	for name, span := range wire.Members(tool) {
		fmt.Println(name, string(span.Of(tool)))
	}
	// Output:
	// name "echo"
	// inputSchema {"type":"object"}
	// vendor/x 9007199254740993
}
