package stdiobridge

import (
	"bufio"
	"io"
	"sync"
)

// output is what goes to the client: whole lines, from whoever has one.
type output struct {
	mu   sync.Mutex // guards all below
	to   *bufio.Writer
	fail error
}

func newOutput(w io.Writer) *output { return &output{to: bufio.NewWriterSize(w, bufferSize)} }

// put adds a line; flush sends it. It may wait for the client. The line's end is
// added if it has none.
func (o *output) put(line []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, err := o.to.Write(line)
	if err == nil && (len(line) == 0 || line[len(line)-1] != '\n') {
		err = o.to.WriteByte('\n')
	}
	o.note(err)
}

// flush sends what was put.
func (o *output) flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note(o.to.Flush())
	return o.fail
}

// send puts lines and sends them.
func (o *output) send(lines ...[]byte) {
	if len(lines) == 0 {
		return
	}
	for _, line := range lines {
		o.put(line)
	}
	_ = o.flush() // the error stays, see failure
}

// failure is why the client cannot be written to; nil while it can.
func (o *output) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.fail
}

func (o *output) note(err error) {
	if o.fail == nil {
		o.fail = err
	}
}
