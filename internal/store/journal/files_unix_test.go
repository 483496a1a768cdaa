//go:build unix

package journal_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"durward"
	"durward/internal/store/journal"
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

// Files that others may have written, and what is no file, are refused.
func TestFilesOfOthers(t *testing.T) {
	for name, bad := range badFiles() {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t, smallDir(t), slow())
			k.fill(3)
			// While it is in use: at the next write, and it goes on when it is gone.
			file := journal.Names(k.opt.Path)[0]
			must(t, os.Remove(file))
			bad(t, file)
			for range 2 {
				if err := k.write("x"); !denied(err) || !strings.Contains(err.Error(), file) {
					t.Error(err)
				}
			}
			must(t, os.RemoveAll(file))
			k.fill(3)
			k.j.Kill()
			kept, err := os.ReadFile(file)
			must(t, err)
			must(t, os.Remove(file))
			bad(t, file)
			opt := k.opt
			opt.Store = k.store
			if _, err := journal.Open(t.Context(), opt); !denied(err) || !strings.Contains(err.Error(), file) {
				t.Error(err)
			}
			must(t, os.RemoveAll(file))
			must(t, os.WriteFile(file, kept, 0o600))
			k.reopen()
			k.holds()
			must(t, k.j.Close())
			if left, err := filepath.Glob(k.opt.Path + "*"); err != nil || len(left) > 0 {
				t.Error(left, err)
			}
		})
	}
}
