package ledgerfile

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// forget has the system forget what it keeps in memory of a file that nobody writes.
func forget(path string) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Sync(); err != nil { // what is not on disk cannot be forgotten
		return err
	}
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}

// diskBytes returns how many bytes this process has had read from disks.
func diskBytes() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	const unit = 512
	return u.Inblock * unit
}
