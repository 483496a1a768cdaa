package worker_test

import (
	"bufio"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"durward/internal/exchange"
	"durward/internal/upstream/worker"
	"durward/internal/wire"
)

// TestRealPeers talks to servers that others wrote (see testdata/webpeers).
func TestRealPeers(t *testing.T) {
	base := startPeers(t)
	for name, f := range map[string]func(*testing.T, string){
		"GoSDKModern": goSDKModern, "GoSDKLegacy": goSDKLegacy, "GoSDKStatelessInTheLegacyEra": goSDKStatelessLegacy,
		"B9_GoSDKResumption": goSDKResumption, "B4_GoSDKSessionLost": goSDKSessionLost, "B9_GoSDKCancel": goSDKCancel,
		"GoSDKOverOldSSE": goSDKOverOldSSE, "MCPGo": mcpGo, "MCPGoOverOldSSE": mcpGoOverOldSSE,
	} {
		t.Run(name, func(t *testing.T) { f(t, base) })
	}
}

// startPeers builds and starts the real servers and returns the base of their
// URLs. They need modules that Durward does without; those of the fixtures'
// module file are taken.
func startPeers(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "webpeers.exe")
	build := exec.Command("go", "build", "-modfile="+filepath.Join(root, "test/fixtures/go.mod"), "-o", program, "./internal/upstream/worker/testdata/webpeers")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(program)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close() // it ends with its input
		_ = cmd.Wait()
	})
	base, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(base)
}

func progressOf(c *webConn, id uint64) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.got {
		if note, ok := m.(*exchange.Notification); ok && note.Method == wire.NoteProgress && note.Related == id {
			n++
		}
	}
	return n
}

func withProgress(m *exchange.Call) { m.Progress = true }

func callsEcho(t *testing.T, c *webConn, id uint64) {
	t.Helper()
	if got := c.result(id, wire.MethodToolsCall, `{"name":"echo","arguments":{"n":1}}`); !strings.Contains(got, `{\"n\":1}`) {
		t.Error(got)
	}
}

func goSDKModern(t *testing.T, base string) {
	for _, kind := range []string{"sdk-modern", "sdk-modern-json"} {
		t.Run(kind, func(t *testing.T) {
			both(t, func(t *testing.T, via string) {
				c := dialWeb(t, via, base+"/"+kind+"/"+via)
				if o := c.opened(); o.Era != wire.Modern || o.Instructions != "be kind" || !strings.Contains(string(o.Info), `"sdk"`) {
					t.Errorf("%+v", o)
				}
				callsEcho(t, c, 1)
				if kind == "sdk-modern" { // its JSON mode has no progress
					if got := c.result(2, wire.MethodToolsCall, `{"name":"progress"}`, withProgress); !strings.Contains(got, "done") {
						t.Error(got)
					}
					if n := progressOf(c, 2); n != 5 {
						t.Errorf("%d of 5 progress notifications before the result", n)
					}
				}
				r := c.call(3, wire.MethodToolsCall, `{"name":"nothing"}`)
				if code, _ := wire.ErrorCode(r.Error); code != wire.CodeInvalidParams {
					t.Errorf("%+v %s", r.Fault, r.Error)
				}
				if r := c.call(4, "vendor/thing", ""); r.Error == nil {
					t.Errorf("%+v", r)
				}
			})
		})
	}
}

func goSDKLegacy(t *testing.T, base string) {
	for _, kind := range []string{"sdk-legacy", "sdk-legacy-json", "sdk-legacy-store"} {
		t.Run(kind, func(t *testing.T) {
			both(t, func(t *testing.T, via string) {
				c := dialWeb(t, via, base+"/"+kind+"/"+via)
				if o := c.opened(); o.Era != wire.Legacy || o.Revision != wire.RevisionLegacy || o.Instructions != "be kind" {
					t.Errorf("%+v", o)
				}
				callsEcho(t, c, 1)
				if got := c.result(2, wire.MethodToolsCall, `{"name":"progress"}`, withProgress); !strings.Contains(got, "done") {
					t.Error(got)
				}
				if n := progressOf(c, 2); n != 5 && kind != "sdk-legacy-json" {
					t.Errorf("%d of 5 progress notifications before the result", n)
				}
				c.listens() // the JSON mode asks there
				elicits(t, c, 3)
				if r := c.call(4, "vendor/thing", ""); r.Error == nil {
					t.Errorf("%+v", r.Fault)
				}
				c.result(5, wire.MethodToolsCall, `{"name":"grow"}`)
				if n := c.note(wire.NoteToolsChanged); n.Related != 0 {
					t.Errorf("related to %d", n.Related)
				}
				c.result(6, wire.MethodToolsCall, `{"name":"grown"}`)
			})
		})
	}
}

