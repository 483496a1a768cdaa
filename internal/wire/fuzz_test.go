package wire_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"durward/internal/wire"

	"github.com/go-json-experiment/json/jsontext"
)

// seeds are messages of every kind, and of every kind of mistake.
func seeds() []string {
	return []string{
		smallRequest,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}`,
		`{"jsonrpc":"2.0","id":"a\"b","result":{"resultType":"complete","content":[],"isError":true}}`,
		`{"jsonrpc":"2.0","id":-1.5e3,"error":{"code":-32601,"message":"no","data":{"a":1,"a":2}}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}`,
		` { "jsonrpc" : "2.0" , "id" : 1 , "method" : "tools/list" , "params" : { "cursor" : "c" , "_meta" : { "progressToken" : 1 } } } `,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":"b"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/logLevel":"debug"},"uri":"file:///x","taskId":"t","requestState":"s","inputResponses":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":"a","NAME":"b"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":"a","n\u0061me":"b"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":1,"A":2}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"ſ":1,"S":2,"K":3}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":null}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"a":"\ud800","b":"` + "\xff\xc0\x80" + `","c":"\ud83d\ude00","ü":"日本語"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"` + "\xff" + `":1,"` + "\xfe" + `":2,"\ud800":3}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"a","resultType":"task","isError":true,"isError":false}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"arguments":{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1,"n":1,"o":1,"a":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"arguments":{"abcdefgh1":1,"abcdefgh2":1,"abcdefghijklmnop":1,"abcdefghijklmnop":1}}}`,
		`{"jsonrpc":"2.0","id":01,"method":"x"}`, `{"jsonrpc":"2.0","id":1.,"method":"x"}`, `{"jsonrpc":"2.0","id":1e,"method":"x"}`,
		`[]`, `{}`, ``, `{`, `{"`, `{"a`, `{"a"`, `{"a":`, `{"a":"`, `{"a":"\`, `{"a":"\u`, `{"a":"\ud8`, `{"a":-`, `{"a":t`, `{"a":[`, `nul`, `"\`, "\xEF\xBB\xBF{}",
		strings.Repeat(`[`, 200), strings.Repeat(`{"a":`, 130) + `1` + strings.Repeat(`}`, 130),
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, server bool) {
		from := wire.FromClient
		if server {
			from = wire.FromServer
		}
		compareToOracle(t, data, from)
		if got, want := wire.Valid(data), isJSON(data); got != want {
			t.Fatalf("Valid(%q) = %v, oracle: %v", data, got, want)
		}
		var p wire.Params
		if err := wire.ParseParams(data, &p); (err == nil) != paramsClean(data) {
			t.Fatalf("ParseParams(%q) = %v, oracle: %v", data, err, paramsClean(data))
		} else if err == nil && paramsDiffer(&p) != "" {
			t.Fatal(paramsDiffer(&p))
		}
	})
}

// FuzzArguments is FuzzParse for what is inside of a message, where most of the
// bytes are; it gets deeper than mutations of whole messages do.
func FuzzArguments(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Add([]byte(`{"a":{"b":[1,{"c":null}]},"d":"\\\"","e":"\u00e9é"}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		compareToOracle(t, slices.Concat([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":`), value, []byte(`}}`)), wire.FromClient)
		compareToOracle(t, slices.Concat([]byte(`{"jsonrpc":"2.0","id":1,"result":`), value, []byte(`}`)), wire.FromServer)
		compareToOracle(t, slices.Concat([]byte(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":`), value, []byte(`}}`)), wire.FromServer)
	})
}

func FuzzMembers(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s), "result")
	}
	f.Add([]byte(`[1,"a,b",[2,[3]],{"x":"]"}]`), "")
	f.Add([]byte(`[}`), "")
	f.Add([]byte(`{"a":}`), "a")
	f.Add([]byte(`{"a\u0062":1,"c":{"}":"\\"}}`), "ab")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		var got []member
		for n, v := range wire.Members(data) {
			got = append(got, member{name: n, value: string(v.Of(data))})
		}
		elements := []string{}
		for e := range wire.Elements(data) {
			elements = append(elements, string(e.Of(data)))
		}
		value := wire.Get(data, name)
		wire.Unquote(data)
		if want, ok := membersOf(data); ok {
			if !slices.EqualFunc(got, want, func(a, b member) bool { return a.name == b.name && a.value == b.value }) {
				t.Fatalf("Members(%q) = %q, oracle: %q", data, got, want)
			}
			if utf8.ValidString(name) && string(value) != valueOf(want, name) {
				t.Fatalf("Get(%q, %q) = %q, oracle: %q", data, name, value, valueOf(want, name))
			}
		}
		if want, ok := elementsOf(data); ok && !slices.Equal(elements, want) {
			t.Fatalf("Elements(%q) = %q, oracle: %q", data, elements, want)
		}
	})
}

