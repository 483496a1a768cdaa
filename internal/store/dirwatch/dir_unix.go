//go:build unix

package dirwatch

import (
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// handle is the open directory: nil if it could not be opened.
type handle struct{ f *os.File }

// state is what changes when a name does (POSIX, rename and unlink: "shall mark for
// update the last data modification and last file status change timestamps").
type state struct {
	modified, status int64 // Unix nanoseconds
	links            uint64
}

func (s state) changed() time.Time { return time.Unix(0, max(s.modified, s.status)) }

func open(path string) handle {
	f, err := os.Open(path)
	if err != nil {
		return handle{}
	}
	return handle{f}
}

func (h handle) state() (s state, known bool) {
	if h.f == nil {
		return s, false
	}
	var st unix.Stat_t
	err := unix.Fstat(int(h.f.Fd()), &st)
	runtime.KeepAlive(h.f)
	if err != nil {
		return s, false
	}
	return state{modified: st.Mtim.Nano(), status: st.Ctim.Nano(), links: uint64(st.Nlink)}, true //nolint:unconvert // narrower on other systems
}

func (h handle) close() error {
	if h.f == nil {
		return nil
	}
	return h.f.Close()
}
