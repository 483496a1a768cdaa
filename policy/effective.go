package policy

import (
	"maps"
	"slices"
	"strings"

	"durward"
)

// Line is one line of what decides.
type Line struct {
	Text  string
	Layer Layer
	Pos   Pos // the zero value: written nowhere
}

// Effective is the merged policy, the highest layer first: for each layer its rules
// in the order of their ids, its defaults of tools, its default; then what
// Durward does by itself, and the settings that count.
func (s *Set) Effective() []Line {
	var lines []Line
	for l := int(Corp); l >= int(Builtin); l-- {
		layer := Layer(l)
		for _, r := range s.rules {
			if r.layer == layer {
				lines = append(lines, Line{r.line(), layer, r.src.Pos})
			}
		}
		for _, server := range slices.Sorted(maps.Keys(s.tools[l])) {
			for _, t := range s.tools[l][server] {
				lines = append(lines, Line{t.action.String() + " tool " + server + "/" + t.glob.text + ", unless a rule of this layer or above matches", layer, t.pos})
			}
		}
		if d := s.defaults[l]; d.set {
			lines = append(lines, Line{d.action.String() + " what no rule or tool default of this layer or above is for", layer, d.pos})
		}
	}
	return append(lines, s.settingLines()...)
}

func (s *Set) settingLines() []Line {
	at := func(key string) Layer { return s.origins[key] }
	a := s.Approvals()
	lines := []Line{
		{"block what pins hold", Builtin, Pos{}},
		{"block addresses that are not public, unless a rule matches", Builtin, Pos{}},
	}
	if !s.speaks {
		lines = append(lines, Line{"ask about tools of risk critical, where nothing else is said", Builtin, Pos{}}, Line{"allow everything else", Builtin, Pos{}})
	}
	for _, name := range slices.Sorted(maps.Keys(s.plugins)) {
		mode := s.plugins[name].Mode
		text := "plugin " + name + " on every event: " + mode
		if mode == "" {
			text = "plugin " + name + " where a rule names it"
		}
		if file := s.plugins[name].WASM; file != "" {
			text += ", from " + file + ", SHA-256 " + s.plugins[name].SHA256
		}
		lines = append(lines, Line{text, at("plugins." + name), Pos{}})
	}
	return append(lines,
		Line{"pins.first_use: " + s.FirstUse(), at("pins.first_use"), Pos{}},
		Line{"refusal: " + s.Refusal(), at("refusal"), Pos{}},
		Line{"approvals.timeout: " + shortDuration(a.Timeout), at("approvals.timeout"), Pos{}},
	)
}

// line renders a rule in one line.
func (r *rule) line() string {
	var b strings.Builder
	b.WriteString(r.act.String())
	if r.src.Plugin != "" {
		b.WriteString(" with " + r.src.Plugin)
	}
	for _, part := range []struct {
		word string
		list []string
	}{{" on ", r.src.On}, {" servers ", r.src.Servers}, {" tools ", r.src.Tools}} {
		if len(part.list) > 0 {
			b.WriteString(part.word + strings.Join(part.list, ", "))
		}
	}
	if r.response {
		b.WriteString(" in the response")
	}
	if r.src.When != "" {
		b.WriteString(" when " + strings.Join(strings.Fields(r.src.When), " "))
	}
	if r.limit != nil {
		b.WriteString(" beyond " + r.limit.String())
	}
	if r.src.Until != "" {
		b.WriteString(" until " + r.src.Until)
	}
	return b.String() + " (rule " + r.src.ID + ")"
}

// ToolDefault returns what is written in a layer for exactly this name or pattern of
// a server's tools.
func (s *Set) ToolDefault(layer Layer, server, tool string) (durward.Action, bool) {
	for _, t := range s.tools[layer][server] {
		if t.glob.text == tool {
			return t.action, true
		}
	}
	return durward.Allow, false
}
