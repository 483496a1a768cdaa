//go:build linux

package launch_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"durward"
	"durward/internal/launch"
)

var difficult = map[string]string{
	"SPACES":    "two  spaces ",
	"QUOTES":    `"it's" \"q\"`,
	"DOLLAR":    "$HOME ${HOME} $$",
	"NEWLINES":  "a\nb\r\n\tc\n",
	"UNICODE":   "grün 日本 🚪",
	"BACKTICK":  "`id` ;|&<>*?~#",
	"EMPTY":     "",
	"EQUALS":    "a=b=c",
	"BINARY":    "\xff\xfe not UTF-8",
	"lower.dot": "odd names pass",
	"LONG":      strings.Repeat("x", 100_000),
}

func TestB28_EnvironmentIsPassedExactly(t *testing.T) {
	service := []string{"PATH=/usr/bin:/bin", "HOME=/home/me", "LANG=C.UTF-8", "TMPDIR=/tmp/mine", "USER=me", "SECRET=of the service", "DURWARD_TOKEN=x"}
	for name, opts := range kinds() {
		t.Run(name, func(t *testing.T) {
			opts.Environ = service
			l := newLauncher(t, opts)
			s := self("part:environ")
			s.Env = map[string]string{"HOME": "/elsewhere"}
			want := []string{"HOME=/elsewhere", "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "TMPDIR=/tmp/mine", "USER=me"}
			for key, value := range difficult {
				s.Env[key] = value
				want = append(want, key+"="+value)
			}
			got := strings.Split(strings.TrimSuffix(output(t, l, s), "\x00"), "\x00")
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

func TestB28_ArgumentsArePassedExactly(t *testing.T) {
	for name, opts := range kinds() {
		t.Run(name, func(t *testing.T) {
			l := newLauncher(t, opts)
			var want []string
			for _, value := range difficult {
				want = append(want, value)
			}
			got := output(t, l, self("part:arguments", want...))
			if got != strings.Join(want, "\x00")+"\x00" {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestB28_WhatCannotBePassedIsRefused(t *testing.T) {
	l := newLauncher(t, launch.Options{})
	for name, s := range map[string]launch.Spec{
		"'=' or NUL":                   {Command: "x", Env: map[string]string{"A=B": "c"}},
		"is empty or holds":            {Command: "x", Env: map[string]string{"": "c"}},
		"environment variable A holds": {Command: "x", Env: map[string]string{"A": "b\x00c"}},
		"argument holds a NUL":         {Command: "x", Args: []string{"a\x00"}},
		"the command is empty":         {},
	} {
		s.Server = "odd"
		_, err := l.Launch(t.Context(), s)
		if durward.KindOf(err) != durward.Invalid || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "odd") {
			t.Errorf("%v, want %q", err, name)
		}
	}
}

func TestB2_WhatCannotBeStartedSaysWhyAndWhatToDo(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write("plain", "text", 0o644)
	garbage := write("garbage", "\x01\x02", 0o755)
	orphan := write("orphan", "#!/does/not/exist\n", 0o755)
	tests := []struct {
		name string
		spec launch.Spec
		want []string
	}{
		{"missing", launch.Spec{Command: "no-such-command"}, []string{`"no-such-command" was not found in PATH=` + dir + ":relative", "servers.bad.command"}},
		{"missing path", launch.Spec{Command: dir + "/nothing"}, []string{dir + "/nothing", "does not exist"}},
		{"missing in dir", launch.Spec{Command: "./nothing", Dir: dir}, []string{dir + "/nothing", "does not exist"}},
		{"not executable", launch.Spec{Command: plain}, []string{plain, "chmod +x"}},
		{"not executable in PATH", launch.Spec{Command: "plain"}, []string{plain, "chmod +x"}},
		{"a directory", launch.Spec{Command: dir}, []string{dir, "not an executable file"}},
		{"no program", launch.Spec{Command: garbage}, []string{garbage, "neither a program for this machine"}},
		{"no interpreter", launch.Spec{Command: orphan}, []string{orphan, "interpreter"}},
		{"no directory", launch.Spec{Command: plain, Dir: dir + "/nothing"}, []string{"servers.bad.dir"}},
		{"too long", launch.Spec{Command: selfPath(), Args: []string{strings.Repeat("x", 3<<20)}}, []string{"shorten"}},
	}
	for name, opts := range kinds() {
		opts.Environ = []string{"PATH=" + dir + ":relative"}
		l := newLauncher(t, opts)
		for _, tt := range tests {
			t.Run(name+" "+tt.name, func(t *testing.T) {
				tt.spec.Server = "bad"
				_, err := l.Launch(t.Context(), tt.spec)
				if durward.KindOf(err) != durward.Unavailable {
					t.Fatalf("%v", err)
				}
				for _, want := range append(tt.want, "launch bad: ") {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%v: lacks %q", err, want)
					}
				}
			})
		}
		if got := output(t, l, self("part:arguments", "others", "work")); got != "others\x00work\x00" {
			t.Errorf("another server after the failures: %q", got)
		}
	}
}

func TestWorkingDirectory(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, opts := range kinds() {
		l := newLauncher(t, opts)
		for dir, want := range map[string]string{"": here, "..": filepath.Dir(here), "/": "/"} {
			s := self("part:where")
			s.Dir = dir
			if got := output(t, l, s); got != want+" <nil>\n" {
				t.Errorf("%s, dir %q: %q", name, dir, got)
			}
		}
	}
}

// The server's own PATH decides, as it would for the server itself.
func TestCommandIsLookedUpInTheServersPath(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(selfPath(), filepath.Join(dir, "tool")); err != nil {
		t.Fatal(err)
	}
	l := newLauncher(t, launch.Options{Environ: []string{"PATH=/nowhere"}})
	s := launch.Spec{Server: "x", Command: "tool", Args: []string{"part:arguments", "found"}, Env: map[string]string{"PATH": "/also/nowhere:" + dir}}
	if got := output(t, l, s); got != "found\x00" {
		t.Errorf("%q", got)
	}
	s = launch.Spec{Server: "x", Command: "./tool", Args: s.Args, Dir: dir}
	if got := output(t, l, s); got != "found\x00" {
		t.Errorf("relative to dir: %q", got)
	}
}
