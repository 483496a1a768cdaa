//go:build unix

package journal

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

const (
	noFollow   = syscall.O_NOFOLLOW
	errNoSpace = syscall.ENOSPC
)

// syncName makes the name of a new file outlast a loss of power.
func syncName(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
