// Package interviewer is a modern MCP server over HTTP that asks for input: what
// it needs to know of a call it keeps in requestState, so that it has no memory
// and any number of instances can serve one call.
package interviewer

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Server is the handler of one instance. The zero value is ready.
type Server struct {
	mu   sync.Mutex // guards seen
	seen []string
}

// Seen returns the params of every request but lists and discovery, raw.
func (s *Server) Seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.seen...)
}

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type params struct {
	Name      string `json:"name"`
	URI       string `json:"uri"`
	Arguments struct {
		Who    string `json:"who"`    // named in each question
		Rounds int    `json:"rounds"` // of questions; 0: none
		Each   int    `json:"each"`   // questions in a round; at least 1
		Kinds  string `json:"kinds"`  // form, url, sampling, roots; in turn
		Shed   int    `json:"shed"`   // rounds that ask for nothing but to come again
		Mute   bool   `json:"mute"`   // give no requestState
		State  string `json:"state"`  // give this requestState, raw JSON
	} `json:"arguments"`
	RequestState   *string                    `json:"requestState"`
	InputResponses map[string]json.RawMessage `json:"inputResponses"`
}

// progress is what requestState says.
type progress struct {
	Round int
	Said  []string
}

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
	result, failure := s.serve(&m)
	if bytes.Contains(m.Params, []byte(`"name":"mirrored"`)) {
		result, failure = finished(m.Method, r.Header.Get("Mcp-Param-City")), ""
	}
	if failure != "" {
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, failure) // the client is gone
		return
	}
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

const caching = `"resultType":"complete","ttlMs":1000,"cacheScope":"public"`

func (s *Server) serve(m *request) (result, failure string) {
	switch m.Method {
	case "server/discover":
		return `{` + caching + `,"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{},"resources":{}}}`, ""
	case "tools/list":
		return `{` + caching + `,"tools":[{"name":"interview","inputSchema":{"type":"object"}},` +
			`{"name":"mirrored","inputSchema":{"type":"object","properties":{"city":{"type":"string","x-mcp-header":"City"}}}}]}`, ""
	case "prompts/list":
		return `{` + caching + `,"prompts":[{"name":"interview"}]}`, ""
	case "resources/list":
		return `{` + caching + `,"resources":[{"uri":"interview://one","name":"one"}]}`, ""
	case "resources/templates/list":
		return `{` + caching + `,"resourceTemplates":[]}`, ""
	case "tools/call", "prompts/get", "resources/read":
		return s.interview(m)
	default:
		return "", `{"code":-32601,"message":"method not found"}`
	}
}

// interview asks, and at the end says what it was told.
func (s *Server) interview(m *request) (result, failure string) {
	s.mu.Lock()
	s.seen = append(s.seen, string(m.Params))
	s.mu.Unlock()
	var p params
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return "", `{"code":-32602,"message":"bad params"}`
	}
	if m.Method != "tools/call" {
		p.Arguments.Rounds, p.Arguments.Who = 1, p.Name+p.URI
	}
	var at progress
	if p.RequestState != nil {
		raw, err := base64.StdEncoding.DecodeString(*p.RequestState)
		if err != nil || json.Unmarshal(raw, &at) != nil {
			return "", `{"code":-32602,"message":"the requestState is not mine"}`
		}
	}
	each := max(p.Arguments.Each, 1)
	for i := range each {
		if answer, ok := p.InputResponses[fmt.Sprintf("r%d-%d", at.Round, i+1)]; ok {
			at.Said = append(at.Said, string(answer))
		}
	}
	if p.Arguments.Mute { // the answers say all
		at.Round = len(p.InputResponses)
	}
	if at.Round >= p.Arguments.Rounds+p.Arguments.Shed {
		return finished(m.Method, strings.Join(at.Said, "\n")), ""
	}
	at.Round++
	return ask(&p, &at, each), ""
}

func ask(p *params, at *progress, each int) string {
	a := &p.Arguments
	kinds := strings.Split(a.Kinds, ",")
	out := `{"resultType":"input_required"`
	if at.Round <= a.Rounds {
		out += `,"inputRequests":{`
		for i := range each {
			if i > 0 {
				out += ","
			}
			out += fmt.Sprintf(`"r%d-%d":%s`, at.Round, i+1, question(kinds[i%len(kinds)], fmt.Sprintf("%s round %d question %d", a.Who, at.Round, i+1)))
		}
		out += "}"
	}
	switch {
	case a.State != "":
		return out + `,"requestState":` + a.State + `}`
	case a.Mute:
		return out + "}"
	default:
		raw, _ := json.Marshal(at) // plain data
		return out + `,"requestState":"` + base64.StdEncoding.EncodeToString(raw) + `"}`
	}
}

func question(kind, text string) string {
	quoted, _ := json.Marshal(text) // a string
	switch kind {
	case "url":
		return fmt.Sprintf(`{"method":"elicitation/create","params":{"mode":"url","url":"https://example.com/","message":%s}}`, quoted)
	case "sampling":
		return fmt.Sprintf(`{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":%s}}],"maxTokens":10}}`, quoted)
	case "roots":
		return `{"method":"roots/list"}`
	default:
		return fmt.Sprintf(`{"method":"elicitation/create","params":{"mode":"form","message":%s,"requestedSchema":{"type":"object","properties":{}}}}`, quoted)
	}
}

func finished(method, text string) string {
	quoted, _ := json.Marshal(text) // a string
	switch method {
	case "prompts/get":
		return fmt.Sprintf(`{"resultType":"complete","messages":[{"role":"user","content":{"type":"text","text":%s}}]}`, quoted)
	case "resources/read":
		return fmt.Sprintf(`{%s,"contents":[{"uri":"interview://one","text":%s}]}`, caching, quoted)
	default:
		return fmt.Sprintf(`{"resultType":"complete","content":[{"type":"text","text":%s}]}`, quoted)
	}
}
