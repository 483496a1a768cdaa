//go:build linux

package launch_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"durward/internal/launch"
	"durward/internal/testkit/leftover"
)

// The test binary plays every part: the test, the gateway that is killed, the
// init, and the servers. A part is the first argument.
func TestMain(m *testing.M) {
	launch.MaybeInit()
	if len(os.Args) > 1 {
		if part, ok := parts()[os.Args[1]]; ok {
			part(os.Args[2:])
			unix.Exit(0) // the race detector makes os.Exit wait for a second
		}
	}
	goleak.VerifyTestMain(leftover.Awaited(m))
}

func parts() map[string]func(args []string) {
	return map[string]func([]string){
		"part:stubborn":  stubborn,
		"part:member":    member,
		"part:environ":   environ,
		"part:arguments": arguments,
		"part:noise":     noise,
		"part:gateway":   gatewayPart,
		"part:fds":       descriptors,
		"part:stoporder": stopOrder,
		"part:exit":      exitWith,
		"part:where":     func([]string) { fmt.Println(os.Getwd()) },
		"part:cat":       func([]string) { _, _ = io.Copy(os.Stdout, os.Stdin) },
		"part:orphanage": orphanage,
		"part:wrongproc": ownProc,
		"part:leakygate": leakyGateway,
	}
}

// self is a Spec that plays a part.
func self(part string, args ...string) launch.Spec {
	return launch.Spec{Server: "test", Command: selfPath(), Args: append([]string{part}, args...)}
}

func selfPath() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

// report connects to the test's roll call and stays connected for life.
func report(socket, name string) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(conn, name)
	keep = conn
}

var keep net.Conn // holds the connection of report until the process ends

// stubborn ignores everything a process can ignore and has a descendant with a session of its own.
func stubborn(args []string) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	child := exec.Command(selfPath(), "part:member", args[0], "grandchild-"+args[1])
	if len(args) < 3 || args[2] != "same-group" {
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	if err := child.Start(); err != nil {
		panic(err)
	}
	report(args[0], "server-"+args[1])
	_, _ = io.Copy(io.Discard, os.Stdin)
	select {}
}

func member(args []string) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	report(args[0], args[1])
	select {}
}

// rollCall lists who is alive: every part that reports holds a connection.
type rollCall struct {
	socket string
	ln     net.Listener
	came   chan string
	gone   chan string
}

func newRollCall(t *testing.T) *rollCall {
	t.Helper()
	dir, err := os.MkdirTemp("", "roll")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &rollCall{socket: filepath.Join(dir, "s"), came: make(chan string, 1000), gone: make(chan string, 1000)}
	r.ln, err = net.Listen("unix", r.socket)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.accept()
	}()
	t.Cleanup(func() {
		r.ln.Close()
		<-done
	})
	return r
}

func (r *rollCall) accept() {
	for {
		conn, err := r.ln.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			in := bufio.NewReader(conn)
			name, _ := in.ReadString('\n')
			name = strings.TrimSpace(name)
			r.came <- name
			_, _ = in.ReadByte() // until its process is gone
			r.gone <- name
		}()
	}
}

// wait returns once every name was read from from.
func wait(t *testing.T, from chan string, names ...string) {
	t.Helper()
	missing := make(map[string]bool)
	for _, name := range names {
		missing[name] = true
	}
	for len(missing) > 0 {
		select {
		case name := <-from:
			delete(missing, name)
		case <-time.After(time.Minute):
			t.Fatalf("still waiting for %v", missing)
		}
	}
}
