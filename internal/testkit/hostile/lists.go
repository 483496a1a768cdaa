package hostile

import (
	"fmt"
	"os"
	"strings"
)

// Names are the tool names of -list=names: legal, too long, and illegal ones.
func Names() []string {
	return []string{
		"plain", "with.dot", "with space", "släsh/ümlaut", strings.Repeat("long-", 30) + "a", strings.Repeat("long-", 30) + "b",
		"a__b", "UPPER", "日本語", "-", "quo\"te",
	}
}

// tools returns a tools/list result.
func (s *server) tools(cursor string) string {
	switch s.list {
	case "names":
		var items []string
		for _, name := range append(Names(), "plain") { // a name that stands twice
			items = append(items, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
		}
		return `{"tools":[` + strings.Join(items, ",") + `]}`
	case "fidelity":
		data, err := os.ReadFile(s.items)
		if err != nil {
			panic(err)
		}
		return `{"tools":[` + strings.Join(strings.Split(strings.TrimSpace(string(data)), "\n"), ",") + `]}`
	case "loop":
		return `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}],"nextCursor":"again"}`
	case "pages":
		return page(cursor)
	default:
		return s.plain()
	}
}

// page serves 25 tools in pages of ten.
func page(cursor string) string {
	from := 0
	if cursor != "" {
		_, _ = fmt.Sscanf(cursor, "p%d", &from)
	}
	var items []string
	for i := from; i < min(from+10, 25); i++ {
		items = append(items, fmt.Sprintf(`{"name":"tool_%02d","inputSchema":{"type":"object"}}`, i))
	}
	next := ""
	if from+10 < 25 {
		next = fmt.Sprintf(`,"nextCursor":"p%d"`, from+10)
	}
	return `{"tools":[` + strings.Join(items, ",") + `]` + next + `}`
}

// plain lists what call.go can do, and the tools that "change" added.
func (s *server) plain() string {
	var items []string
	for _, name := range []string{
		"echo", "die", "wedge", "sleep", "progress", "count", "env", "args", "set", "get", "big", "badutf8", "noise", "fork",
		"change", "fail", "rpcerror", "raw", "ask", "log", "seen", "interview", "gate", "touch",
	} {
		items = append(items, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
	}
	s.mu.Lock()
	for i := range s.extra {
		items = append(items, fmt.Sprintf(`{"name":"extra_%d","inputSchema":{"type":"object"}}`, i))
	}
	s.mu.Unlock()
	return `{"tools":[` + strings.Join(items, ",") + `]}`
}
