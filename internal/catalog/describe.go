package catalog

import (
	"sync"

	"durward/internal/wire"
)

// description is what a view says of itself to one audience, made once.
type description struct {
	once         sync.Once
	capabilities []byte
	instructions string
}

// Describe returns the ServerCapabilities that the route has for an audience, and
// its instructions. The bytes are shared and must not be changed.
//
// A route to one server has that server's capabilities and instructions, unknown
// ones included, with changes of lists always announced, since we can tell them.
// Other routes have the known capabilities that any of their servers has. A
// server that was not read yet may have all of them: a legacy client is told once
// and for all, so nothing may be left out that could come. Tasks are an exception:
// they are told of only if a server has them, in the form of the audience's era.
func (v *View) Describe(a Audience) (capabilities []byte, instructions string) {
	d := &v.about[a]
	d.once.Do(func() {
		if st := v.single(); st != nil {
			if d.capabilities = v.ownCapabilities(st, a); !v.parts[0].member.holds.instructions() {
				d.instructions = st.instructions
			}
			return
		}
		d.capabilities = v.mergedCapabilities(a)
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
func (v *View) ownCapabilities(st *stock, a Audience) []byte {
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
			if a != Tasked || st.era == wire.Modern {
				continue
			}
			if wire.Lookup(value, "list").Present() && v.TaskLister() == "" {
				value = wire.AppendObject(nil, value, isList)
			}
		case "extensions":
			if wire.Lookup(value, wire.ExtensionTasks).Present() && (a != Modern || !st.extends()) {
				value = wire.AppendObject(nil, value, isTasks)
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

func isList(name string) bool { return name == "list" }

func isTasks(name string) bool { return name == wire.ExtensionTasks }

// mergedCapabilities is what a route to many servers, or to a toolset, can do.
func (v *View) mergedCapabilities(a Audience) []byte {
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
	if a == Tasked && v.RunsTasks() {
		out = append(out, `,"tasks":`...)
		out = append(out, v.mergedTasks()...)
	}
	var extensions []wire.Member
	if ui := v.uiExtension(); ui != nil {
		extensions = append(extensions, wire.Member{Name: uiExtension, Value: ui})
	}
	if a == Modern && v.anyOffering((*stock).extends) {
		extensions = append(extensions, wire.Member{Name: wire.ExtensionTasks, Value: []byte("{}")})
	}
	if extensions != nil {
		out = append(out, `,"extensions":`...)
		out = wire.AppendObject(out, nil, nil, extensions...)
	}
	return append(out, '}')
}

// mergedTasks is what legacy tasks can do on a route to many servers. They are not
// listed: see [View.TaskLister].
func (v *View) mergedTasks() string {
	if v.anyOffering(func(st *stock) bool { return st.runsTasks() && st.declares("tasks", "cancel") }) {
		return `{"cancel":{},"requests":{"tools":{"call":{}}}}`
	}
	return `{"requests":{"tools":{"call":{}}}}`
}

// anyHas reports whether a server has a capability, or was not read yet.
func (v *View) anyHas(path ...string) bool {
	for _, p := range v.parts {
		if p.member.stock == nil || p.member.stock.declares(path...) {
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

// uiExtension means the same when servers are merged: it says how tools' results
// can be shown (MCP Apps).
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
