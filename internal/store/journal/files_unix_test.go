//go:build unix

package journal_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"durward"
)

func denied(err error) bool { return durward.KindOf(err) == durward.Denied }

func badFiles() map[string]func(t *testing.T, path string) {
	return map[string]func(t *testing.T, path string){
		"a link": func(t *testing.T, path string) {
			target := filepath.Join(t.TempDir(), "target")
			must(t, os.WriteFile(target, nil, 0o600))
			must(t, os.Symlink(target, path))
		},
		"a link to nothing": func(t *testing.T, path string) { must(t, os.Symlink("nothing", path)) },
		"a directory":       func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) },
		"a pipe":            func(t *testing.T, path string) { must(t, syscall.Mkfifo(path, 0o600)) },
		"others may read": func(t *testing.T, path string) {
			must(t, os.WriteFile(path, nil, 0o600))
			must(t, os.Chmod(path, 0o640))
		},
	}
}
