package journal

import (
	"errors"
	"os"
	"syscall"
)

// syncData returns when the disk has what was written. Unlike fsync it leaves out the
// time of the change, which nobody needs.
func syncData(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		for failed = syscall.Fdatasync(int(fd)); errors.Is(failed, syscall.EINTR); {
			failed = syscall.Fdatasync(int(fd))
		}
	})
	return errors.Join(err, failed)
}
