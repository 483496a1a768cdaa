package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/internal/store/journal"
	"durward/ledger"
)

// fault is something that goes wrong with the files of a ledger that is in use.
type fault struct {
	name string
	// begin makes it go wrong, and returns what makes it good again.
	begin func(t *testing.T, path string) (end func())
	says  []string // what the error says; nothing: there is none, and nothing is lost
	// elsewhere is where the ledger has to be for it; empty: anywhere.
	elsewhere func(t *testing.T) string
}

// faults are those of every Unix. Linux has some more.
func faults() []fault {
	return append([]fault{
		{name: "locked by another process", begin: lockedElsewhere, says: []string{"locked by another process", "fuser"}},
		{name: "removed", begin: removed, says: []string{"was removed", "put that file back"}},
		{name: "replaced", begin: replaced, says: []string{"was replaced", "put the first one back"}},
		{name: "replaced by a link", begin: linked, says: []string{"was replaced", "put the first one back"}},
		{name: "damaged", begin: damaged, says: []string{"is damaged", "restore a backup"}},
		{name: "damaged, and its log removed", begin: damagedWithoutLog, says: []string{"is damaged", "restore a backup"}},
		{name: "log removed", begin: logRemoved},
		{name: "log index removed", begin: logIndexRemoved},
	}, moreFaults()...)
}

func lockedElsewhere(t *testing.T, path string) func() {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), otherProcess+"=lock "+path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	said := make([]byte, len("locked"))
	if _, err := io.ReadFull(out, said); err != nil || string(said) != "locked" {
		t.Fatalf("%q, %v", said, err)
	}
	return func() {
		must(t, in.Close())
		must(t, cmd.Wait())
	}
}

// holdLock takes the lock for writing until its input ends.
func holdLock(path string) error {
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(60000)&_txlock=immediate")
	if err != nil {
		return err
	}
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	fmt.Print("locked")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return errors.Join(tx.Rollback(), db.Close())
}

func removed(t *testing.T, path string) func() {
	t.Helper()
	must(t, os.Link(path, path+".kept"))
	must(t, os.Remove(path))
	return func() { must(t, os.Rename(path+".kept", path)) }
}

func replaced(t *testing.T, path string) func() {
	t.Helper()
	must(t, os.Rename(path, path+".kept"))
	content, err := os.ReadFile(path + ".kept")
	must(t, err)
	must(t, os.WriteFile(path, content, 0o600))
	return func() { must(t, os.Rename(path+".kept", path)) }
}

func linked(t *testing.T, path string) func() {
	t.Helper()
	must(t, os.Rename(path, path+".kept"))
	must(t, os.Symlink(path+".kept", path))
	return func() { must(t, os.Rename(path+".kept", path)) }
}

const pageSize = 4096

// damaged writes garbage over all of the file but its first page, and sees to it that
// it is read: nothing is in the log at that moment, and what the writer knows of the
// pages counts for nothing, because somebody else has written.
func damaged(t *testing.T, path string) func() {
	t.Helper()
	other, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(60000)")
	must(t, err)
	defer other.Close()
	other.SetMaxOpenConns(1)
	run := func(query string) {
		_, err := other.ExecContext(t.Context(), query)
		must(t, err)
	}
	for {
		run("PRAGMA wal_checkpoint(TRUNCATE)")
		run("BEGIN IMMEDIATE")
		if log, err := os.Stat(path + "-wal"); err == nil && log.Size() == 0 {
			break
		}
		run("ROLLBACK")
	}
	good, err := os.ReadFile(path)
	must(t, err)
	garbage := bytes.Repeat([]byte{0xa5, 0x5a, 0xff, 0x00, 0x13, 0x80, 0x81, 0x7f}, pageSize/8)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	for at := pageSize; at < len(good); at += pageSize {
		_, err := f.WriteAt(garbage, int64(at))
		must(t, err)
	}
	run("PRAGMA user_version = 1")
	run("COMMIT")
	return func() {
		defer f.Close()
		page := make([]byte, pageSize)
		for at := pageSize; at < len(good); at += pageSize {
			_, err := f.ReadAt(page, int64(at))
			must(t, err)
			if bytes.Equal(page, garbage) { // else it was written anew, from the log
				_, err := f.WriteAt(good[at:at+pageSize], int64(at))
				must(t, err)
			}
		}
	}
}

