//go:build unix

package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"durward/internal/private"
)

// A desktop client is connected to durward stdio. The service under it is killed,
// or ended, and comes back; the client goes on with the same process.
func TestAClientOutlivesTheService(t *testing.T) {
	d := newDesk(t)
	for _, end := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		t.Run(end.String()+"/legacy", func(t *testing.T) { d.legacyClient(t, end) })
		t.Run(end.String()+"/modern", func(t *testing.T) { d.modernClient(t, end) })
	}
}

// legacyClient has a call in flight when the service ends.
func (d *desk) legacyClient(t *testing.T, end syscall.Signal) {
	service := d.serve(t)
	c := d.connect(t, "--no-start")
	c.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.result("0")
	c.losesACall(t, service, end, "")
	c.call("3", `"name":"waiter__say","arguments":{"text":"meanwhile"}`)
	d.serve(t)
	if got := c.result("3"); !strings.Contains(got, "meanwhile") {
		t.Error(got)
	}
	c.notified("notifications/tools/list_changed", "")
	c.call("4", `"name":"waiter__say","arguments":{"text":"after"}`)
	if got := c.result("4"); !strings.Contains(got, "after") {
		t.Error(got)
	}
	if said := c.hangUp(); strings.Count(said, "\n") != 2 || !strings.Contains(said, "durward: reconnected to the service after ") {
		t.Errorf("on stderr: %s", said)
	}
}

// modernClient has a subscription open when the service ends.
func (d *desk) modernClient(t *testing.T, end syscall.Signal) {
	service := d.serve(t)
	c := d.connect(t, "--no-start")
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	c.send(`{"jsonrpc":"2.0","id":"listen","method":"subscriptions/listen","params":{` + meta + `,"notifications":{"toolsListChanged":true}}}`)
	c.notified("notifications/subscriptions/acknowledged", `"listen"`)
	c.losesACall(t, service, end, ","+meta)
	d.serve(t)
	c.notified("notifications/tools/list_changed", `"listen"`)
	c.call("3", `"name":"waiter__say","arguments":{"text":"after"},`+meta)
	if got := c.result("3"); !strings.Contains(got, "after") {
		t.Error(got)
	}
	got := strings.Join(c.all(), "\n")
	if strings.Contains(got, `"id":"listen"`) || strings.Count(got, "acknowledged") != 1 {
		t.Errorf("the subscription was not kept: %s", got)
	}
	c.hangUp()
}

// losesACall has a call answered, and the service end while another one is in flight.
// more is what their parameters have besides.
func (c *desktopClient) losesACall(t *testing.T, service *running, end syscall.Signal, more string) {
	t.Helper()
	c.call("1", `"name":"waiter__say","arguments":{"text":"before"}`+more)
	if got := c.result("1"); !strings.Contains(got, "before") {
		t.Error(got)
	}
	file := filepath.Join(t.TempDir(), "called")
	c.call("2", fmt.Sprintf(`"name":"waiter__wait","arguments":{"file":%q}`, file)+more)
	waitFor(t, "the call to reach its server", func() bool { _, err := os.Stat(file); return err == nil })
	service.end(t, end)
	if code := c.failure("2"); code != 50402 {
		t.Errorf("the call in flight was answered with %d", code)
	}
	c.forget()
}

// Nobody starts the service again, so durward stdio does.
func TestAClientStartsTheServiceAgain(t *testing.T) {
	d := newDesk(t)
	service := d.serve(t)
	c := d.connect(t)
	c.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.result("0")
	service.end(t, syscall.SIGKILL)
	c.call("1", `"name":"local__echo","arguments":{"message":"hello"}`)
	if got := c.result("1"); !strings.Contains(got, "hello") {
		t.Error(got)
	}
	c.hangUp()
}

// Many clients that start at the same time start one service, and no other one that
// would find it running.
func TestManyClientsStartOneService(t *testing.T) {
	d := newDesk(t)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			c := d.connect(t)
			c.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
			c.result("1")
			c.hangUp()
		})
	}
	all.Wait()
	log, err := os.ReadFile(filepath.Join(d.home, "state", "durward", "service.log"))
	if err != nil || bytes.Contains(log, []byte("another service runs")) {
		t.Errorf("%v: %s", err, log)
	}
}

