package schemacheck_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"durward/internal/testkit/schemacheck"
)

func tool(schema string) []byte {
	return []byte(`{"name":"local__x","description":"Does it.","inputSchema":` + schema + `}`)
}

// refusers returns which vendors refuse a tool, and one line for each problem.
func refusers(raw []byte) (vendors []string, text string) {
	for _, p := range schemacheck.Check(raw) {
		if v := string(p.Vendor); !slices.Contains(vendors, v) {
			vendors = append(vendors, v)
		}
		text += p.String() + "\n"
	}
	return vendors, text
}

func TestWhatAllVendorsTake(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"type":"string","description":"x"}},"required":["a"],"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","enum":["x","y"]}}},"required":["a"],"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"integer"}},"required":["b"],"additionalProperties":false}},"required":["a"],"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}},"required":["a"],"additionalProperties":false}`,
	} {
		if vendors, text := refusers(tool(schema)); len(vendors) > 0 {
			t.Errorf("%s:\n%s", schema, text)
		}
	}
}

const (
	everybody = "anthropic anthropic-strict openai openai-strict gemini"
	strict    = "anthropic-strict openai-strict"
)

func TestWhatVendorsRefuse(t *testing.T) {
	of := func(property string) string {
		return `{"type":"object","properties":{"a":` + property + `},"required":["a"],"additionalProperties":false}`
	}
	deep := `{"type":"string"}`
	for range 5 {
		deep = of(deep)
	}
	var many, names []string
	for i := range 101 {
		many = append(many, fmt.Sprintf(`"p%d":{"type":"string"}`, i))
		names = append(names, fmt.Sprintf(`"p%d"`, i))
	}
	for _, c := range []struct{ what, schema, refusers, says string }{
		{"no type at the top", `{"properties":{"a":{"type":"string"}}}`, everybody, `must have "type": "object"`},
		{"no object at the top", `{"type":"string"}`, everybody, `must have "type": "object"`},
		{"no schema", `true`, everybody, "must be a schema object, is true"},
		{"anyOf at the top", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false,"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}]}`, everybody, "must not have anyOf at its top"},
		{"an array without items", of(`{"type":"array"}`), everybody, "is an array without items"},
		{"a tuple", of(`{"type":"array","items":[{"type":"string"}]}`), everybody, "must be a schema object, is ["},
		{"items that are true", of(`{"type":"array","items":true}`), everybody, "must be a schema object"},
		{"a property without type", of(`{"description":"x"}`), everybody, "has no type"},
		{"a type that is none", of(`{"type":"text"}`), everybody, `unknown type "text"`},
		{"a type that is no word", of(`{"type":1}`), everybody, "has no type that can be read: 1"},
		{"an enum without type", of(`{"enum":["x"]}`), "gemini", "has no type"},
		{"an enum of numbers", of(`{"type":"integer","enum":[1]}`), "gemini", "which is no string"},
		{"an enum of another type", of(`{"type":"integer","enum":["1"]}`), everybody, "not of its type"},
		{"an empty enum", of(`{"type":"string","enum":[]}`), everybody, "enum without values"},
		{"a list of types", of(`{"type":["string","null"]}`), "gemini", "has a list of types"},
		{"a reference", of(`{"type":"string","$ref":"#/$defs/x"}`), everybody, "keyword $ref"},
		{"a condition", of(`{"type":"string","if":{"type":"string"}}`), everybody, "keyword if"},
		{"oneOf below", of(`{"type":"string","oneOf":[{"type":"string"}]}`), strict + " gemini", "keyword oneOf"},
		{"const", of(`{"type":"string","const":"x"}`), "gemini", "keyword const"},
		{"a least length", of(`{"type":"string","minLength":1}`), strict, "keyword minLength"},
		{"a least number", of(`{"type":"integer","minimum":1}`), "anthropic-strict", "keyword minimum"},
		{"an open object", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, strict, `must have "additionalProperties": false`},
		{"a map", of(`{"type":"object","properties":{},"additionalProperties":{"type":"string"}}`), strict + " gemini", "additionalProperties"},
		{"an optional property", `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`, "openai-strict", `must require "a"`},
		{"requiring what is not there", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a","b"],"additionalProperties":false}`, everybody, `requires "b"`},
		{"required that is no list", `{"type":"object","properties":{"a":{"type":"string"}},"required":true,"additionalProperties":false}`, everybody, "no list of names"},
		{"an object without properties", of(`{"type":"object","additionalProperties":false}`), everybody, "object without properties"},
		{"an object with empty properties", of(`{"type":"object","properties":{},"additionalProperties":false}`), "gemini", "properties are empty"},
		{"properties of no object", of(`{"type":"string","properties":{}}`), everybody, "and is no object"},
		{"items of no array", of(`{"type":"string","items":{"type":"string"}}`), everybody, "and is no array"},
		{"a branch without type", of(`{"anyOf":[{"description":"x"}]}`), everybody, "anyOf[0] has no type"},
		{"anyOf without branches", of(`{"anyOf":[]}`), everybody, "without branches"},
		{"too deep", deep, everybody, "deeper than 5"},
		{"a name of a property", strings.ReplaceAll(of(`{"type":"string"}`), `"a"`, `"a b"`), everybody, "must have a name that matches"},
		{"too many properties", `{"type":"object","properties":{` + strings.Join(many, ",") + `},"required":[` + strings.Join(names, ",") + `],"additionalProperties":false}`, everybody, "has 101 properties in all, more than 100"},
		{"too many optional ones", `{"type":"object","properties":{` + strings.Join(many[:25], ",") + `},"additionalProperties":false}`, strict, "has 25 optional properties in all, more than 24"},
	} {
		vendors, text := refusers(tool(c.schema))
		if got := strings.Join(vendors, " "); got != c.refusers {
			t.Errorf("%s is refused by %q, should be by %q:\n%s", c.what, got, c.refusers, text)
		}
		if !strings.Contains(text, c.says) {
			t.Errorf("%s: nobody says %q:\n%s", c.what, c.says, text)
		}
	}
}

func TestNamesAndDescriptions(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`
	for _, c := range []struct{ name, description, refusers string }{
		{"a-b_C9", "x", ""},
		{strings.Repeat("n", 64), strings.Repeat("d", 1024), ""},
		{strings.Repeat("n", 65), "x", everybody},
		{"a.b", "x", everybody},
		{"", "x", everybody},
		{"9a", "x", "gemini"},
		{"a", " ", everybody},
		{"a", strings.Repeat("d", 1025), everybody},
	} {
		vendors, text := refusers(fmt.Appendf(nil, `{"name":%q,"description":%q,"inputSchema":%s}`, c.name, c.description, schema))
		if got := strings.Join(vendors, " "); got != c.refusers {
			t.Errorf("%q %.10q is refused by %q, should be by %q:\n%s", c.name, c.description, got, c.refusers, text)
		}
	}
	if vendors, _ := refusers([]byte(`[]`)); len(vendors) != 1 {
		t.Error("what is no object was taken")
	}
}
