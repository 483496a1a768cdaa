package readme_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// aloneMark is set in the process that has a network of its own.
const aloneMark = "DURWARD_README_ALONE"

// alone reports whether this process has a network of its own, and brings its
// loopback up.
func alone() bool {
	if os.Getenv(aloneMark) == "" {
		return false
	}
	if err := loopbackUp(); err != nil {
		fmt.Fprintln(os.Stderr, "the loopback of the network of the tests:", err)
		os.Exit(1)
	}
	return true
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// runAlone runs this program again in a network namespace. False: none may be
// made here, and the tests share the machine's ports.
func runAlone() (status int, entered bool) {
	runtime.LockOSThread() // the parent-death signal belongs to the thread
	for _, flags := range []uintptr{unix.CLONE_NEWNET, unix.CLONE_NEWNET | unix.CLONE_NEWUSER} {
		cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
		cmd.Args[0] = os.Args[0]
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.Env = append(os.Environ(), aloneMark+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, Pdeathsig: syscall.SIGKILL}
		if flags&unix.CLONE_NEWUSER != 0 {
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
		}
		err := cmd.Run()
		var ended *exec.ExitError
		switch {
		case err == nil:
			return 0, true
		case errors.As(err, &ended):
			return max(1, ended.ExitCode()), true
		}
	}
	return 0, false
}
