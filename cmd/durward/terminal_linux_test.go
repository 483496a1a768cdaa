package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a command that runs at a pseudo-terminal, and the person before it.
type terminal struct {
	t      *testing.T
	cmd    *exec.Cmd
	person *os.File
	left   chan struct{} // closed when the command has ended and all it showed was seen
	echoes bool          // what is typed was shown again when the command had ended; to be read when left is closed

	mu   sync.Mutex // guards all below
	more sync.Cond
	seen []byte
	from int // await looks at what is seen from here on
	gone bool
}

// patience is how long a command may take at a terminal.
const patience = time.Minute

// atTerminal starts a command at a terminal of some size. It is killed when it takes
// longer than patience: a test that hangs tells nothing.
func atTerminal(t *testing.T, rows, columns uint16, cmd *exec.Cmd) *terminal {
	t.Helper()
	person, program := openTerminal(t)
	if err := unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}); err != nil { // without a size nothing is shown
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &terminal{t: t, cmd: cmd, person: person, left: make(chan struct{})}
	s.more.L = &s.mu
	guard := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // it may have ended
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		s.watch()
	}()
	go func() {
		defer close(s.left)
		_ = cmd.Wait() // whoever ran it looks at its state
		guard.Stop()
		is, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
		s.echoes = err == nil && is.Lflag&unix.ECHO != 0
		_ = program.Close() // which ends the watching
		<-watched
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended, unless the test failed
		<-s.left
	})
	return s
}

// openTerminal opens a pseudo-terminal: what a person sees, and what a program has.
func openTerminal(t *testing.T) (person, program *os.File) {
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

// watch sees what is shown until nobody has the other side open.
func (s *terminal) watch() {
	data := make([]byte, 4096)
	for {
		n, err := s.person.Read(data)
		s.mu.Lock()
		s.seen = append(s.seen, data[:n]...)
		s.gone = err != nil
		s.more.Broadcast()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// press types keys. It fails when the command has ended.
func (s *terminal) press(keys string) error {
	s.mu.Lock()
	s.from = len(s.seen)
	s.mu.Unlock()
	_, err := s.person.WriteString(keys)
	return err
}

// await waits until what was shown since the last key is as it is wanted.
func (s *terminal) await(what string, wanted func(shown string) bool) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !wanted(string(s.seen[s.from:])) {
		if s.gone {
			s.t.Fatalf("%s did not come; seen: %q", what, s.seen)
		}
		s.more.Wait()
	}
}

// answer types each answer when its question is seen, and returns all that was seen
// when the command has ended.
func (s *terminal) answer(answers ...[2]string) string {
	s.t.Helper()
	for _, a := range answers {
		s.await(a[0], func(shown string) bool { return strings.Contains(shown, a[0]) })
		if err := s.press(a[1]); err != nil {
			s.t.Fatal(err)
		}
	}
	return s.end()
}

// end returns all that was seen when the command has ended.
func (s *terminal) end() string {
	<-s.left
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.seen)
}

const asking = `{"inputs": [{"type": "promptString", "id": "key", "description": "The key", "password": true},
	{"type": "promptString", "id": "region", "description": "The region"}],
	"servers": {"one": {"command": "server", "env": {"SOME": "${input:key}", "WHERE": "${input:region}"}}}}`

// asked starts an import at a terminal that asks for a secret and for a plain value.
func asked(t *testing.T) (screen *terminal, home string) {
	t.Helper()
	bin, home := buildDurward(t), t.TempDir()
	source := filepath.Join(home, "mcp.json")
	if err := os.WriteFile(source, []byte(asking), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "import", "--client", "vscode", source, "--yes")
	cmd.Env = homeEnv(home)
	return atTerminal(t, 40, 120, cmd), home
}

func TestSecretsThatAreTypedAreNotShown(t *testing.T) {
	screen, home := asked(t)
	seen := screen.answer([2]string{"The region, for one; empty: leave it out): ", "eu-shown\n"}, [2]string{"The key, for one; empty: leave it out): ", "my-hidden-value\n"})
	if !screen.cmd.ProcessState.Success() || !strings.Contains(seen, "1 servers were taken") {
		t.Fatalf("%v: %q", screen.cmd.ProcessState, seen)
	}
	if strings.Contains(seen, "my-hidden-value") || !strings.Contains(seen, "eu-shown") {
		t.Errorf("the secret must be hidden and the other answer shown: %q", seen)
	}
	if !screen.echoes {
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
	screen, home := asked(t)
	seen := screen.answer([2]string{"The region, for one; empty: leave it out): ", "eu\n"}, [2]string{"The key, for one; empty: leave it out): ", "half\x03"})
	if screen.cmd.ProcessState.ExitCode() != 2 || !strings.Contains(seen, "interrupted") {
		t.Errorf("%v: %q", screen.cmd.ProcessState, seen)
	}
	if !screen.echoes {
		t.Error("the terminal does not show any more what is typed")
	}
	if _, err := os.Stat(filepath.Join(home, "config", "durward", "durward.yaml")); err == nil {
		t.Error("servers were taken")
	}
}
