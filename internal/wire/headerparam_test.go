package wire_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"durward"
	"durward/internal/wire"
)

func TestHeaderParams(t *testing.T) {
	for _, c := range []struct {
		schema string
		want   []wire.HeaderParam
	}{
		{``, nil},
		{`{}`, nil},
		{`true`, nil},
		{`{"type":"object","properties":{"q":{"type":"string"}}}`, nil},
		{
			`{"type":"object","properties":{"region":{"type":"string","description":"x","x-mcp-header":"Region"},"n":{"x-mcp-header":"N","type":"integer"},"b":{"type":"boolean","x-mcp-header":"b!#$%&'*+-.^_|~"}}}`,
			[]wire.HeaderParam{{"Region", []string{"region"}, "string"}, {"N", []string{"n"}, "integer"}, {"b!#$%&'*+-.^_|~", []string{"b"}, "boolean"}},
		},
		{
			`{"properties":{"a":{"properties":{"b c":{"type":"string","x-mcp-header":"AB"},"d":{"type":"string","x-mcp-header":"AD"}}},"e":{"type":"string","x-mcp-header":"E"}}}`,
			[]wire.HeaderParam{{"AB", []string{"a", "b c"}, "string"}, {"AD", []string{"a", "d"}, "string"}, {"E", []string{"e"}, "string"}},
		},
		{ // escaped spelling
			`{"prop\u0065rties":{"\u0061":{"type":"stri\u006eg","x\u002dmcp-header":"\u0041"}}}`,
			[]wire.HeaderParam{{"A", []string{"a"}, "string"}},
		},
		// A property may be called so, and data and unknown keywords may hold it.
		{`{"properties":{"x-mcp-header":{"type":"string"}}}`, nil},
		{`{"properties":{"a":{"default":{"x-mcp-header":"A"},"const":{"x-mcp-header":""},"enum":[{"x-mcp-header":1}],"examples":[{"x-mcp-header":1}]}}}`, nil},
		{`{"x-vendor":{"x-mcp-header":"A"},"description":"x-mcp-header"}`, nil},
		{`{"properties":{"a":true,"b":false,"c":[]},"items":[true,false],"description":"x-mcp-header"}`, nil},
	} {
		got, err := wire.HeaderParams([]byte(c.schema))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.schema, got, err, c.want)
		}
	}
}

