package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"durward"
)

// Sync returns when everything that was committed outlasts a loss of power, whatever
// Options.Sync is: what is signed must not be lost. It may be called after Close.
func (d *DB) Sync(context.Context) error {
	if err := d.named(); err != nil {
		return err
	}
	// Commits are in the write-ahead log until SQLite copies them to the file, which it
	// does with syncs of its own.
	f, err := os.OpenFile(d.opt.Path+walSuffix, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = os.OpenFile(d.opt.Path, os.O_RDWR, 0)
	}
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err != nil {
		return durward.Errorf(durward.Unavailable, "ledger", "what was recorded cannot be written to disk: %w", err)
	}
	return nil
}

// named returns nil when what was committed is in files that have names.
func (d *DB) named() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.conn == nil || !d.logLost() {
		return nil
	}
	return d.rescue()
}
