//go:build !unix

package journal

import "syscall"

const (
	noFollow   = 0
	errNoSpace = syscall.Errno(112) // ERROR_DISK_FULL
)