func TestHeaderParamsRules(t *testing.T) {
	property := func(schema string) string { return `{"properties":{"a":{"properties":{"b":` + schema + `}}}}` }
	const good = `{"type":"string","x-mcp-header":"A"}`
	list := []struct{ schema, words string }{
		{property(`{"type":"string","x-mcp-header":""}`), `property "a.b": the annotation must be a string that is not empty`},
		{property(`{"type":"string","x-mcp-header":7}`), "must be a string"},
		{property(`{"type":"string","x-mcp-header":null}`), "must be a string"},
		{property(`{"type":"object","x-mcp-header":"A"}`), "type string, integer or boolean"},
		{property(`{"type":"array","x-mcp-header":"A"}`), "type string, integer or boolean"},
		{property(`{"type":"null","x-mcp-header":"A"}`), "type string, integer or boolean"},
		{property(`{"type":"number","x-mcp-header":"A"}`), "type string, integer or boolean"},
		{property(`{"type":["string","null"],"x-mcp-header":"A"}`), "type string, integer or boolean"},
		{property(`{"x-mcp-header":"A"}`), "type string, integer or boolean"},
		{property(`{"type":"string","x-mcp-header":"My Region"}`), "no header name"},
		{property(`{"type":"string","x-mcp-header":"Region:Primary"}`), "no header name"},
		{property(`{"type":"string","x-mcp-header":"Région"}`), "no header name"},
		{property(`{"type":"string","x-mcp-header":"Region\t1"}`), "no header name"},
		{property(`{"type":"string","x-mcp-header":"A\r\nEvil: 1"}`), "no header name"},
		{`{"properties":{"a":` + good + `,"b":` + good + `}}`, "used twice"},
		{`{"properties":{"a":{"type":"string","x-mcp-header":"MyField"},"b":{"type":"string","x-mcp-header":"myfield"}}}`, `"myfield" is used twice, also as "MyField"`},
		{`{"type":"string","x-mcp-header":"A"}`, "the schema: only properties"},
		{`{"properties":{"a":{"type":"string","x-mcp-header":"A","x-mcp-header":"B"}}}`, "clean JSON"},
		{`{"properties":{"a":{"type":"string","x-mcp-header":"A"}}`, "clean JSON"},
	}
	for _, keyword := range []string{"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "contentSchema"} {
		list = append(list, struct{ schema, words string }{property(`{"` + keyword + `":` + good + `}`), "only properties that are reached"})
	}
	for _, keyword := range []string{"oneOf", "anyOf", "allOf", "prefixItems", "items"} {
		list = append(list, struct{ schema, words string }{property(`{"` + keyword + `":[true,{},` + good + `]}`), "only properties that are reached"})
	}
	for _, keyword := range []string{"$defs", "definitions", "patternProperties", "dependentSchemas"} {
		list = append(list, struct{ schema, words string }{property(`{"` + keyword + `":{"x":` + good + `}}`), "only properties that are reached"})
	}
	// Below such a keyword properties do not help.
	list = append(list, struct{ schema, words string }{`{"items":` + property(good) + `}`, "only properties that are reached"})
	var many strings.Builder
	for i := range wire.MaxHeaderParams + 1 {
		fmt.Fprintf(&many, `,"p%d":{"type":"string","x-mcp-header":"P%d"}`, i, i)
	}
	list = append(list, struct{ schema, words string }{`{"properties":{` + many.String()[1:] + `}}`, "more than 128 arguments"})
	for _, c := range list {
		got, err := wire.HeaderParams([]byte(c.schema))
		if got != nil || durward.KindOf(err) != durward.Invalid || err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%.200s: %v, %v, want …%s…", c.schema, got, err, c.words)
		}
	}
}

// TestHeaderParamsDeep: a schema that never ends its nesting ends the walk.
func TestHeaderParamsDeep(t *testing.T) {
	deep := strings.Repeat(`{"properties":{"a":`, 100_000)
	if _, err := wire.HeaderParams([]byte(deep + `{"x-mcp-header":"A"}`)); err != nil {
		t.Error(err) // beyond the bound nothing is looked at, so nothing is mirrored
	}
	shallow := strings.Repeat(`{"properties":{"a":`, 50) + `{"type":"string","x-mcp-header":"A"}` + strings.Repeat(`}}`, 50)
	if got, err := wire.HeaderParams([]byte(shallow)); err != nil || len(got) != 1 || len(got[0].Path) != 50 {
		t.Error(got, err)
	}
}

