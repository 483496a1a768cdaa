package sigma

import (
	"regexp"
	"strings"
)

// kind is the type of what a field holds.
type kind uint8

const (
	text     kind = iota // string
	number               // int
	fraction             // double
	truth                // bool
	texts                // list of strings
	jsonKind             // JSON: whatever the client or the server sent
)

// String returns the word of the documents.
func (k kind) String() string {
	return [...]string{"text", "number", "fraction", "truth value", "list of texts", "any JSON"}[k]
}

// Field is one field that Sigma rules may name, and what it becomes.
type Field struct {
	Sigma  string // as it is written in a Sigma rule; a final .* stands for any path below
	Rule   string // the field of Durward's rules
	Type   string // what it holds, in words
	Result bool   // it is of the result: the rule decides in the response phase
}

// target is what a field of a rule becomes.
type target struct {
	path   []string
	kind   kind
	open   int // from which step on the path is JSON; len(path) for typed fields
	result bool
}

// own are Durward's fields with their types. What ends with .* is JSON below it.
func own() []Field {
	fields := []struct {
		kind  kind
		names string
	}{
		{text, "event.id event.type mcp.method mcp.server.name mcp.server.transport mcp.server.risk " +
			"mcp.tool.name mcp.tool.full_name mcp.tool.risk mcp.tool.schema_hash mcp.resource.uri mcp.prompt.name " +
			"mcp.input_request.method mcp.input_request.mode mcp.input_request.url mcp.result.text " +
			"caller.principal caller.client.name caller.client.version caller.entrance caller.sandbox.id caller.sandbox.name caller.process " +
			"http.method http.url http.host http.path http.ip sandbox.op sandbox.name sandbox.image session.id"},
		{number, "http.port mcp.result.size session.calls"},
		{fraction, "mcp.result.injection_score"},
		{truth, "mcp.tool.pinned mcp.tool.drifted mcp.result.is_error http.ip_public"},
		{texts, "caller.groups session.labels"},
		{jsonKind, "mcp.tool.arguments.* mcp.tool.annotations.* mcp.prompt.arguments.* mcp.result.structured.*"},
	}
	var out []Field
	for _, group := range fields {
		for name := range strings.FieldsSeq(group.names) {
			out = append(out, Field{Sigma: name, Rule: name, Type: group.kind.String(), Result: strings.HasPrefix(name, "mcp.result.")})
		}
	}
	return out
}

// common are fields of Sigma's taxonomy for proxies and network connections.
func common() []Field {
	var out []Field
	for _, pair := range [][2]string{
		{"c-uri", "http.url"}, {"cs-host", "http.host"}, {"cs-method", "http.method"}, {"cs-uri-path", "http.path"}, {"cs-uri-stem", "http.path"},
		{"r-dns", "http.host"}, {"dst_ip", "http.ip"}, {"dst_port", "http.port"},
		{"DestinationHostname", "http.host"}, {"DestinationIp", "http.ip"}, {"DestinationPort", "http.port"},
		{"cs-username", "caller.principal"}, {"User", "caller.principal"},
	} {
		out = append(out, Field{Sigma: pair[0], Rule: pair[1], Type: typeIn(own(), pair[1])})
	}
	return out
}

func typeIn(fields []Field, name string) string {
	for _, f := range fields {
		if f.Rule == name {
			return f.Type
		}
	}
	return ""
}

// Fields returns all fields that Sigma rules may name: Durward's own, by their own
// names, then those of Sigma's taxonomy that there is something for.
func Fields() []Field { return append(own(), common()...) }

// lookup finds what a field of a Sigma rule becomes. mapping is looked at first.
func lookup(name string, mapping map[string]string) (target, bool) {
	if to, ok := mapping[name]; ok {
		name = to
	}
	for _, f := range Fields() {
		if strings.EqualFold(f.Sigma, name) && !strings.HasSuffix(f.Sigma, ".*") {
			return targetOf(f, nil), true
		}
		root, open := strings.CutSuffix(f.Sigma, ".*")
		if rest, below := strings.CutPrefix(name, root+"."); open && below && rest != "" && !strings.Contains("."+rest+".", "..") {
			return targetOf(f, strings.Split(rest, ".")), true
		}
	}
	return target{}, false
}

func targetOf(f Field, below []string) target {
	path := strings.Split(strings.TrimSuffix(f.Rule, ".*"), ".")
	t := target{open: len(path), path: append(path, below...), result: strings.HasPrefix(f.Rule, "mcp.result.")}
	for k := text; k <= jsonKind; k++ {
		if k.String() == f.Type {
			t.kind = k
		}
	}
	return t
}

// names are the names of all fields, for suggestions.
func names(mapping map[string]string) []string {
	var out []string
	for _, f := range Fields() {
		out = append(out, f.Sigma)
	}
	for name := range mapping {
		out = append(out, name)
	}
	return out
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// reserved are words of CEL that cannot follow a dot.
const reserved = " true false null in as break const continue else for function if import let loop package namespace return var void while "

// select writes the value of a path in CEL.
func (t target) expression() string { return expression(t.path) }

func expression(path []string) string {
	var b strings.Builder
	for i, step := range path {
		switch {
		case i == 0:
			b.WriteString(step)
		case plain(step):
			b.WriteString("." + step)
		default:
			b.WriteString("[" + quote(step) + "]")
		}
	}
	return b.String()
}

func plain(step string) bool {
	return identifier.MatchString(step) && !strings.Contains(reserved, " "+step+" ")
}

// there writes in CEL that a path has a value: true or false, never absent, so that
// "not" around a comparison is what Sigma says. Below what is JSON every step is
// looked at first: a text has no members, and asking one is an error.
func (t target) there() string {
	var parts []string
	for i := t.open; i <= len(t.path); i++ {
		x := expression(t.path[:i])
		if i < len(t.path) {
			if i > t.open || t.result { // arguments are an object, if there are any
				parts = append(parts, "!absent("+x+")", "type("+x+") == map")
			}
			continue
		}
		parts = append(parts, "!absent("+x+")")
	}
	return strings.Join(parts, " && ")
}
