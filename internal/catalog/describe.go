package catalog

import (
	"sync"

	"durward/internal/wire"
)

// description is what a view says of itself in one era's form, made once.
type description struct {
	once         sync.Once
	capabilities []byte
	instructions string
}

// Describe returns the ServerCapabilities that the route has for a client of the
// era, and its instructions. The bytes are shared and must not be changed.
//
// A route to one server has that server's capabilities and instructions, unknown
// ones included, with changes of lists always announced, since we can tell them.
// Other routes have the known capabilities that any of their servers has. A
// server that was not read yet may have all of them: a legacy client is told once
// and for all, so nothing may be left out that could come.
func (v *View) Describe(era wire.Era) (capabilities []byte, instructions string) {
	d := &v.about[formOf(era)]
	d.once.Do(func() {
		if st := v.single(); st != nil {
			d.capabilities, d.instructions = ownCapabilities(st, era), st.instructions
			return
		}
		d.capabilities = v.mergedCapabilities()
		d.instructions = v.mergedInstructions()
	})
	return d.capabilities, d.instructions
}

// single returns the stock of the only server whose names the view leaves as they
// are; nil if there is no such server, or it was not read yet.
func (v *View) single() *stock {
	if v.naming == prefixed || v.toolset != nil || len(v.parts) != 1 {
		return nil
	}
	return v.parts[0].member.stock
}

// ownCapabilities is the server's capabilities as we can keep them up.
func ownCapabilities(st *stock, era wire.Era) []byte {
	out := []byte{'{'}
	seen := map[string]bool{}
	for name, at := range wire.Members(st.capabilities) {
		value := at.Of(st.capabilities)
		if seen[name] {
			continue
		}
		seen[name] = true
		switch name {
		case "tools", "prompts", "resources":
			value = wire.AppendObject(nil, value, isListChanged, wire.Member{Name: "listChanged", Value: []byte("true")})
		case "tasks": // of revision 2025-11-25, which the tasks extension is not compatible with
			if era == wire.Modern || st.era == wire.Modern {
				continue
			}
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(wire.AppendQuote(out, name), ':')
		out = append(out, value...)
	}
	return append(out, '}')
}

func isListChanged(name string) bool { return name == "listChanged" }

// mergedCapabilities is what a route to many servers, or to a toolset, can do.
func (v *View) mergedCapabilities() []byte {
	out := []byte(`{"tools":{"listChanged":true}`)
	if v.toolset == nil && v.anyHas("prompts") {
		out = append(out, `,"prompts":{"listChanged":true}`...)
	}
	switch {
	case v.toolset == nil && v.anyHas("resources", "subscribe"):
		out = append(out, `,"resources":{"listChanged":true,"subscribe":true}`...)
	case v.toolset == nil && v.anyHas("resources"), v.toolset != nil && v.anyLinked():
		out = append(out, `,"resources":{"listChanged":true}`...)
	}
	if v.toolset == nil && v.anyHas("completions") {
		out = append(out, `,"completions":{}`...)
	}
	if v.anyHas("logging") {
		out = append(out, `,"logging":{}`...)
	}
	if ui := v.uiExtension(); ui != nil {
		out = append(out, `,"extensions":{"`+uiExtension+`":`...)
		out = append(append(out, ui...), '}')
	}
	return append(out, '}')
}

// anyHas reports whether a server has a capability, or was not read yet.
func (v *View) anyHas(path ...string) bool {
	for _, p := range v.parts {
		if p.member.stock == nil {
			return true
		}
		value := p.member.stock.capabilities
		for _, name := range path {
			value = wire.Get(value, name)
		}
		if value != nil && string(value) != "null" && string(value) != "false" {
			return true
		}
	}
	return false
}

// anyLinked reports whether a toolset has resources to show.
func (v *View) anyLinked() bool {
	for _, p := range v.parts {
		if p.member.stock == nil || len(p.shelf.linked) > 0 {
			return true
		}
	}
	return false
}

// uiExtension is the only extension that means the same when servers are merged:
// it says how tools' results can be shown (MCP Apps).
const uiExtension = "io.modelcontextprotocol/ui"

func (v *View) uiExtension() []byte {
	for _, p := range v.parts {
		if p.member.stock == nil {
			continue
		}
		if ui := wire.Get(wire.Get(p.member.stock.capabilities, "extensions"), uiExtension); ui != nil {
			return ui
		}
	}
	return nil
}
