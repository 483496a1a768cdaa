package gateway_test

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"durward"
	"durward/gateway"
	"durward/internal/testkit/rawclient"
	"durward/internal/wire"
)

// eventStream reads server-sent events and remembers the last id, as clients do.
type eventStream struct {
	t    *testing.T
	resp *http.Response
	scan *bufio.Scanner
	last string
}

// stream sends a request of a legacy client that is answered with a stream: a POST
// of body, or without one a GET that goes on after event last.
func stream(t *testing.T, c *rawclient.Client, body, last string) *eventStream {
	t.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(t.Context(), method, c.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": c.Session, "Last-Event-ID": last,
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return &eventStream{t: t, resp: resp, scan: bufio.NewScanner(resp.Body), last: last}
}

// next returns the next message; false at the end of the stream.
func (s *eventStream) next() (m wire.Message, ok bool) {
	s.t.Helper()
	for s.scan.Scan() {
		name, value, _ := strings.Cut(s.scan.Text(), ": ")
		if name == "id" {
			s.last = value
		}
		if name == "data" && value != "" {
			if err := wire.Parse([]byte(value), wire.FromServer, &m); err != nil {
				s.t.Fatal(err, value)
			}
			return m, true
		}
	}
	return m, false
}

// expect reads messages of the given methods, "" being the answer, and returns the last.
func (s *eventStream) expect(methods ...string) (m wire.Message) {
	s.t.Helper()
	for _, method := range methods {
		var ok bool
		if m, ok = s.next(); !ok || m.Method != method {
			s.t.Fatalf("got %v %q %s %s, want %q", m.Kind, m.Method, m.Result, m.Error, method)
		}
	}
	return m
}

// TestB9_ABrokenConnectionLosesNothingOfACall breaks the connection of a call of a
// real server between any two messages.
func TestB9_ABrokenConnectionLosesNothingOfACall(t *testing.T) {
	counter := filepath.Join(t.TempDir(), "executions")
	r := ready(t, gateway.Options{Servers: []durward.Server{hostileServer("h", "-counter", counter)}})
	c := &rawclient.Client{URL: r.url + "/mcp"}
	if _, err := c.Initialize(t.Context(), `{"elicitation":{}}`); err != nil {
		t.Fatal(err)
	}
	answer := func(asked wire.Message, n int) {
		t.Helper()
		a, err := c.Send(t.Context(), fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"n":%d}}}`, asked.ID, n), "", "")
		if err != nil || a.Status != http.StatusAccepted {
			t.Fatal(err, a)
		}
	}
	s := stream(t, c, `{"jsonrpc":"2.0","id":"the call","method":"tools/call","params":{"name":"h__interview","arguments":{"name":"elicitation","n":3},"_meta":{"progressToken":"mine"}}}`, "")
	asked := s.expect(wire.MethodElicit)
	s.resp.Body.Close()
	answer(asked, 1) // the server goes on while nobody listens

	s = stream(t, c, "", s.last)
	if m := s.expect(wire.NoteProgress); string(wire.Get(m.Params.Raw, "progressToken")) != `"mine"` || string(wire.Get(m.Params.Raw, "progress")) != "1" {
		t.Errorf("%s", m.Params.Raw)
	}
	s.resp.Body.Close() // the next question may be on its way

	s = stream(t, c, "", s.last)
	answer(s.expect(wire.MethodElicit), 2)
	s.expect(wire.NoteProgress)
	asked = s.expect(wire.MethodElicit)
	answer(asked, 3)
	s.resp.Body.Close() // the answer may be on its way

	for range 2 { // it comes again for whoever did not get it
		again := stream(t, c, "", s.last)
		m := again.expect(wire.NoteProgress, "")
		if string(m.ID) != `"the call"` || strings.Count(string(m.Result), "accept") != 3 {
			t.Errorf("%s %s %s", m.ID, m.Result, m.Error)
		}
		if m, more := again.next(); more {
			t.Errorf("after the answer: %s", m.Method)
		}
		if end := stream(t, c, "", again.last); end.resp.StatusCode != http.StatusNoContent {
			t.Errorf("nothing is left: %d", end.resp.StatusCode)
		}
	}
	if data, err := os.ReadFile(counter); err != nil || string(data) != "x" {
		t.Errorf("executed: %q %v", data, err)
	}
}

// TestB9_ALegacyConnectionThatBreaksCancelsNothing: the call runs to its end, and
// the answer waits although nobody ever was connected to its stream again.
func TestB9_ALegacyConnectionThatBreaksCancelsNothing(t *testing.T) {
	notes := filepath.Join(t.TempDir(), "notes")
	r := ready(t, gateway.Options{Servers: []durward.Server{hostileServer("h", "-notes", notes)}})
	c := &rawclient.Client{URL: r.url + "/servers/h/mcp"}
	if _, err := c.Initialize(t.Context(), `{"elicitation":{}}`); err != nil {
		t.Fatal(err)
	}
	s := stream(t, c, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{}}}`, "")
	asked := s.expect(wire.MethodElicit)
	s.resp.Body.Close()
	if _, err := c.Send(t.Context(), `{"jsonrpc":"2.0","id":`+string(asked.ID)+`,"result":{"action":"decline"}}`, "", ""); err != nil {
		t.Fatal(err)
	}
	if a := call(t, c, "echo", `{"text":"meanwhile"}`); a.Text() != "meanwhile" {
		t.Error(a.Text(), a.Message())
	}
	if m := stream(t, c, "", s.last).expect(""); !strings.Contains(string(m.Result), "decline") {
		t.Errorf("%s %s", m.Result, m.Error)
	}
	if data, err := os.ReadFile(notes); err != nil || strings.Contains(string(data), wire.NoteCancelled) {
		t.Errorf("the server heard %s %v", data, err)
	}
}
