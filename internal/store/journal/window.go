package journal

import (
	"errors"
	"runtime/debug"
)

// window is the beginning of a file in memory. What is put into it is in the file, for
// every process and also when this one is killed, as if it had been written: without
// the system call, which takes longer than all else that is done for a batch.
type window []byte

// errFault is what comes of a window into a file that is shorter by now, or whose disk
// gives errors: the system tells that with a signal.
var errFault = errors.New("memory that is the file's cannot be used: the file was cut short, or its disk gives errors")

// put puts a frame at a place that is in the window.
func (w window) put(frame []byte, at int64) error {
	return careful(func() { copy(w[at:at+int64(len(frame))], frame) })
}

// wipe puts zeros into the first size bytes.
func (w window) wipe(size int64) error {
	return careful(func() { clear(w[:size]) })
}

// careful does something with the memory of a window.
func careful(f func()) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch r := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }: // documented at debug.SetPanicOnFault
			err = errFault
		default:
			panic(r)
		}
	}()
	f()
	return nil
}