// damagedWithoutLog is damaged where somebody removes the log before the file is put
// right.
func damagedWithoutLog(t *testing.T, path string) func() {
	t.Helper()
	end := damaged(t, path)
	return func() {
		for _, suffix := range []string{"-wal", "-shm"} {
			if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
		end()
	}
}

func logRemoved(t *testing.T, path string) func() {
	t.Helper()
	must(t, os.Remove(path+"-wal"))
	return func() {}
}

func logIndexRemoved(t *testing.T, path string) func() {
	t.Helper()
	must(t, os.Remove(path+"-shm"))
	return func() {}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place is where the ledger of a test is.
func (f *fault) place(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if f.elsewhere != nil {
		dir = f.elsewhere(t)
	}
	return filepath.Join(dir, "ledger.db")
}

// run runs a test for each fault.
func eachFault(t *testing.T, test func(t *testing.T, f *fault, path string, open openWith)) {
	for name, open := range map[string]openWith{"alone": alone, "with a journal": withJournal} {
		t.Run(name, func(t *testing.T) {
			for _, f := range faults() {
				t.Run(f.name, func(t *testing.T) {
					if f.elsewhere != nil && !apart(t) {
						return
					}
					test(t, &f, f.place(t), open)
				})
			}
		})
	}
}

// While there is a fault each write says what it is and what to do, nothing is written,
// and afterwards everything goes on by itself.
func TestFaults(t *testing.T) {
	eachFault(t, func(t *testing.T, f *fault, path string, open openWith) {
		h := newHandWith(t, path, open)
		h.fill(100)
		r, err := h.db.OpenReader(t.Context()) // whose connections stay open
		must(t, err)
		defer r.Close()
		for range 2 { // it goes on as before, so it can happen again
			h.seen(r)
			end := f.begin(t, path)
			if len(f.says) == 0 {
				h.fill(20)
				end()
				h.fill(20)
				if j, ok := h.to.(*journal.Journal); ok { // there is a log again once the database was written
					must(t, j.Flush(t.Context()))
				}
				continue
			}
			h.refused(f, path)
			end()
			h.fill(20)
		}
		h.seen(r)
		must(t, r.Close())
		h.check()
		h.fill(5)
	})
}

// refused writes until it is refused, and then some more.
func (h *hand) refused(f *fault, path string) {
	h.t.Helper()
	var err error
	for n := 0; err == nil; n++ {
		if n > 100_000 {
			h.t.Fatal("writes do not fail")
		}
		err = h.try()
	}
	for range 5 {
		if durward.KindOf(err) != durward.Unavailable || !strings.Contains(err.Error(), path) {
			h.t.Fatalf("%v", err)
		}
		for _, s := range f.says {
			if !strings.Contains(err.Error(), s) {
				h.t.Fatalf("%q does not say %q", err, s)
			}
		}
		if err = h.try(); err == nil {
			h.t.Fatal("it was written in spite of it")
		}
	}
}

// The same with a ledger and many callers: no call passes unrecorded, none that was
// refused is left open, and memory stays bounded.
func TestFaultsUnderManyCallers(t *testing.T) {
	eachFault(t, func(t *testing.T, f *fault, path string, open openWith) {
		_, to, err := open(t.Context(), path)
		must(t, err)
		var log bytes.Buffer
		l, err := ledger.Open(t.Context(), ledger.Options{Store: to, Wait: time.Second, Log: slog.New(slog.NewTextHandler(&log, nil))})
		must(t, err)
		c := newCrowd(l)
		c.until(t, func() bool { return c.passed.Load() > 2000 })
		passed, before := c.passed.Load(), heap()
		end := f.begin(t, path)
		if len(f.says) > 0 {
			c.until(t, func() bool {
				_, err := l.State()
				return c.refused.Load() > 5000 && err != nil && strings.Contains(err.Error(), f.says[0])
			})
			own := (c.passed.Load() - passed) * 256 // what the crowd keeps of calls that passed before the fault was there
			if grown := heap() - before - own; grown > 64<<20 {
				t.Errorf("memory grew by %d bytes", grown)
			}
		}
		end()
		more := c.passed.Load() + 2000
		c.until(t, func() bool { return c.passed.Load() > more })
		c.stop()
		must(t, l.Close())
		c.check(t, path)
		failed := false
		for line := range strings.Lines(log.String()) {
			switch {
			case strings.Contains(line, "can be written again"):
				failed = false
			case strings.Contains(line, "level=ERROR") && failed:
				t.Errorf("one fault, several errors in the log:\n%s", log.String())
			case strings.Contains(line, "level=ERROR"):
				failed = true
			}
		}
	})
}

// script runs statements on a database.
func script(t *testing.T, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), text)
	must(t, err)
	must(t, os.Chmod(path, 0o600))
}
