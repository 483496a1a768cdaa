package upstream_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// realServer is a small MCP server on stdin and stdout, run in a process of its
// own by the tests that use the real connection. mode is "legacy" or "modern",
// or "broken": it complains and ends.
func realServer(mode string) {
	if mode == "broken" {
		fmt.Fprintln(os.Stderr, "Traceback: no module named fastmcp")
		os.Exit(3)
	}
	s := &server{mode: mode, out: bufio.NewWriter(os.Stdout), asked: map[string]json.RawMessage{}}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var m message
		if json.Unmarshal(in.Bytes(), &m) == nil {
			s.take(&m)
		}
	}
}

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params struct {
		Name      string
		Arguments json.RawMessage
		Meta      struct{ ProgressToken json.RawMessage } `json:"_meta"`
	} `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

type server struct {
	mode  string
	out   *bufio.Writer
	tools int                        // more of them with every list
	asked map[string]json.RawMessage // our request -> the call it was made for
}

func (s *server) say(format string, args ...any) {
	fmt.Fprintf(s.out, format+"\n", args...)
	s.out.Flush()
}

func (s *server) result(id json.RawMessage, format string, args ...any) {
	s.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, fmt.Sprintf(format, args...))
}

func (s *server) take(m *message) {
	const capabilities = `{"tools":{"listChanged":true}}`
	switch {
	case m.Method == "" && m.Result != nil:
		if call := s.asked[string(m.ID)]; call != nil {
			s.result(call, `{"resultType":"complete","answered":%s}`, m.Result)
		}
	case m.Method == "initialize" && s.mode == "legacy":
		s.result(m.ID, `{"protocolVersion":"2025-11-25","capabilities":%s,"serverInfo":{"name":"real","version":"1"},"instructions":"legacy"}`, capabilities)
	case m.Method == "server/discover" && s.mode == "modern":
		s.result(m.ID, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":%s,"ttlMs":0,"cacheScope":"public"}`, capabilities)
	case m.Method == "subscriptions/listen" && s.mode == "modern":
		s.say(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{}}}`, m.ID)
	case m.Method == "ping":
		s.result(m.ID, `{}`)
	case m.Method == "tools/list":
		s.tools++
		s.result(m.ID, `{"resultType":"complete","tools":[{"name":"v%d","inputSchema":{"type":"object"}}]}`, s.tools)
	case m.Method == "tools/call":
		s.call(m)
	case m.ID != nil:
		s.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.ID)
	}
}

func (s *server) call(m *message) {
	switch m.Params.Name {
	case "echo":
		s.result(m.ID, `{"resultType":"complete","echo":%s,"pid":%d}`, m.Params.Arguments, os.Getpid())
	case "progress":
		for i := range 20 {
			s.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, m.Params.Meta.ProgressToken, i)
		}
		s.result(m.ID, `{"resultType":"complete"}`)
	case "crash":
		fmt.Fprintln(os.Stderr, "fatal: out of ideas")
		os.Exit(7)
	case "crash-once": // the name of a file that the first call leaves behind
		var path string
		_ = json.Unmarshal(m.Params.Arguments, &path)
		if _, err := os.Stat(path); err != nil {
			_ = os.WriteFile(path, nil, 0o600)
			os.Exit(7)
		}
		s.result(m.ID, `{"resultType":"complete","pid":%d}`, os.Getpid())
	case "hang":
		time.Sleep(time.Hour)
	case "noise":
		fmt.Fprintln(s.out, "this is no message")
		fmt.Fprintln(os.Stderr, strings.Repeat("x", 1<<20))
		s.result(m.ID, `{"resultType":"complete"}`)
	case "ask":
		s.asked[`"ask-1"`] = m.ID
		s.say(`{"jsonrpc":"2.0","id":"ask-1","method":"elicitation/create","params":{"message":"well?","requestedSchema":{"type":"object"}}}`)
	case "change":
		s.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		s.result(m.ID, `{"resultType":"complete"}`)
	}
}
