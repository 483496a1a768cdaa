package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal opens a pseudo-terminal: what a person sees, and what a program has.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = person.Close() })
	fd := int(person.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

// answer types each answer when its question is seen, and returns all that was seen.
func answer(t *testing.T, person *os.File, cmd *exec.Cmd, answers [][2]string) string {
	t.Helper()
	var seen bytes.Buffer
	data := make([]byte, 4096)
	for _, a := range answers {
		from := seen.Len()
		for !strings.Contains(seen.String()[from:], a[0]) {
			n, err := person.Read(data)
			if err != nil {
				t.Fatalf("%v: %q was not asked; seen: %q", err, a[0], seen.String())
			}
			seen.Write(data[:n])
		}
		if _, err := person.WriteString(a[1]); err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait() // the caller looks at its state
	for {          // what is left: the program's side is open here, so that this does not fail
		if err := ready(person); err != nil {
			return seen.String()
		}
		n, err := person.Read(data)
		if err != nil {
			return seen.String()
		}
		seen.Write(data[:n])
	}
}

// ready reports whether something can be read at once.
func ready(f *os.File) error {
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}} //nolint:gosec // a descriptor is small
	if n, err := unix.Poll(fds, 0); err != nil || n == 0 {
		return fmt.Errorf("nothing there: %w", os.ErrDeadlineExceeded)
	}
	return nil
}

const asking = `{"inputs": [{"type": "promptString", "id": "key", "description": "The key", "password": true},
	{"type": "promptString", "id": "region", "description": "The region"}],
	"servers": {"one": {"command": "server", "env": {"SOME": "${input:key}", "WHERE": "${input:region}"}}}}`

// asked starts an import at a terminal that asks for a secret and for a plain value.
func asked(t *testing.T) (person, program *os.File, cmd *exec.Cmd, home string) {
	t.Helper()
	bin, home := buildDurward(t), t.TempDir()
	source := filepath.Join(home, "mcp.json")
	if err := os.WriteFile(source, []byte(asking), 0o600); err != nil {
		t.Fatal(err)
	}
	person, program = terminal(t)
	cmd = exec.Command(bin, "import", "--client", "vscode", source, "--yes")
	cmd.Env = homeEnv(home)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	guard := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }) // a test that hangs tells nothing
	t.Cleanup(func() { guard.Stop() })
	return person, program, cmd, home
}

func echoes(t *testing.T, terminal *os.File) bool {
	t.Helper()
	is, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return is.Lflag&unix.ECHO != 0
}

func TestSecretsThatAreTypedAreNotShown(t *testing.T) {
	person, program, cmd, home := asked(t)
	seen := answer(t, person, cmd, [][2]string{{"The region, for one; empty: leave it out): ", "eu-shown\n"}, {"The key, for one; empty: leave it out): ", "my-hidden-value\n"}})
	if !cmd.ProcessState.Success() || !strings.Contains(seen, "1 servers were taken") {
		t.Fatalf("%v: %q", cmd.ProcessState, seen)
	}
	if strings.Contains(seen, "my-hidden-value") || !strings.Contains(seen, "eu-shown") {
		t.Errorf("the secret must be hidden and the other answer shown: %q", seen)
	}
	if !echoes(t, program) {
		t.Error("the terminal does not show any more what is typed")
	}
	found := false
	for _, text := range filesBelow(t, home) {
		found = found || text == "my-hidden-value"
	}
	if !found {
		t.Error("what was typed was not kept")
	}
}

// An interrupt at a question takes nothing, ends, and leaves the terminal usable.
func TestAQuestionCanBeInterrupted(t *testing.T) {
	person, program, cmd, home := asked(t)
	seen := answer(t, person, cmd, [][2]string{{"The region, for one; empty: leave it out): ", "eu\n"}, {"The key, for one; empty: leave it out): ", "half\x03"}})
	if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(seen, "interrupted") {
		t.Errorf("%v: %q", cmd.ProcessState, seen)
	}
	if !echoes(t, program) {
		t.Error("the terminal does not show any more what is typed")
	}
	if _, err := os.Stat(filepath.Join(home, "config", "durward", "durward.yaml")); err == nil {
		t.Error("servers were taken")
	}
}
