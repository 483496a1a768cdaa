// Package schemacheck says whether the large model vendors accept a tool. Each
// vendor takes another subset of JSON Schema, and most refuse a whole request for
// one tool they do not like, so what Durward itself offers must be within all of
// them (behaviour B14).
//
// The rules are the vendors' documented ones and those that their error messages
// tell; see vendors.go, where each stands with its reason. It is no JSON Schema
// validator and checks no foreign tools: those pass through untouched.
//
// Start at [Check].
package schemacheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Problem is one reason for which a vendor would refuse a tool.
type Problem struct {
	Vendor Vendor
	Path   string // where: "name", "description", "inputSchema.properties.x"
	Text   string // what is wrong
}

// String returns the problem in one line.
func (p Problem) String() string { return string(p.Vendor) + ": " + p.Path + " " + p.Text }

// Check returns why the vendors would refuse a tool, given as the raw Tool object
// that a client is offered; nil if all of them take it.
func Check(tool []byte) []Problem {
	var t struct {
		Name, Description string
		InputSchema       json.RawMessage
	}
	if err := json.Unmarshal(tool, &t); err != nil {
		return []Problem{{Vendor: "all", Path: "tool", Text: "is no JSON object: " + err.Error()}}
	}
	var all []Problem
	for _, v := range Vendors() {
		c := &checker{vendor: v, rules: rulesOf(v)}
		c.name(t.Name)
		c.description(t.Description)
		c.top(t.InputSchema)
		all = append(all, c.problems...)
	}
	return all
}

// checker checks one tool for one vendor.
type checker struct {
	vendor   Vendor
	rules    rules
	problems []Problem

	properties, enums, text, optional int // so far, in the whole schema
}

func (c *checker) report(path, format string, args ...any) {
	c.problems = append(c.problems, Problem{c.vendor, path, fmt.Sprintf(format, args...)})
}

func (c *checker) name(name string) {
	if !c.rules.name.MatchString(name) {
		c.report("name", "%q must match %s", name, c.rules.name)
	}
}

func (c *checker) description(text string) {
	if strings.TrimSpace(text) == "" {
		c.report("description", "is missing: a model has nothing else to choose by")
	}
	if len(text) > maxDescription {
		c.report("description", "has %d bytes, more than %d", len(text), maxDescription)
	}
}

// node is a schema, with its keywords as they were written.
type node map[string]json.RawMessage

func (n node) has(keyword string) bool { _, ok := n[keyword]; return ok }

// types returns the values of type; nil when there is none.
func (n node) types() []string {
	var one string
	if json.Unmarshal(n["type"], &one) == nil && one != "" {
		return []string{one}
	}
	var many []string
	if json.Unmarshal(n["type"], &many) != nil {
		return nil
	}
	return many
}

func (c *checker) top(raw json.RawMessage) {
	const path = "inputSchema"
	n, ok := c.read(path, raw)
	if !ok {
		return
	}
	if !slices.Equal(n.types(), []string{"object"}) {
		c.report(path, `must have "type": "object"`)
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf", "not", "enum", "if"} {
		if n.has(keyword) {
			c.report(path, "must not have %s at its top", keyword)
		}
	}
	c.schema(path, n, 1)
	for _, bound := range []struct {
		what    string
		n, most int
	}{
		{"properties", c.properties, c.rules.properties},
		{"enum values", c.enums, c.rules.enums},
		{"bytes of names and enum values", c.text, c.rules.text},
		{"optional properties", c.optional, c.rules.optional},
	} {
		if bound.n > bound.most {
			c.report(path, "has %d %s in all, more than %d", bound.n, bound.what, bound.most)
		}
	}
}

func (c *checker) read(path string, raw json.RawMessage) (node, bool) {
	var n node
	if err := json.Unmarshal(raw, &n); err != nil || n == nil {
		c.report(path, "must be a schema object, is %s", clip(raw))
		return nil, false
	}
	return n, true
}

// schema checks one schema and what is below it.
func (c *checker) schema(path string, n node, depth int) {
	if depth > c.rules.depth {
		c.report(path, "is nested deeper than %d levels", c.rules.depth)
		return
	}
	for keyword := range n {
		if !slices.Contains(c.rules.keywords, keyword) {
			c.report(path, "has the keyword %s, which is not supported", keyword)
		}
	}
	types := n.types()
	c.typed(path, n, types)
	c.enum(path, n, types)
	c.object(path, n, types, depth)
	c.array(path, n, types, depth)
	c.union(path, n, depth)
}