func goSDKStatelessLegacy(t *testing.T, base string) {
	c := dialWeb(t, "direct", base+"/sdk-modern/legacy", legacyEra)
	if o := c.opened(); o.Era != wire.Legacy {
		t.Errorf("%+v", o)
	}
	callsEcho(t, c, 1)
}

func elicits(t *testing.T, c *webConn, id uint64) {
	t.Helper()
	c.send(id, wire.MethodToolsCall, `{"name":"elicit"}`)
	q := await(c, "elicitation", func(*exchange.ServerRequest) bool { return true })
	if q.Method != wire.MethodElicit || !strings.Contains(string(q.Params), "name?") {
		t.Errorf("%+v %s", q, q.Params)
	}
	if err := c.link.Send(&exchange.Response{ID: q.ID, Reply: exchange.Reply{Result: []byte(`{"action":"decline"}`)}}); err != nil {
		t.Fatal(err)
	}
	if got := string(c.response(id).Result); !strings.Contains(got, "decline") {
		t.Error(got)
	}
}

func goSDKResumption(t *testing.T, base string) {
	both(t, func(t *testing.T, via string) {
		c := dialWeb(t, via, base+"/sdk-legacy-store/"+via)
		c.opened()
		for id := range uint64(3) {
			if got := c.result(id+1, wire.MethodToolsCall, `{"name":"poll"}`, withProgress); !strings.Contains(got, "polled") {
				t.Error(got)
			}
			if n := progressOf(c, id+1); n != 1 {
				t.Errorf("%d progress notifications", n)
			}
		}
	})
}

func goSDKSessionLost(t *testing.T, base string) {
	both(t, func(t *testing.T, via string) {
		room := "sdk-legacy-no-get/" + via // without the server's own stream only a call can find out
		c := dialWeb(t, via, base+"/"+room)
		c.opened()
		restart, err := http.NewRequest(http.MethodDelete, base+"/rooms/"+room, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := webTransport(t).RoundTrip(restart)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		c.send(1, wire.MethodToolsCall, `{"name":"echo"}`)
		if f := c.response(1).Fault; f == nil || !f.NoSession || f.Delivered {
			t.Errorf("%+v", f)
		}
		if closed := c.end(); !closed.Fault.NoSession {
			t.Errorf("%+v", closed)
		}
		c = dialWeb(t, via, base+"/"+room)
		c.opened()
		callsEcho(t, c, 1)
	})
}

func goSDKCancel(t *testing.T, base string) {
	for _, kind := range []string{"sdk-modern", "sdk-legacy"} {
		t.Run(kind, func(t *testing.T) {
			both(t, func(t *testing.T, via string) {
				c := dialWeb(t, via, base+"/"+kind+"/cancel-"+via)
				c.opened()
				c.send(1, wire.MethodToolsCall, `{"name":"hold"}`, withProgress)
				c.note(wire.NoteProgress) // it runs
				if err := c.link.Send(&exchange.Cancel{ID: 1, Reason: "enough"}); err != nil {
					t.Fatal(err)
				}
				if got := c.result(2, wire.MethodToolsCall, `{"name":"cancelled"}`); !strings.Contains(got, "cancelled") {
					t.Error(got)
				}
			})
		})
	}
}

func goSDKOverOldSSE(t *testing.T, base string) {
	both(t, func(t *testing.T, via string) {
		c := dialBy(t, worker.OpenSSE, via, base+"/sdk-sse/"+via)
		if o := c.opened(); o.Era != wire.Legacy {
			t.Errorf("%+v", o)
		}
		callsEcho(t, c, 1)
		elicits(t, c, 2)
		c.result(3, wire.MethodToolsCall, `{"name":"grow"}`)
		c.note(wire.NoteToolsChanged)
	})
}

func mcpGo(t *testing.T, base string) {
	for name, edit := range map[string]func(*exchange.LinkSpec){"auto": func(*exchange.LinkSpec) {}, "legacy": legacyEra, "modern": modernEra} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, via string) {
				c := dialWeb(t, via, base+"/mcpgo/"+name+via, edit)
				want := wire.Modern
				if name == "legacy" {
					want = wire.Legacy
				}
				if o := c.opened(); o.Era != want || o.Instructions != "be kind" {
					t.Errorf("%+v", o)
				}
				callsEcho(t, c, 1)
				if want == wire.Legacy {
					c.listens()
					c.result(2, wire.MethodToolsCall, `{"name":"grow"}`)
					c.note(wire.NoteToolsChanged)
				}
			})
		})
	}
}

func mcpGoOverOldSSE(t *testing.T, base string) {
	both(t, func(t *testing.T, via string) {
		c := dialBy(t, worker.OpenSSE, via, base+"/mcpgo-sse/"+via+"/sse")
		c.opened()
		callsEcho(t, c, 1)
	})
}
