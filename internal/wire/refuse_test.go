package wire_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"durward"
	"durward/internal/wire"
)

// refusal is bytes that must be refused, at an offset and with words.
type refusal struct {
	in     string
	offset int
	words  string
}

func checkRefusals(t *testing.T, from wire.Origin, list []refusal) {
	t.Helper()
	for _, c := range list {
		var m wire.Message
		err := wire.Parse([]byte(c.in), from, &m)
		var syntax *wire.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%.200s: %v is no *SyntaxError", c.in, err)
			continue
		}
		if syntax.Offset != c.offset || !strings.Contains(syntax.Reason, c.words) {
			t.Errorf("%.200s\n got byte %d: %s\nwant byte %d: …%s…", c.in, syntax.Offset, syntax.Reason, c.offset, c.words)
		}
	}
}

func TestRefuseEnvelope(t *testing.T) {
	checkRefusals(t, wire.FromClient, []refusal{
		{``, 0, "starts with '{'"},
		{`null`, 0, "starts with '{'"},
		{` [{"jsonrpc":"2.0","id":1,"method":"x"}]`, 1, "batches are not supported"},
		{"\xEF\xBB\xBF{}", 0, "starts with '{'"},
		{`{}`, 0, `"jsonrpc":"2.0"`},
		{`{"id":1,"method":"x"}`, 0, `"jsonrpc":"2.0"`},
		{`{"id":1,"jsonrpc":"1.0","method":"x"}`, 18, `"jsonrpc":"2.0"`},
		{`{"jsonrpc":2.0,"id":1,"method":"x"}`, 11, `"jsonrpc":"2.0"`},
		{`{"jsonrpc":"\u0032.0","id":1,"method":"x"}`, 11, `"jsonrpc":"2.0"`},
		{`{"jsonrpc":"2.0","id":null,"method":"x"}`, 22, "must not be null"},
		{`{"jsonrpc":"2.0","id":true,"method":"x"}`, 22, "a string or a number"},
		{`{"jsonrpc":"2.0","id":{},"method":"x"}`, 22, "a string or a number"},
		{`{"jsonrpc":"2.0","id":[1],"result":1}`, 22, "a string or a number"},
		{`{"jsonrpc":"2.0","id":1,"method":""}`, 33, "not empty"},
		{`{"jsonrpc":"2.0","id":1,"method":7}`, 33, "must be a string"},
		{`{"jsonrpc":"2.0","id":1,"method":null}`, 33, "must be a string"},
		{`{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}`, 46, `"params" must be an object`},
		{`{"jsonrpc":"2.0","id":1,"method":"x","params":null}`, 46, `"params" must be an object`},
		{`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":5}}`, 55, `"_meta" must be an object`},
		{`{"jsonrpc":"2.0","id":1,"method":"x","result":1}`, 0, `either "method", or`},
		{`{"jsonrpc":"2.0","method":"x","error":{}}`, 0, `either "method", or`},
		{`{"jsonrpc":"2.0","id":1,"result":1,"error":{}}`, 0, "not both"},
		{`{"jsonrpc":"2.0","id":1,"error":"no"}`, 32, `"error" must be an object`},
		{`{"jsonrpc":"2.0","result":1}`, 0, `needs the "id"`},
		{`{"jsonrpc":"2.0","id":null,"result":1}`, 0, `needs the "id"`},
		{`{"jsonrpc":"2.0","id":1}`, 0, `needs "method", "result" or "error"`},
		{`{"jsonrpc":"2.0","method":"x"} {}`, 31, "follows the end"},
		{`{"jsonrpc":"2.0","method":"x"}` + "\x00", 30, "follows the end"},
	})
}

