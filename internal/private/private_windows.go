package private

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

func openNoFollow(path string) (*os.File, error) { return os.Open(path) }

// CheckOwner trusts the access list of the user's own directory, which is where
// such files live; mode bits say nothing here.
func CheckOwner(string, fs.FileInfo) error { return nil }

// syncDir does nothing: there is no way to, and the file system keeps its journal.
func syncDir(string) error { return nil }

// tryLock locks a file; busy says that somebody else has it.
func tryLock(path string) (f *os.File, busy bool, err error) {
	f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, false, err
	}
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err = windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	if err == nil {
		return f, false, nil
	}
	_ = f.Close() // nothing was written
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return nil, true, nil
	}
	return nil, false, err
}
