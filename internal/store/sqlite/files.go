package sqlite

import (
	"errors"
	"io/fs"
	"os"

	"durward"
)

// What SQLite puts beside a database: the log of what was committed and not yet
// copied into the file, and the index of that log which processes share.
const (
	walSuffix = "-wal"
	shmSuffix = "-shm"
)

// Present reports whether the file is there and is the one that was opened: nil, or
// what happened to it. It waits for nobody.
func (d *DB) Present() error {
	return d.dir.Check(func() error {
		_, err := d.present()
		return err
	})
}

// watch looks whether the files at our paths are still those that are open, as they
// may have been removed or replaced: what is written to a file without a name is
// gone with the process, and nobody else sees it. It is called before each write.
func (d *DB) watch() error {
	now, err := d.present()
	if err != nil {
		return err
	}
	if d.conn != nil && d.logLost() {
		d.rescue()
	}
	if d.conn == nil {
		return checkOwner(d.opt.Path, now)
	}
	return nil
}

func (d *DB) present() (fs.FileInfo, error) {
	now, err := os.Lstat(d.opt.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, durward.Errorf(durward.Unavailable, "ledger",
			"%s was removed while the service was using it; put that file back, or restart the service to begin a new ledger", d.opt.Path)
	case err != nil:
		return nil, durward.Errorf(durward.Unavailable, "ledger", "the ledger cannot be looked at: %w", err)
	case !os.SameFile(now, d.file):
		return nil, durward.Errorf(durward.Unavailable, "ledger",
			"%s was replaced by another file while the service was using it; put the first one back, or restart the service to go on with this one", d.opt.Path)
	}
	return now, nil
}

// logLost reports whether the write-ahead log that is open, or its index, has lost its name.
func (d *DB) logLost() bool {
	if d.wal == nil {
		return false
	}
	wal, err := os.Lstat(d.opt.Path + walSuffix)
	if err != nil || !os.SameFile(wal, d.wal) {
		return true
	}
	shm, err := os.Lstat(d.opt.Path + shmSuffix)
	return err != nil || !os.SameFile(shm, d.shm)
}

// rescue copies what is in a log that has no name any more into the file, and has the
// file opened anew. When that fails, the next attempt to write tries again, as long as
// the log is open.
func (d *DB) rescue() {
	if done, err := d.empty(); err != nil || !done {
		d.opt.Log.Error("the ledger's write-ahead log was removed, and what is in it could not be copied yet", "file", d.opt.Path+walSuffix, "error", err)
		return
	}
	d.opt.Log.Warn("the ledger's write-ahead log was removed while the service was using it; nothing was lost", "file", d.opt.Path+walSuffix)
	d.hangUp()
}

// remember notes which log is open.
func (d *DB) remember() {
	wal, err := os.Lstat(d.opt.Path + walSuffix)
	shm, missing := os.Lstat(d.opt.Path + shmSuffix)
	if err != nil || missing != nil {
		d.wal, d.shm = nil, nil
		return
	}
	d.wal, d.shm = wal, shm
}
