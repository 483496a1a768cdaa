package sqlite_test

import (
	"bytes"
	"crypto/rand"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"durward"
	"durward/internal/store/sqlite"
	"durward/ledger"
)

// What is removed comes back to the file system.
func TestSpaceComesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	h := newHand(t, path)
	for range 40 {
		noise := make([]byte, 100_000)
		rand.Read(noise)
		h.body(noise)
	}
	h.fill(1000)
	must(t, h.db.Prune(t.Context(), h.head.Seq, func(int64, int64) {}))
	info, err := os.Stat(path)
	must(t, err)
	if log, err := os.Stat(path + "-wal"); err != nil || info.Size()+log.Size() > 1<<20 {
		t.Errorf("%d bytes are left of 5 million, and a log of %d", info.Size(), log.Size())
	}
	if size, err := h.db.Size(t.Context()); err != nil || size > 1<<20 {
		t.Errorf("%d, %v", size, err)
	}
}

func (h *hand) body(content []byte) {
	h.t.Helper()
	link := h.head.Next(time.Now(), nil)
	must(h.t, h.db.Write(h.t.Context(), &ledger.Batch{Bodies: []ledger.Body{{Digest: ledger.Digest(content), Original: len(content), Data: content}}, Link: link}))
	h.head = link
}

// Who writes is not held up by what is removed: writes go on between its steps.
func TestWritingGoesOnWhilePruning(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	h := newHand(t, path)
	h.fill(4000)
	upto, steps := h.head.Seq-1, 0 // the last one stays
	stepped, wrote := make(chan struct{}), make(chan struct{})
	var pruning sync.WaitGroup
	pruning.Go(func() {
		defer close(stepped)
		err := h.db.Prune(t.Context(), upto, func(done, of int64) {
			steps++
			stepped <- struct{}{}
			<-wrote
		})
		if err != nil {
			t.Error(err)
		}
	})
	for range stepped {
		h.fill(1) // in the middle of it
		wrote <- struct{}{}
	}
	pruning.Wait()
	if steps < 5 {
		t.Errorf("%d steps", steps)
	}
	left, lost := 0, h.kept
	must(t, h.db.Links(t.Context(), 0, func(l ledger.Link, records []ledger.Record) error {
		left++
		if l.Seq <= upto {
			return fmt.Errorf("link %d is left", l.Seq)
		}
		for _, r := range records {
			if i, ok := r.(*ledger.Intent); ok {
				delete(lost, i.ID)
			}
		}
		return nil
	}))
	if left != steps+1 {
		t.Errorf("%d links are left of %d", left, steps)
	}
	if len(lost) != 3999 {
		t.Errorf("%d calls are gone", len(lost))
	}
}

// What nothing names any more goes with the records, and what is named stays, also
// when it was used long after it was made, and by who was killed before that was
// written down.
func TestNamesArePruned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	h := newHand(t, path)
	call := func(tool string, body ledger.Digest, bodies ...ledger.Body) {
		t.Helper()
		i := &ledger.Intent{ID: durward.NewCallID(), Tool: tool, Body: body, Principal: tool, Rule: tool}
		o := &ledger.Outcome{Call: i.ID, Body: body}
		batch := []ledger.Record{i, o}
		link := h.head.Next(time.Now(), batch)
		must(t, h.db.Write(t.Context(), &ledger.Batch{Records: batch, Bodies: bodies, Link: link}))
		h.head = link
	}
	old := ledger.Body{Digest: ledger.Digest{1}, Data: []byte("x")}
	call("old", old.Digest, old)
	for n := range 6000 { // so that what was used is written down in between
		call(fmt.Sprint("once ", n), ledger.Digest{})
	}
	call("old", old.Digest)
	must(t, h.db.Close())
	var err error
	h.db, err = sqlite.Open(t.Context(), sqlite.Options{Path: path})
	must(t, err)
	h.to = h.db
	call("new", ledger.Digest{})
	must(t, h.db.Prune(t.Context(), h.head.Seq-2, func(int64, int64) {}))
	for range 2 {
		db, err := sql.Open("sqlite", path)
		must(t, err)
		for table, want := range map[string]int{"callers": 2, "targets": 2, "verdicts": 2, "bodies": 1, "body_data": 1, "intents": 2, "outcomes": 2, "chain": 2, "pruned_calls": 0} {
			var n int
			must(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
			if n != want {
				t.Errorf("%d rows in %s, want %d", n, table, want)
			}
		}
		must(t, db.Close())
		must(t, h.db.Prune(t.Context(), h.head.Seq-2, func(int64, int64) {}))
	}
	seen := []string{}
	must(t, h.db.Links(t.Context(), 0, func(_ ledger.Link, records []ledger.Record) error {
		seen = append(seen, records[0].(*ledger.Intent).Tool)
		return nil
	}))
	if fmt.Sprint(seen) != "[old new]" {
		t.Errorf("%v", seen)
	}
	call("old", old.Digest) // a name that was pruned may come again
	call("once 1", ledger.Digest{})
	if seen = nil; h.db.Links(t.Context(), h.head.Seq, func(_ ledger.Link, records []ledger.Record) error {
		seen = append(seen, records[0].(*ledger.Intent).Tool)
		return nil
	}) != nil || fmt.Sprint(seen) != "[once 1]" {
		t.Errorf("%v", seen)
	}
}

