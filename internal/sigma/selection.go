package sigma

import (
	"strings"

	"durward/internal/yamlx"
)

// selection translates one selection: a mapping, all of whose fields must fit, or a
// list of them, of which one must.
func (t *translator) selection(path string, v *yamlx.Value, results map[string]bool, name string) string {
	switch {
	case v.Kind == yamlx.Mapping && len(v.Keys) > 0:
		var parts []string
		for i := range v.Keys {
			parts = append(parts, t.field(path, &v.Keys[i], &v.Items[i], results, name))
		}
		return joined(parts, " && ")
	case v.Kind == yamlx.List && len(v.Items) > 0:
		var parts []string
		for i := range v.Items {
			if v.Items[i].Kind != yamlx.Mapping {
				t.problem(v.Items[i].Line, v.Items[i].Column, path, "keywords without a field cannot be translated; name the field (mcp.tool.arguments.NAME|contains: …)")
				return ""
			}
			parts = append(parts, t.selection(path, &v.Items[i], results, name))
		}
		return joined(parts, " || ")
	default:
		t.problem(v.Line, v.Column, path, "must be a mapping of fields, or a list of such mappings")
		return ""
	}
}

// field translates one field with its values.
func (t *translator) field(path string, key, v *yamlx.Value, results map[string]bool, name string) string {
	parts := strings.Split(key.Text, "|")
	at := path + "." + parts[0]
	to, ok := lookup(parts[0], t.opt.Fields)
	if !ok {
		t.problem(key.Line, key.Column, at, "the field %q has no counterpart here (docs/how-to/write-rules.md lists those that have; --map %s=FIELD names one)%s", parts[0], parts[0], yamlx.DidYouMean(parts[0], names(t.opt.Fields)))
		return ""
	}
	m, wrong := readModifiers(parts[1:])
	if wrong != "" {
		t.problem(key.Line, key.Column, at, "%s", wrong)
		return ""
	}
	it := item{target: to, all: m.all}
	values := []yamlx.Value{*v}
	if v.Kind == yamlx.List {
		values = v.Items
	}
	if len(values) == 0 {
		t.problem(v.Line, v.Column, at, "has no value; an empty list matches nothing")
	}
	for i := range values {
		tests, wrong := readTest(m, &values[i])
		if wrong == "" {
			wrong = check(to, tests)
		}
		if wrong != "" {
			t.problem(values[i].Line, values[i].Column, at, "%s", wrong)
			return ""
		}
		it.groups = append(it.groups, tests)
	}
	results[name] = results[name] || to.result
	return it.expression()
}
