//go:build unix

package identity

import (
	"io/fs"
	"os"
	"syscall"

	"durward"
)

// openNoFollow opens a file for reading, not what a link at its place points to,
// and does not hang on a pipe.
func openNoFollow(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}

func checkPrivate(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return durward.Errorf(durward.Denied, tokenOpName, "%s is no regular file", path)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return durward.Errorf(durward.Denied, tokenOpName, "%s has mode %04o, so others may read it; remove it, or chmod 600 if nobody did", path, mode)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return durward.Errorf(durward.Denied, tokenOpName, "%s belongs to another user", path)
	}
	return nil
}
