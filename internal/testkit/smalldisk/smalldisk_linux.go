package smalldisk

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Mount mounts a disk of some bytes on a directory until the test ends.
func Mount(t testing.TB, dir string, size int) {
	t.Helper()
	if err := unix.Mount("durward-test", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size)); err != nil {
		t.Fatalf("a small file system is needed, and only root may mount one (run this test as root, or in unshare -rm): %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// SetReadOnly has what [Mount] mounted on a directory be only read, or written again.
func SetReadOnly(t testing.TB, dir string, readOnly bool) {
	t.Helper()
	flags := uintptr(unix.MS_REMOUNT)
	if readOnly {
		flags |= unix.MS_RDONLY
	}
	if err := unix.Mount("", dir, "", flags, ""); err != nil {
		t.Fatal(err)
	}
}

// Fill fills the disk of a new file to the last byte with it, and returns what
// removes it. Who else writes there meanwhile gets room or does not.
func Fill(t testing.TB, path string) (empty func()) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := 1 << 20; size > 0; { // down to single bytes
		if _, err := f.Write(make([]byte, size)); errors.Is(err, unix.ENOSPC) {
			size /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}
