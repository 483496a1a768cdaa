package hostile

import (
	"encoding/json"
	"os"
)

// Surface is what a server of -surface offers: raw definitions.
type Surface struct {
	Tools        []json.RawMessage `json:"tools"`
	Prompts      []json.RawMessage `json:"prompts"`
	Templates    []json.RawMessage `json:"resourceTemplates"`
	Instructions string            `json:"instructions"`
}

// Write puts the surface in the file of a server that runs: it shows it from its
// next list on. The file is never half written.
func (f *Surface) Write(file string) error {
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// show answers what shows the surface, and reports whether it did.
func (s *server) show(m *message) bool {
	data, err := os.ReadFile(s.surface)
	if err != nil {
		panic(err)
	}
	var f Surface
	if err := json.Unmarshal(data, &f); err != nil {
		panic(err)
	}
	list := func(member string, items []json.RawMessage) string {
		if items == nil {
			items = []json.RawMessage{}
		}
		out, err := json.Marshal(map[string]any{member: items})
		if err != nil {
			panic(err)
		}
		return string(out)
	}
	switch m.Method {
	case "initialize":
		instructions, err := json.Marshal(f.Instructions)
		if err != nil {
			panic(err)
		}
		s.result(m.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{},"prompts":{}},`+
			`"serverInfo":{"name":"hostile","version":"1"},"instructions":`+string(instructions)+`}`)
	case "tools/list":
		s.result(m.ID, list("tools", f.Tools))
	case "prompts/list":
		s.result(m.ID, list("prompts", f.Prompts))
	case "resources/templates/list":
		s.result(m.ID, list("resourceTemplates", f.Templates))
	default:
		return false
	}
	return true
}
