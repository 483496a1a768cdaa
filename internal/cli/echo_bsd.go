//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package cli

import "golang.org/x/sys/unix"

// How a terminal's settings are read and written here.
const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)
