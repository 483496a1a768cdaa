package cli

import (
	"os"
	"syscall"
)

// detached makes a process that outlives its console.
func detached() *syscall.SysProcAttr {
	const detachedProcess = 0x00000008
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess}
}

// hangup is empty: there is no such signal, use the service API.
func hangup() []os.Signal { return []os.Signal{os.Kill}[:0] }
