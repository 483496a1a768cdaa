package hostile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// arguments are what the tools take.
type arguments struct {
	Text  string `json:"text"`
	Name  string `json:"name"`
	N     int    `json:"n"`
	K     int    `json:"k"`
	Raw   string `json:"raw"`
	Milli int    `json:"ms"`
}

// call executes a tool. Every execution is counted, if a counter was asked for.
func (s *server) call(m *message) {
	if s.counter != "" {
		appendTo(s.counter, []byte{'x'})
	}
	var a arguments
	if len(m.Params.Arguments) > 0 {
		if err := json.Unmarshal(m.Params.Arguments, &a); err != nil {
			s.failure(m.ID, -32602, err.Error())
			return
		}
	}
	switch m.Params.Name {
	case "die":
		fmt.Fprintln(os.Stderr, "hostile: dying as asked")
		os.Exit(9)
	case "wedge": // not dead, but never answers anything again
		s.mu.Lock()
		select {}
	case "sleep":
		time.Sleep(time.Duration(a.Milli) * time.Millisecond)
		s.text(m.ID, "slept")
	case "progress":
		s.progress(m, a.N)
	case "fork":
		s.text(m.ID, strconv.Itoa(fork()))
	case "change":
		s.change(m, a.N)
	case "ask":
		s.ask(m)
	case "interview":
		s.interview(m, a)
	case "gate":
		s.gate(m)
	case "touch":
		s.touch(m, a.Text)
	default:
		s.simple(m, a)
	}
}

// simple are the tools that answer at once.
func (s *server) simple(m *message, a arguments) {
	switch m.Params.Name {
	case "echo":
		s.text(m.ID, a.Text)
	case "env":
		value, ok := os.LookupEnv(a.Name)
		s.text(m.ID, fmt.Sprintf("%v:%s", ok, value))
	case "args":
		data, _ := json.Marshal(os.Args[2:])
		s.text(m.ID, string(data))
	case "set":
		s.mu.Lock()
		if s.state == nil {
			s.state = map[string]string{}
		}
		s.state[a.Name] = a.Text
		s.mu.Unlock()
		s.text(m.ID, "set")
	case "get":
		s.mu.Lock()
		value := s.state[a.Name]
		s.mu.Unlock()
		s.text(m.ID, value)
	case "count":
		s.text(m.ID, "counted")
	case "big":
		s.result(m.ID, `{"content":[{"type":"text","text":"`+strings.Repeat("x", a.N)+`"}]}`)
	case "badutf8":
		s.result(m.ID, "{\"content\":[{\"type\":\"text\",\"text\":\"a\xffb\"}]}")
	case "noise":
		s.noise()
		s.text(m.ID, "quiet again")
	case "log":
		s.raw(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"working"}}` + "\n")
		s.text(m.ID, "logged")
	case "fail":
		s.result(m.ID, `{"content":[{"type":"text","text":"it did not work"}],"isError":true}`)
	case "rpcerror":
		s.failure(m.ID, -32000, cmp.Or(a.Text, "it did not work"))
	case "raw":
		s.result(m.ID, a.Raw)
	default:
		s.text(m.ID, "called "+m.Params.Name)
	}
}

func (s *server) text(id json.RawMessage, text string) {
	quoted, _ := json.Marshal(text)
	s.result(id, `{"content":[{"type":"text","text":`+string(quoted)+`}]}`)
}

func (s *server) progress(m *message, n int) {
	if m.Params.Meta.ProgressToken != nil {
		for i := range n {
			s.raw(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":%d}}`+"\n",
				m.Params.Meta.ProgressToken, i+1, n))
		}
	}
	s.text(m.ID, "done")
}

// change replaces the extra tools and says so twenty times over (B11).
func (s *server) change(m *message, n int) {
	s.mu.Lock()
	s.extra = n
	s.mu.Unlock()
	s.raw(strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n", 20))
	s.text(m.ID, "changed")
}

// ask asks the client for input and returns the answer as text.
func (s *server) ask(m *message) {
	id := "ask-" + string(m.ID)
	quoted := strconv.Quote(id)
	ch := make(chan json.RawMessage, 1)
	s.mu.Lock()
	if s.asking == nil {
		s.asking = map[string]chan json.RawMessage{}
	}
	s.asking[quoted] = ch
	s.mu.Unlock()
	s.raw(`{"jsonrpc":"2.0","id":` + quoted + `,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}` + "\n")
	s.text(m.ID, string(<-ch))
}

const sleeper = marker + "-grandchild"

// fork starts a grandchild in a session of its own that ignores every polite
// request to end, and returns its pid (B6).
func fork() int {
	self, _ := os.Executable()
	cmd := exec.Command(self, sleeper)
	cmd.SysProcAttr = detached()
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	return cmd.Process.Pid
}

// Grandchild reports whether this process is a grandchild that [Main] forked; if
// so TestMain calls [Linger].
func Grandchild() bool { return len(os.Args) > 1 && os.Args[1] == sleeper }

// Linger sleeps and ignores signals. It never returns.
func Linger() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	time.Sleep(10 * time.Minute) // a bound in case a test fails to end it
	syscall.Exit(0)
}
