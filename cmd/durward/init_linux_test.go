package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// initAtTerminal runs durward init at a terminal, where somebody types keys, each when
// the form shows what came of the one before.
func initAtTerminal(t *testing.T, keys string, args ...string) (cmd *exec.Cmd, seen, file string) {
	t.Helper()
	bin, home := buildDurward(t), t.TempDir()
	file = filepath.Join(home, "config", "durward", "durward.yaml")
	cmd = exec.Command(bin, append([]string{"init"}, args...)...)
	cmd.Env = append(homeEnv(home), "TERM=xterm-256color")
	screen := atTerminal(t, 40, 120, cmd)
	screen.await("the form", func(shown string) bool {
		return strings.Contains(shown, "Who uses") && strings.HasSuffix(shown, "select\x1b[m")
	})
	for _, key := range strings.Split(keys, "") {
		if err := screen.press(key); err != nil {
			t.Fatal(err)
		}
		screen.await("the form, changed,", func(shown string) bool { return shown != "" })
	}
	return cmd, screen.end(), file
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
