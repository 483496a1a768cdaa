package wire_test

import (
	"fmt"
	"testing"

	"durward/internal/wire"
)

func TestSplice(t *testing.T) {
	src := []byte("0123456789")
	edit := func(start, end uint32, with string) wire.Edit {
		return wire.Edit{At: wire.Span{Start: start, End: end}, With: []byte(with)}
	}
	for _, c := range []struct {
		edits []wire.Edit
		want  string
	}{
		{nil, ">0123456789"},
		{[]wire.Edit{edit(0, 1, "a")}, ">a123456789"},
		{[]wire.Edit{edit(2, 4, ""), edit(4, 5, "four"), edit(10, 10, "end")}, ">01four56789end"},
		{[]wire.Edit{edit(0, 0, "x"), edit(0, 10, "y")}, ">xy"},
	} {
		if got := string(wire.Splice([]byte(">"), src, c.edits...)); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	if string(src) != "0123456789" {
		t.Error("the source was changed")
	}
}

func TestAppendObject(t *testing.T) {
	drop := func(name string) bool { return name == "b" }
	add := []wire.Member{{Name: "new\n", Value: []byte("1")}}
	for _, c := range []struct {
		obj  string
		drop func(string) bool
		add  []wire.Member
		want string
	}{
		{``, nil, nil, `{}`},
		{``, nil, add, `{"new\n":1}`},
		{`null`, nil, add, `{"new\n":1}`},
		{`{"a":1}`, nil, nil, `{"a":1}`},
		{`{"a":1,"b":2,"c":3}`, drop, add, `{"new\n":1,"a":1,"c":3}`},
		{`{"b":2}`, drop, nil, `{}`},
		{`{"\u0062":2,"a" : 1e400}`, drop, nil, `{"a" : 1e400}`},
		{`{"new\u000a":0,"a":1}`, nil, add, `{"new\n":1,"a":1}`}, // an added member replaces its namesake
	} {
		if got := string(wire.AppendObject(nil, []byte(c.obj), c.drop, c.add...)); got != c.want {
			t.Errorf("%s: %s, want %s", c.obj, got, c.want)
		}
	}
}

func TestAppendParams(t *testing.T) {
	token := []wire.Member{{Name: "progressToken", Value: []byte("1")}}
	for _, c := range []struct {
		name, params string
		rewrite      func(p *wire.Params) wire.Rewrite
		want         string
	}{
		{"nothing", `{"a" : 1}`, func(*wire.Params) wire.Rewrite { return wire.Rewrite{} }, `{"a" : 1}`},
		{"drop without _meta", `{"a":1}`, func(*wire.Params) wire.Rewrite { return wire.Rewrite{DropMeta: wire.ProtocolKey} }, `{"a":1}`},
		{"add without _meta", `{"a":1}`, func(*wire.Params) wire.Rewrite { return wire.Rewrite{AddMeta: token} }, `{"_meta":{"progressToken":1},"a":1}`},
		{"add to nothing", `{ }`, func(*wire.Params) wire.Rewrite { return wire.Rewrite{AddMeta: token} }, `{"_meta":{"progressToken":1}}`},
		{"null _meta", `{"_meta":null,"a":1}`, func(*wire.Params) wire.Rewrite { return wire.Rewrite{AddMeta: token} }, `{"_meta":{"progressToken":1},"a":1}`},
		{
			"everything", `{"name":"a__b","arguments":{"x":1e400},"_meta":{"progressToken":7,"k":1},"cursor":"c"}`,
			func(p *wire.Params) wire.Rewrite {
				return wire.Rewrite{
					Values:   []wire.Edit{{At: p.Name, With: []byte(`"b"`)}, {At: p.Cursor, With: []byte(`"d"`)}},
					DropMeta: wire.ProtocolKey, AddMeta: token,
				}
			}, `{"name":"b","arguments":{"x":1e400},"_meta":{"progressToken":1,"k":1},"cursor":"d"}`,
		},
		{
			"emptied _meta", `{"_meta":{"progressToken":7,"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`,
			func(*wire.Params) wire.Rewrite { return wire.Rewrite{DropMeta: wire.ProtocolKey} }, `{"_meta":{}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p wire.Params
			if err := wire.ParseParams([]byte(c.params), &p); err != nil {
				t.Fatal(err)
			}
			r := c.rewrite(&p)
			if got := string(wire.AppendParams([]byte(">"), &p, &r)); got != ">"+c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	t.Run("absent params", func(t *testing.T) {
		if got := string(wire.AppendParams(nil, &wire.Params{}, &wire.Rewrite{AddMeta: token})); got != `{"_meta":{"progressToken":1}}` {
			t.Error(got)
		}
		if got := string(wire.AppendParams(nil, &wire.Params{}, &wire.Rewrite{})); got != `{}` {
			t.Error(got)
		}
	})
}

func TestSetResultMember(t *testing.T) {
	add := []wire.Member{{Name: "resultType", Value: []byte(`"complete"`)}, {Name: "ttlMs", Value: []byte("0")}}
	for _, c := range [][2]string{
		{`{}`, `{"resultType":"complete","ttlMs":0}`},
		{`{ }`, `{"resultType":"complete","ttlMs":0 }`},
		{`{"a":1}`, `{"resultType":"complete","ttlMs":0,"a":1}`},
		{`{ "a" : 1 , "b":2}`, `{"resultType":"complete","ttlMs":0, "a" : 1 , "b":2}`},
		{`{"ttlMs":5}`, `{"resultType":"complete","ttlMs":5}`},
		{`{"resultType":"task","a": 1,"ttlMs":null }`, `{"resultType":"task","a": 1,"ttlMs":null }`},
		{`{"result\u0054ype":"task"}`, `{"ttlMs":0,"result\u0054ype":"task"}`},
		{`[1]`, `[1]`},
		{`null`, `null`},
	} {
		if got := string(wire.SetResultMember(nil, []byte(c[0]), add...)); got != c[1] {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
	}
	if got := string(wire.SetResultMember(nil, []byte(`{"a":1}`))); got != `{"a":1}` {
		t.Error(got)
	}
	var many []wire.Member
	for i := range 70 {
		many = append(many, wire.Member{Name: fmt.Sprint("n", i), Value: []byte("1")})
	}
	out := wire.SetResultMember(nil, []byte(`{"n3":0,"n69":0}`), many...)
	if !wire.Valid(out) || string(wire.Get(out, "n3")) != "0" || string(wire.Get(out, "n69")) != "0" || string(wire.Get(out, "n68")) != "1" {
		t.Errorf("%s", out)
	}
}

func TestRemoveResultMember(t *testing.T) {
	for _, c := range [][2]string{
		{`{}`, `{}`},
		{`{"x":1}`, `{}`},
		{`{ "x" : 1 }`, `{  }`},
		{`{"x":1,"a":2}`, `{"a":2}`},
		{`{"a":2,"x":1}`, `{"a":2}`},
		{`{"a":1,"x":1,"b":2}`, `{"a":1,"b":2}`},
		{`{"x":1,"x":2,"a":3,"x":4,"\u0078":5,"b":6,"x":7}`, `{"a":3,"b":6}`},
		{`{"a": {"x":1} ,"b" :2}`, `{"a": {"x":1} ,"b" :2}`},
		{`[{"x":1}]`, `[{"x":1}]`},
		{`"x"`, `"x"`},
	} {
		if got := string(wire.RemoveResultMember(nil, []byte(c[0]), "x")); got != c[1] {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
	}
}

func TestBuilders(t *testing.T) {
	for _, c := range [][2]string{
		{string(wire.AppendRequest(nil, []byte(`7`), "tools/call", []byte(`{"a":1}`))), `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":1}}`},
		{string(wire.AppendRequest(nil, []byte(`"x"`), "ping", nil)), `{"jsonrpc":"2.0","id":"x","method":"ping"}`},
		{string(wire.AppendRequest(nil, nil, "notifications/\"x\"", nil)), `{"jsonrpc":"2.0","method":"notifications/\"x\""}`},
		{string(wire.AppendResult([]byte(">"), []byte(`1`), []byte(`{}`))), `>{"jsonrpc":"2.0","id":1,"result":{}}`},
		{string(wire.AppendFailure(nil, nil, []byte(`{}`))), `{"jsonrpc":"2.0","error":{}}`},
		{string(wire.AppendFailure(nil, []byte(`1`), wire.AppendError(nil, -1, "a\nb", []byte(`[1]`)))), `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"a\nb","data":[1]}}`},
	} {
		if c[0] != c[1] {
			t.Errorf("%s, want %s", c[0], c[1])
		}
	}
}
