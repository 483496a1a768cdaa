//go:build unix

package launch

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"durward"
)

// groupHolder starts servers as leaders of process groups.
type groupHolder struct{}

func (groupHolder) name() string { return "process-group" }

func (groupHolder) start(ctx context.Context, pl *plan, files [3]*os.File, fork func(func())) (held, error) {
	if ctx.Err() != nil {
		return nil, durward.Errorf(durward.Timeout, op(pl.spec), "the start of %s was given up: %w", pl.path, context.Cause(ctx))
	}
	var proc *os.Process
	var err error
	fork(func() {
		proc, err = os.StartProcess(pl.path, pl.argv, &os.ProcAttr{
			Dir: pl.spec.Dir, Env: pl.env, Files: files[:], Sys: groupAttr(),
		})
	})
	if err != nil {
		return nil, startError(pl, err)
	}
	return &groupTree{proc: proc}, nil
}

// restMost bounds what is read of a pipe that somebody may write to for ever: as
// much as a pipe of the usual size holds.
const restMost = 64 << 10

// takeRest hands over what is in a pipe, without waiting for more.
func takeRest(f *os.File, buf []byte, take func([]byte)) {
	conn, err := f.SyscallConn()
	if err != nil || f.SetReadDeadline(time.Time{}) != nil {
		return
	}
	for left := restMost; left > 0; {
		var n int
		var failed error
		err := conn.Read(func(fd uintptr) bool {
			for n, failed = syscall.Read(int(fd), buf); errors.Is(failed, syscall.EINTR); {
				n, failed = syscall.Read(int(fd), buf)
			}
			return true // what is not there is not waited for
		})
		if err != nil || failed != nil || n == 0 {
			return
		}
		take(buf[:n])
		left -= n
	}
}

// groupTree is a server and what stayed in its group.
type groupTree struct {
	groupHolder
	proc *os.Process
}

func (t *groupTree) pid() int   { return t.proc.Pid }
func (t *groupTree) terminate() { t.signal(syscall.SIGTERM) }
func (t *groupTree) kill()      { t.signal(syscall.SIGKILL) }

func (t *groupTree) signal(s syscall.Signal) {
	_ = syscall.Kill(-t.proc.Pid, s) // fails only when the group is gone
}

// groupEmptyWithin bounds the wait for killed members of a group, which are
// not our children: whoever adopted them reaps them, or (an init of a
// container that does not) never.
const groupEmptyWithin = 500 * time.Millisecond

func (t *groupTree) wait() string {
	state, err := t.proc.Wait()
	t.kill()
	deadline := time.Now().Add(groupEmptyWithin)
	for syscall.Kill(-t.proc.Pid, 0) == nil && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if err != nil {
		return "unknown"
	}
	return state.String()
}
