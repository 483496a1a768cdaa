// Package hostile is an MCP server that does what servers should not do, and
// what they may do but seldom do: it hangs, dies, forks, floods, lies about its
// names, changes its tools. Tests run it as a real process: call [Main] from
// TestMain when [Asked] says so, and use [Command] as the server's command.
package hostile

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
)

const marker = "durward-hostile-server"

// Asked reports whether this process was started to be the hostile server.
func Asked() bool { return len(os.Args) > 1 && os.Args[1] == marker }

// Command returns the program and arguments that run the hostile server with flags.
func Command(flags ...string) (command string, args []string) {
	self, err := os.Executable()
	if err != nil {
		panic(err) // a test binary always knows its path
	}
	return self, append([]string{marker}, flags...)
}

// Main is the hostile server. It never returns.
func Main() {
	fs := flag.NewFlagSet(marker, flag.ExitOnError)
	s := &server{out: bufio.NewWriter(os.Stdout)}
	fs.StringVar(&s.start, "start", "ok", "ok, silent, crash, noise or modern-exit")
	fs.StringVar(&s.list, "list", "plain", "plain, names, fidelity, loop, pages or many")
	fs.StringVar(&s.counter, "counter", "", "file to which each execution appends a byte")
	fs.BoolVar(&s.bare, "bare", false, "offers nothing but tools: one list says all")
	fs.StringVar(&s.items, "items", "", "file with the raw tools to list, one a line")
	fs.StringVar(&s.surface, "surface", "", "file with a Surface as JSON, which is read anew for each list and handshake")
	fs.StringVar(&s.notes, "notes", "", "file to which each notification of the client is appended, one a line")
	_ = fs.Parse(os.Args[2:]) // exits on error
	syscall.Exit(s.run())     // with the race detector os.Exit waits for a second
}

// server is one run of the hostile server.
type server struct {
	start, list, counter, items, notes, surface string
	bare                                        bool

	mu         sync.Mutex // guards out and everything below
	out        *bufio.Writer
	extra      int  // tools added by "change"
	visited    bool // "gate" was called
	state      map[string]string
	asking     map[string]chan json.RawMessage
	subscribed map[string]bool
}

// message is a JSON-RPC message as far as the server looks at it.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Cursor    string          `json:"cursor"`
		URI       string          `json:"uri"`
		Arguments json.RawMessage `json:"arguments"`
		Meta      struct {
			ProgressToken json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (s *server) run() int {
	switch s.start {
	case "crash":
		fmt.Fprintln(os.Stderr, "hostile: cannot open the database: no such file")
		return 3
	case "silent":
		_, _ = io.Copy(io.Discard, os.Stdin)
		select {}
	case "noise":
		s.noise()
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		var m message
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		if s.start == "modern-exit" && m.Method == "server/discover" {
			fmt.Fprintln(os.Stderr, "hostile: first request must be initialize")
			return 4
		}
		s.take(&m, line)
	}
}

func (s *server) take(m *message, line []byte) {
	switch {
	case m.Method == "":
		s.mu.Lock()
		if ch := s.asking[string(m.ID)]; ch != nil {
			delete(s.asking, string(m.ID))
			ch <- append(m.Result, m.Error...)
		}
		s.mu.Unlock()
	case m.ID == nil:
		if s.notes != "" {
			appendTo(s.notes, line)
		}
	case m.Method == "tools/call" && m.Params.Name == "seen":
		s.text(m.ID, strings.TrimSpace(string(line)))
	case m.Method == "tools/call":
		go s.call(m)
	default:
		s.answer(m)
	}
}

// noise is what some servers print before they begin (B7).
func (s *server) noise() {
	for range 1 << 14 {
		fmt.Fprintln(os.Stderr, strings.Repeat("e", 63)) // 1 MiB in all
	}
	s.raw("\ufeffStarting server ...\r\n")
	s.raw("\r\n\n")
	s.raw("{\"not\": \"json-rpc\"}\n")
	s.raw("\xff\xfe\x00binary\n")
}

func (s *server) raw(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.out.WriteString(text)
	_ = s.out.Flush()
}

func (s *server) result(id json.RawMessage, result string) {
	s.raw(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + result + "}\n")
}

func (s *server) failure(id json.RawMessage, code int, text string) {
	s.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`+"\n", id, code, text))
}

func (s *server) answer(m *message) {
	if s.surface != "" && s.show(m) {
		return
	}
	switch m.Method {
	case "initialize":
		others := `,"resources":{"subscribe":true},"prompts":{},"logging":{}`
		if s.bare {
			others = ""
		}
		s.result(m.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}`+others+`},`+
			`"serverInfo":{"name":"hostile","version":"1"},"instructions":"Be careful."}`)
	case "ping", "logging/setLevel":
		s.result(m.ID, `{}`)
	case "resources/subscribe", "resources/unsubscribe":
		s.subscribe(m)
	case "tools/list":
		s.result(m.ID, s.tools(m.Params.Cursor))
	case "prompts/list":
		s.result(m.ID, `{"prompts":[{"name":"greet"}]}`)
	case "prompts/get":
		s.result(m.ID, `{"messages":[{"role":"user","content":{"type":"text","text":"hello"}}]}`)
	case "resources/list":
		s.result(m.ID, `{"resources":[{"uri":"hostile://state","name":"state"}]}`)
	case "resources/templates/list":
		s.result(m.ID, `{"resourceTemplates":[]}`)
	case "resources/read":
		s.result(m.ID, fmt.Sprintf(`{"contents":[{"uri":%q,"text":"state"}]}`, m.Params.URI))
	default:
		s.failure(m.ID, -32601, "method not found: "+m.Method)
	}
}

func appendTo(file string, data []byte) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close() // a test's own file
	if _, err := f.Write(data); err != nil {
		panic(err)
	}
}