func (c *checker) typed(path string, n node, types []string) {
	known := []string{"object", "array", "string", "number", "integer", "boolean", "null"}
	for _, t := range types {
		if !slices.Contains(known, t) {
			c.report(path, "has the unknown type %q", t)
		}
	}
	switch {
	case len(types) == 0 && n.has("type"):
		c.report(path, "has no type that can be read: %s", clip(n["type"]))
	case len(types) == 0 && !n.has("anyOf") && (!n.has("enum") || !c.rules.untypedEnum):
		c.report(path, "has no type")
	case len(types) > 1 && !c.rules.typeLists:
		c.report(path, "has a list of types")
	}
}

func (c *checker) enum(path string, n node, types []string) {
	if !n.has("enum") {
		return
	}
	var values []any
	if err := json.Unmarshal(n["enum"], &values); err != nil || len(values) == 0 {
		c.report(path, "has an enum without values")
		return
	}
	c.enums += len(values)
	for _, v := range values {
		text, isText := v.(string)
		c.text += len(text)
		if !isText && c.rules.textEnum {
			c.report(path, "has the enum value %v, which is no string", v)
		}
		if isText && len(types) > 0 && !slices.Contains(types, "string") {
			c.report(path, "has the enum value %q, which is not of its type", text)
		}
	}
}

func (c *checker) object(path string, n node, types []string, depth int) {
	if !slices.Contains(types, "object") {
		for _, keyword := range []string{"properties", "required", "additionalProperties"} {
			if n.has(keyword) {
				c.report(path, "has %s, and is no object", keyword)
			}
		}
		return
	}
	var properties map[string]json.RawMessage
	if err := json.Unmarshal(n["properties"], &properties); err != nil || properties == nil {
		c.report(path, "is an object without properties")
	} else if len(properties) == 0 && !c.rules.emptyObjects {
		c.report(path, "is an object whose properties are empty")
	}
	c.required(path, n, properties)
	if closed := bytes.Equal(n["additionalProperties"], []byte("false")); !closed && c.rules.closed {
		c.report(path, `must have "additionalProperties": false`)
	}
	for name, raw := range properties {
		c.properties++
		c.text += len(name)
		at := path + ".properties." + name
		if !propertyName.MatchString(name) {
			c.report(at, "must have a name that matches %s", propertyName)
		}
		if sub, ok := c.read(at, raw); ok {
			c.schema(at, sub, depth+1)
		}
	}
}

var propertyName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// required checks that what is required exists, and where all must be required that all are.
func (c *checker) required(path string, n node, properties map[string]json.RawMessage) {
	var required []string
	if n.has("required") && json.Unmarshal(n["required"], &required) != nil {
		c.report(path, "has a required that is no list of names")
	}
	for _, name := range required {
		if _, ok := properties[name]; !ok {
			c.report(path, "requires %q, which it has not", name)
		}
	}
	for name := range properties {
		if slices.Contains(required, name) {
			continue
		}
		c.optional++
		if c.rules.allRequired {
			c.report(path, "must require %q", name)
		}
	}
}

func (c *checker) array(path string, n node, types []string, depth int) {
	if !slices.Contains(types, "array") {
		if n.has("items") {
			c.report(path, "has items, and is no array")
		}
		return
	}
	if !n.has("items") {
		c.report(path, "is an array without items")
		return
	}
	if sub, ok := c.read(path+".items", n["items"]); ok {
		c.schema(path+".items", sub, depth+1)
	}
}

func (c *checker) union(path string, n node, depth int) {
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		if !n.has(keyword) {
			continue
		}
		var branches []json.RawMessage
		if err := json.Unmarshal(n[keyword], &branches); err != nil || len(branches) == 0 {
			c.report(path, "has %s without branches", keyword)
		}
		for i, raw := range branches {
			at := fmt.Sprintf("%s.%s[%d]", path, keyword, i)
			if sub, ok := c.read(at, raw); ok {
				c.schema(at, sub, depth+1)
			}
		}
	}
}

func clip(raw []byte) string {
	if len(raw) > 40 {
		return string(raw[:40]) + "…"
	}
	return string(raw)
}
