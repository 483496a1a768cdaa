package worker_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"durward/internal/exchange"
	"durward/internal/wire"
)

// TestTranscripts plays testdata/stdio/*.txt. Each line is one step:
//
//	spec {"era":"legacy","revision":"","caps":{},"probe":"1h","max":0}   once, first; all optional
//	open legacy|modern      the handshake, as ready does it
//	server> LINE            the server writes LINE and a newline
//	server>> "TEXT"         the server writes TEXT, a Go string, and nothing else
//	server< LINE            the server reads exactly LINE
//	server<EOF              the server's stdin is closed
//	server>EOF              the server closes its stdout
//	core> KIND ...          the core sends; see coreSends
//	core! KIND ...          the core sends and is refused
//	core< MESSAGE           the core gets MESSAGE, as show renders it
//	anomalies kind=N ...    after the end: all anomalies there were
//
// Anything after # at the start of a line is a comment.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/stdio/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			both(t, func(t *testing.T, via string) { play(t, via, string(text)) })
		})
	}
}

func play(t *testing.T, via, text string) {
	spec := specFor(wire.EraUnknown)
	spec.ProbeTimeout = time.Hour // nothing here waits for it unless it says so
	var s *server
	ended := false
	for i, step := range strings.Split(text, "\n") {
		t.Logf("%d: %s", i+1, step)
		verb, rest, _ := strings.Cut(step, " ")
		switch {
		case verb == "" || verb[0] == '#':
		case verb == "spec":
			readSpec(t, rest, &spec)
		case verb == "open":
			spec.Era = eraNamed(t, rest)
			s = ready(t, via, spec)
		case verb == "anomalies":
			ended = true
			checkAnomalies(t, s, rest)
		default:
			if s == nil {
				s = startServer(t, via, spec)
			}
			s.step(t, verb, rest)
		}
	}
	if !ended {
		checkAnomalies(t, s, "")
	}
}

func (s *server) step(t *testing.T, verb, rest string) {
	t.Helper()
	switch verb {
	case "server>":
		s.writes(t, rest+"\n")
	case "server>>":
		text, err := strconv.Unquote(rest)
		if err != nil {
			t.Fatal(err)
		}
		s.writes(t, text)
	case "server<":
		s.reads(t, rest)
	case "server<EOF":
		if line, err := s.lines.ReadString('\n'); err == nil {
			t.Fatalf("instead of the end the server read %s", line)
		}
	case "server>EOF":
		s.stdout.Close()
	case "core>":
		if rest == "close" {
			s.link.Close()
		} else {
			s.sendsSeen(t, coreSends(t, rest))
		}
	case "core!":
		s.refuses(t, coreSends(t, rest))
	case "core<":
		s.sink.want(t, rest)
	default:
		t.Fatalf("unknown step %q", verb)
	}
}

// sendsSeen sends m and, when it is a call, waits until the server has it, so that
// what the server writes next comes after it.
func (s *server) sendsSeen(t *testing.T, m exchange.Message) {
	t.Helper()
	s.sends(t, m)
	c, ok := m.(*exchange.Call)
	if !ok {
		return
	}
	for mark := fmt.Sprintf(`"id":%d,"method":`, c.ID); ; {
		line := s.fresh(t)
		s.seen = append(s.seen, line)
		if strings.Contains(line, mark) {
			return
		}
	}
}

// refuses sends m, which must fail: at once, or through a pipe with a fault for
// a call and silently otherwise.
func (s *server) refuses(t *testing.T, m exchange.Message) {
	t.Helper()
	if s.link.Send(m) != nil {
		return
	}
	c, ok := m.(*exchange.Call)
	if !ok {
		return
	}
	if got := show(s.sink.next(t)); !strings.HasPrefix(got, fmt.Sprintf("fault %d ", c.ID)) || !strings.HasSuffix(got, "delivered=false") {
		t.Fatalf("the call was not refused: %s", got)
	}
}

// coreSends reads a message of the core: KIND and its JSON.
func coreSends(t *testing.T, text string) exchange.Message {
	t.Helper()
	kind, raw, _ := strings.Cut(text, " ")
	var m struct {
		ID, Related     uint64
		Method          string
		Params          json.RawMessage
		Name            string // a JSON string, in quotes
		Level, Reason   string
		Progress        bool
		Caps            json.RawMessage
		Result, Failure json.RawMessage
	}
	if err := json.Unmarshal([]byte(raw), &m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	switch kind {
	case "call":
		c := call(t, m.ID, m.Method, string(m.Params))
		c.LogLevel, c.Progress, c.Client.Capabilities = m.Level, m.Progress, m.Caps
		if m.Name != "" {
			c.Name = []byte(m.Name)
		}
		return c
	case "cancel":
		return &exchange.Cancel{ID: m.ID, Reason: m.Reason}
	case "note":
		return &exchange.Notification{Method: m.Method, Params: m.Params}
	case "response":
		return &exchange.Response{ID: m.ID, Reply: exchange.Reply{Result: m.Result, Error: m.Failure}}
	case "fault":
		return &exchange.Response{ID: m.ID, Fault: &exchange.Fault{Message: m.Reason}}
	default:
		t.Fatalf("unknown message %q", kind)
		return nil
	}
}

func readSpec(t *testing.T, raw string, spec *exchange.LinkSpec) {
	t.Helper()
	var s struct {
		Era, Revision, Probe, Init string
		Caps                       json.RawMessage
		Max                        int
	}
	if err := json.Unmarshal([]byte(raw), &s); err != nil {
		t.Fatal(err)
	}
	spec.Era, spec.Revision, spec.Capabilities, spec.MaxMessage = eraNamed(t, s.Era), s.Revision, s.Caps, s.Max
	for text, at := range map[string]*time.Duration{s.Probe: &spec.ProbeTimeout, s.Init: &spec.InitTimeout} {
		if text != "" {
			d, err := time.ParseDuration(text)
			if err != nil {
				t.Fatal(err)
			}
			*at = d
		}
	}
}

func eraNamed(t *testing.T, name string) wire.Era {
	t.Helper()
	switch name {
	case "legacy":
		return wire.Legacy
	case "modern":
		return wire.Modern
	case "":
		return wire.EraUnknown
	default:
		t.Fatalf("unknown era %q", name)
		return 0
	}
}

// checkAnomalies ends the connection, if it has not ended, and compares all anomalies.
func checkAnomalies(t *testing.T, s *server, want string) {
	t.Helper()
	s.stdout.Close()
	s.sink.count(t, "")
	var got []string
	for _, kind := range slices.Sorted(maps.Keys(s.sink.anomalies)) {
		got = append(got, fmt.Sprintf("%s=%d", kind, s.sink.anomalies[kind]))
	}
	if strings.Join(got, " ") != want {
		t.Errorf("anomalies %q, want %q; details %v", strings.Join(got, " "), want, s.sink.detail)
	}
}