// inArguments puts a value where a client's data is; as deep as two levels.
func inArguments(value string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"x","params":{"arguments":` + value + `}}`
}

func TestRefuseSyntax(t *testing.T) {
	list := []refusal{
		{`{"a":1,}`, 7, "a member name in double quotes"},
		{`{a:1}`, 1, "a member name in double quotes"},
		{`{"a" 1}`, 5, "needs ':'"},
		{`{"a":1 "b":2}`, 7, "needs ',' or '}'"},
		{`{"a":}`, 5, "no JSON value starts with '}'"},
		{`[1,]`, 3, "no JSON value starts with ']'"},
		{`[1 2]`, 3, "needs ',' or ']'"},
		{`tru`, 0, "not true, false or null"},
		{`NaN`, 0, "no JSON value starts with 'N'"},
		{`+1`, 0, "no JSON value starts with '+'"},
		{`-`, 1, "needs a digit here"},
		{`01`, 0, "must not begin with 0"},
		{`-01`, 1, "must not begin with 0"},
		{`1.`, 2, "after its point"},
		{`.5`, 0, "no JSON value"},
		{`1e`, 2, "in its exponent"},
		{`1e+`, 3, "in its exponent"},
		{"\"a\nb\"", 2, "control character"},
		{`"a\qb"`, 2, "no such escape"},
		{`"\u12g4"`, 1, "four hexadecimal digits"},
		{`"\ud800"`, 1, "surrogate"},
		{`"\udc00"`, 1, "surrogate"},
		{`"\ud800\u0041"`, 1, "surrogate"},
		{`"\ud800A"`, 1, "surrogate"},
		{`"\udc00\udc00"`, 1, "surrogate"},
		{`"\udfff\udfff"`, 1, "surrogate"},
		{`"\ud800\ue000"`, 1, "surrogate"},
		{"\"ab\xff\"", 3, "no UTF-8"},
		{"\"\xc0\x80\"", 1, "no UTF-8"},         // overlong
		{"\"\xed\xa0\x80\"", 1, "no UTF-8"},     // a surrogate as UTF-8
		{"\"\xf4\x90\x80\x80\"", 1, "no UTF-8"}, // beyond U+10FFFF
		{"\"\xe2\x82\"", 1, "no UTF-8"},         // cut short
		{"{\"\xff\":1}", 2, "no UTF-8"},
	}
	for i := range list {
		list[i].in = inArguments(list[i].in)
		list[i].offset += len(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"arguments":`)
	}
	checkRefusals(t, wire.FromClient, list)
}

// TestRefuseTruncated cuts a message at every byte: none of the parts passes.
func TestRefuseTruncated(t *testing.T) {
	whole := `{"jsonrpc":"2.0","id":-1.5e3,"method":"x","params":{"name":"\ud83d\ude00é日😀","arguments":[true,false,null,{"a":{}}],"_meta":{"k":"v"},"ref":{"name":"n"}}}`
	for n := range len(whole) {
		var m wire.Message
		for _, from := range []wire.Origin{wire.FromClient, wire.FromServer} {
			if err := wire.Parse([]byte(whole[:n]), from, &m); err == nil {
				t.Errorf("accepted %s", whole[:n])
			}
		}
	}
	mustParse(t, whole, wire.FromClient)
}

func TestRefuseDuplicates(t *testing.T) {
	many := make([]string, 40)
	for i := range many {
		many[i] = `"member` + strings.Repeat("x", i) + `":1`
	}
	var afterTable []string // short names that come when the object has its table already
	for c := 'a'; c <= 'z'; c++ {
		afterTable = append(afterTable, inArguments(fmt.Sprintf(`{%s,"%c":1,"%c":"a value that is not near the end"}`, strings.Join(many, ","), c, c)))
	}
	list := []string{
		`{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"x"}`,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","m\u0065thod":"y"}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","v":1,"v":1}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":"a","name":"b"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":"a","n\u0061me":"b"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{},"_meta":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":1,"progressToken":2}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"a":{"b":1,"b":2}}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"ref":{"name":"a","name":"b"}}}`,
		inArguments(`{"a":{"b":1,"b":2}}`),
		inArguments(`[[{"b":1,"c":2,"b":2}]]`),
		inArguments(`{"":1,"":2}`),
		inArguments(`{"a":1,"\u0061":2}`),
		inArguments(`{"\u0061":1,"a":2}`),
		inArguments(`{"\u0061":1,"a":"a value that is not near the end"}`),
		inArguments(`{"longer than eight":1,"longer than eight":2}`),
		inArguments(`{"é":1,"\u00e9":2}`),
		inArguments(`{"a":{"x":1,"y":2},"b":1,"a":2}`),
		inArguments(`{` + strings.Join(many, ",") + `,"member":2}`),
		inArguments(`{` + strings.Join(many, ",") + `,"memb\u0065rxxxxxxxxxxxxxxxxxxxxx":2}`),
		inArguments(`{"n":{` + strings.Join(many, ",") + `},` + strings.Join(many, ",") + `,"n":2}`),
	}
	for _, in := range append(list, afterTable...) {
		for _, from := range []wire.Origin{wire.FromClient, wire.FromServer} {
			var m wire.Message
			if err := wire.Parse([]byte(in), from, &m); err == nil || !strings.Contains(err.Error(), "stands twice in one object") {
				t.Errorf("%s: %v", in, err)
			}
		}
	}
	// Names that differ in a NUL at their end only, and the same names in
	// different objects, are no duplicates.
	mustParse(t, inArguments(`{"a":1,"a\u0000":2,"\u0000":3,"":4,"abcdefgh":5,"abcdefgh\u0000":6}`), wire.FromClient)
	mustParse(t, inArguments(`{"a":{"a":{"a":[{"a":1},{"a":2}]}},"b":{`+strings.Join(many, ",")+`},`+strings.Join(many, ",")+`}`), wire.FromClient)
}

