//go:build unix

package cli

import (
	"os"
	"syscall"
)

// detached makes a process that outlives its terminal and its parent.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func hangup() []os.Signal { return []os.Signal{syscall.SIGHUP} }
