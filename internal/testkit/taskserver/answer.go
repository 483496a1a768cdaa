package taskserver

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

const (
	extension = "io.modelcontextprotocol/tasks"
	caching   = `"resultType":"complete","ttlMs":1000,"cacheScope":"public"`
	// View is the page that shows the results of show, and its own tool refresh.
	View = "ui://taskserver/view.html"
)

// answer serves a request of either era.
func (s *Server) answer(m *message, say func(string)) {
	switch m.Method {
	case "server/discover":
		s.discover(m, say)
	case "initialize":
		s.initialize(m, say)
	case "tools/list":
		say(result(m, s.tools()))
	case "tools/call":
		s.call(m, say)
	case "tasks/get", "tasks/cancel", "tasks/update", "tasks/result", "tasks/list":
		s.about(m, say)
	case "resources/list":
		say(result(m, `{`+caching+`,"resources":[]}`)) // what only shows results need not be listed
	case "resources/templates/list":
		say(result(m, `{`+caching+`,"resourceTemplates":[]}`))
	case "resources/read":
		say(result(m, fmt.Sprintf(`{%s,"contents":[{"mimeType":"text/html;profile=mcp-app","uri":%q,"text":"<html>"},{"uri":"other:thing","text":"x"}]}`, caching, m.Params.URI)))
	case "prompts/list":
		say(result(m, `{`+caching+`,"prompts":[{"name":"hello"}]}`))
	case "ping":
		say(result(m, `{}`))
	default:
		say(result(m, fmt.Sprintf(`{"resultType":"complete","method":%q,"params":%s}`, m.Method, orNull(m.Params.raw))))
	}
}

func orNull(raw json.RawMessage) string {
	if raw == nil {
		return "null"
	}
	return string(raw)
}

func (s *Server) discover(m *message, say func(string)) {
	if s.Legacy {
		say(failure(m, -32601, "method not found"))
		return
	}
	tasks := `,"` + extension + `":{}`
	if s.Mute {
		tasks = ""
	}
	say(result(m, `{`+caching+`,"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{},"resources":{},"extensions":{"io.modelcontextprotocol/ui":{}`+tasks+`}}}`))
}

func (s *Server) initialize(m *message, say func(string)) {
	if !s.Legacy {
		say(failure(m, -32601, "method not found"))
		return
	}
	tasks := `,"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`
	if s.Mute {
		tasks = ""
	}
	say(result(m, `{"protocolVersion":"2025-11-25","serverInfo":{"name":"tasks","version":"1"},"capabilities":{"tools":{},"prompts":{},"resources":{}`+tasks+`}}`))
}

func (s *Server) tools() string {
	var items []string
	for _, t := range [...]struct{ name, rest string }{
		{"echo", ``}, {"finish", ``}, {"announce", ``}, {"tell", ``}, {"refresh", ``},
		{"work", `,"execution":{"taskSupport":"optional"}`},
		{"must", `,"execution":{"taskSupport":"required"}`},
		{"show", `,"_meta":{"ui":{"resourceUri":"` + View + `"}}`},
	} {
		if s.Legacy || t.name != "must" {
			items = append(items, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}%s}`, t.name, t.rest))
		}
	}
	return `{` + caching + `,"tools":[` + strings.Join(items, ",") + `]}`
}

// call executes a tool.
func (s *Server) call(m *message, say func(string)) {
	a := m.Params.Arguments
	_, declared := m.Params.Meta.Capabilities.Extensions[extension]
	switch {
	case m.Params.Name == "must" && m.Params.Task == nil:
		say(failure(m, -32601, "this tool runs as a task only"))
	case s.Legacy && m.Params.Task != nil && !s.Mute && (m.Params.Name == "work" || m.Params.Name == "must"):
		t := s.begin(a.Text, a.Ask)
		say(result(m, fmt.Sprintf(`{"task":%s,"_meta":{"x":1}}`, s.state(t))))
	case m.Params.Name == "work" && !s.Legacy && !declared:
		say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32021,"message":"declare tasks","data":{"requiredCapabilities":{"extensions":{%q:{}}}}}}`, m.ID, extension))
	case m.Params.Name == "work" && !s.Legacy:
		t := s.begin(a.Text, a.Ask)
		text := s.state(t)
		if a.Made != "" {
			text = strings.Replace(text, strconv.Quote(t.id), a.Made, 1)
		}
		say(result(m, `{"resultType":"task",`+text[1:]))
	case m.Params.Name == "finish":
		s.finish(a.ID, "completed", a.Text, say)
		say(result(m, content("finished")))
	case m.Params.Name == "announce":
		say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":%q,"status":"working"}}`, a.ID))
		say(result(m, content("announced")))
	case m.Params.Name == "tell":
		say(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, a.Method, orNull(a.Params)))
		say(result(m, content("told")))
	default:
		say(result(m, content(m.Params.Name+" "+a.Text)))
	}
}

func content(text string) string {
	return fmt.Sprintf(`{"resultType":"complete","content":[{"type":"text","text":%q}]}`, text)
}
