//go:build unix

package guard

import (
	"io/fs"
	"os"
	"syscall"

	"durward"
)

// checkOwner refuses a file that others may read or write, or that is another
// user's: whoever can write it can approve.
func checkOwner(path string, info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return durward.Errorf(durward.Denied, "guard", "%s has mode %04o, so others may read or write it; chmod 600 it", path, mode)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return durward.Errorf(durward.Denied, "guard", "%s belongs to another user", path)
	}
	return nil
}
