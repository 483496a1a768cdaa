//go:build !unix

package harness

import (
	"os"
	"os/exec"
)

// Without process groups only the program itself is ended; the outer tests are
// gated on Unix.
func ownGroup(*exec.Cmd) {}

func terminate(p *os.Process) error { return p.Kill() }

func killGroup(int) error { return nil }
