package unprivileged

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Run runs f as a user whose rights are those of the files' modes: root without its
// privileges, and anybody else as they are. Goroutines that f starts are root's again.
func Run(t testing.TB, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	runtime.LockOSThread() // privileges are a thread's
	defer runtime.UnlockOSThread()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var all, some [2]unix.CapUserData
	if err := unix.Capget(&header, &all[0]); err != nil {
		t.Fatal(err)
	}
	some = all
	some[0].Effective &^= 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
	if err := unix.Capset(&header, &some[0]); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Capset(&header, &all[0]); err != nil {
			t.Fatal(err)
		}
	}()
	f()
}
