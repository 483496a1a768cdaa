package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"

	"durward"
)

// backupPages are copied at a time: a megabyte.
const backupPages = 256

// Backup writes a copy of the ledger, as it is at one moment, to a new file, which
// only its owner may read. Who writes goes on meanwhile; the write-ahead log grows
// until the copy is complete. progress counts pages. When it fails or ctx ends, what
// was written of the copy is removed. A file that is there is not touched: Conflict.
func (d *DB) Backup(ctx context.Context, path string, progress func(done, of int64)) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = f.Close()
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return durward.Errorf(durward.Conflict, "ledger", "the backup would replace what is there: %w", err)
	case err != nil:
		return durward.Errorf(durward.Unavailable, "ledger", "the backup cannot be made: %w", err)
	}
	if err := d.copyTo(ctx, path, progress); err != nil {
		for _, suffix := range [...]string{"", walSuffix, shmSuffix, "-journal"} {
			if gone := os.Remove(path + suffix); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
				err = errors.Join(err, gone)
			}
		}
		return err
	}
	return nil
}

// backuper is what the driver's connections have for backups.
type backuper interface {
	NewBackup(to string) (*sqlite.Backup, error)
}

func (d *DB) copyTo(ctx context.Context, path string, progress func(done, of int64)) (err error) {
	c, err := connect(d.opt.Path, readOnly(d.opt.Busy))
	if err != nil {
		return d.explain(err)
	}
	defer func() { _ = c.close() }() // it only read
	// The transaction holds one state of the file, else each write would begin the
	// copy anew.
	if _, err := c.exec("BEGIN"); err != nil {
		return d.explain(err)
	}
	if _, _, err := c.number("SELECT count(*) FROM chain WHERE seq = 1"); err != nil {
		return d.explain(err)
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return durward.Errorf(durward.Invalid, "ledger", "%w", err)
	}
	// The file is nothing until it is complete, and written to disk then.
	b, err := c.driver.(backuper).NewBackup(dsn(path, url.Values{"mode": {"rw"}, "_error_rc": {"1"}, "_pragma": {"journal_mode(off)", "synchronous(off)"}}))
	if err != nil {
		return explain(path, err)
	}
	err = steps(ctx, b, progress)
	if ending := b.Finish(); err == nil {
		err = ending
	}
	if err != nil {
		return explain(path, err)
	}
	return persist(path)
}

func steps(ctx context.Context, b *sqlite.Backup, progress func(done, of int64)) error {
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if more, err = b.Step(backupPages); err != nil {
			return err
		}
		progress(int64(b.PageCount()-b.Remaining()), int64(b.PageCount()))
	}
	return nil
}

// persist has a new file written to disk, with its name.
func persist(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return durward.Errorf(durward.Unavailable, "ledger", "the backup cannot be written to disk: %w", err)
	}
	return nil
}
