package catalog

import (
	"fmt"

	"durward/internal/wire"
)

// members are the members of an item that Durward reads. Whoever reads them from
// an item must find the same ones that a client will, so none may stand twice.
type members struct {
	key, title, description   wire.Span
	inputSchema, outputSchema wire.Span
	annotations, meta         wire.Span
	execution                 wire.Span
	arguments, name           wire.Span
}

func (m *members) slot(k Kind, name string) *wire.Span {
	if name == k.info().key {
		return &m.key
	}
	switch name {
	case "title":
		return &m.title
	case "description":
		return &m.description
	case "inputSchema":
		return &m.inputSchema
	case "outputSchema":
		return &m.outputSchema
	case "annotations":
		return &m.annotations
	case "_meta":
		return &m.meta
	case "execution":
		return &m.execution
	case "arguments":
		return &m.arguments
	case "name":
		return &m.name
	default:
		return nil
	}
}

// read finds the members, or says why they are ambiguous.
func (m *members) read(it *Item) string {
	for name, at := range wire.Members(it.Raw) {
		slot := m.slot(it.Kind, name)
		if slot == nil {
			continue
		}
		if slot.Present() {
			return "its member " + name + " stands twice, and readers differ in which one they take"
		}
		*slot = at
	}
	it.description = m.description
	return ""
}

func (r *reader) checkSizes(it *Item, m *members) string {
	for _, c := range []struct {
		what string
		at   wire.Span
		most int
		key  string
	}{
		{"its description", m.description, r.opt.MaxDescription, "limits.description"},
		{"its inputSchema", m.inputSchema, r.opt.MaxSchema, "limits.schema"},
		{"its outputSchema", m.outputSchema, r.opt.MaxSchema, "limits.schema"},
	} {
		if size := len(c.at.Of(it.Raw)); size > c.most {
			return sizeProblem(c.what, size, c.most, c.key)
		}
	}
	return ""
}

func sizeProblem(what string, size, most int, key string) string {
	return fmt.Sprintf("%s has %d bytes, more than the limit of %d (%s)", what, size, most, key)
}

// flawOf finds what the protocol's schemas forbid and typed clients answer by
// refusing the whole list.
func flawOf(it *Item, m *members) string {
	for _, c := range []struct {
		what string
		at   wire.Span
		open byte
		must string
	}{
		{"title", m.title, '"', "a string"},
		{"description", m.description, '"', "a string"},
		{"annotations", m.annotations, '{', "an object"},
		{"_meta", m.meta, '{', "an object"},
		{"outputSchema", m.outputSchema, '{', "an object"},
		{"arguments", m.arguments, '[', "an array"},
	} {
		if raw := c.at.Of(it.Raw); raw != nil && raw[0] != c.open {
			return "its " + c.what + " is not " + c.must
		}
	}
	switch it.Kind {
	case Tool:
		if kind, _ := wire.Unquote(wire.Get(m.inputSchema.Of(it.Raw), "type")); kind != "object" {
			return `its inputSchema has no "type": "object"`
		}
	case Resource, Template:
		if raw := m.name.Of(it.Raw); raw == nil || raw[0] != '"' {
			return "it has no name"
		}
	}
	return ""
}

// wellFormed reports whether raw is one JSON value such as may stand in a
// server's result: what wire tolerates there is tolerated here.
func wellFormed(raw []byte) bool {
	if wire.Valid(raw) {
		return true
	}
	const head, tail = `{"jsonrpc":"2.0","id":0,"result":`, `}`
	message := make([]byte, 0, len(head)+len(raw)+len(tail))
	message = append(append(append(message, head...), raw...), tail...)
	var m wire.Message
	return wire.Parse(message, wire.FromServer, &m) == nil && len(m.Result) == len(raw)
}
