package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/internal/store/journal"
	"durward/internal/store/sqlite"
	"durward/ledger"
)

// kills is how often a writer is killed.
const kills = 60

// smallSegments opens a database whose index has many segments.
func smallSegments(ctx context.Context, path string) (*sqlite.DB, ledger.Store, error) {
	db, err := sqlite.Open(ctx, sqlite.WithSegments(sqlite.Options{Path: path}, 200, 50, 20))
	return db, db, err
}

// smallWithJournal is smallSegments with a journal before it.
func smallWithJournal(ctx context.Context, path string) (*sqlite.DB, ledger.Store, error) {
	db, _, err := smallSegments(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	j, err := journal.Open(ctx, journal.Options{Store: db, Path: path})
	if err == nil && len(j.Aside()) > 0 {
		err = fmt.Errorf("%v are kept aside", j.Aside())
	}
	return db, j, err
}

func writeAloneUntilKilled(path string) error { return writeUntilKilled(path, smallSegments) }

func writeJournalUntilKilled(path string) error { return writeUntilKilled(path, smallWithJournal) }

// writeUntilKilled writes batches without an end, and says after each what the store
// has now.
func writeUntilKilled(path string, with openWith) error {
	ctx := context.Background()
	db, to, err := with(ctx, path)
	if err != nil {
		return err
	}
	head, err := to.Head(ctx)
	if err != nil {
		return err
	}
	open, err := to.Open(ctx, 1<<20)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	for {
		var batch []ledger.Record
		said := strings.Builder{}
		for range rand.IntN(20) {
			if len(open) > 0 && rand.IntN(2) == 0 {
				n := rand.IntN(len(open))
				batch = append(batch, &ledger.Outcome{Call: open[n], Status: durward.StatusOK, Preview: strings.Repeat("y", rand.IntN(500))})
				fmt.Fprintf(&said, " -%s", open[n])
				open = append(open[:n], open[n+1:]...)
				continue
			}
			i := &ledger.Intent{ID: durward.NewCallID(), Tool: fmt.Sprint(rand.IntN(30)), Preview: strings.Repeat("x", rand.IntN(1000))}
			batch = append(batch, i, &ledger.Note{What: "n"})
			fmt.Fprintf(&said, " +%s", i.ID)
			open = append(open, i.ID)
		}
		link := head.Next(time.Now(), batch)
		if err := to.Write(ctx, &ledger.Batch{Records: batch, Link: link}); err != nil {
			return err
		}
		head = link
		fmt.Fprintf(out, "%d%s\n", link.Seq, said.String())
		if err := out.Flush(); err != nil {
			return err
		}
		if link.Seq%100 == 0 && rand.IntN(3) == 0 {
			if err := db.Prune(ctx, link.Seq-80, func(int64, int64) {}); err != nil {
				return err
			}
		}
	}
}

// Whenever a writer is killed, everything it was told to be committed is there, the
// chain holds, and the calls that it left open are known.
func TestKilledWriters(t *testing.T) {
	t.Run("alone", func(t *testing.T) { killWriters(t, "write", smallSegments, kills) })
	t.Run("with a journal", func(t *testing.T) { killWriters(t, "write-journal", smallWithJournal, kills/4) }) // it writes more
}

func killWriters(t *testing.T, process string, with openWith, kills int) {
	t.Helper()
	t.Parallel() // most of it waits for the disk
	path := filepath.Join(t.TempDir(), "ledger.db")
	open := map[string]bool{} // calls without outcome, as far as was said
	last := uint64(0)
	for n := range kills {
		for _, line := range killed(t, process+" "+path, time.Duration(rand.IntN(60))*time.Millisecond) {
			fields := strings.Fields(line)
			if _, err := fmt.Sscan(fields[0], &last); err != nil {
				t.Fatal(err)
			}
			for _, f := range fields[1:] {
				if open[f[1:]] = f[0] == '+'; f[0] == '-' {
					delete(open, f[1:])
				}
			}
		}
		open, last = checkKilled(t, path, with, n, open, last)
	}
	if last < uint64(kills) {
		t.Errorf("only %d links were written", last)
	}
}

// killed runs a writer, kills it some time after its first word, and returns what it
// said.
func killed(t *testing.T, process string, after time.Duration) (lines []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), otherProcess+"="+process)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	in := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) { // half a line says nothing
			break
		}
		must(t, err)
		if lines = append(lines, line); len(lines) == 1 {
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Fatalf("the writer was not killed: %v", err)
	}
	return lines
}

func checkKilled(t *testing.T, path string, with openWith, n int, open map[string]bool, last uint64) (map[string]bool, uint64) {
	t.Helper()
	db, to, err := with(t.Context(), path)
	must(t, err)
	defer to.Close()
	head, err := db.Head(t.Context())
	must(t, err)
	if head.Seq < last || head.Seq > last+1 { // one may have been committed and not been said
		t.Fatalf("kill %d: the head is %d, and %d was said to be committed", n, head.Seq, last)
	}
	var before *ledger.Link
	intents, unended, unsaid := map[string]bool{}, map[string]bool{}, map[string]int{}
	must(t, db.Links(t.Context(), 0, func(l ledger.Link, records []ledger.Record) error {
		if before != nil && l != before.Next(l.At, records) {
			return fmt.Errorf("link %d does not hold", l.Seq)
		}
		before = &l
		for _, r := range records {
			switch r := r.(type) {
			case *ledger.Intent:
				intents[string(r.ID)], unended[string(r.ID)] = true, true
				if l.Seq > last {
					unsaid[string(r.ID)] = 1
				}
			case *ledger.Outcome:
				delete(unended, string(r.Call))
				if l.Seq > last {
					unsaid[string(r.Call)] = -1
				}
			}
		}
		return nil
	}))
	for id, what := range unsaid {
		if open[id] = true; what < 0 {
			delete(open, id)
		}
	}
	left, err := db.Open(t.Context(), 1<<20)
	must(t, err)
	if len(left) != len(open) {
		t.Fatalf("kill %d: %d calls are open, want %d", n, len(left), len(open))
	}
	for _, id := range left {
		if !open[string(id)] || intents[string(id)] != unended[string(id)] {
			t.Fatalf("kill %d: call %s is open, and should not be", n, id)
		}
	}
	return open, head.Seq
}
