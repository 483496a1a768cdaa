package main_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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
	run, err := os.MkdirTemp("", "dw") // socket paths are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	file := filepath.Join(home, "durward.yaml")
	if err := os.WriteFile(file, []byte(asksAboutEchoes), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(homeEnv(home), "XDG_RUNTIME_DIR="+run, "TERM=xterm-256color")
	command := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), bin, args...)
		cmd.Env = env
		return cmd
	}
	service := command("serve", "--config", file)
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = service.Process.Signal(syscall.SIGTERM)
		_ = service.Wait()
	}()
	for deadline := time.Now().Add(30 * time.Second); command("status").Run() != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the service did not come up")
		}
	}
	person, program := terminal(t)
	if err := unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: 100}); err != nil { // without a size nothing is shown
		t.Fatal(err)
	}
	screen := command("approvals")
	screen.Stdin, screen.Stdout, screen.Stderr = program, program, program
	screen.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := screen.Start(); err != nil {
		t.Fatal(err)
	}
	guard := time.AfterFunc(time.Minute, func() { _ = screen.Process.Kill() }) // a test that hangs tells nothing
	defer guard.Stop()
	var seen bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&seen, person) // until nobody has the other side open
	}()
	typed := make(chan string, 1)
	over := make(chan struct{})
	go func() {
		typed <- callUntilApproved(command, person)
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			_, _ = person.WriteString("q") // the screen is waited for
			select {
			case <-tick.C:
			case <-over:
				tick.Stop()
				return
			}
		}
	}()
	_ = screen.Wait() // its state is looked at
	close(over)
	_ = program.Close() // which ends the reading
	<-read
	if out := <-typed; !screen.ProcessState.Success() || out != "yes" || !strings.Contains(seen.String(), "nothing waits") || !strings.Contains(seen.String(), "\a") { // it rings, too
		t.Errorf("%v, %q, seen: %q", screen.ProcessState, out, seen.String())
	}
}

// callUntilApproved calls until the screen is open and the call waits, while somebody
// presses a: what only just came up is not answered.
func callUntilApproved(command func(...string) *exec.Cmd, person *os.File) string {
	over := make(chan string, 1)
	go func() {
		var last []byte
		for range 100 {
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
			_, _ = person.WriteString("a") // the screen is waited for
		}
	}
}
