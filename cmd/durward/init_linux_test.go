package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// initAtTerminal runs durward init at a terminal, where somebody types keys, each when
// the form shows what came of the one before.
func initAtTerminal(t *testing.T, keys string, args ...string) (cmd *exec.Cmd, seen, file string) {
	t.Helper()
	bin, home := buildDurward(t), t.TempDir()
	person, program := terminal(t)
	if err := unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120}); err != nil { // without a size nothing is shown
		t.Fatal(err)
	}
	file = filepath.Join(home, "config", "durward", "durward.yaml")
	cmd = exec.Command(bin, append([]string{"init"}, args...)...)
	cmd.Env = append(homeEnv(home), "TERM=xterm-256color")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	guard := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() }) // a test that hangs tells nothing
	defer guard.Stop()
	var text strings.Builder
	parts := make(chan string, 1000)
	go func() {
		defer close(parts)
		data := make([]byte, 4096)
		for {
			n, err := person.Read(data) // until nobody has the other side open
			if err != nil {
				return
			}
			parts <- string(data[:n])
		}
	}()
	for part := range parts { // the form is there
		if text.WriteString(part); strings.Contains(text.String(), "Who uses") && strings.HasSuffix(part, "select\x1b[m") {
			break
		}
	}
	for _, key := range strings.Split(keys, "") {
		if _, err := person.WriteString(key); err != nil {
			t.Fatal(err)
		}
		text.WriteString(<-parts) // and it is there again, changed
	}
	_ = cmd.Wait() // its state is looked at
	_ = program.Close()
	for part := range parts {
		text.WriteString(part)
	}
	return cmd, text.String(), file
}

// Three questions at a terminal, answered with keys, write a policy that is sound.
func TestThePolicyIsAskedForAtATerminal(t *testing.T) {
	cmd, seen, file := initAtTerminal(t, "j\r\r\r") // the second, then what is offered first
	text, err := os.ReadFile(file)
	if err != nil || !cmd.ProcessState.Success() || !strings.Contains(seen, `the policy "team" is in`) {
		t.Fatalf("%v, %v: %q", err, cmd.ProcessState, seen)
	}
	for _, want := range []string{"# The policy team, written by durward init", "limit:", "remember: session"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if out, err := exec.Command(cmd.Path, "config", "validate", file).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// What flags answer is not asked, and an interrupt writes nothing.
func TestThePolicyIsNotWrittenWhenInterrupted(t *testing.T) {
	cmd, seen, file := initAtTerminal(t, "\x03", "--record", "all")
	if cmd.ProcessState.ExitCode() != 2 || strings.Contains(seen, "panic") {
		t.Errorf("%v: %q", cmd.ProcessState, seen)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("something was written: %v", err)
	}
}
