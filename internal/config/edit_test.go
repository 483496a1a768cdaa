package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"durward"
	"durward/internal/config"
)

func TestServersAreWrittenWithoutHarmToTheRest(t *testing.T) {
	full := config.Entry{
		Command: "npx", Args: []string{"-y", "a b", `say "hi"`, "${env:HOME}/x", "yes"}, Env: map[string]string{"B": "1", "A": "x: y # z"}, Dir: "sub",
	}
	for _, tt := range []struct{ name, in, want string }{
		{"new", "", "version: 1\nservers:\n  new:\n    command: npx\n    dir: sub\n    args: [\"-y\", \"a b\", \"say \\\"hi\\\"\", \"${env:HOME}/x\", \"yes\"]\n    env: {A: \"x: y # z\", B: \"1\"}\n"},
		{"comments", "# mine\nversion: 1 # one\nservers:\n  # old\n  old: {command: x} # keep\n\n# the end\nbuiltin: false\n",
			"# mine\nversion: 1 # one\nservers:\n  # old\n  old: {command: x} # keep\n  new:\n    command: npx\n    dir: sub\n    args: [\"-y\", \"a b\", \"say \\\"hi\\\"\", \"${env:HOME}/x\", \"yes\"]\n    env: {A: \"x: y # z\", B: \"1\"}\n\n# the end\nbuiltin: false\n"},
		{"braces", "version: 1\nservers: {old: {command: x}} # all\n",
			"version: 1\nservers: {new: {command: npx, dir: sub, args: [\"-y\", \"a b\", \"say \\\"hi\\\"\", \"${env:HOME}/x\", \"yes\"], env: {A: \"x: y # z\", B: \"1\"}}, old: {command: x}} # all\n"},
	} {
		got, err := config.AddServer("f.yaml", []byte(tt.in), "new", full)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %v\n%s", tt.name, err, got)
			continue
		}
		back, err := config.RemoveServer("f.yaml", got, "new")
		if tt.name == "comments" && (err != nil || string(back) != tt.in) {
			t.Errorf("%s, taken out again: %v\n%s", tt.name, err, back)
		}
		c, err := config.Check(config.Options{User: "f.yaml", Env: func(string) (string, bool) { return "/home/me", true }}, got)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		s := c.Servers[0]
		if s.Args[1] != "a b" || s.Args[2] != `say "hi"` || s.Args[3] != "/home/me/x" || s.Args[4] != "yes" || s.Env["A"] != "x: y # z" || s.Env["B"] != "1" {
			t.Errorf("%s: what was written is not what is read: %q", tt.name, s.Args)
		}
	}
}

func TestDisabledIsWritten(t *testing.T) {
	for _, tt := range []struct {
		in   string
		off  bool
		want string
	}{
		{"servers:\n  a:\n    command: x # c\n", true, "servers:\n  a:\n    command: x # c\n    disabled: true\n"},
		{"servers:\n  a: {command: x} # c\n", true, "servers:\n  a: {disabled: true, command: x} # c\n"},
		{"servers:\n  a:\n    disabled: true # for now\n    command: x\n", false, "servers:\n  a:\n    disabled: false # for now\n    command: x\n"},
		{"servers:\n  a: {disabled: false, command: x}\n", true, "servers:\n  a: {disabled: true, command: x}\n"},
		{"servers:\n  a: {command: x}\n", false, "servers:\n  a: {command: x}\n"},
	} {
		got, err := config.SetDisabled("f.yaml", []byte("version: 1\n"+tt.in), "a", tt.off)
		if err != nil || string(got) != "version: 1\n"+tt.want {
			t.Errorf("%q: %v\n%s", tt.in, err, got)
		}
	}
}

func TestEditsThatAreRefused(t *testing.T) {
	data := []byte("version: 1\nservers:\n  a: {command: x}\n")
	_, taken := config.AddServer("f", data, "a", config.Entry{Command: "x"})
	_, reserved := config.AddServer("f", data, "local", config.Entry{Command: "x"})
	_, absent := config.RemoveServer("f", data, "b")
	_, broken := config.SetDisabled("f", []byte("a: ["), "a", true)
	for _, tt := range []struct {
		err  error
		want durward.Kind
	}{{taken, durward.Conflict}, {reserved, durward.Invalid}, {absent, durward.NotFound}, {broken, durward.Invalid}} {
		if durward.KindOf(tt.err) != tt.want {
			t.Errorf("%v: %v, wanted %v", tt.err, durward.KindOf(tt.err), tt.want)
		}
	}
}

func TestWriteKeepsModeAndLink(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.yaml"), filepath.Join(dir, "link.yaml")
	if err := os.WriteFile(real, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	if err := config.Write(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(real)
	data, _ := os.ReadFile(real)
	if err != nil || info.Mode().Perm() != 0o640 || string(data) != "new" {
		t.Errorf("%v %v %q", err, info.Mode(), data)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	fresh := filepath.Join(dir, "sub", "fresh.yaml")
	if err := config.Write(fresh, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(fresh); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}