func FuzzHeaderParams(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"items":[{"x-mcp-header":"B"}]}}}`))
	f.Add([]byte(`{"properties":{"a":{"properties":{"b":{"type":"integer","x-mcp-header":"N"}}},"$defs":{"x":{}}}}`))
	f.Add([]byte(`{"items":[,],"x-mcp-header"`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		params, _ := wire.HeaderParams(schema)
		for _, p := range params {
			at := schema
			for _, name := range p.Path {
				at = wire.Get(wire.Get(at, "properties"), name)
			}
			header, _ := wire.Unquote(wire.Get(at, "x-mcp-header"))
			kind, _ := wire.Unquote(wire.Get(at, "type"))
			if header != p.Header || kind != p.Type {
				t.Fatalf("%q: %v is %s", schema, p, at)
			}
		}
		wire.HeaderValues(params, schema)
	})
}

func testParams() []wire.HeaderParam {
	return []wire.HeaderParam{
		{"Region", []string{"region"}, "string"}, {"N", []string{"n"}, "integer"},
		{"Flag", []string{"flag"}, "boolean"}, {"Deep", []string{"a", "b"}, "string"},
	}
}

func TestHeaderValues(t *testing.T) {
	for _, c := range []struct{ arguments, want string }{
		{`{"region":"us-west1","n":42,"flag":false,"a":{"b":"x y "}}`, "[{Region us-west1} {N 42} {Flag false} {Deep x y }]"},
		{`{"region":null,"n":-7.0,"flag":true,"a":null}`, "[{N -7} {Flag true}]"},
		{`{"region":"","a":{"b":null}}`, "[{Region }]"},
		{`{"region":"\u65e5","a":"b"}`, "[{Region 日}]"},
		{`{"region":{"x":1},"n":3.5,"a":{"b":[1]}}`, "[]"},
		{`{"n":9007199254740993}`, "[]"},
		{`{"n":-9007199254740991}`, "[{N -9007199254740991}]"},
		{`{}`, "[]"},
		{``, "[]"},
		{`null`, "[]"},
	} {
		if got := fmt.Sprint(wire.HeaderValues(testParams(), []byte(c.arguments))); got != c.want {
			t.Errorf("%s: %s, want %s", c.arguments, got, c.want)
		}
	}
}

func TestCheckHeaders(t *testing.T) {
	for _, c := range []struct {
		arguments string
		headers   []wire.HeaderValue
		words     string // "" = passes
	}{
		{`{"region":"us","n":42}`, []wire.HeaderValue{{"region", "us"}, {"N", "42.0"}, {"Unknown", "x"}}, ""},
		{`{"a":{"b":" p "}}`, []wire.HeaderValue{{"DEEP", "=?base64?IHAg?="}}, ""},
		{`{}`, nil, ""},
		{`{"n":9007199254740993,"region":[1]}`, nil, ""}, // these have no text
		{`{"region":"us"}`, nil, `Mcp-Param-Region is missing; mirror the argument in it (argument "region")`},
		{`{"region":"us"}`, []wire.HeaderValue{{"Region", "eu"}}, "does not match"},
		{`{"region":"us"}`, []wire.HeaderValue{{"Region", "US"}}, "does not match"},
		{`{"region":"us"}`, []wire.HeaderValue{{"Region", "us"}, {"REGION", "us"}}, "more than once"},
		{`{"region":null}`, []wire.HeaderValue{{"Region", "us"}}, "absent or null"},
		{`{}`, []wire.HeaderValue{{"Deep", ""}}, "absent or null"},
		{`{"region":"Hello"}`, []wire.HeaderValue{{"Region", "=?base64?SGVsbG8?="}}, "malformed"},
		{`{"region":{"x":1}}`, []wire.HeaderValue{{"Region", "us"}}, "does not match"},
		{`{"a":{"b":"x"}}`, nil, `(argument "a.b")`},
	} {
		err := wire.CheckHeaders(testParams(), []byte(c.arguments), c.headers)
		if c.words == "" {
			if err != nil {
				t.Errorf("%s %v: %v", c.arguments, c.headers, err)
			}
			continue
		}
		var coded *wire.CodeError
		if !errors.As(err, &coded) || coded.Code != wire.CodeHeaderMismatch || !strings.Contains(coded.Message, c.words) {
			t.Errorf("%s %v: %v, want …%s…", c.arguments, c.headers, err, c.words)
		}
	}
	// What is mirrored passes its own check.
	arguments := []byte(`{"region":" é","n":1e2,"flag":true,"a":{"b":""}}`)
	headers := wire.HeaderValues(testParams(), arguments)
	for i := range headers {
		headers[i].Value = wire.EncodeHeaderValue(headers[i].Value)
	}
	if err := wire.CheckHeaders(testParams(), arguments, headers); err != nil || len(headers) != 4 {
		t.Error(headers, err)
	}
}
