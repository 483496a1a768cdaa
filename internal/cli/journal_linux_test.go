package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/internal/cli"
	"durward/internal/store/journal"
	"durward/internal/store/sqlite"
	"durward/internal/testkit/unprivileged"
	"durward/ledger"
)

// stubborn is a database that takes nothing: what is written stays in the journal, as if
// the process had been killed before the database was given it. That is not known before
// over is closed: until then the journal accepts what is written.
type stubborn struct {
	*sqlite.DB
	over chan struct{}
}

func (s stubborn) WriteAll(context.Context, []*ledger.Batch) error {
	<-s.over
	return durward.Errorf(durward.Unavailable, "ledger", "it takes nothing")
}

// killedLedger makes a directory as a service that was killed leaves it: with some calls
// in the database, and some in the journal.
func killedLedger(t *testing.T, dir string, taken, waiting int) string {
	t.Helper()
	path := filepath.Join(dir, "ledger.db")
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	head, err := db.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	write := func(to ledger.Store, n int) {
		for range n {
			i := &ledger.Intent{ID: durward.NewCallID(), At: time.Now().UTC().Truncate(time.Microsecond), Method: "tools/call", Tool: fmt.Sprint("tool", head.Seq)}
			records := []ledger.Record{i, &ledger.Outcome{Call: i.ID, Status: durward.StatusOK}}
			next := head.Next(time.Now(), records)
			if err := to.Write(t.Context(), &ledger.Batch{Records: records, Link: next}); err != nil {
				t.Fatal(err)
			}
			head = next
		}
	}
	write(db, taken)
	over := make(chan struct{})
	j, err := journal.Open(t.Context(), journal.Options{Store: stubborn{db, over}, Path: path})
	if err != nil {
		t.Fatal(err)
	}
	write(j, waiting)
	close(over)
	if err := j.Close(); err == nil {
		t.Fatal("the database took it")
	}
	return path
}

func durwardSays(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = cli.Main(args, cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return status, stdout.String(), stderr.String()
}

// journals are what is left of a journal.
func journals(t *testing.T, path string) []string {
	t.Helper()
	left, err := filepath.Glob(path + ".journal*")
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// What a service that was killed left in its journal is read like all else.
func TestWhatWaitsInTheJournalIsRead(t *testing.T) {
	for name, read := range map[string]func(path string) []string{
		"export": func(path string) []string { return []string{"ledger", "export", "--file", path} },
		"verify": func(path string) []string { return []string{"ledger", "verify", "--file", path} },
	} {
		t.Run(name, func(t *testing.T) {
			ownPaths(t)
			origin := killedLedger(t, t.TempDir(), 5, 7)
			dir := t.TempDir() // a copy
			for _, file := range append(journals(t, origin), origin) {
				content, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			path := filepath.Join(dir, "ledger.db")
			if len(journals(t, path)) == 0 {
				t.Fatal("nothing waits")
			}
			for range 2 { // also when it is read again
				status, out, errs := durwardSays(t, read(path)...)
				if name == "verify" {
					if !strings.Contains(out+errs, "12") || strings.Contains(out, "of 5") {
						t.Errorf("%d: %s%s", status, out, errs)
					}
				} else if status != 0 || !strings.Contains(out, "tool0") || !strings.Contains(out, "tool4") || !strings.Contains(out, "tool5") || !strings.Contains(out, "tool11") {
					t.Errorf("%d: %s%s", status, out, errs)
				}
				if left := journals(t, path); len(left) > 0 {
					t.Error("it was taken, and is there: ", left)
				}
			}
		})
	}
}

// Where nothing may be written what waits cannot be taken; that is said, with what to do.
func TestJournalOfACopyThatIsReadOnly(t *testing.T) {
	ownPaths(t)
	dir := filepath.Join(t.TempDir(), "d")
	path := killedLedger(t, dir, 5, 7)
	unprivileged.Run(t, func() {
		setMode(t, dir, 0o500)
		status, out, errs := durwardSays(t, "ledger", "export", "--file", path)
		if status == 0 || out != "" || !strings.Contains(errs, "hint") || !strings.Contains(errs, "journal") {
			t.Errorf("%d: %s%s", status, out, errs)
		}
		setMode(t, dir, 0o700)
		if status, out, errs := durwardSays(t, "ledger", "export", "--file", path); status != 0 || !strings.Contains(out, "tool11") {
			t.Errorf("%d: %s%s", status, out, errs)
		}
	})
}

func setMode(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// A journal that belongs to another database is left as it is by who only reads.
func TestJournalOfAnotherLedger(t *testing.T) {
	ownPaths(t)
	path := killedLedger(t, t.TempDir(), 5, 7)
	other := killedLedger(t, t.TempDir(), 3, 1)
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	before := journals(t, path)
	status, out, errs := durwardSays(t, "ledger", "export", "--file", path)
	if status == 0 || out != "" || !strings.Contains(errs, "move it away") || !strings.Contains(errs, "hint") {
		t.Errorf("%d: %s%s", status, out, errs)
	}
	if after := journals(t, path); strings.Join(after, " ") != strings.Join(before, " ") {
		t.Errorf("%v instead of %v", after, before)
	}
	for _, file := range before {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	if status, out, errs := durwardSays(t, "ledger", "export", "--file", path); status != 0 || !strings.Contains(out, "tool2") || strings.Contains(out, "tool3") {
		t.Errorf("%d: %s%s", status, out, errs)
	}
}

// A ledger that is in use is read as far as it has taken what waits.
func TestJournalOfALedgerInUse(t *testing.T) {
	ownPaths(t)
	path := killedLedger(t, t.TempDir(), 5, 7)
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if status, out, errs := durwardSays(t, "ledger", "export", "--file", path); status != 0 || !strings.Contains(out, "tool4") || strings.Contains(out, "tool5") {
		t.Errorf("%d: %s%s", status, out, errs)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if status, out, errs := durwardSays(t, "ledger", "export", "--file", path); status != 0 || !strings.Contains(out, "tool11") {
		t.Errorf("%d: %s%s", status, out, errs)
	}
}
