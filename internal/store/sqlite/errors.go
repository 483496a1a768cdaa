package sqlite

import (
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"durward"
	"durward/ledger"
)

// codeOf returns SQLite's primary result code of an error, -1 if there is none.
func codeOf(err error) int {
	var driven *sqlite.Error
	var own *nativeError
	switch {
	case errors.As(err, &own):
		return own.Code() & 0xff
	case errors.As(err, &driven):
		return driven.Code() & 0xff
	}
	return -1
}

// explain turns an error of SQLite into one that says what happened and what to do.
func (d *DB) explain(err error) error {
	return explain(d.opt.Path, err)
}

// damage is an error of SQLite that is an [ledger.ErrDamaged].
type damage struct{ error }

// Unwrap returns the error of SQLite.
func (d damage) Unwrap() error { return d.error }

// Is implements the interface of errors.Is.
func (damage) Is(target error) bool { return target == ledger.ErrDamaged }

func explain(path string, err error) error {
	var own *durward.Error
	if errors.As(err, &own) {
		return err
	}
	say := func(kind durward.Kind, text string) error {
		return durward.Errorf(kind, "ledger", "%s "+text+": %w", path, err)
	}
	code := codeOf(err)
	if errors.Is(err, errDamaged) {
		code = sqlite3.SQLITE_CORRUPT
	}
	switch code {
	case sqlite3.SQLITE_FULL:
		return say(durward.Unavailable, "cannot grow because its disk is full; free some space and calls go on by themselves")
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return say(durward.Unavailable, "is locked by another process; find it (fuser -v FILE) and have it let go, and calls go on by themselves")
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return say(durward.Unavailable, "cannot be written; make the file, its directory and its file system writable, and calls go on by themselves")
	case sqlite3.SQLITE_CANTOPEN:
		return say(durward.Unavailable, "cannot be opened; look at the file, its directory (which must be writable) and its disk")
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT:
		err = damage{err}
		return say(durward.Unavailable, "is damaged; stop the service, and restore a backup (what SQLite has beside the file, -wal and -shm, must go with it), or move the file away, and its checkpoints with it, to begin a new ledger (durward ledger verify says what of it can be trusted)")
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS:
		return say(durward.Unavailable, "cannot be used because its disk, or the lack of space on it, gives errors; see the system's log")
	case sqlite3.SQLITE_CONSTRAINT:
		return say(durward.Conflict, "already has one of the records")
	case sqlite3.SQLITE_TOOBIG:
		return say(durward.Invalid, "cannot take a record of that size")
	default:
		return say(durward.Unavailable, "cannot be used")
	}
}
