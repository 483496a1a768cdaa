//go:build unix

package config_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"durward"
	"durward/internal/config"
)

func ownedBy(t *testing.T, uid uint32) any { t.Helper(); return &syscall.Stat_t{Uid: uid} }
func rootOwned(t *testing.T) any           { t.Helper(); return ownedBy(t, 0) }

// info is a file with an owner and a mode.
type info struct {
	fs.FileInfo
	mode fs.FileMode
	sys  any
}

func (i info) Mode() fs.FileMode { return i.mode }
func (i info) Sys() any          { return i.sys }

func TestTheCorpLayerMustBeRoots(t *testing.T) {
	path := filepath.Join(t.TempDir(), "corp.yaml")
	if err := os.WriteFile(path, []byte("version: 1\nlimits: {sessions: 3}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	real, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[fs.FileMode]string{0o644: "", 0o600: "", 0o664: "mode 0664", 0o646: "mode 0646"} {
		err := config.CheckOwner(path, info{real, mode, rootOwned(t)})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("root's, mode %o: %v", mode, err)
		}
	}
	if err := config.CheckOwner(path, info{real, 0o644, ownedBy(t, 1000)}); err == nil || !strings.Contains(err.Error(), "belongs to user 1000") {
		t.Errorf("another's: %v", err)
	}
	if err := config.CheckOwner(path, info{real, 0o644, nil}); err == nil || !strings.Contains(err.Error(), "E_OWNER") {
		t.Errorf("nobody's: %v", err)
	}
	checkRealOwner(t, path)
}

// checkRealOwner goes through Load, as the user who runs the test.
func checkRealOwner(t *testing.T, path string) {
	t.Helper()
	c, err := config.Load(config.Options{Corp: path, Env: env})
	if os.Geteuid() != 0 {
		if durward.KindOf(err) != durward.Invalid || !strings.Contains(err.Error(), "E_OWNER") {
			t.Errorf("taken, though it is not root's: %v", err)
		}
		return
	}
	if err != nil || c.Limits.Sessions != 3 || c.HasUserFile() {
		t.Fatalf("%+v, %v", c, err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(config.Options{Corp: path, Env: env}); err == nil || !strings.Contains(err.Error(), "E_OWNER") {
		t.Errorf("taken, though everybody may write it: %v", err)
	}
}

// What the corp layer names is the company's word, too: rules, and plugins.
func TestWhatTheCorpLayerNamesMustBeRoots(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"rules.yaml": "rules: []\n", "own.wasm": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, name), 0o666); err != nil { // whatever the umask, and whoever runs the test: it is not root's alone
			t.Fatal(err)
		}
	}
	for _, text := range []string{"policy: {files: [rules.yaml]}", "policy: {plugins: {own: {wasm: own.wasm}}}"} {
		_, err := config.ParseLayers("durward.yaml", []byte("version: 1\n"), filepath.Join(dir, "corp.yaml"), []byte("version: 1\n"+text+"\n"), config.Options{})
		if err == nil || !strings.Contains(err.Error(), "E_OWNER") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
