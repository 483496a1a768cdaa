package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// onTerminal runs a command on a terminal of some width and returns what a person sees.
func onTerminal(t *testing.T, width uint16, cmd *exec.Cmd) string {
	t.Helper()
	return atTerminal(t, 40, width, cmd).end()
}

// What agents and servers wrote cannot steer the terminal of who looks at it, and
// lists fit on it.
func TestTheRecordOnATerminal(t *testing.T) {
	bin, home := buildDurward(t), shortDir(t)
	env := append(homeEnv(home), "NO_COLOR=1", "XDG_CONFIG_HOME="+home, "XDG_STATE_HOME="+home, "XDG_RUNTIME_DIR="+home)
	if err := os.MkdirAll(filepath.Join(home, "durward"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "durward", "durward.yaml"), []byte("version: 1\nlisten: 127.0.0.1:0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	durward := func(args ...string) *exec.Cmd {
		cmd := exec.Command(bin, args...)
		cmd.Env = env
		return cmd
	}
	serve(t, durward)
	evil := "a\x1b]0;owned\x07b\u009b2Jc\u202ed" + strings.Repeat("x", 2000)
	message, err := json.Marshal(map[string]string{"message": evil})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := durward("call", "local__echo", string(message)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := durward("calls", "--json", "--limit", "1").Output()
	if err != nil {
		t.Fatal(err)
	}
	var call struct{ ID string }
	if err := json.Unmarshal(out, &call); err != nil {
		t.Fatal(err)
	}
	list := onTerminal(t, 60, durward("calls"))
	for line := range strings.Lines(list) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\r\n")); n > 60 {
			t.Errorf("%d characters: %q", n, line)
		}
	}
	if !strings.Contains(list, "ok") || !strings.Contains(list, call.ID[:20]) {
		t.Errorf("%q", list)
	}
	seen := list + onTerminal(t, 80, durward("show", call.ID)) + onTerminal(t, 80, durward("show", call.ID, "--body", "response")) +
		onTerminal(t, 80, durward("timeline")) + onTerminal(t, 80, durward("stats"))
	if strings.ContainsAny(seen, "\x07\u009b") || strings.Contains(seen, "\x1b]") || !strings.Contains(seen, "xxxx") {
		t.Errorf("%.300q", seen)
	}
	// The bar is there while it takes, and gone when the answer comes.
	verified := onTerminal(t, 80, durward("ledger", "verify"))
	if i := strings.LastIndex(verified, "\x1b[K"); i < 0 || !strings.HasPrefix(verified[i:], "\x1b[Kok\r\n") {
		t.Errorf("%q", verified)
	}
}
