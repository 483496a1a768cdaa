package harness

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"time"
)

// StopGrace is how long a program may take to end after SIGTERM before its whole
// process group is killed.
const StopGrace = time.Minute

// Process is one started program with its process group. Stop it exactly once
// when it is no longer needed; Stop may be called again without harm.
type Process struct {
	cmd  *exec.Cmd
	log  *os.File
	done chan struct{}
	err  error // set before done is closed
}

// Command says what to start. Env is added to the environment of this process;
// Log is the file that takes stdout and stderr.
type Command struct {
	Path string
	Args []string
	Env  []string
	Dir  string
	Log  string
}

// Start runs a program in a process group of its own, so that whatever it starts
// can be ended with it.
func Start(c Command) (*Process, error) {
	log, err := os.Create(c.Log)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Dir = c.Dir
	cmd.Stdout, cmd.Stderr = log, log
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, errors.Join(err, log.Close()))
	}
	p := &Process{cmd: cmd, log: log, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Pid is the process id, which is also the id of the process group.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Stop ends the program: SIGTERM, then SIGKILL for the whole group after
// [StopGrace]. It reports a program that had to be killed.
func (p *Process) Stop() error {
	select {
	case <-p.done:
	default:
		if err := terminate(p.cmd.Process); err != nil {
			return err
		}
	}
	var late error
	select {
	case <-p.done:
	case <-time.After(StopGrace):
		late = fmt.Errorf("%s did not end within %s of SIGTERM and was killed", p.cmd.Path, StopGrace)
	}
	// In any case: a fixture may leave children behind.
	if err := killGroup(p.Pid()); err != nil {
		return err
	}
	<-p.done
	if err := p.log.Close(); err != nil && late == nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return late
}

// StartHTTP starts a program that serves MCP at /mcp of the loopback address in
// its flag -http, waits until it listens, and returns its URL. args come before
// that flag. ctx bounds the wait only.
func StartHTTP(ctx context.Context, path string, args []string, log string) (p *Process, url string, err error) {
	addr, err := FreeAddr()
	if err != nil {
		return nil, "", err
	}
	args = append(slices.Clone(args), "-http="+addr)
	if p, err = Start(Command{Path: path, Args: args, Log: log}); err != nil {
		return nil, "", err
	}
	if err := WaitTCP(ctx, p, addr); err != nil {
		return nil, "", fmt.Errorf("%w%s", err, stopNote(p.Stop()))
	}
	return p, "http://" + addr + "/mcp", nil
}

// FreeAddr is a loopback address whose port was free a moment ago, for programs
// that cannot report the port they took, or that come back to it. It is below the ports
// that the system gives to whoever names none, so that nobody else is given it meanwhile.
func FreeAddr() (string, error) {
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", lowestPort+rand.IntN(portsAfterIt)))
		if err == nil {
			addr := l.Addr().String()
			return addr, l.Close()
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	addr := l.Addr().String()
	return addr, l.Close()
}

// The ports of FreeAddr: between those that programs are known for and those that
// systems give away, which begin at 32768 or later.
const (
	lowestPort   = 20_000
	portsAfterIt = 12_000
)

// WaitTCP waits until addr accepts a connection, and fails early when p ends.
func WaitTCP(ctx context.Context, p *Process, addr string) error {
	return poll(ctx, p, "accept a connection on "+addr, func() bool {
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err != nil {
			return false
		}
		return c.Close() == nil
	})
}

// Killed reports whether the program was ended by SIGKILL; call it only after Done.
func (p *Process) Killed() bool {
	var ended *exec.ExitError
	return errors.As(p.err, &ended) && ended.ProcessState.String() == "signal: killed"
}

// ending says how the program ended; call it only after Done.
func (p *Process) ending() string {
	if p.err == nil {
		return "exit status 0"
	}
	return p.err.Error()
}

// poll asks again every 20 ms: the programs watched here offer no event that
// another process could wait for.
func poll(ctx context.Context, p *Process, what string, ready func() bool) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ready() {
		select {
		case <-p.done:
			return fmt.Errorf("%s ended (%s) before it could %s; see %s", p.cmd.Path, p.ending(), what, p.log.Name())
		case <-ctx.Done():
			return fmt.Errorf("%s did not %s: %w (see %s)", p.cmd.Path, what, ctx.Err(), p.log.Name())
		case <-tick.C:
		}
	}
	return nil
}
