package policy

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

//go:generate go test . -run TheReferenceOfFieldsIsUpToDate -update

// FieldInfo describes a field that conditions may name.
type FieldInfo struct {
	Name   string   `json:"name"`
	Type   string   `json:"type"` // text, bool, int, number, time, list of text, object, any
	Doc    string   `json:"doc"`
	Phase  string   `json:"phase"`            // "any", or "response": absent while a request is decided
	Listed bool     `json:"listed"`           // known when it is decided what a caller sees
	Values []string `json:"values,omitempty"` // all there are; empty: any
}

// FunctionInfo describes a function that is Durward's own.
type FunctionInfo struct {
	Form string `json:"form"` // glob(text, pattern)
	Type string `json:"type"` // of what it gives
	Doc  string `json:"doc"`
}

// Fields returns all fields in the order of the reference. The aliases
// mcp.tool_call.X of mcp.tool.X are left out.
func Fields() []FieldInfo {
	list := make([]FieldInfo, 0, numFields)
	table := fieldTable()
	for f := range numFields {
		info := FieldInfo{Name: table[f].name, Type: table[f].kind, Doc: table[f].doc, Phase: "any", Listed: table[f].listed, Values: slices.Clone(table[f].values)}
		if table[f].needs&needResult != 0 {
			info.Phase = "response"
		}
		list = append(list, info)
	}
	return list
}

// Functions returns Durward's own functions.
func Functions() []FunctionInfo {
	list := []FunctionInfo{
		{Form: "has(field)", Type: kindBool, Doc: "True if the field or key is there; otherwise absent, so that nothing around it matches."},
		{Form: "absent(field)", Type: kindBool, Doc: "True if the field or key, or anything on the way to it, is absent; otherwise false. The one way to match because something is not there."},
	}
	for _, f := range ownFunctions() {
		list = append(list, FunctionInfo{Form: f.form, Type: kindOf(f.result.TypeName()), Doc: f.doc})
	}
	return list
}

// FieldsReference is docs/reference/rule-fields.md.
func FieldsReference() []byte {
	var b bytes.Buffer
	b.WriteString(fieldsHead)
	group := ""
	for _, f := range Fields() {
		if g := groupOf(f.Name); g != group {
			group = g
			fmt.Fprintf(&b, "\n### %s\n\n| field | type | |\n|---|---|---|\n", group)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Name, f.Type, describe(f))
	}
	b.WriteString(fieldsFunctions)
	for _, f := range Functions() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Form, f.Type, f.Doc)
	}
	fmt.Fprintf(&b, fieldsTail, maxSource>>10, maxNodes, maxMembers)
	return b.Bytes()
}

func describe(f FieldInfo) string {
	doc := f.Doc
	if len(f.Values) > 0 {
		doc += " One of `" + strings.Join(f.Values, "`, `") + "`."
	}
	if f.Phase == "response" {
		doc += " *Response.*"
	}
	if !f.Listed {
		doc += " †"
	}
	return doc
}

func groupOf(name string) string {
	switch parts := strings.Split(name, "."); {
	case name == "now":
		return "event"
	case name == "mcp.tool_list":
		return "mcp.tool"
	case len(parts) == 3 && parts[0] == "mcp" && parts[1] != "request":
		return parts[0] + "." + parts[1]
	default:
		return parts[0]
	}
}

