package sqlite_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/internal/store/sqlite"
	"durward/ledger"
)

// What is in the file may be anything, between two starts of the service and while it
// runs. It may be noticed, and then is said in words, or not, if nothing reads it; but
// nothing crashes or hangs.
func TestGarbage(t *testing.T) {
	t.Parallel() // most of it waits for the disk
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger.db")
	h := newHand(t, path)
	h.fill(400)
	must(t, h.db.Close())
	good, err := os.ReadFile(path)
	must(t, err)
	noticed := 0
	for n := range 200 {
		dice := rand.New(rand.NewPCG(uint64(n), 7)) //nolint:gosec // to be repeated
		must(t, os.RemoveAll(path+"-wal"))
		must(t, os.RemoveAll(path+"-shm"))
		must(t, os.WriteFile(path, spoilt(good, dice), 0o600))
		if err := use(t, path, dice, good); err != nil {
			noticed++
			said(t, n, path, err)
		}
	}
	if noticed < 50 {
		t.Errorf("of 200 damaged files only %d were noticed", noticed)
	}
}

// spoilt returns a damaged copy.
func spoilt(good []byte, dice *rand.Rand) []byte {
	bad := bytes.Clone(good)
	for range 1 + dice.IntN(4) {
		from := dice.IntN(len(bad))
		if dice.IntN(3) == 0 {
			from = dice.IntN(pageSize) // the first page is about all others
		}
		to := min(from+1+dice.IntN(1<<dice.IntN(14)), len(bad))
		switch dice.IntN(4) {
		case 0:
			clear(bad[from:to])
		case 1:
			copy(bad[from:to], bad[dice.IntN(len(bad)):])
		case 2:
			for i := from; i < to; i++ {
				bad[i] = byte(dice.Uint32())
			}
		default:
			bad[from] ^= 1 << dice.IntN(8)
		}
	}
	if dice.IntN(8) == 0 {
		bad = bad[:dice.IntN(len(bad))]
	}
	return bad
}

// use does with a ledger what a service does, and damages it once more meanwhile. It
// returns the first error.
func use(t *testing.T, path string, dice *rand.Rand, good []byte) (first error) {
	t.Helper()
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	db, err := sqlite.Open(t.Context(), faultOptions(path))
	if err != nil {
		return err
	}
	defer func() { note(db.Close()) }()
	open, err := db.Open(t.Context(), 10)
	note(err)
	for n := range 6 {
		if n == 3 {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			must(t, err)
			_, err = f.WriteAt(spoilt(good, dice)[:dice.IntN(pageSize*4)], int64(dice.IntN(20)*pageSize))
			must(t, err)
			must(t, f.Close())
		}
		head, err := db.Head(t.Context())
		note(err)
		batch := []ledger.Record{&ledger.Intent{ID: durward.NewCallID(), Tool: "x"}, &ledger.SessionStart{ID: "s"}}
		if len(open) > 0 {
			batch, open = append(batch, &ledger.Outcome{Call: open[0], Status: durward.StatusOK}), open[1:]
		}
		note(db.Write(t.Context(), &ledger.Batch{Records: batch, Link: head.Next(time.Now(), batch)}))
	}
	note(db.Links(t.Context(), 0, func(ledger.Link, []ledger.Record) error { return nil }))
	note(db.Bodies(t.Context(), func(_ ledger.BodyInfo, r io.Reader) error { _, _ = io.Copy(io.Discard, r); return nil }))
	note(db.Prune(t.Context(), 100, func(int64, int64) {}))
	return first
}

func said(t *testing.T, n int, path string, err error) {
	t.Helper()
	switch durward.KindOf(err) {
	case durward.Unavailable, durward.Invalid, durward.Conflict:
	default:
		t.Errorf("file %d: an error of kind %s: %v", n, durward.KindOf(err), err)
	}
	if !strings.Contains(err.Error(), path) {
		t.Errorf("file %d: the error does not say which file: %v", n, err)
	}
}

// What is no ledger of ours, or of a later version, is refused and stays as it is.
func TestForeignFiles(t *testing.T) {
	for name, tt := range map[string]struct {
		make func(t *testing.T, path string)
		kind durward.Kind
		says string
	}{
		"another database": {func(t *testing.T, path string) { script(t, path, "CREATE TABLE t (x)") }, durward.Invalid, "no ledger of Durward"},
		"of another program": {func(t *testing.T, path string) {
			script(t, path, "PRAGMA application_id = 7; CREATE TABLE t (x)")
		}, durward.Invalid, "no ledger of Durward"},
		"a text": {func(t *testing.T, path string) {
			must(t, os.WriteFile(path, []byte(strings.Repeat("this is no database\n", 1000)), 0o600))
		}, durward.Unavailable, "is damaged"},
		"a directory": {func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) }, durward.Denied, "no regular file"},
		"a link": {func(t *testing.T, path string) {
			script(t, path+".real", "CREATE TABLE t (x)")
			must(t, os.Symlink(path+".real", path))
		}, durward.Denied, "no regular file"},
		"readable by others": {func(t *testing.T, path string) {
			must(t, os.WriteFile(path, nil, 0o600))
			must(t, os.Chmod(path, 0o640))
		}, durward.Denied, "chmod 600"},
		"of a newer version": {func(t *testing.T, path string) {
			h := newHand(t, path)
			must(t, h.db.Close())
			script(t, path, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)")
		}, durward.Invalid, "newer Durward"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ledger.db")
			tt.make(t, path)
			before, _ := os.ReadFile(path)
			db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
			if err == nil {
				db.Close()
			}
			if durward.KindOf(err) != tt.kind || err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("%v", err)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				for i := range after {
					if i >= len(before) || before[i] != after[i] {
						t.Errorf("it was changed: %d bytes to %d, first at %d", len(before), len(after), i)
						break
					}
				}
			}
		})
	}
}

// A ledger has one writer; files are for their owner only; an empty file is taken.
func TestOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b #?%20é")
	path := filepath.Join(dir, "ledger ?x=1.db")
	h := newHand(t, path)
	h.fill(3)
	if _, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Busy: time.Millisecond}); durward.KindOf(err) != durward.Conflict || !strings.Contains(err.Error(), "another process") {
		t.Errorf("opened twice: %v", err)
	}
	files, err := os.ReadDir(dir)
	must(t, err)
	if len(files) != 4 { // the file, its log, the log's index, the lock
		t.Errorf("%d files: %v", len(files), files)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode() != 0o600 {
			t.Error(f, info, err)
		}
	}
	h.check()
	must(t, h.db.Close())
	empty := filepath.Join(dir, "empty")
	must(t, os.WriteFile(empty, nil, 0o600))
	newHand(t, empty).fill(3)
	for _, bad := range []sqlite.Options{{}, {Path: path, Sync: "never"}} {
		if _, err := sqlite.Open(t.Context(), bad); durward.KindOf(err) != durward.Invalid {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