func TestRefuseCase(t *testing.T) {
	for _, in := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"x","Method":"y"}`,
		`{"jsonrpc":"2.0","ID":1,"method":"x"}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","vendor":1,"Vendor":1}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","re\u0053ult":1}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","paramſ":{}}`, // U+017F folds to s
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":"a","NAME":"b"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"Arguments":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"taskid":"t"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"tasKId":"t"}}`, // U+212A folds to k
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_Meta":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"ä":1,"Ä":2}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"protocolversion":"2025-11-25"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progresstoken":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolversion":"2026-07-28"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"Traceparent":"00"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"a/b":1,"A/B":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"ref":{"name":"a","Name":"b"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"ref":{"URI":"b"}}}`,
	} {
		for _, from := range []wire.Origin{wire.FromClient, wire.FromServer} {
			var m wire.Message
			if err := wire.Parse([]byte(in), from, &m); err == nil {
				t.Errorf("accepted %s", in)
			}
		}
	}
	for _, in := range []string{
		inArguments(`{"a":1,"A":2,"Name":3,"NAME":4}`), // arguments belong to the tool
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"names":1,"nam":2,"argument":{},"Foo":1,"bar":2}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"ref":"NAME"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"a":1,"A":2,"ISERROR":3}}`,
	} {
		mustParse(t, in, wire.FromClient)
	}
}

func TestRefuseDepth(t *testing.T) {
	nested := func(levels int, c [3]string) string {
		times := (levels - 2) / (strings.Count(c[0], "[") + strings.Count(c[0], "{")) // envelope and params are two levels
		return inArguments(strings.Repeat(c[0], times) + c[1] + strings.Repeat(c[2], times))
	}
	for _, c := range [][3]string{{`[`, ``, `]`}, {`{"a":`, `1`, `}`}, {`[{"a":`, `1`, `}]`}} {
		mustParse(t, nested(wire.MaxDepth, c), wire.FromClient)
		var m wire.Message
		err := wire.Parse([]byte(nested(wire.MaxDepth+2, c)), wire.FromClient, &m)
		if err == nil || !strings.Contains(err.Error(), "deeper than the 128 levels") {
			t.Errorf("%v", err)
		}
	}
	if err := wire.Parse([]byte(nested(wire.MaxDepth+1, [3]string{`[`, ``, `]`})), wire.FromClient, new(wire.Message)); err == nil {
		t.Error("accepted one level too many")
	}
	// A million open brackets end at the bound, not the stack.
	if wire.Valid([]byte(strings.Repeat(`[`, 1_000_000))) || wire.Valid([]byte(strings.Repeat(`{"a":`, 1_000_000))) {
		t.Error("accepted")
	}
}

// TestErrorsAreShort: a message of an error quotes no megabyte of its cause.
func TestErrorsAreShort(t *testing.T) {
	long := strings.Repeat("n", 1<<20)
	var m wire.Message
	err := wire.Parse([]byte(inArguments(`{"`+long+`":1,"`+long+`":2}`)), wire.FromClient, &m)
	if err == nil || len(err.Error()) > 300 || !strings.HasPrefix(err.Error(), "byte 1048641: member name \"nnn") {
		t.Errorf("%.400v", err)
	}
	refused := wire.InvalidRequest(err)
	if durward.KindOf(refused) != durward.Invalid || wire.CodeOf(refused) != wire.CodeInvalidParams {
		t.Errorf("kind %v", durward.KindOf(refused))
	}
}

func TestCheckSize(t *testing.T) {
	if err := wire.CheckSize(wire.MaxMessage, 0); err != nil {
		t.Error(err)
	}
	if err := wire.CheckSize(10, 10); err != nil {
		t.Error(err)
	}
	for _, err := range []error{wire.CheckSize(11, 10), wire.CheckSize(wire.MaxMessage+1, 0)} {
		if durward.KindOf(err) != durward.Invalid || !strings.Contains(err.Error(), "limits.message") {
			t.Errorf("%v", err)
		}
	}
}
