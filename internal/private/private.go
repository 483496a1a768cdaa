// Package private reads and writes files that only their owner may read: tokens
// and keys. It refuses a file that somebody else may have read or planted, never
// shows an unfinished one, and has processes take turns ([Lock]).
//
// What a file holds is the business of who calls; no error quotes it.
package private

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"durward"
)

// Read returns the content of a file. One that is no regular file, a link, that
// others may read or write, or that belongs to somebody else is refused (Denied);
// one of more than most bytes is Invalid. Where there is none the error is
// [fs.ErrNotExist], of kind Unavailable.
func Read(path string, most int) ([]byte, error) {
	f, err := openNoFollow(path)
	if err != nil {
		return nil, durward.Errorf(durward.Unavailable, "", "it cannot be opened: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, durward.Errorf(durward.Unavailable, "", "it cannot be looked at: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, durward.Errorf(durward.Denied, "", "%s is no regular file", path)
	}
	if err := CheckOwner(path, info); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err != nil {
		return nil, durward.Errorf(durward.Unavailable, "", "it cannot be read: %w", err)
	}
	if len(data) > most {
		return nil, durward.Errorf(durward.Invalid, "", "%s has more than %d bytes", path, most)
	}
	return data, nil
}

// Create writes a file (0600), and its directory (0700) if there is none. One
// that is there already stays as it is, and the error is [fs.ErrExist].
func Create(path string, content []byte) error {
	return write(path, content, func(draft string) error { return os.Link(draft, path) })
}

// Replace is Create that takes the place of a file that is there. Who reads sees
// the old content or the new.
func Replace(path string, content []byte) error {
	return write(path, content, func(draft string) error { return os.Rename(draft, path) })
}

// write writes a draft beside path, puts it in place, and returns when the disk
// has it.
func write(path string, content []byte, place func(draft string) error) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return durward.Errorf(durward.Unavailable, "", "it cannot be written: %w", err)
	}
	draft := path + "." + rand.Text()
	f, err := os.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return durward.Errorf(durward.Unavailable, "", "it cannot be written: %w", err)
	}
	defer func() { _ = os.Remove(draft) }() // it is gone by then, or nobody uses what it holds
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = place(draft)
	}
	if err == nil {
		err = syncDir(dir)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return durward.Errorf(durward.Conflict, "", "it is there already: %w", err)
	case err != nil:
		return durward.Errorf(durward.Unavailable, "", "it cannot be written: %w", err)
	}
	return nil
}

// lookAgain is how often a lock that somebody has is tried.
const lookAgain = 5 * time.Millisecond

// Lock takes a lock that processes share, for which there is a file of its own,
// and waits at most so long for who has it; then the error is of kind Conflict.
// The system drops the lock with the process, however it ends.
func Lock(path string, wait time.Duration) (unlock func() error, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, durward.Errorf(durward.Unavailable, "", "it cannot be locked: %w", err)
	}
	for until := time.Now().Add(wait); ; time.Sleep(lookAgain) {
		f, busy, err := tryLock(path)
		switch {
		case err != nil:
			return nil, durward.Errorf(durward.Unavailable, "", "it cannot be locked: %w", err)
		case !busy:
			return f.Close, nil
		case !time.Now().Before(until):
			return nil, durward.Errorf(durward.Conflict, "", "%s is locked by another process", path)
		}
	}
}
