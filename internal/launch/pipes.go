package launch

import (
	"errors"
	"os"
)

// pipes are the three pipes of a server: our ends, which are pollable, and its ends.
type pipes struct {
	stdin, stdout, stderr *os.File
	theirs                [3]*os.File
}

func newPipes() (*pipes, error) {
	var p pipes
	var errIn, errOut, errErr error
	p.theirs[0], p.stdin, errIn = os.Pipe()
	p.stdout, p.theirs[1], errOut = os.Pipe()
	p.stderr, p.theirs[2], errErr = os.Pipe()
	if err := errors.Join(errIn, errOut, errErr); err != nil {
		p.closeOurs()
		p.closeTheirs()
		return nil, err
	}
	widen(p.stdin)
	widen(p.stdout)
	return &p, nil
}

// closeOurs and closeTheirs tolerate nil files: closing one is an error, no panic.
func (p *pipes) closeOurs() {
	p.stdin.Close()
	p.stdout.Close()
	p.stderr.Close()
}

func (p *pipes) closeTheirs() {
	for _, f := range p.theirs {
		f.Close()
	}
}
