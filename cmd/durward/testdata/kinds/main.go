// Command kinds is an MCP server whose results have every kind of content.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string         `json:"name"`
		URI       string         `json:"uri"`
		Arguments map[string]any `json:"arguments"`
	} `json:"params"`
}

const tools = `{"tools":[
 {"name":"all","description":"Every kind of content.","inputSchema":{"type":"object"}},
 {"name":"add","description":"Adds.","inputSchema":{"type":"object","required":["a","b"],"properties":{"a":{"type":"integer","description":"The first"},"b":{"type":"integer"}}}},
 {"name":"fail","description":"Fails.","inputSchema":{"type":"object"}}]}`

const all = `{"content":[{"type":"text","text":"plain text"},{"type":"image","data":"YWJj","mimeType":"image/png"},
 {"type":"audio","data":"YWJj","mimeType":"audio/wav"},{"type":"resource","resource":{"uri":"mem:///t","text":"embedded text"}},
 {"type":"resource","resource":{"uri":"mem:///b","blob":"YWJj","mimeType":"application/x-thing"}},
 {"type":"resource_link","uri":"file:///x","name":"a link"},{"type":"novel","what":1}]}`

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var r request
		if json.Unmarshal(in.Bytes(), &r) != nil || r.ID == nil {
			continue
		}
		var line []byte
		if result := answer(&r); result != "" {
			line, _ = json.Marshal(map[string]any{"jsonrpc": "2.0", "id": r.ID, "result": json.RawMessage(result)})
		} else {
			line, _ = json.Marshal(map[string]any{"jsonrpc": "2.0", "id": r.ID, "error": map[string]any{"code": -32601, "message": "no " + r.Method}})
		}
		fmt.Println(string(line))
	}
}

func answer(r *request) string {
	switch r.Method {
	case "initialize":
		return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"kinds","version":"1"}}`
	case "ping":
		return `{}`
	case "tools/list":
		return tools
	case "prompts/list":
		return `{"prompts":[{"name":"greet","description":"Greets.","arguments":[{"name":"who","required":true}]}]}`
	case "prompts/get":
		return fmt.Sprintf(`{"messages":[{"role":"user","content":{"type":"text","text":"hello %v"}}]}`, r.Params.Arguments["who"])
	case "resources/list":
		return `{"resources":[{"name":"a","uri":"mem:///a"}]}`
	case "resources/templates/list":
		return `{"resourceTemplates":[]}`
	case "resources/read":
		return `{"contents":[{"uri":"mem:///a","text":"content of a"}]}`
	case "tools/call":
		return call(r)
	}
	return ""
}

func call(r *request) string {
	switch r.Params.Name {
	case "all":
		return all
	case "add":
		return fmt.Sprintf(`{"content":[{"type":"text","text":"%v"}]}`, r.Params.Arguments["a"].(float64)+r.Params.Arguments["b"].(float64))
	default:
		return `{"content":[{"type":"text","text":"it went wrong"}],"isError":true}`
	}
}
