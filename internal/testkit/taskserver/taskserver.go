// Package taskserver is an MCP server that runs calls as tasks, in the way of
// either era, and has apps. A modern one is an [http.Handler]; as a real process of
// either era it is started with [Command], for which TestMain calls [Main] when
// [Asked] says so.
//
// Tools: work becomes a task; must, in the legacy era, can be nothing else; echo
// never does. finish ends a task, announce tells of one, tell sends a notification
// of any method. Methods that it does not know are answered with what was asked.
package taskserver

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"sync"
	"syscall"
)

const marker = "durward-task-server"

// Asked reports whether this process was started to be the server.
func Asked() bool { return len(os.Args) > 1 && os.Args[1] == marker }

// Command returns the program and arguments that run the server with flags.
func Command(flags ...string) (command string, args []string) {
	self, err := os.Executable()
	if err != nil {
		panic(err) // a test binary always knows its path
	}
	return self, append([]string{marker}, flags...)
}

// Main serves on stdin and stdout. It never returns.
func Main() {
	fs := flag.NewFlagSet(marker, flag.ExitOnError)
	s := &Server{}
	fs.BoolVar(&s.Legacy, "legacy", false, "speak 2025-11-25 instead of 2026-07-28")
	fs.BoolVar(&s.Mute, "mute", false, "do not declare tasks")
	_ = fs.Parse(os.Args[2:]) // exits on error
	out := bufio.NewWriter(os.Stdout)
	var mu sync.Mutex // guards out
	say := func(line string) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = out.WriteString(line + "\n") // nobody reads: the test is over
		_ = out.Flush()
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			syscall.Exit(0) // with the race detector os.Exit waits for a second
		}
		var m message
		if json.Unmarshal(line, &m) == nil {
			s.take(&m, line, say)
		}
	}
}

// Server is one server. The zero value is a modern one.
type Server struct {
	Legacy bool // speak 2025-11-25
	Mute   bool // declare no tasks
	Deaf   bool // agree to tell of no task

	mu      sync.Mutex // guards all below
	tasks   map[string]*task
	order   []string
	listens map[*listen]struct{}
	asked   map[string]chan json.RawMessage
	seen    []Seen
}

// Seen is a request about a task as it came.
type Seen struct {
	Method, Name string // Name is the header Mcp-Name
	Params       string // raw
}

type task struct {
	id, status, text string
	done             chan struct{} // closed when it is over
}

// listen is an open subscriptions/listen.
type listen struct {
	id    string
	tasks map[string]bool
	say   func(string)
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params params          `json:"params"`
	Result json.RawMessage `json:"result"`
}

type params struct {
	raw       json.RawMessage
	Name      string `json:"name"`
	URI       string `json:"uri"`
	TaskID    string `json:"taskId"`
	Arguments struct {
		ID     string          `json:"id"`   // of a task
		Text   string          `json:"text"` // what comes out
		Ask    bool            `json:"ask"`  // what comes out is what the client answers
		Made   string          `json:"made"` // the raw id to give the task
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	} `json:"arguments"`
	Task           json.RawMessage            `json:"task"`
	InputResponses map[string]json.RawMessage `json:"inputResponses"`
	Notifications  struct {
		TaskIDs []string `json:"taskIds"`
	} `json:"notifications"`
	Meta struct {
		Capabilities struct {
			Extensions map[string]json.RawMessage `json:"extensions"`
		} `json:"io.modelcontextprotocol/clientCapabilities"`
	} `json:"_meta"`
}

// UnmarshalJSON keeps the bytes as well.
func (p *params) UnmarshalJSON(data []byte) error {
	type plain params
	p.raw = append(json.RawMessage(nil), data...)
	return json.Unmarshal(data, (*plain)(p))
}

// Seen returns the requests about tasks, and calls, in order.
func (s *Server) Seen() []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Seen(nil), s.seen...)
}

// ServeHTTP serves 2026-07-28.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m message
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	s.see(&m, r.Header.Get("Mcp-Name"))
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if m.Method != "subscriptions/listen" {
		w.Header().Set("Content-Type", "application/json")
		s.answer(&m, func(line string) { _, _ = fmt.Fprint(w, line) }) // the client is gone
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	var mu sync.Mutex // guards w
	over := false
	leave := s.listen(&m, func(line string) {
		mu.Lock()
		defer mu.Unlock()
		if over {
			return
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\n", line) // the client is gone
		_ = http.NewResponseController(w).Flush()
	})
	<-r.Context().Done()
	leave()
	mu.Lock()
	over = true
	mu.Unlock()
}

func (s *Server) see(m *message, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Params.TaskID != "" || m.Method == "tools/call" || m.Method == "subscriptions/listen" {
		s.seen = append(s.seen, Seen{m.Method, name, string(m.Params.raw)})
	}
}

// take serves one line.
func (s *Server) take(m *message, line []byte, say func(string)) {
	switch {
	case m.Method == "":
		s.mu.Lock()
		if ch := s.asked[string(m.ID)]; ch != nil {
			ch <- append(json.RawMessage(nil), line...)
		}
		s.mu.Unlock()
	case m.ID == nil:
	case m.Method == "subscriptions/listen":
		s.listen(m, say)
	default:
		go s.answer(m, say)
	}
}

func result(m *message, raw string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, raw)
}

func failure(m *message, code int, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, m.ID, code, text)
}
