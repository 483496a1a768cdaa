package hostile

import "syscall"

func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
