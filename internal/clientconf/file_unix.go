//go:build unix

package clientconf

import (
	"io/fs"
	"os"
	"syscall"
)

// sameOwner gives a new file to the owner of the old one, so that root can
// change a user's file without taking it away.
func sameOwner(f *os.File, old fs.FileInfo) error {
	was, ok := old.Sys().(*syscall.Stat_t)
	info, err := f.Stat()
	if err != nil || !ok {
		return err
	}
	if is, ok := info.Sys().(*syscall.Stat_t); ok && (is.Uid != was.Uid || is.Gid != was.Gid) {
		if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil && is.Uid != was.Uid {
			return err // of another group is no harm, of another owner is
		}
	}
	return nil
}

// syncDir makes a rename last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
