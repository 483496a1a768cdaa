package launch

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"durward"
)

// probeWithin bounds the one start of an init that New makes.
const probeWithin = 10 * time.Second

// pickHolder tries the ways to hold a tree, best first; the text says why the
// best one is not used.
func pickHolder(opts Options, fork func(func())) (holder, string) {
	if opts.NoInit {
		return groupHolder{}, "an init was not asked for"
	}
	if !hooked.Load() {
		return groupHolder{}, "this program does not call launch.MaybeInit first in main"
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeWithin)
	defer cancel()
	err := probe(ctx, fork)
	if err == nil {
		return initHolder{modeNamespace}, ""
	}
	return initHolder{modeSubreaper}, "no PID namespace: " + err.Error()
}

func probe(ctx context.Context, fork func(func())) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	t, err := startInit(ctx, "probe", order{mode: modeProbe}, [3]*os.File{null, null, null}, fork)
	if err != nil {
		return err
	}
	t.wait()
	return nil
}

// initHolder starts servers under an init.
type initHolder struct{ mode mode }

func (h initHolder) name() string {
	if h.mode == modeNamespace {
		return "pid-namespace"
	}
	return "subreaper"
}

func (h initHolder) start(ctx context.Context, pl *plan, files [3]*os.File, fork func(func())) (held, error) {
	o := order{mode: h.mode, path: pl.path, dir: pl.spec.Dir, argv: pl.argv, env: pl.env}
	t, err := startInit(ctx, pl.spec.Server, o, files, fork)
	if err == nil {
		return t, nil
	}
	if ctx.Err() != nil {
		return nil, durward.Errorf(durward.Timeout, op(pl.spec), "the start of %s was given up: %w", pl.path, context.Cause(ctx))
	}
	return nil, startError(pl, err)
}

// initTree is a tree under an init.
type initTree struct {
	initHolder
	proc    *os.Process
	control *os.File
	state   *os.ProcessState

	writing sync.Mutex // one frame to the init at a time
	killing sync.Once  // starts killInit once

	exit    string        // how the program ended; written before reading is closed
	reading chan struct{} // closed when the reader of the control socket has ended
	ended   chan struct{} // closed when the init is reaped
}

// startInit starts an init with an empty environment and returns once it
// reports that the program runs. When it does not, nothing is left running.
func startInit(ctx context.Context, server string, o order, files [3]*os.File, fork func(func())) (*initTree, error) {
	ours, theirs, err := controlPair()
	if err != nil {
		return nil, err
	}
	var proc *os.Process
	fork(func() { proc, err = forkInit(server, o.mode, files, theirs) })
	theirs.Close()
	if err != nil {
		ours.Close()
		return nil, err
	}
	t := &initTree{
		initHolder: initHolder{o.mode}, proc: proc, control: ours,
		reading: make(chan struct{}), ended: make(chan struct{}),
	}
	started := make(chan error, 1)
	go t.readControl(started)
	go t.waitInit()
	if err := t.order(ctx, o, started); err != nil {
		t.kill()
		t.wait()
		return nil, err
	}
	return t, nil
}

func controlPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		_ = unix.Close(fds[0])
		_ = unix.Close(fds[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control"), nil
}

func forkInit(server string, m mode, files [3]*os.File, control *os.File) (*os.Process, error) {
	sys := &syscall.SysProcAttr{Setsid: true}
	if m != modeSubreaper {
		// The kernel ends the namespace with its first process. A subreaper
		// must outlive the gateway instead, to kill the tree: it notices by
		// the end of the control socket.
		sys.Pdeathsig = syscall.SIGKILL
		sys.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS
	}
	return os.StartProcess("/proc/self/exe", []string{initName, server}, &os.ProcAttr{
		// Nothing of the server's environment may steer the init. One thread
		// does its work; it never allocates enough to need a collection.
		Env:   []string{"GOMAXPROCS=1", "GOGC=off"},
		Files: []*os.File{files[0], files[1], files[2], control},
		Sys:   sys,
	})
}

func (t *initTree) order(ctx context.Context, o order, started <-chan error) error {
	stop := context.AfterFunc(ctx, t.kill)
	err := t.send(frameStart, o.fields()...)
	if err == nil {
		err = <-started // always answered: the reader ends with the init
	}
	if !stop() && err == nil {
		err = context.Cause(ctx) // it runs, but it is being killed
	}
	return err
}

func (t *initTree) send(kind frameKind, fields ...string) error {
	t.writing.Lock()
	defer t.writing.Unlock()
	return writeFrame(t.control, kind, fields...)
}

// readControl ends when the init does.
func (t *initTree) readControl(started chan<- error) {
	defer close(t.reading)
	defer close(started)
	for {
		kind, fields, err := readFrame(t.control, maxReport)
		switch {
		case err != nil:
			answer(started, errors.New("the init ended before the program ran"))
			return
		case kind == frameRunning:
			answer(started, nil)
		case kind == frameFailed:
			answer(started, parseFailure(fields))
		case kind == frameExited:
			t.exit = fields[0]
		}
	}
}

// answer gives the first answer only.
func answer(started chan<- error, err error) {
	select {
	case started <- err:
	default:
	}
}

// initError is what an init reports.
type initError struct {
	what  string
	text  string
	errno syscall.Errno
}

func (e *initError) Error() string { return e.what + ": " + e.text }
func (e *initError) Unwrap() error { return e.errno }

func parseFailure(fields []string) error {
	if len(fields) != 3 {
		return errFrame
	}
	n, _ := strconv.Atoi(fields[1]) // 0 is as good as any number for "unknown"
	return &initError{what: fields[0], errno: syscall.Errno(n), text: fields[2]}
}

func (t *initTree) waitInit() {
	t.state, _ = t.proc.Wait() // only fails if somebody else reaped it: then it is gone as well
	<-t.reading
	t.control.Close()
	close(t.ended)
}

func (t *initTree) pid() int { return t.proc.Pid }

func (t *initTree) terminate() {
	_ = t.send(frameTerminate) // fails only when the init is gone
}

func (t *initTree) kill() {
	if t.mode != modeSubreaper {
		_ = t.proc.Kill() // the kernel does the rest; fails only when it is gone
		return
	}
	t.killing.Do(func() { go t.killInit() })
	_ = t.send(frameKill)
}

// killInit ends a subreaper that does not do its work (somebody stopped it):
// the server dies with it, and only what left the server's side may survive.
func (t *initTree) killInit() {
	timer := time.NewTimer(2 * finishWithin)
	defer timer.Stop()
	select {
	case <-t.ended:
	case <-timer.C:
		_ = t.proc.Kill()
	}
}

// wait returns when the init is reaped, which is after its whole tree.
func (t *initTree) wait() string {
	<-t.ended
	switch {
	case t.exit != "":
		return t.exit
	case t.state != nil:
		return t.state.String()
	default:
		return "unknown"
	}
}
