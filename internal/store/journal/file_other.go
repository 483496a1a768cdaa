//go:build !unix

package journal

import "syscall"

const (
	noFollow   = 0
	errNoSpace = syscall.Errno(112) // ERROR_DISK_FULL
)

// syncName does nothing: there are no directories that could be synced.
func syncName(string) error { return nil }
