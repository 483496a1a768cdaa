package launch

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"time"

	"durward"
)

// Process is one running server with its descendants. Safe for concurrent use.
type Process struct {
	spec   Spec
	grace  time.Duration
	held   held
	stdin  *os.File
	stdout *os.File
	stderr ring

	stopping sync.Once     // starts the stop sequence once
	stopped  chan struct{} // closed when the stop sequence has ended
	done     chan struct{} // closed when the whole tree is gone and reaped
	exit     string        // written before done is closed
}

// holder starts trees in one of the ways the package comment lists.
type holder interface {
	name() string
	// start runs the program; files are its stdin, stdout and stderr. fork runs
	// a function on the forking thread.
	start(ctx context.Context, pl *plan, files [3]*os.File, fork func(func())) (held, error)
}

// held is one tree.
type held interface {
	name() string
	pid() int
	terminate() // SIGTERM to every process of the tree
	kill()      // SIGKILL to every process of the tree
	wait() string
}

func startProcess(ctx context.Context, l *Launcher, pl *plan) (*Process, error) {
	pipes, err := newPipes()
	if err != nil {
		return nil, durward.Errorf(durward.Unavailable, op(pl.spec), "no pipes for the server: %w; raise the limit of open files (ulimit -n)", err)
	}
	h, err := l.holder.start(ctx, pl, pipes.theirs, l.fork)
	pipes.closeTheirs()
	if err != nil {
		pipes.closeOurs()
		return nil, err
	}
	p := &Process{
		spec: pl.spec, grace: l.opts.Grace, held: h,
		stdin: pipes.stdin, stdout: pipes.stdout,
		stderr:  ring{max: l.opts.Stderr},
		stopped: make(chan struct{}), done: make(chan struct{}),
	}
	l.add(p)
	go p.supervise(pipes.stderr, func() { l.remove(p) })
	return p, nil
}

// supervise owns the process until its tree is gone and its stderr is read.
func (p *Process) supervise(stderr *os.File, forget func()) {
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		p.drain(stderr)
	}()
	p.exit = p.held.wait()
	p.awaitEnd(stderr, drained)
	stderr.Close()
	if runtime.GOOS != "windows" { // there a pending read of a pipe outlasts Close
		<-drained
	}
	p.stdin.Close() // nobody is left to read it
	forget()
	close(p.done)
}

// awaitEnd waits until stderr is read. All writers are dead, so its end is at hand,
// unless a process escaped from a process group and still holds it open: then what
// there is counts, which on a busy machine may not have been read by now.
func (p *Process) awaitEnd(stderr *os.File, drained <-chan struct{}) {
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-drained:
	case <-timer.C:
		if stderr.SetReadDeadline(time.Unix(1, 0)) == nil { // no more is waited for
			<-drained
		}
	}
}

func (p *Process) drain(stderr *os.File) {
	buf := make([]byte, 8<<10)
	for {
		n, err := stderr.Read(buf)
		p.stderr.write(buf[:n])
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			takeRest(stderr, buf, p.stderr.write)
			return
		case err != nil:
			return
		}
	}
}

// Stdin is the pipe to the server. Closing it asks the server to end.
func (p *Process) Stdin() *os.File { return p.stdin }

// Stdout is the pipe from the server. It stays open after the exit, so that
// what is left can be read; whoever reads it closes it.
func (p *Process) Stdout() *os.File { return p.stdout }

// Stderr returns a copy of the last 256 KiB of the server's stderr. It is
// complete once Done is closed.
func (p *Process) Stderr() []byte { return p.stderr.bytes() }

// Done is closed when the server has exited, every process of its tree is gone
// and reaped, and its stderr has been read.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit says how the server ended ("exit status 1", "signal: killed"). It is
// empty until Done is closed.
func (p *Process) Exit() string {
	select {
	case <-p.done:
		return p.exit
	default:
		return ""
	}
}

// Confined says how the tree is held: "pid-namespace", "subreaper",
// "process-group" or "process".
func (p *Process) Confined() string { return p.held.name() }

// PID is the process that holds the tree together, the init if there is one:
// killing it ends the server.
func (p *Process) PID() int { return p.held.pid() }

// Kill ends the whole tree at once, without any grace.
func (p *Process) Kill() {
	select {
	case <-p.done:
	default:
		p.held.kill()
	}
}

// Stop ends the tree: close stdin, wait the grace, SIGTERM to every process,
// wait the grace, SIGKILL. It returns once the whole tree is gone and reaped.
// When ctx ends first the tree is killed at once. It is idempotent and
// concurrent calls share one sequence. A tree that the kernel cannot kill
// within another grace (a process in uninterruptible sleep) gives durward.Timeout.
func (p *Process) Stop(ctx context.Context) error {
	p.stopping.Do(func() { go p.stopSequence() })
	select {
	case <-p.done:
		<-p.stopped
		return nil
	case <-ctx.Done():
	}
	p.Kill()
	if p.endsWithin(p.grace) {
		<-p.stopped
		return nil
	}
	return durward.Errorf(durward.Timeout, op(p.spec), "the server did not end within %s after SIGKILL; look for a process in uninterruptible sleep below pid %d", p.grace, p.PID())
}

// stopSequence ends when the process does: each step is bounded and the last one is SIGKILL.
func (p *Process) stopSequence() {
	defer close(p.stopped)
	p.stdin.Close()
	if p.endsWithin(p.grace) {
		return
	}
	p.held.terminate()
	if p.endsWithin(p.grace) {
		return
	}
	p.held.kill()
}

func (p *Process) endsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}