func FuzzUnquote(f *testing.F) {
	for _, s := range []string{`""`, `"a"`, `"\u00e9\n\""`, `"\ud83d\ude00"`, `"\ud800"`, `"\udc00\ud800"`, `"\ud800\ud800\udc00"`, "\"\xff\xed\xa0\x80\"", `"\`, `"`, `"a\"`, `"\u12"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, ok := wire.Unquote(raw)
		if jsontext.Value(raw).IsValid(lenient...) && raw[0] == '"' && raw[len(raw)-1] == '"' {
			if want, _ := jsontext.AppendUnquote(nil, raw); !ok || got != string(want) {
				t.Fatalf("Unquote(%q) = %q %v, oracle: %q", raw, got, ok, want)
			}
		}
		text := string(raw)
		quoted := wire.Quote(text)
		if !wire.Valid([]byte(quoted)) {
			t.Fatalf("Quote(%q) = %q is no JSON", text, quoted)
		}
		back, ok := wire.Unquote([]byte(quoted))
		if want, _ := jsontext.AppendUnquote(nil, quoted); !ok || back != string(want) || utf8.ValidString(text) && back != text {
			t.Fatalf("Unquote(Quote(%q)) = %q", text, back)
		}
	})
}

// pairs are the decoded names and raw values of an object.
func pairs(t *testing.T, obj []byte) [][2]string {
	t.Helper()
	list, ok := membersOf(obj)
	if !ok {
		t.Fatalf("%q is no JSON object", obj)
	}
	out := [][2]string{}
	for _, m := range list {
		out = append(out, [2]string{m.name, m.value})
	}
	return out
}

