package launch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"durward"
)

// plan is a checked Spec: what execve gets.
type plan struct {
	spec Spec
	path string   // absolute path of the program
	argv []string // argv[0] is the command as it was written
	env  []string
}

// inherited are the variables every server gets from the service. Everything
// else must be named, so that no secret of the service reaches a server by accident.
func inherited() []string {
	names := []string{"PATH", "HOME", "LANG", "TMPDIR", "USER"}
	if runtime.GOOS == "windows" { // programs do not start without these
		names = append(names, "SYSTEMROOT", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA")
	}
	return names
}

func newPlan(s Spec, environ []string) (*plan, error) {
	if err := checkSpec(s); err != nil {
		return nil, err
	}
	if s.Dir != "" {
		if info, err := os.Stat(s.Dir); err != nil || !info.IsDir() {
			return nil, durward.Errorf(durward.Unavailable, op(s), "the working directory %q is not a directory that can be used; create it or change servers.%s.dir", s.Dir, s.Server)
		}
	}
	env := environment(s.Env, environ)
	path, err := findProgram(s, lookup(env, "PATH"))
	if err != nil {
		return nil, err
	}
	return &plan{spec: s, path: path, argv: append([]string{s.Command}, s.Args...), env: env}, nil
}

// checkSpec refuses what the kernel would cut or misread.
func checkSpec(s Spec) error {
	if s.Command == "" {
		return durward.Errorf(durward.Invalid, op(s), "the command is empty; set servers.%s.command", s.Server)
	}
	for _, text := range append([]string{s.Command, s.Dir}, s.Args...) {
		if strings.ContainsRune(text, 0) {
			return durward.Errorf(durward.Invalid, op(s), "command, dir or an argument holds a NUL byte, which no program can receive; remove it")
		}
	}
	for name, value := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return durward.Errorf(durward.Invalid, op(s), "the environment variable name %q is empty or holds '=' or NUL; rename it in servers.%s.env", name, s.Server)
		}
		if strings.ContainsRune(value, 0) {
			return durward.Errorf(durward.Invalid, op(s), "the value of the environment variable %s holds a NUL byte, which no program can receive; remove it", name)
		}
	}
	return nil
}

// environment merges; the result is sorted so that a start is reproducible.
func environment(own map[string]string, service []string) []string {
	env := make([]string, 0, len(own)+8)
	for name, value := range own {
		env = append(env, name+"="+value)
	}
	for _, name := range inherited() {
		if _, ok := own[name]; ok {
			continue
		}
		for _, entry := range service {
			if key, _, ok := strings.Cut(entry, "="); ok && sameName(key, name) {
				env = append(env, entry)
				break
			}
		}
	}
	slices.Sort(env)
	return env
}

func sameName(a, b string) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

func lookup(env []string, name string) string {
	for _, entry := range env {
		if key, value, ok := strings.Cut(entry, "="); ok && sameName(key, name) {
			return value
		}
	}
	return ""
}

// findProgram resolves the command as the server itself would: in the PATH it
// is given. Relative entries of PATH are not searched: what runs must not
// depend on the directory the service was started in.
func findProgram(s Spec, searched string) (string, error) {
	if strings.ContainsAny(s.Command, `/`+string(filepath.Separator)) {
		return directProgram(s)
	}
	var denied error
	for _, dir := range filepath.SplitList(searched) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path, err := executable(filepath.Join(dir, s.Command))
		if err == nil {
			return path, nil
		}
		if errors.Is(err, fs.ErrPermission) && denied == nil {
			denied = notExecutable(s, filepath.Join(dir, s.Command))
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", durward.Errorf(durward.Unavailable, op(s), "the command %q was not found in PATH=%s; install it, or write its full path in servers.%s.command", s.Command, searched, s.Server)
}

func directProgram(s Spec) (string, error) {
	path := s.Command
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Dir, path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", durward.Errorf(durward.Unavailable, op(s), "the command %q cannot be resolved: %w", s.Command, err)
	}
	found, err := executable(path)
	switch {
	case err == nil:
		return found, nil
	case errors.Is(err, fs.ErrPermission):
		return "", notExecutable(s, path)
	default:
		return "", durward.Errorf(durward.Unavailable, op(s), "the command %q does not exist (%s was looked for); install it or correct servers.%s.command", s.Command, path, s.Server)
	}
}

func notExecutable(s Spec, path string) error {
	return durward.Errorf(durward.Unavailable, op(s), "the command %s is not an executable file; make it one (chmod +x) or correct servers.%s.command", path, s.Server)
}

// startError says why the system refused to run a program that exists.
func startError(pl *plan, err error) error {
	hint := "look at the program and its permissions"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		hint = "the interpreter in its first line (#!) or its dynamic loader is missing: install that"
	case errors.Is(err, fs.ErrPermission):
		hint = "its file system forbids execution or a security module does"
	case errors.Is(err, syscall.ENOEXEC):
		hint = "it is neither a program for this machine nor a script with an interpreter in its first line (#!)"
	case errors.Is(err, syscall.E2BIG):
		hint = "its arguments and environment together are larger than the system permits: shorten them"
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		hint = "a limit on processes or open files is reached: raise it (ulimit -u, ulimit -n)"
	}
	return durward.Errorf(durward.Unavailable, op(pl.spec), "%s could not be started: %w; %s", pl.path, err, hint)
}
