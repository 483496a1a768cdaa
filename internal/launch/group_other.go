//go:build unix && !linux

package launch

import (
	"os"
	"syscall"
)

func groupAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func pickHolder(Options, func(func())) (holder, string) {
	return groupHolder{}, "this system has neither PID namespaces nor subreapers"
}

func widen(*os.File) {}