func FuzzAppendObject(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":{"c":"}"},"d":"\""}`), "b", "e", []byte(`[1]`))
	f.Add([]byte(`{ "a" : 1 , "\u0062" : 2 }`), "b", "a", []byte(`null`))
	f.Add([]byte(`{}`), "", "", []byte(`""`))
	f.Fuzz(func(t *testing.T, obj []byte, drop, add string, value []byte) {
		if !isJSON(obj) || !utf8.ValidString(add) || !isJSON(value) {
			return
		}
		before, ok := membersOf(obj)
		if !ok {
			return
		}
		out := wire.AppendObject([]byte("kept"), obj, func(name string) bool { return name == drop }, wire.Member{Name: add, Value: value})
		out, ok = bytes.CutPrefix(out, []byte("kept"))
		if !ok || !isJSON(out) {
			t.Fatalf("AppendObject(%q) = %q", obj, out)
		}
		want := [][2]string{{add, strings.Trim(string(value), " \t\r\n")}}
		for _, m := range before {
			if m.name != drop && m.name != add {
				want = append(want, [2]string{m.name, m.value})
			}
		}
		if got := pairs(t, out); !slices.Equal(got, want) {
			t.Fatalf("AppendObject(%q) = %q, want %q", obj, got, want)
		}
		checkResultEdits(t, obj, drop, add, value)
	})
}

// checkResultEdits holds SetResultMember and RemoveResultMember against the oracle.
func checkResultEdits(t *testing.T, obj []byte, drop, add string, value []byte) {
	t.Helper()
	before := pairs(t, obj)
	want := slices.Clone(before)
	if !slices.ContainsFunc(before, func(p [2]string) bool { return p[0] == add }) {
		want = slices.Insert(want, 0, [2]string{add, strings.Trim(string(value), " \t\r\n")})
	}
	if got := pairs(t, wire.SetResultMember(nil, obj, wire.Member{Name: add, Value: value})); !slices.Equal(got, want) {
		t.Fatalf("SetResultMember(%q, %q) = %q, want %q", obj, add, got, want)
	}
	want = slices.DeleteFunc(before, func(p [2]string) bool { return p[0] == drop })
	if got := pairs(t, wire.RemoveResultMember(nil, obj, drop)); !slices.Equal(got, want) {
		t.Fatalf("RemoveResultMember(%q, %q) = %q, want %q", obj, drop, got, want)
	}
}

func FuzzAppendParams(f *testing.F) {
	f.Add([]byte(`{"name":"a","arguments":{"x":1e400},"_meta":{"progressToken":7,"k":1}}`), "b", "traceparent")
	f.Add([]byte(`{"_meta":null,"name":"x","cursor":"c"}`), "", "k")
	f.Add([]byte(` { "name" : 1 } `), "n", "a")
	f.Add([]byte(`{}`), "n", "a")
	f.Fuzz(func(t *testing.T, raw []byte, name, key string) {
		var p wire.Params
		if wire.ParseParams(raw, &p) != nil || !utf8.ValidString(name) || !utf8.ValidString(key) {
			return
		}
		r := wire.Rewrite{DropMeta: wire.ProtocolKey, AddMeta: []wire.Member{{Name: key, Value: []byte("true")}}}
		if p.Name.Present() {
			r.Values = append(r.Values, wire.Edit{At: p.Name, With: []byte(wire.Quote(name))})
		}
		if p.Cursor.Present() {
			r.Values = append(r.Values, wire.Edit{At: p.Cursor, With: []byte("17")})
			slices.SortFunc(r.Values, func(a, b wire.Edit) int { return int(a.At.Start) - int(b.At.Start) })
		}
		out := wire.AppendParams(nil, &p, &r)
		if want := slowRewrite(t, &p, name, key); !slices.Equal(pairs(t, out), want) {
			t.Fatalf("AppendParams(%q) = %q, want %q", raw, out, want)
		}
		if same := wire.AppendParams(nil, &p, &wire.Rewrite{}); !bytes.Equal(same, p.Raw) {
			t.Fatalf("an empty rewrite of %q gave %q", p.Raw, same)
		}
	})
}

// slowRewrite is what FuzzAppendParams expects, member by member.
func slowRewrite(t *testing.T, p *wire.Params, name, key string) [][2]string {
	t.Helper()
	meta := []string{wire.Quote(key) + ":true"}
	inner, _ := membersOf(p.Meta.Of(p.Raw))
	for _, m := range inner {
		if m.name != key && !wire.ProtocolKey(m.name) {
			// The bytes from the name's quote to the value's end, white space included.
			meta = append(meta, between(t, p.Meta.Of(p.Raw), m))
		}
	}
	object := "{" + strings.Join(meta, ",") + "}"
	var want [][2]string
	for _, m := range pairs(t, p.Raw) {
		switch m[0] {
		case "name":
			m[1] = wire.Quote(name)
		case "cursor":
			m[1] = "17"
		case "_meta":
			m[1] = object
		}
		want = append(want, m)
	}
	if !p.Meta.Present() {
		want = slices.Insert(want, 0, [2]string{"_meta", object})
	}
	return want
}

// between finds the bytes of a member in obj.
func between(t *testing.T, obj []byte, m member) string {
	t.Helper()
	span := wire.Lookup(obj, m.name)
	start := bytes.LastIndex(obj[:span.Start], []byte(m.rawName))
	if start < 0 {
		t.Fatalf("%q not found in %q", m.rawName, obj)
	}
	return string(obj[start:span.End])
}

func FuzzToValidUTF8(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		repaired := wire.ToValidUTF8(msg)
		if !utf8.Valid(repaired) {
			t.Fatalf("ToValidUTF8(%q) = %q", msg, repaired)
		}
		if !jsontext.Value(msg).IsValid(lenient...) {
			return
		}
		if !jsontext.Value(repaired).IsValid(jsontext.AllowDuplicateNames(true)) {
			t.Fatalf("ToValidUTF8(%q) = %q is still faulty", msg, repaired)
		}
		if clean := jsontext.Value(msg).IsValid(jsontext.AllowDuplicateNames(true)); clean != bytes.Equal(msg, repaired) {
			t.Fatalf("ToValidUTF8(%q) = %q, clean before: %v", msg, repaired, clean)
		}
		if a, b := tokens(msg), tokens(repaired); a != b {
			t.Fatalf("ToValidUTF8(%q) changed %q to %q", msg, a, b)
		}
	})
}

// tokens renders what a tolerant reader gets from data.
func tokens(data []byte) string {
	var b strings.Builder
	d := jsontext.NewDecoder(bytes.NewReader(data), lenient...)
	for {
		tok, err := d.ReadToken()
		if err != nil {
			return b.String()
		}
		b.WriteByte(byte(tok.Kind()))
		b.WriteString(tok.String())
		b.WriteByte(0)
	}
}
