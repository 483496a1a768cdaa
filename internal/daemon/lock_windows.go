package daemon

import (
	"os"

	"golang.org/x/sys/windows"

	"durward"
)

// lockState makes sure that one service uses a state directory. The system
// drops the lock with the process, however it ends.
func lockState(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, durward.Errorf(durward.Unavailable, "state", "%w", err)
	}
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	if err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped)); err != nil {
		_ = f.Close()
		return nil, durward.Errorf(durward.Conflict, "state", "another service runs with this state directory (%s is locked); see: durward status", path)
	}
	return f.Close, nil
}
