//go:build unix

package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// running is a service in the foreground.
type running struct {
	cmd  *exec.Cmd
	gone chan struct{}
}

// serve starts the service, by the commands of one person, and waits until it answers.
func serve(t *testing.T, command func(args ...string) *exec.Cmd, flags ...string) *running {
	t.Helper()
	var log bytes.Buffer
	r := &running{cmd: command(append([]string{"serve"}, flags...)...), gone: make(chan struct{})}
	r.cmd.Stderr = &log
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.gone)
		_ = r.cmd.Wait() // how it ended is what the test decides
	}()
	t.Cleanup(func() { r.end(t, syscall.SIGTERM) })
	waitFor(t, "the service", func() bool {
		select {
		case <-r.gone:
			t.Fatalf("the service ended: %s", log.String())
		default:
		}
		return command("status").Run() == nil
	})
	return r
}

func (r *running) end(t *testing.T, signal syscall.Signal) {
	t.Helper()
	_ = r.cmd.Process.Signal(signal) // it may have ended
	select {
	case <-r.gone:
	case <-time.After(time.Minute):
		t.Error("the service does not end")
	}
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) { // processes and files cannot be waited for
		if time.Now().After(until) {
			t.Fatalf("%s: waited too long", what)
		}
	}
}

// shortDir is a directory until the test ends. Paths of sockets have to be short, and
// those of t.TempDir are not.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "dw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
