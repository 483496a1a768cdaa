//go:build unix

package launch

import (
	"os"
	"strings"
	"testing"
	"time"
)

// Who is late to read the end of a server's stderr has it all the same, although a
// process that got away holds the pipe open.
func TestStderrIsCompleteOnABusyMachine(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	p := &Process{stderr: ring{max: DefaultStderr}}
	const said = 40 << 10
	if _, err := write.WriteString(strings.Repeat("x", said)); err != nil {
		t.Fatal(err)
	}
	// It may wait no longer before it has read a byte.
	if err := read.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	p.drain(read)
	if n := len(p.Stderr()); n != said {
		t.Errorf("%d bytes of %d were read", n, said)
	}
	read.Close()
}
