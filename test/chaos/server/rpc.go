package main

import (
	"context"
	"encoding/json"
)

// message is a JSON-RPC message as far as the server looks at it.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params params          `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

type params struct {
	Name            string              `json:"name"`
	ProtocolVersion string              `json:"protocolVersion"`
	RequestID       json.RawMessage     `json:"requestId"`
	Arguments       arguments           `json:"arguments"`
	InputResponses  map[string]response `json:"inputResponses"`
	RequestState    string              `json:"requestState"`
	Meta            meta                `json:"_meta"`
}

type meta struct {
	Revision      string                     `json:"io.modelcontextprotocol/protocolVersion"`
	Capabilities  map[string]json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
	ProgressToken json.RawMessage            `json:"progressToken"`
}

// arguments are what all tools take.
type arguments struct {
	ID     string `json:"id"`     // of the call, unique in the whole run
	MS     int    `json:"ms"`     // how long the work takes
	Owner  string `json:"owner"`  // ask: who is to be asked
	Rounds int    `json:"rounds"` // ask: how often
	Steps  int    `json:"steps"`  // progress: how many notifications
	Stream bool   `json:"stream"` // HTTP: answer with a stream of events
	Fault  string `json:"fault"`  // what goes wrong, the first time this call arrives
}

// response is how a client answers a question.
type response struct {
	Action  string `json:"action"`
	Content struct {
		Name string `json:"name"` // who answers
		Call string `json:"call"` // the call that the question named
	} `json:"content"`
}

// back is the way back to who sent a request.
type back interface {
	// send sends one message; it belongs to the request.
	send(line []byte)
	// ask sends a question of a legacy server and waits for the answer.
	ask(ctx context.Context, params []byte) (response, error)
}

func (m *message) modern() bool { return m.Params.Meta.Revision != "" }

func (m *message) kind() string {
	switch {
	case m.Method == "":
		return "response"
	case len(m.ID) == 0:
		return "notification"
	default:
		return "request"
	}
}

func quote(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and plain structs only
	}
	return string(b)
}

func resultLine(id json.RawMessage, result string) []byte {
	return []byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + result + `}`)
}

func errorLine(id json.RawMessage, code int, text, data string) []byte {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	if data != "" {
		data = `,"data":` + data
	}
	return []byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"error":{"code":` + quote(code) + `,"message":` + quote(text) + data + `}}`)
}

func textResult(text string, isError bool) string {
	return `{"resultType":"complete","content":[{"type":"text","text":` + quote(text) + `}],"isError":` + quote(isError) + `}`
}

const (
	revisionModern = "2026-07-28"
	revisionLegacy = "2025-11-25"
)

const tools = `[` +
	`{"name":"work","inputSchema":{"type":"object","properties":{"id":{"type":"string"},"ms":{"type":"integer"}},"required":["id"]}},` +
	`{"name":"ask","inputSchema":{"type":"object","properties":{"id":{"type":"string"},"owner":{"type":"string"},"rounds":{"type":"integer"}},"required":["id"]}},` +
	`{"name":"progress","inputSchema":{"type":"object","properties":{"id":{"type":"string"},"steps":{"type":"integer"}},"required":["id"]}}]`

// answer serves what both transports have in common. Calls of tools are served
// by call, which may take its time.
func (s *server) answer(ctx context.Context, m *message, to back) {
	if m.modern() && !s.speaksModern() || !m.modern() && !s.speaksLegacy() {
		to.send(s.refusal(m))
		return
	}
	switch m.Method {
	case "initialize":
		to.send(resultLine(m.ID, `{"protocolVersion":"`+revisionLegacy+`","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":`+quote(s.name)+`,"version":"1"}}`))
	case "server/discover":
		to.send(resultLine(m.ID, `{"resultType":"complete","supportedVersions":["`+revisionModern+`"],"capabilities":{"tools":{"listChanged":true}},"ttlMs":60000,"cacheScope":"public"}`))
	case "ping", "logging/setLevel":
		to.send(resultLine(m.ID, `{}`))
	case "tools/list":
		to.send(resultLine(m.ID, `{"resultType":"complete","ttlMs":60000,"cacheScope":"public","tools":`+tools+`}`))
	case "tools/call":
		s.call(ctx, m, to)
	case "subscriptions/listen":
		to.send([]byte(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(m.ID) + `},"notifications":{"toolsListChanged":true}}}`))
		<-ctx.Done()
	default:
		to.send(errorLine(m.ID, -32601, "method not found: "+m.Method, ""))
	}
}

// refusal answers a request of an era that is not spoken here.
func (s *server) refusal(m *message) []byte {
	if s.era == eraModern {
		return errorLine(m.ID, -32022, "unsupported protocol version", `{"supported":["`+revisionModern+`"],"requested":`+quote(m.Params.ProtocolVersion)+`}`)
	}
	return errorLine(m.ID, -32601, "method not found: "+m.Method, "")
}
