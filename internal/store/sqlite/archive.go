package sqlite

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"durward"
	"durward/ledger"
)

// A Reader is all that verifying, exporting and copying a file takes, whether a
// service runs on it or not.
var _ ledger.Auditor = (*Reader)(nil)

// Links implements [ledger.Auditor], like [DB.Links].
func (r *Reader) Links(ctx context.Context, from uint64, f func(ledger.Link, []ledger.Record) error) error {
	return r.alone(ctx, func(c *conn) error { return links(ctx, c, r.path, from, f) })
}

// Bodies implements [ledger.Auditor], like [DB.Bodies].
func (r *Reader) Bodies(ctx context.Context, f func(ledger.BodyInfo, io.Reader) error) error {
	return r.alone(ctx, func(c *conn) error { return eachBody(ctx, c, r.path, f) })
}

// alone calls f with a connection of its own: it may take long, and questions are
// not to wait for it.
func (r *Reader) alone(ctx context.Context, f func(*conn) error) error {
	c, err := dialReader(ctx, r.path)
	if err != nil {
		return r.explain(ctx, err)
	}
	defer func() { _ = c.close() }() // it only read
	return f(c)
}

// Backup writes a copy of the ledger to a new file, like [DB.Backup].
func (r *Reader) Backup(ctx context.Context, path string, progress func(done, of int64)) error {
	db := DB{opt: Options{Path: r.path, Busy: readBusy}} // nothing else of it is used
	return db.Backup(ctx, path, progress)
}

// Head returns the last link; the zero Link when there is none.
func (r *Reader) Head(ctx context.Context) (head ledger.Link, err error) {
	err = r.view(ctx, func(v *view) error {
		return v.each("SELECT seq, at, records, digest, hash, first FROM chain ORDER BY seq DESC LIMIT 1", func(row []value) (err error) {
			head, _, err = scanLink(row)
			return err
		})
	})
	return head, err
}

// Size returns how many bytes the files of the ledger have, free pages included.
func (r *Reader) Size(context.Context) (size int64, err error) {
	for _, suffix := range [...]string{"", walSuffix, shmSuffix} {
		switch info, err := os.Lstat(r.path + suffix); {
		case err == nil:
			size += info.Size()
		case suffix == "" || !errors.Is(err, fs.ErrNotExist):
			return 0, durward.Errorf(durward.Unavailable, "ledger", "the size of the ledger cannot be told: %w", err)
		}
	}
	return size, nil
}
