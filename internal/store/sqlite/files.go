package sqlite

import (
	"encoding/binary"
	"errors"
	"io"
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

// What a database begins with: that it is one, and whose (see applicationID).
const (
	magic    = "SQLite format 3\x00"
	headSize = 100
	headID   = 68 // four bytes, the highest first
)

// checkLog refuses a file that the log beside it, which a process that was killed left,
// cannot be of. SQLite would copy the log into it, or remove it, and what only the log
// has would be lost when its file is put back.
func checkLog(path string) error {
	if log, err := os.Lstat(path + walSuffix); err != nil || log.Size() == 0 {
		return nil //nolint:nilerr // who opens it says what is wrong with it
	}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return durward.Errorf(durward.Unavailable, "ledger",
			"%s is gone, but its write-ahead log is there, with records in it; put that file back, or move %s%s away to begin a new ledger", path, path, walSuffix)
	}
	if err != nil || !info.Mode().IsRegular() {
		return nil //nolint:nilerr // the same
	}
	f, err := os.Open(path)
	if err != nil {
		return nil //nolint:nilerr // the same
	}
	var head [headSize]byte
	_, err = io.ReadFull(f, head[:])
	_ = f.Close() // it was only read
	id := binary.BigEndian.Uint32(head[headID:])
	// A process that was killed while it made the file has its number in the log only.
	unfinished := id == 0 && info.Size() <= pageSize
	if err == nil && string(head[:len(magic)]) == magic && (id == applicationID || unfinished) {
		return nil
	}
	return durward.Errorf(durward.Invalid, "ledger",
		"%s is no ledger of Durward, but the write-ahead log of one is beside it; put the right file back, or move both away to begin a new ledger", path)
}

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
		if err := d.rescue(); err != nil {
			return err
		}
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
// the log is open; nothing is written to it meanwhile, since it would go with the process.
func (d *DB) rescue() error {
	done, err := d.empty()
	switch {
	case err != nil:
		return durward.Errorf(durward.Unavailable, "ledger",
			"%s%s was removed while the service was using it, and what is in it cannot be copied yet: %w", d.opt.Path, walSuffix, d.explain(err))
	case !done:
		return durward.Errorf(durward.Unavailable, "ledger",
			"%s%s was removed while the service was using it, and what is in it can only be copied when nobody reads the ledger: wait for what verifies or copies it, or end that", d.opt.Path, walSuffix)
	}
	d.opt.Log.Warn("the ledger's write-ahead log was removed while the service was using it; nothing was lost", "file", d.opt.Path+walSuffix)
	d.hangUp()
	return nil
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
