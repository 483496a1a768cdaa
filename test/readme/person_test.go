//go:build unix

package readme_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"durward/internal/private"
	"durward/test/harness"
)

// How long a block may take. The machine may be busy with other tests.
const (
	blockTime = 10 * time.Minute // some compile
	stopTime  = time.Minute
	// What a service prints is read for so long after its end: something that it started
	// may hold its output open.
	waitDelay = 5 * time.Second
)

// person is somebody at a fresh account who follows a document.
type person struct {
	t       *testing.T
	home    string
	env     []string
	serving *service // what runs in the other terminal
	left    []int    // process groups of blocks that left something running
}

// newPerson makes a home directory with durward, Node and npx on the PATH. This
// npx finds the packages that test/peers pins instead of asking a registry.
func newPerson(t *testing.T) *person {
	t.Helper()
	tools, err := harness.Open()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("", "dw") // short: the path of a unix socket has a limit
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t: t, home: home}
	bin := filepath.Join(home, "bin")
	npx, err := exec.LookPath("npx")
	if err != nil {
		t.Fatal(err)
	}
	p.write("bin/npx", 0o755, "#!/bin/sh\ncd '"+tools.Peers+"' && exec '"+npx+"' \"$@\"\n")
	product, err := os.ReadFile(filepath.Join(tools.Root, "bin", "durward"))
	if err != nil {
		t.Fatal(err)
	}
	p.write("bin/durward", 0o755, string(product))
	p.env = []string{
		"HOME=" + home, "LANG=C.UTF-8", "GOBIN=" + bin,
		"PATH=" + strings.Join([]string{bin, filepath.Dir(tools.Node), os.Getenv("PATH")}, string(os.PathListSeparator)),
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOPROXY", "GOFLAGS"} {
		p.env = append(p.env, name+"="+goEnv(t, name))
	}
	t.Cleanup(p.leave)
	return p
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func (p *person) write(name string, mode os.FileMode, text string) {
	p.t.Helper()
	file := filepath.Join(p.home, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		p.t.Fatal(err)
	}
}

// shell is a bash that goes on where the last one was: in its directory and with
// what it exported.
func (p *person) shell(ctx context.Context, text string) *exec.Cmd {
	state, where := filepath.Join(p.home, ".shell-state"), filepath.Join(p.home, ".shell-where")
	script := "set -e -o pipefail\n" +
		"[ ! -e '" + state + "' ] || { . '" + state + "'; cd \"$(cat '" + where + "')\"; }\n" +
		"trap 'status=$?; declare -px > \"" + state + "\"; pwd > \"" + where + "\"; exit $status' EXIT\n" + text
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir, cmd.Env = root(), p.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = waitDelay
	return cmd
}

// run runs a block in the foreground and returns what it printed and its exit status.
func (p *person) run(text string) (printed string, status int) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), blockTime)
	defer cancel()
	cmd := p.shell(ctx, text)
	// A file, which is read when the block has ended: of a pipe nobody knows how long what
	// the block started holds it open, and how long reading its rest takes.
	file, err := os.Create(filepath.Join(p.home, ".printed"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer file.Close()
	cmd.Stdout, cmd.Stderr = file, file
	err = cmd.Run()
	out, failed := os.ReadFile(file.Name())
	if failed != nil {
		p.t.Fatal(failed)
	}
	out = progress().ReplaceAll(out, nil)
	if cmd.Process != nil && syscall.Kill(-cmd.Process.Pid, 0) == nil {
		p.left = append(p.left, cmd.Process.Pid)
	}
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		p.t.Fatalf("it did not end within %s:\n%s\nand printed\n%s", blockTime, text, out)
	case errors.As(err, &ended):
		return string(out), ended.ExitCode()
	case err != nil:
		p.t.Fatal(err)
	}
	return string(out), 0
}

// progress are lines that say how far something is. They come when it takes seconds,
// which no document means to show.
func progress() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^durward: (copying|exporting|reading|removing|replaying|verifying): \d+( %)?\n`)
}

// service is a block that runs in another terminal.
type service struct {
	cmd   *exec.Cmd
	ended chan struct{}

	mu      sync.Mutex // guards printed and serves
	printed bytes.Buffer
	serves  chan struct{} // closed when it said that it serves; nil after that
}

// greeting is how every command that serves says that it does.
const greeting = "Durward serves "

// Write takes what the service prints.
func (s *service) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.printed.Write(data)
	if s.serves != nil && strings.Contains(s.printed.String(), greeting) {
		close(s.serves)
		s.serves = nil
	}
	return len(data), nil
}

func (s *service) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.printed.String()
}

// serve starts a block in the other terminal, in which the one before it is interrupted.
func (p *person) serve(text string) {
	p.t.Helper()
	p.interrupt()
	serves := make(chan struct{})
	s := &service{cmd: p.shell(context.Background(), text), ended: make(chan struct{}), serves: serves}
	s.cmd.Stdout, s.cmd.Stderr = s, s
	if err := s.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() { // interrupt waits for it
		defer close(s.ended)
		_ = s.cmd.Wait() // how a program that was interrupted ends is not the document's matter
	}()
	p.serving = s
	timer := time.NewTimer(blockTime)
	defer timer.Stop()
	select {
	case <-serves:
	case <-s.ended:
		p.t.Fatalf("it ended and did not serve:\n%s\nand printed\n%s", text, s.text())
	case <-timer.C:
		p.t.Fatalf("it did not serve within %s:\n%s\nand printed\n%s", blockTime, text, s.text())
	}
}

// interrupt does what Ctrl-C does in the other terminal, and waits.
func (p *person) interrupt() {
	p.t.Helper()
	s := p.serving
	if s == nil {
		return
	}
	p.serving = nil
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGINT) // it may have ended
	timer := time.NewTimer(stopTime)
	defer timer.Stop()
	select {
	case <-s.ended:
	case <-timer.C:
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		<-s.ended
		p.t.Errorf("it did not end within %s after Ctrl-C, and printed\n%s", stopTime, s.text())
	}
}

// leave ends what the document left running and removes the home directory.
func (p *person) leave() {
	p.interrupt()
	if pid, runs := p.background(); runs {
		_ = syscall.Kill(pid, syscall.SIGTERM) // it may end at this moment by itself
		deadline := time.Now().Add(stopTime)
		for runs && time.Now().Before(deadline) {
			_, runs = p.background()
		}
		if runs {
			p.t.Errorf("the service in the background, pid %d, did not end within %s", pid, stopTime)
		}
		// It answers no more, but may still write down that it ends.
		unlock, err := private.Lock(filepath.Join(p.home, ".local", "state", "durward", "service.lock"), stopTime)
		if err == nil {
			err = unlock()
		}
		if err != nil {
			p.t.Errorf("the service in the background, pid %d: %v", pid, err)
		}
	}
	for _, group := range p.left {
		_ = syscall.Kill(-group, syscall.SIGKILL) // it may have ended by itself
	}
	if err := os.RemoveAll(p.home); err != nil {
		p.t.Error(err)
	}
}

// background finds the service that durward stdio starts.
func (p *person) background() (pid int, runs bool) {
	cmd := exec.Command(filepath.Join(p.home, "bin", "durward"), "status", "--json")
	cmd.Env = p.env
	out, err := cmd.Output()
	if err != nil {
		return 0, false
	}
	var status struct{ PID int }
	if err := json.Unmarshal(out, &status); err != nil || status.PID <= 1 {
		return 0, false
	}
	return status.PID, true
}