const fieldsHead = `<!-- Generated from the tables in policy; "make docs" writes it anew. -->

# Fields and functions of rules

` + "`when:`" + ` of a rule is an expression in [CEL](https://cel.dev) that gives true or false:

` + "```yaml" + `
when: 'mcp.tool.arguments.branch == "main" && mcp.tool.arguments.force == true'
when: 'mcp.tool.arguments.paths.exists(p, glob(p, "/etc/*"))'
when: 'risk_at_least(mcp.tool.risk, "high") && "untrusted-content" in session.labels'
when: 'absent(mcp.tool.arguments.dry_run) || mcp.tool.arguments.dry_run == false'
` + "```" + `

An unknown field, a comparison of things that cannot be equal, and a condition that can never match are refused when the rule is loaded, with
the place and what was probably meant. ` + "`durward rule fields`" + ` prints the tables of this page.

## What is absent

A condition that touches a missing key does not match, and that is no error.

| | |
|---|---|
| What is absent | a field that the event does not have; a key that an object does not have; a place beyond the end of a list; a key of something that is no object |
| How far it reaches | everything around it up to the smallest expression that gives true or false is absent: the comparison, the call, the loop |
| ` + "`!a`" + ` | of something absent is absent. ` + "`!(mcp.tool.arguments.force == true)`" + ` does not match a call without ` + "`force`" + `, and neither does ` + "`mcp.tool.arguments.force != true`" + ` |
| ` + "`a \\|\\| b`" + ` | true if either is true; otherwise an error if either failed; otherwise absent if either is; otherwise false. What is absent does not hide the other side |
| ` + "`a && b`" + ` | false if either is false; otherwise an error if either failed; otherwise absent if either is; otherwise true |
| ` + "`c ? a : b`" + ` | absent if ` + "`c`" + ` is |
| ` + "`list.exists(x, …)`" + `, ` + "`list.all(x, …)`" + ` | as ` + "`||`" + ` and ` + "`&&`" + ` over the elements. ` + "`exists_one`, `filter` and `map`" + ` are absent if the expression is for any element |
| the whole | matches only if it is true |

To match *because* something is not there, ask: ` + "`absent(mcp.tool.arguments.force)`" + ` is true or false and never absent itself. ` + "`has(x)`" + ` is true or absent; where
its being false would matter, as in ` + "`!has(x)`" + `, the rule is refused and ` + "`absent(x)`" + ` suggested. ` + "`mcp.tool.arguments.?force.orValue(false)`" + ` puts a value in the place of
what is absent. A key whose value is ` + "`null`" + ` is there.

## What cannot be evaluated

Any other failure blocks the call with cause ` + "`evaluation`" + `: a text where a number is compared (` + "`mcp.tool.arguments.n > 3`" + ` with ` + "`n: \"4\"`" + `), a conversion that fails, what costs too much, and:

- a number that cannot be held exactly. Integers are exact up to 64 bits, with and without sign, and beyond where they happen to be doubles; a decimal fraction must come out of a double as it went in;
- an object in which a name is there twice;
- a list or an object of more elements than the limit below.

Texts are seen whole, whatever their size: nothing is cut before it is looked at.

## Fields

† not known when it is decided what a caller sees in lists: a rule that depends on it hides nothing, it decides the call.

` + "`mcp.tool_call.X`" + ` is another name of ` + "`mcp.tool.X`" + `. Keys of objects are selected by ` + "`.key`" + `, or by ` + "`[\"a key\"]`" + ` where they are no plain words.
`

const fieldsFunctions = `
## Functions

CEL's own functions, operators and loops (` + "`all`, `exists`, `exists_one`, `filter`, `map`" + `), optional values (` + "`.?`, `[?]`, `orValue`" + `), and its extensions for
strings, regular expressions (RE2: ` + "`matches`, `regex.extract`, `regex.replace`" + `), sets, lists, mathematics, encodings, and ` + "`cel.bind`" + `. Durward adds:

| function | gives | |
|---|---|---|
`

const fieldsTail = `
To compare text that an agent wrote, compare ` + "`normalized(text)`" + `: it sees through case, invisible characters, wide letters and padding with blanks.
To compare hosts, compare ` + "`host(text)`" + ` or ` + "`http.host`" + `.

## Limits

| | |
|---|---|
| text of one condition | %d KiB, %d operations and names |
| cost of one evaluation | 1,000,000 units; what goes beyond is an evaluation error |
| cost estimated at load, for an ordinary call | 10,000,000 units; what may cost more is refused |
| elements of one list, members of one object that a condition touches | %d |

A unit is about one step; text costs one for every ten characters that are looked at, a regular expression some times that. For most conditions it is
proven when they are loaded that no event, or none up to some size, can reach the limit; they run without a counter, in less than half the time.
`
