package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/internal/store/journal"
	"durward/internal/store/sqlite"
	"durward/ledger"
)

// hand writes to a store, and keeps in mind what the store said it has.
type hand struct {
	t    *testing.T
	open openWith
	db   *sqlite.DB
	to   ledger.Store // db, or what is before it
	head ledger.Link
	kept map[durward.CallID]bool
	last *ledger.Intent
}

// faultOptions are those for a store with troubles: it waits for locks only a moment,
// and keeps few pages in memory.
func faultOptions(path string) sqlite.Options {
	return sqlite.WithCache(sqlite.Options{Path: path, Busy: 100 * time.Millisecond}, 40)
}

// openWith opens a database, and what its records are written to.
type openWith func(ctx context.Context, path string) (*sqlite.DB, ledger.Store, error)

// alone is a database by itself.
func alone(ctx context.Context, path string) (*sqlite.DB, ledger.Store, error) {
	db, err := sqlite.Open(ctx, faultOptions(path))
	return db, db, err
}

// withJournal is a database with a journal before it, as the service uses it: records are
// accepted before it is known whether the database takes them, for as long as it waits
// for a lock.
func withJournal(ctx context.Context, path string) (*sqlite.DB, ledger.Store, error) {
	db, err := sqlite.Open(ctx, faultOptions(path))
	if err != nil {
		return nil, nil, err
	}
	j, err := journal.Open(ctx, journal.Options{Store: db, Path: path})
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, j, nil
}

func newHand(t *testing.T, path string) *hand {
	t.Helper()
	return newHandWith(t, path, alone)
}

func newHandWith(t *testing.T, path string, open openWith) *hand {
	t.Helper()
	db, to, err := open(t.Context(), path)
	must(t, err)
	h := &hand{t: t, open: open, db: db, to: to, kept: map[durward.CallID]bool{}}
	t.Cleanup(func() { _ = h.to.Close() })
	return h
}

// try writes a call, and the outcome of the one before.
func (h *hand) try() error {
	i := &ledger.Intent{ID: durward.NewCallID(), At: time.Now(), Principal: "local", Server: "files", Method: "tools/call", Tool: "read", Preview: strings.Repeat("x", 700)}
	batch := []ledger.Record{i, &ledger.Note{At: time.Now(), What: "n"}}
	if h.last != nil {
		batch = append(batch, &ledger.Outcome{Call: h.last.ID, Status: durward.StatusOK, Preview: strings.Repeat("y", 300)})
	}
	link := h.head.Next(time.Now(), batch)
	if err := h.to.Write(context.Background(), &ledger.Batch{Records: batch, Link: link}); err != nil {
		return err
	}
	h.head, h.last = link, i
	h.kept[i.ID] = true
	return nil
}

func (h *hand) fill(n int) {
	h.t.Helper()
	for range n {
		must(h.t, h.try())
	}
}

// check opens the store again and looks whether exactly what was said is there.
func (h *hand) check() {
	h.t.Helper()
	must(h.t, h.to.Close())
	db, to, err := h.open(h.t.Context(), h.db.Path())
	must(h.t, err)
	h.db, h.to = db, to
	found := map[durward.CallID]bool{}
	if j, ok := to.(*journal.Journal); ok && len(j.Aside()) > 0 {
		h.t.Fatalf("%v are kept aside", j.Aside())
	}
	last := readChain(h.t, db, func(r ledger.Record) {
		if i, ok := r.(*ledger.Intent); ok {
			found[i.ID] = true
		}
	})
	if last != h.head {
		h.t.Fatalf("the last link is %d, want %d", last.Seq, h.head.Seq)
	}
	for id := range h.kept {
		if !found[id] {
			h.t.Fatalf("call %s was committed and is not there", id)
		}
	}
	if len(found) != len(h.kept) {
		h.t.Fatalf("%d calls are there, %d were committed", len(found), len(h.kept))
	}
}

// readChain reads everything and checks the chain.
func readChain(t *testing.T, db *sqlite.DB, f func(ledger.Record)) (last ledger.Link) {
	t.Helper()
	must(t, db.Links(t.Context(), 0, func(l ledger.Link, records []ledger.Record) error {
		if want := last.Next(l.At, records); l != want {
			return fmt.Errorf("link %d is not what its records say", l.Seq)
		}
		last = l
		for _, r := range records {
			f(r)
		}
		return nil
	}))
	return last
}

// seen looks whether a reader sees what was written last.
func (h *hand) seen(r *sqlite.Reader) {
	h.t.Helper()
	if j, ok := h.to.(*journal.Journal); ok {
		must(h.t, j.Flush(h.t.Context()))
	}
	if head, err := r.Head(h.t.Context()); err != nil || head != h.head {
		h.t.Fatalf("a reader sees link %d, %v; want %d", head.Seq, err, h.head.Seq)
	}
}

// snapshot has somebody read the ledger as it is now, until end is called.
func (h *hand) snapshot() (end func()) {
	h.t.Helper()
	db, err := sql.Open("sqlite", h.db.Path())
	must(h.t, err)
	tx, err := db.BeginTx(h.t.Context(), nil)
	must(h.t, err)
	var n int
	must(h.t, tx.QueryRowContext(h.t.Context(), "SELECT count(*) FROM chain").Scan(&n))
	return func() { must(h.t, errors.Join(tx.Rollback(), db.Close())) }
}
