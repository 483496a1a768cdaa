//go:build unix

package worker

import (
	"errors"
	"io"
	"syscall"
	"time"
)

// nonBlocking returns a function that writes to w what fits without waiting,
// nil when w has no descriptor in non-blocking mode. Its caller sees to it that
// one call is under way at a time.
func nonBlocking(w io.Writer) func([]byte) (int, error) {
	holder, ok := w.(interface {
		syscall.Conn
		SetWriteDeadline(time.Time) error
	})
	// A deadline can be set on a descriptor only that the runtime polls, and
	// those are in non-blocking mode.
	if !ok || holder.SetWriteDeadline(time.Time{}) != nil {
		return nil
	}
	raw, err := holder.SyscallConn()
	if err != nil {
		return nil
	}
	a := &attempt{raw: raw}
	a.once = a.write // made once, so that an attempt does not allocate
	return a.do
}

type attempt struct {
	raw  syscall.RawConn
	once func(fd uintptr) bool
	buf  []byte
	n    int
	err  error
}

func (a *attempt) do(buf []byte) (int, error) {
	a.buf, a.n, a.err = buf, 0, nil
	err := a.raw.Write(a.once)
	a.buf = nil
	if err != nil {
		return 0, err
	}
	return a.n, a.err
}

// write reports true always: what did not fit is not waited for.
func (a *attempt) write(fd uintptr) bool {
	n, err := syscall.Write(int(fd), a.buf)
	switch {
	case err == nil:
		a.n = n
	case !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR):
		a.err = err
	}
	return true
}