// desk is a person's machine.
type desk struct {
	bin, home string
	env       []string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{bin: buildDurward(t), home: t.TempDir()}
	waiter := built.path(t, "waiter", "./testdata/waiter")
	d.env = append(homeEnv(d.home), "XDG_RUNTIME_DIR="+shortDir(t))
	t.Cleanup(func() {
		end(d.bin, d.env)
		// A service holds its lock to its very end.
		if _, err := private.Lock(filepath.Join(d.home, "state", "durward", "service.lock"), time.Minute); err != nil {
			t.Error(err)
		}
	})
	dir := filepath.Join(d.home, "config", "durward")
	text := "version: 1\nlisten: 127.0.0.1:0\nservers:\n  waiter: {command: " + waiter + "}\n"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "durward.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *desk) command(args ...string) *exec.Cmd {
	cmd := exec.Command(d.bin, args...)
	cmd.Env, cmd.Dir = d.env, d.home
	return cmd
}

func (d *desk) serve(t *testing.T) *running { t.Helper(); return serve(t, d.command) }

// desktopClient is a client and its durward stdio.
type desktopClient struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	said bytes.Buffer // stderr

	mu    sync.Mutex // guards all below
	lines []string
	from  int // await looks at those from here on
	ended bool
	more  sync.Cond
}

func (d *desk) connect(t *testing.T, args ...string) *desktopClient {
	t.Helper()
	c := &desktopClient{t: t, cmd: d.command(append([]string{"stdio"}, args...)...)}
	c.more.L = &c.mu
	c.cmd.Stderr = &c.said
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in = in
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill() }) // it has ended, unless the test failed
	go func() {
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			c.mu.Lock()
			c.lines = append(c.lines, lines.Text())
			c.more.Broadcast()
			c.mu.Unlock()
		}
		c.mu.Lock()
		c.ended = true
		c.more.Broadcast()
		c.mu.Unlock()
	}()
	return c
}

func (c *desktopClient) send(lines ...string) {
	c.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(c.in, line+"\n"); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *desktopClient) call(id, params string) {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{` + params + `}}`)
}

type wireMessage struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Meta struct {
			Subscription json.RawMessage `json:"io.modelcontextprotocol/subscriptionId"`
		} `json:"_meta"`
	}
	Result json.RawMessage
	Error  *struct{ Code int }
}

// await waits for a message of which want is true.
func (c *desktopClient) await(what string, want func(m *wireMessage) bool) *wireMessage {
	c.t.Helper()
	late := false
	timer := time.AfterFunc(time.Minute, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		late = true
		c.more.Broadcast()
	})
	defer timer.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for seen := c.from; ; {
		for ; seen < len(c.lines); seen++ {
			m := &wireMessage{}
			if err := json.Unmarshal([]byte(c.lines[seen]), m); err != nil {
				c.t.Errorf("%v: %s", err, c.lines[seen])
			}
			if want(m) {
				return m
			}
		}
		if c.ended || late {
			c.t.Fatalf("%s did not come (ended: %v): %q", what, c.ended, c.lines)
		}
		c.more.Wait()
	}
}

func (c *desktopClient) answer(id string) *wireMessage {
	c.t.Helper()
	return c.await("the answer to "+id, func(m *wireMessage) bool { return m.Method == "" && string(m.ID) == id })
}

func (c *desktopClient) result(id string) string {
	c.t.Helper()
	m := c.answer(id)
	if m.Error != nil {
		c.t.Fatalf("%s failed: %q", id, c.all())
	}
	return string(m.Result)
}

func (c *desktopClient) failure(id string) int {
	c.t.Helper()
	m := c.answer(id)
	if m.Error == nil {
		c.t.Fatalf("%s did not fail: %s", id, m.Result)
	}
	return m.Error.Code
}

// notified waits for a notification, of a subscription if that is not empty.
func (c *desktopClient) notified(method, subscription string) {
	c.t.Helper()
	c.await(method, func(m *wireMessage) bool {
		return m.Method == method && string(m.Params.Meta.Subscription) == subscription
	})
}

// forget has what came up to now not be waited for any more.
func (c *desktopClient) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.from = len(c.lines)
}

func (c *desktopClient) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lines
}

// hangUp ends the client's lines, and returns what was said on stderr.
func (c *desktopClient) hangUp() string {
	c.t.Helper()
	_ = c.in.Close() // it is a pipe of ours
	c.mu.Lock()
	for !c.ended {
		c.more.Wait()
	}
	c.mu.Unlock()
	if err := c.cmd.Wait(); err != nil {
		c.t.Errorf("durward stdio: %v: %s", err, c.said.String())
	}
	return c.said.String()
}
