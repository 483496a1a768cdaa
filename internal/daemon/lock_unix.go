//go:build unix

package daemon

import (
	"os"

	"golang.org/x/sys/unix"

	"durward"
)

// lockState makes sure that one service uses a state directory. The kernel
// drops the lock with the process, however it ends.
func lockState(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, durward.Errorf(durward.Unavailable, "state", "%w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, durward.Errorf(durward.Conflict, "state", "another service runs with this state directory (%s is locked); see: durward status", path)
	}
	return f.Close, nil
}
