package journal_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"durward/internal/store/journal"
	"durward/internal/store/sqlite"
	"durward/internal/store/storetest"
	"durward/internal/testkit/leftover"
	"durward/ledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leftover.Awaited(m)) }

// both is a database with a journal, as the service uses them: who reads waits until the
// database has what was written.
type both struct {
	*journal.Journal
	db *sqlite.DB
}

var _ storetest.Late = both{}

func (both) Late() {}

func (b both) Path() string { return b.db.Path() }

func (b both) Links(ctx context.Context, from uint64, f func(ledger.Link, []ledger.Record) error) error {
	return b.after(ctx, func() error { return b.db.Links(ctx, from, f) })
}

func (b both) Bodies(ctx context.Context, f func(ledger.BodyInfo, io.Reader) error) error {
	return b.after(ctx, func() error { return b.db.Bodies(ctx, f) })
}

func (b both) Prune(ctx context.Context, seq uint64, progress func(done, of int64)) error {
	return b.after(ctx, func() error { return b.db.Prune(ctx, seq, progress) })
}

func (b both) PruneBodies(ctx context.Context, seq uint64, progress func(done, of int64)) error {
	return b.after(ctx, func() error { return b.db.PruneBodies(ctx, seq, progress) })
}

func (b both) Backup(ctx context.Context, path string, progress func(done, of int64)) error {
	return b.after(ctx, func() error { return b.db.Backup(ctx, path, progress) })
}

func (b both) Size(ctx context.Context) (n int64, err error) {
	err = b.after(ctx, func() error { n, err = b.db.Size(ctx); return err })
	return n, err
}

// after flushes, unless ctx has ended: that is for the database to find out.
func (b both) after(ctx context.Context, f func() error) error {
	if err := b.Flush(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	return f()
}

func openBoth(t testing.TB, dir string, opt journal.Options) both {
	t.Helper()
	path := filepath.Join(dir, "ledger.db")
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	opt.Store, opt.Path = db, path
	j, err := journal.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(errors.Join(err, db.Close()))
	}
	return both{j, db}
}

// A database with a journal is a store like any other.
func TestStore(t *testing.T) {
	storetest.Run(t, func(t testing.TB, dir string) storetest.Store { return openBoth(t, dir, journal.Options{}) })
}

func must(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// files returns the names of what is beside a path with the prefix of the journal.
func files(t tester, path string) (all []string) {
	t.Helper()
	all, err := filepath.Glob(path + ".journal*")
	must(t, err)
	return all
}

func size(t tester, path string) int64 {
	t.Helper()
	info, err := os.Lstat(path)
	must(t, err)
	return info.Size()
}
