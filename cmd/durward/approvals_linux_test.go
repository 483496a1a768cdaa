package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const asksAboutEchoes = `version: 1
listen: 127.0.0.1:0
policy:
  approvals: {desktop: "off"}
  rules:
    - {id: echoes, on: [tools/call], servers: [local], tools: [echo], action: ask}
`

// A person at a terminal sees a call that waits, and approves it with one key. Only
// because the screen is open does the call wait at all.
func TestAPersonAtATerminalApprovesACall(t *testing.T) {
	bin, home := buildDurward(t), t.TempDir()
	file := filepath.Join(home, "durward.yaml")
	if err := os.WriteFile(file, []byte(asksAboutEchoes), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(homeEnv(home), "XDG_RUNTIME_DIR="+shortDir(t), "TERM=xterm-256color")
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(bin, args...)
		cmd.Env = env
		return cmd
	}
	serve(t, command, "--config", file)
	screen := atTerminal(t, 30, 100, command("approvals"))
	screen.await("the screen", func(shown string) bool { return strings.Contains(shown, "nothing waits") })
	typed := make(chan string, 1)
	go func() {
		typed <- callUntilApproved(command, screen)
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			_ = screen.press("q") // the screen is waited for
			select {
			case <-tick.C:
			case <-screen.left:
				tick.Stop()
				return
			}
		}
	}()
	seen := screen.end()
	if out := <-typed; !screen.cmd.ProcessState.Success() || out != "yes" || !strings.Contains(seen, "nothing waits") || !strings.Contains(seen, "\a") { // it rings, too
		t.Errorf("%v, %q, seen: %q", screen.cmd.ProcessState, out, seen)
	}
}

// callUntilApproved calls until the screen is open and the call waits, while somebody
// presses a: what only just came up is not answered.
func callUntilApproved(command func(...string) *exec.Cmd, screen *terminal) string {
	over := make(chan string, 1)
	go func() {
		var last []byte
		for end := time.Now().Add(patience); time.Now().Before(end); {
			out, err := command("call", "local__echo", "message=yes").CombinedOutput()
			if last = out; err == nil {
				break
			}
		}
		over <- string(bytes.TrimSpace(last))
	}()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case out := <-over:
			return out
		case <-tick.C:
			_ = screen.press("a") // the screen is waited for
		}
	}
}
