package sqlite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"durward"
	"durward/internal/store/sqlite"
	"durward/ledger"
)

// What only the log of a process has that was killed is not lost by another file in
// place of its ledger: when the right one is back, all is there.
func TestALogWaitsForItsFile(t *testing.T) {
	for name, tt := range map[string]struct {
		put  func(t *testing.T, path string) // something else at its place
		says string
		kind durward.Kind
	}{
		"nothing":       {func(*testing.T, string) {}, "put that file back", durward.Unavailable},
		"nothing in it": {func(t *testing.T, path string) { must(t, os.WriteFile(path, nil, 0o600)) }, "put that file back", durward.Unavailable},
		"little":        {func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte("x"), 0o600)) }, "put the right file back", durward.Invalid},
		"a text": {func(t *testing.T, path string) {
			must(t, os.WriteFile(path, bytes.Repeat([]byte("no ledger at all\n"), 1000), 0o600))
		}, "put the right file back", durward.Invalid},
		"another database": {func(t *testing.T, path string) {
			script(t, path+".other", "CREATE TABLE t (x); CREATE TABLE u (x)")
			must(t, os.Rename(path+".other", path))
		}, "put the right file back", durward.Invalid},
		"a link": {func(t *testing.T, path string) { must(t, os.Symlink(path+".right", path)) }, "no regular file", durward.Denied},
	} {
		t.Run(name, func(t *testing.T) {
			path, want := leftByAKill(t)
			right := path + ".right"
			must(t, os.Rename(path, right))
			tt.put(t, path)
			for range 2 {
				db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
				if err == nil {
					must(t, db.Close())
				}
				if err == nil || durward.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), path) {
					t.Errorf("opened: %v", err)
				}
				r, err := sqlite.OpenReader(t.Context(), path)
				if err == nil {
					must(t, r.Close())
				}
			}
			must(t, os.Rename(right, path))
			db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
			must(t, err)
			defer db.Close()
			if got := readChain(t, db, func(ledger.Record) {}); got != want {
				t.Errorf("the last link is %d, want %d", got.Seq, want.Seq)
			}
		})
	}
}

// leftByAKill returns a ledger as a process leaves it that is killed, and its last link.
func leftByAKill(t *testing.T) (path string, last ledger.Link) {
	t.Helper()
	h := newHand(t, filepath.Join(t.TempDir(), "ledger.db"))
	h.fill(30)
	path = filepath.Join(t.TempDir(), "ledger.db")
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(h.db.Path() + suffix)
		must(t, err)
		must(t, os.WriteFile(path+suffix, content, 0o600))
	}
	return path, h.head
}

// Who was killed while a file was made has its log beside it, and the file says nothing yet.
func TestAFileThatWasBeingMade(t *testing.T) {
	dir := t.TempDir()
	path, made := filepath.Join(dir, "ledger.db"), filepath.Join(dir, "made.db")
	must(t, os.WriteFile(made, nil, 0o600))
	must(t, sqlite.Begun(made, func() {
		for _, suffix := range []string{"", "-wal"} {
			content, err := os.ReadFile(made + suffix)
			must(t, err)
			if len(content) == 0 {
				t.Errorf("%s is empty", made+suffix)
			}
			must(t, os.WriteFile(path+suffix, content, 0o600))
		}
	}))
	h := newHand(t, path)
	h.fill(3)
	h.check()
}

// While somebody reads, what is in a log that was removed cannot be copied; nothing more
// is written to it then, because it would be gone with the process.
func TestNothingIsWrittenToALogWithoutAName(t *testing.T) {
	h := newHand(t, filepath.Join(t.TempDir(), "ledger.db"))
	h.fill(10)
	end := h.snapshot()
	h.fill(10)
	must(t, os.Remove(h.db.Path()+"-wal"))
	for range 3 {
		if err := h.try(); durward.KindOf(err) != durward.Unavailable || err == nil || !strings.Contains(err.Error(), "ledger.db-wal was removed") {
			t.Fatalf("written: %v", err)
		}
	}
	if err := h.db.Sync(t.Context()); err == nil {
		t.Error("what has no name is said to be on the disk")
	}
	end()
	h.fill(10)
	must(t, h.db.Sync(t.Context()))
	h.check()
}