// Records are not all that takes long: who prunes is told of names, bodies and pages, too.
func TestPruningTellsOfEachOfItsParts(t *testing.T) {
	h := newHand(t, filepath.Join(t.TempDir(), "ledger.db"))
	const calls = 1200
	for n := range calls {
		body := ledger.Body{Digest: ledger.Digest{1, byte(n), byte(n >> 8)}, Data: bytes.Repeat([]byte{byte(n)}, 5000)}
		i := &ledger.Intent{ID: durward.NewCallID(), Principal: fmt.Sprint(n), Body: body.Digest}
		batch := []ledger.Record{i, &ledger.Outcome{Call: i.ID}}
		link := h.head.Next(time.Now(), batch)
		must(t, h.db.Write(t.Context(), &ledger.Batch{Records: batch, Bodies: []ledger.Body{body}, Link: link}))
		h.head = link
	}
	type part struct {
		of    int64
		steps int
	}
	var parts []part
	last, of := int64(0), int64(0)
	must(t, h.db.Prune(t.Context(), calls-1, func(done, all int64) {
		if len(parts) == 0 || last == of {
			parts, last, of = append(parts, part{of: all}), 0, all
		}
		if done < last || done > all || all != of {
			t.Errorf("%d of %d after %d of %d", done, all, last, of)
		}
		last = done
		parts[len(parts)-1].steps++
	}))
	if len(parts) != 4 || last != of {
		t.Fatalf("%v, and %d of %d in the end", parts, last, of)
	}
	for n, of := range []int64{2 * (calls - 1), calls + 2, calls} { // of names and bodies all are looked at
		if parts[n].of != of || parts[n].steps < 2 {
			t.Errorf("part %d: %v, want it of %d", n, parts[n], of)
		}
	}
	if pages := parts[3]; pages.of < calls || pages.steps < 4 {
		t.Errorf("%v", pages)
	}
}

// The settings that a file is given when it is made stay with it.
func TestSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	h := newHand(t, path)
	h.fill(3)
	h.check()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer db.Close()
	for pragma, want := range map[string]string{"auto_vacuum": "2", "journal_mode": "wal", "page_size": "4096", "application_id": "1146246980", "integrity_check": "ok"} {
		var got string
		must(t, db.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got))
		if got != want {
			t.Errorf("%s is %s, want %s", pragma, got, want)
		}
	}
}

// Names that are used while others are pruned stay.
func TestNamesAreUsedWhilePruning(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	h := newHand(t, path)
	h.fill(10)
	stop := make(chan struct{})
	var pruning sync.WaitGroup
	head := make(chan uint64, 1)
	pruning.Go(func() {
		for seq := range head {
			if err := h.db.Prune(t.Context(), seq, func(int64, int64) {}); err != nil {
				t.Error(err)
			}
		}
		close(stop)
	})
	for n := range 1500 {
		i := &ledger.Intent{ID: durward.NewCallID(), Tool: fmt.Sprint(n % 7 * (n % 300)), Principal: fmt.Sprint(n % 40), Rule: fmt.Sprint(n % 90)}
		batch := []ledger.Record{i, &ledger.Outcome{Call: i.ID}}
		link := h.head.Next(time.Now(), batch)
		must(t, h.db.Write(t.Context(), &ledger.Batch{Records: batch, Link: link}))
		h.head = link
		if n > 100 {
			select {
			case head <- link.Seq - 50:
			default:
			}
		}
	}
	head <- h.head.Seq - 50 // however far it came meanwhile
	close(head)
	<-stop
	pruning.Wait()
	var before *ledger.Link
	links := 0
	must(t, h.db.Links(t.Context(), 0, func(l ledger.Link, records []ledger.Record) error {
		if before != nil && l != before.Next(l.At, records) {
			return fmt.Errorf("link %d is not what its records say: %v", l.Seq, records[0])
		}
		before = &l
		links++
		return nil
	}))
	if links < 50 || links > 100 {
		t.Errorf("%d links are left", links)
	}
}
