//go:build unix

package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"durward"
)

// checkOwner refuses a file that others may read or write, or that is another user's;
// and one that we may not write, because SQLite would give the log that it makes beside
// it the same mode, and could not write that when the file is writable again.
func checkOwner(path string, info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return durward.Errorf(durward.Denied, "ledger", "%s has mode %04o, so others may read it; chmod 600 it", path, mode)
	}
	if mode := info.Mode().Perm(); mode&0o600 != 0o600 {
		return durward.Errorf(durward.Unavailable, "ledger", "%s has mode %04o, so it cannot be written; chmod 600 it", path, mode)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return durward.Errorf(durward.Denied, "ledger", "%s belongs to another user", path)
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

// mayWrite reports whether a file is there and may be written. It is not opened: to close
// it would take away the locks that SQLite has on it in this process.
func mayWrite(path string) bool {
	return unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK|unix.W_OK, unix.AT_EACCESS) == nil
}
