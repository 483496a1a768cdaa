package journal

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// spare is how many times the size of a window must be free on the disk: what is left of
// one that is nearly full is not taken in advance.
const spare = 16

// openWindow returns the first size bytes of a file, which may be shorter; nil if the
// file system cannot do that. The disk has room for them then: to run out of it later
// would be a fault.
func openWindow(f *os.File, size int64) (w window) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	_ = raw.Control(func(fd uintptr) { // it fails when f is closed, then there is no window either
		var disk unix.Statfs_t
		if unix.Fstatfs(int(fd), &disk) != nil || int64(disk.Bavail)*disk.Bsize < spare*size {
			return
		}
		for err = unix.EINTR; errors.Is(err, unix.EINTR); {
			err = unix.Fallocate(int(fd), 0, 0, size)
		}
		if err == nil {
			w, _ = unix.Mmap(int(fd), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		}
	})
	return w
}

// close gives the memory back. Nothing of w may be used any more.
func (w window) close() error {
	if w == nil {
		return nil
	}
	return unix.Munmap(w)
}
