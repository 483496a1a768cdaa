package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// programs are built once for all tests. TestMain removes them.
type programs struct {
	mu  sync.Mutex // guards all below
	dir string
	has map[string]bool
}

var built programs

// buildDurward returns the path of durward.
func buildDurward(t *testing.T) string { t.Helper(); return built.path(t, "durward", ".") }

// path builds a package, unless it is built already, and returns where the program is.
func (p *programs) path(t *testing.T, name, pkg string, environ ...string) string {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dir == "" {
		var err error
		if p.dir, err = os.MkdirTemp("", "durward-test"); err != nil {
			t.Fatal(err)
		}
		p.has = map[string]bool{}
	}
	file := filepath.Join(p.dir, name)
	if p.has[name] {
		return file
	}
	cmd := exec.Command("go", "build", "-o", file, pkg)
	cmd.Env = append(os.Environ(), environ...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, out)
	}
	p.has[name] = true
	return file
}
