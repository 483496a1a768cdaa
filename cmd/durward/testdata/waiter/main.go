// Command waiter is an MCP server with a call that never ends. It says so by
// making a file.
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
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
	} `json:"params"`
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var r request
		if json.Unmarshal(in.Bytes(), &r) == nil && r.ID != nil {
			answer(&r)
		}
	}
}

func answer(r *request) {
	result := ""
	switch {
	case r.Method == "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"waiter","version":"1"}}`
	case r.Method == "ping":
		result = `{}`
	case r.Method == "tools/list":
		result = `{"tools":[{"name":"say","inputSchema":{"type":"object"}},{"name":"wait","inputSchema":{"type":"object"}}]}`
	case r.Method == "tools/call" && r.Params.Name == "say":
		result = `{"content":[{"type":"text","text":"` + r.Params.Arguments["text"] + `"}]}`
	case r.Method == "tools/call":
		if err := os.WriteFile(r.Params.Arguments["file"], nil, 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	default:
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", r.ID)
		return
	}
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", r.ID, result)
}
