//go:build unix

package private

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"durward"
)

// openNoFollow opens a file for reading, not what a link at its place points to,
// and does not hang on a pipe.
func openNoFollow(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

// CheckOwner refuses a file that others may read or write, or that is another
// user's, with an error of kind Denied.
func CheckOwner(path string, info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return durward.Errorf(durward.Denied, "", "%s has mode %04o, so others may read it; remove it, or chmod 600 if nobody did", path, mode)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return durward.Errorf(durward.Denied, "", "%s belongs to another user", path)
	}
	return nil
}

// syncDir makes the name of a new file outlast a loss of power.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// tryLock locks a file; busy says that somebody else has it.
func tryLock(path string) (f *os.File, busy bool, err error) {
	f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, false, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return f, false, nil
	}
	_ = f.Close() // nothing was written
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return nil, true, nil
	}
	return nil, false, err
}
