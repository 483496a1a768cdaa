package launch

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// initName is argv[0] of an init. It cannot be reached by accident: no file
// is called so, and without a control socket on descriptor 3 nothing happens.
const initName = "durward (init)"

// controlFD is where an init finds its end of the control socket.
const controlFD = 3

// hooked records that main called MaybeInit. It is a fact about the program,
// set once before anything else runs: without it, executing ourselves would run
// an embedder's main a second time instead of the init.
var hooked atomic.Bool

// MaybeInit must be the first statement of main in every program that launches
// servers, and of TestMain in their tests. In a process that was started as the
// init of a server it does that work and never returns; otherwise it returns at
// once. A program that does not call it gets process groups only.
func MaybeInit() {
	hooked.Store(true)
	if len(os.Args) == 0 || os.Args[0] != initName {
		return
	}
	var st unix.Stat_t
	if unix.Fstat(controlFD, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		fmt.Fprintln(os.Stderr, initName+": is started by the gateway only")
		os.Exit(2)
	}
	unix.Exit(runInit()) // at once: nothing of the program it is a copy of may run at exit
}

// reaper is the running init.
type reaper struct {
	control *os.File
	mode    mode
	child   int // the server's process
}

func runInit() int {
	// The thread that forks the server must live as long as this process,
	// because the server's parent-death signal is bound to it.
	runtime.LockOSThread()
	keepDescriptors()
	r := reaper{control: os.NewFile(controlFD, "control")}
	kind, fields, err := readFrame(r.control, maxFrame)
	if err != nil || kind != frameStart {
		return 2
	}
	o, err := parseOrder(fields)
	if err != nil {
		return 2
	}
	r.mode = o.mode
	if err := r.setUp(); err != nil {
		return r.fail("setting up the process tree", err)
	}
	if o.mode == modeProbe {
		return r.probe()
	}
	r.child, err = startServer(o)
	if err != nil {
		return r.fail("starting the program", err)
	}
	letGoOfStdio()
	go r.forwardSignals()
	if writeFrame(r.control, frameRunning) != nil {
		r.signalTree(unix.SIGKILL)
	}
	go r.obey()
	status := r.reap()
	r.finish()
	_ = writeFrame(r.control, frameExited, describe(status)) // nobody reads it when the gateway is gone
	return exitCode(status)
}

func (r *reaper) fail(what string, err error) int {
	var errno syscall.Errno
	errors.As(err, &errno)
	_ = writeFrame(r.control, frameFailed, what, strconv.Itoa(int(errno)), err.Error())
	return 1
}

// keepDescriptors keeps everything but stdin, stdout and stderr from the
// server, what the gateway's own parent leaked into it included.
func keepDescriptors() {
	unix.CloseOnExec(controlFD)
	if unix.CloseRange(controlFD, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	entries, _ := os.ReadDir("/proc/self/fd") // before Linux 5.11
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

func (r *reaper) setUp() error {
	// A server of the same user must not be able to trace its init.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	if r.mode == modeSubreaper {
		return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	}
	// Mounts of the host still arrive here, ours do not leave.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("mount namespace: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	return nil
}

// probe says whether this really is the first process of a namespace with its own /proc.
func (r *reaper) probe() int {
	self, err := os.Readlink("/proc/self")
	if err != nil {
		return r.fail("reading /proc/self", err)
	}
	if os.Getpid() != 1 || self != "1" {
		return r.fail("checking the PID namespace", unix.ENOTSUP)
	}
	_ = writeFrame(r.control, frameRunning)
	return 0
}

func startServer(o order) (int, error) {
	return syscall.ForkExec(o.path, o.argv, &syscall.ProcAttr{
		Dir:   o.dir,
		Env:   o.env,
		Files: []uintptr{0, 1, 2},
		// A session of its own: no terminal, and a server that signals its own
		// group does not hit the init.
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
}

// letGoOfStdio closes our copies of the pipes, so that the gateway sees the
// server close its end.
func letGoOfStdio() {
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	for fd := range 3 {
		if err == nil {
			_ = unix.Dup3(null, fd, 0)
		} else {
			_ = unix.Close(fd)
		}
	}
}

// forwardSignals passes on what somebody else than the gateway sends to us. It ends with the process.
func (r *reaper) forwardSignals() {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT)
	for s := range signals {
		if number, ok := s.(syscall.Signal); ok {
			_ = unix.Kill(r.child, number)
		}
	}
}

// obey does what the gateway says, and kills the tree when the gateway is gone. It ends with the process.
func (r *reaper) obey() {
	for {
		kind, _, err := readFrame(r.control, maxFrame)
		switch {
		case err != nil || kind == frameKill:
			r.signalTree(unix.SIGKILL)
			if err != nil {
				return
			}
		case kind == frameTerminate:
			r.signalTree(unix.SIGTERM)
		}
	}
}

// reap waits for every child, adopted ones included, until the server itself ends.
func (r *reaper) reap() syscall.WaitStatus {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return status
		case pid == r.child:
			return status
		}
	}
}

func describe(status syscall.WaitStatus) string {
	if status.Signaled() {
		text := "signal: " + status.Signal().String()
		if status.CoreDump() {
			text += " (core dumped)"
		}
		return text
	}
	return "exit status " + strconv.Itoa(status.ExitStatus())
}

func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}
