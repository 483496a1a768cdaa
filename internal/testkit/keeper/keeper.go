// Package keeper is an MCP server over HTTP, of either era, that keeps what it is
// told: the params and the headers of every request for a tool, a prompt or a
// resource.
package keeper

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Server is the handler. The zero value is a legacy server.
type Server struct {
	Modern bool
	Tools  []string // their names; default: tool
	Fails  bool     // answer calls with an error that repeats their params

	mu   sync.Mutex // guards seen
	seen []Seen
}

// Seen is one request.
type Seen struct {
	Method string
	Params string // raw
	Header http.Header
}

// Meta returns a member of `_meta` that is a string, else "".
func (s Seen) Meta(name string) string {
	var params struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	var text string
	if json.Unmarshal([]byte(s.Params), &params) != nil || json.Unmarshal(params.Meta[name], &text) != nil {
		return ""
	}
	return text
}

// Seen returns the requests so far.
func (s *Server) Seen() []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Seen(nil), s.seen...)
}

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var m request
	if json.Unmarshal(body, &m) != nil || m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	result, ok := s.answer(&m, r.Header)
	member := "result"
	if !ok {
		member = "error"
	}
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"%s":%s}`, m.ID, member, result) // the client is gone if this fails
}

func (s *Server) answer(m *request, header http.Header) (result string, ok bool) {
	switch {
	case s.Modern && m.Method == "server/discover":
		return s.result(`"ttlMs":1000,"cacheScope":"public","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{},"resources":{}}`), true
	case !s.Modern && m.Method == "initialize":
		return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"keeper","version":"1"}}`, true
	case !s.Modern && m.Method == "ping":
		return `{}`, true
	}
	const caching = `"ttlMs":1000,"cacheScope":"public",`
	switch m.Method {
	case "tools/list":
		return s.result(caching + `"tools":` + s.tools()), true
	case "prompts/list":
		return s.result(caching + `"prompts":[{"name":"prompt"}]`), true
	case "resources/list":
		return s.result(caching + `"resources":[{"uri":"keeper://one","name":"one"}]`), true
	case "resources/templates/list":
		return s.result(caching + `"resourceTemplates":[]`), true
	case "tools/call", "prompts/get", "resources/read":
		s.mu.Lock()
		s.seen = append(s.seen, Seen{Method: m.Method, Params: string(m.Params), Header: header.Clone()})
		s.mu.Unlock()
		return s.kept(m)
	default:
		return `{"code":-32601,"message":"method not found"}`, false
	}
}

// kept answers with what was asked for, so that it is seen where results must not be.
func (s *Server) kept(m *request) (string, bool) {
	said, err := json.Marshal(string(m.Params))
	if err != nil {
		return "", false
	}
	if s.Fails {
		return `{"code":-32603,"message":` + string(said) + `}`, false
	}
	switch m.Method {
	case "tools/call":
		return s.result(`"content":[{"type":"text","text":` + string(said) + `}]`), true
	case "prompts/get":
		return s.result(`"messages":[]`), true
	default:
		return s.result(`"ttlMs":0,"cacheScope":"private","contents":[]`), true
	}
}

func (s *Server) tools() string {
	names := s.Tools
	if names == nil {
		names = []string{"tool"}
	}
	type tool struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"inputSchema"`
	}
	list := make([]tool, len(names))
	for i, name := range names {
		list[i] = tool{name, json.RawMessage(`{"type":"object"}`)}
	}
	out, err := json.Marshal(list)
	if err != nil {
		return "[]"
	}
	return string(out)
}

// result is an object, in the form of the server's era.
func (s *Server) result(members string) string {
	if s.Modern {
		return `{"resultType":"complete",` + members + `}`
	}
	return `{` + members + `}`
}
