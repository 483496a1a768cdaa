//go:build linux

package launch_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"durward"
	"durward/internal/launch"
)

func background() context.Context { return context.Background() }

// short keeps the tests of stubborn servers quick; no assertion depends on it.
const short = 50 * time.Millisecond

func newLauncher(t *testing.T, opts launch.Options) *launch.Launcher {
	t.Helper()
	l := launch.New(opts)
	t.Cleanup(func() { l.Close() })
	return l
}

func start(t *testing.T, l *launch.Launcher, s launch.Spec) *launch.Process {
	t.Helper()
	p, err := l.Launch(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		<-p.Done()
		p.Stdout().Close()
	})
	return p
}

// output runs a part to its end and returns what it wrote.
func output(t *testing.T, l *launch.Launcher, s launch.Spec) string {
	t.Helper()
	p := start(t, l, s)
	p.Stdin().Close()
	out, err := io.ReadAll(p.Stdout())
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	return string(out)
}

func kinds() map[string]launch.Options {
	return map[string]launch.Options{"init": {Grace: short}, "no init": {Grace: short, NoInit: true}}
}

// A gateway that is killed leaves nothing, however hard its servers try.
func TestB6_SIGKILLOfTheGatewayLeavesNothing(t *testing.T) {
	best := launch.New(launch.Options{})
	ways := []string{best.Confined(), "subreaper", "process-group"}
	best.Close()
	for _, way := range slices.Compact(ways) {
		t.Run(way, func(t *testing.T) {
			roll := newRollCall(t)
			gateway := exec.Command(selfPath(), "part:gateway", roll.socket, "3", way)
			gateway.Stderr = os.Stderr
			if err := gateway.Start(); err != nil {
				t.Fatal(err)
			}
			all := []string{"gateway"}
			for i := range 3 {
				all = append(all, "server-"+strconv.Itoa(i), "grandchild-"+strconv.Itoa(i))
			}
			wait(t, roll.came, all...)
			if err := gateway.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if way == "process-group" {
				// The parent-death signal ends the servers; for the rest there is no promise.
				wait(t, roll.gone, "gateway", "server-0", "server-1", "server-2")
				killByArgument(t, roll.socket)
				wait(t, roll.gone, "grandchild-0", "grandchild-1", "grandchild-2")
			} else {
				wait(t, roll.gone, all...)
			}
			_ = gateway.Wait() // it was killed
		})
	}
}

// killByArgument ends what a process group cannot hold; the socket's path is unique to the test.
func killByArgument(t *testing.T, argument string) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		cmdline, _ := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		if pid, err := strconv.Atoi(entry.Name()); err == nil && pid != os.Getpid() && strings.Contains(string(cmdline), argument) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func TestB6_StopEndsAStubbornTree(t *testing.T) {
	for name, opts := range kinds() {
		t.Run(name, func(t *testing.T) {
			roll := newRollCall(t)
			l := newLauncher(t, opts)
			args := []string{roll.socket, "x"}
			if opts.NoInit {
				args = append(args, "same-group")
			}
			p := start(t, l, self("part:stubborn", args...))
			wait(t, roll.came, "server-x", "grandchild-x")
			if err := p.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			wait(t, roll.gone, "server-x", "grandchild-x")
			if got := p.Exit(); got != "signal: killed" {
				t.Errorf("exit %q", got)
			}
			if err := p.Stop(t.Context()); err != nil {
				t.Errorf("second stop: %v", err)
			}
		})
	}
}

func TestB6_CloseEndsEverything(t *testing.T) {
	roll := newRollCall(t)
	l := launch.New(launch.Options{Grace: short})
	for i := range 5 {
		p, err := l.Launch(t.Context(), self("part:stubborn", roll.socket, strconv.Itoa(i)))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Stdout().Close()
	}
	var all []string
	for i := range 5 {
		all = append(all, "server-"+strconv.Itoa(i), "grandchild-"+strconv.Itoa(i))
	}
	wait(t, roll.came, all...)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	wait(t, roll.gone, all...)
	if _, err := l.Launch(t.Context(), self("part:cat")); durward.KindOf(err) != durward.Unavailable {
		t.Errorf("launch after close: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

// The chain npx makes: a shell, a program, a helper of it; the shell dies first.
func TestB6_ChainOfLaunchers(t *testing.T) {
	roll := newRollCall(t)
	l := newLauncher(t, launch.Options{Grace: short})
	script := `node -e '
const {spawn} = require("child_process"), net = require("net")
spawn(process.argv[1], ["part:member", process.argv[2], "helper"], {stdio: "ignore", detached: true})
net.connect(process.argv[2]).write("node\n")
setInterval(() => {}, 1000)' "$@" & "$1" part:member "$2" shell-child`
	p := start(t, l, launch.Spec{Server: "chain", Command: "sh", Args: []string{"-c", script, "sh", selfPath(), roll.socket}})
	wait(t, roll.came, "node", "helper", "shell-child")
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait(t, roll.gone, "node", "helper", "shell-child")
}

// A server that ends by itself takes what it started with it.
func TestB6_NothingOutlivesItsServer(t *testing.T) {
	roll := newRollCall(t)
	l := newLauncher(t, launch.Options{Grace: short})
	p := start(t, l, launch.Spec{Server: "chain", Command: "sh", Args: []string{"-c", `"$0" part:member "$1" left & read line`, selfPath(), roll.socket}})
	wait(t, roll.came, "left")
	p.Stdin().Close()
	<-p.Done()
	wait(t, roll.gone, "left")
	if got := p.Exit(); got != "exit status 1" {
		t.Errorf("exit %q", got)
	}
}

func TestB6_AHundredAtOnceLeaveNoZombies(t *testing.T) {
	l := newLauncher(t, launch.Options{Grace: time.Minute}) // for a hundred to get their turn and end
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			p, err := l.Launch(t.Context(), self("part:cat"))
			if err != nil {
				t.Error(err)
				return
			}
			defer p.Stdout().Close()
			if _, err := io.WriteString(p.Stdin(), "hello\n"); err != nil {
				t.Error(err)
			}
			if line, err := bufio.NewReader(p.Stdout()).ReadString('\n'); line != "hello\n" {
				t.Errorf("%q, %v", line, err)
			}
			if err := p.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			if p.Exit() != "exit status 0" {
				t.Errorf("exit %q", p.Exit())
			}
		})
	}
	wg.Wait()
	if left := childrenOf(os.Getpid()); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

// Orphans of a server that never reaps are reaped by its init.
func TestB6_OrphansAreReaped(t *testing.T) {
	l := newLauncher(t, launch.Options{})
	p := start(t, l, self("part:orphanage"))
	out := bufio.NewReader(p.Stdout())
	if line, err := out.ReadString('\n'); line != "made\n" {
		t.Fatalf("%q, %v", line, err)
	}
	// Each question asks the kernel anew, so this waits for the reaper, not for time.
	for {
		if _, err := io.WriteString(p.Stdin(), "?\n"); err != nil {
			t.Fatal(err)
		}
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if len(strings.Fields(line)) == 1 && !strings.Contains(line, "Z") {
			return // only the server itself
		}
	}
}

func TestB7_AMegabyteOfStderrBlocksNobody(t *testing.T) {
	for name, opts := range kinds() {
		t.Run(name, func(t *testing.T) {
			l := newLauncher(t, opts)
			p := start(t, l, self("part:noise"))
			if line, err := bufio.NewReader(p.Stdout()).ReadString('\n'); line != "done\n" {
				t.Fatalf("%q, %v", line, err)
			}
			<-p.Done()
			got := p.Stderr()
			if len(got) != 256<<10 || !strings.HasSuffix(string(got), "e\nthe end") {
				t.Errorf("%d bytes, end %q", len(got), got[max(0, len(got)-20):])
			}
		})
	}
}

func TestStopOrder(t *testing.T) {
	for name, opts := range kinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLauncher(t, launch.Options{NoInit: opts.NoInit, Grace: 10 * time.Second}) // of which it needs hardly any
			p := start(t, l, self("part:stoporder"))
			out := bufio.NewReader(p.Stdout())
			if line, err := out.ReadString('\n'); line != "ready\n" {
				t.Fatalf("%q, %v", line, err)
			}
			if err := p.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			rest, err := io.ReadAll(out)
			if string(rest) != "eof\nterm\n" || err != nil {
				t.Errorf("%q, %v", rest, err)
			}
			if p.Exit() != "exit status 7" {
				t.Errorf("exit %q", p.Exit())
			}
		})
	}
}

func TestStopWithoutPatienceKills(t *testing.T) {
	roll := newRollCall(t)
	l := newLauncher(t, launch.Options{Grace: time.Hour})
	p := start(t, l, self("part:stubborn", roll.socket, "x"))
	wait(t, roll.came, "server-x", "grandchild-x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	wait(t, roll.gone, "server-x", "grandchild-x")
}

func TestExit(t *testing.T) {
	for name, opts := range kinds() {
		l := newLauncher(t, opts)
		for arg, want := range map[string]string{"0": "exit status 0", "3": "exit status 3", "255": "exit status 255", "kill": "signal: killed"} {
			t.Run(name+" "+arg, func(t *testing.T) {
				p := start(t, l, self("part:exit", arg))
				if p.PID() <= 0 {
					t.Error("no pid")
				}
				<-p.Done()
				if p.Exit() != want || string(p.Stderr()) != "so long" {
					t.Errorf("%q, stderr %q", p.Exit(), p.Stderr())
				}
				if err := p.Stop(t.Context()); err != nil {
					t.Error(err)
				}
				p.Kill() // of something gone does nothing
			})
		}
	}
}

// Node looks at its own process in /proc; in a namespace that must be its own /proc.
func TestServerSeesItselfInProc(t *testing.T) {
	for name, opts := range kinds() {
		t.Run(name, func(t *testing.T) {
			l := newLauncher(t, opts)
			if got := output(t, l, self("part:wrongproc")); got != "true <nil>\n" {
				t.Errorf("%q", got)
			}
			node := launch.Spec{Server: "node", Command: "node", Args: []string{"-e", `
const fs = require("fs"), own = process.pid
const status = fs.readFileSync("/proc/self/status", "utf8").match(/^Pid:\s*(\d+)/m)[1]
console.log(own != 1, status == own, fs.readFileSync("/proc/" + own + "/comm", "utf8").trim())`}}
			if got := output(t, l, node); got != "true true node\n" {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestServerInheritsThreeDescriptors(t *testing.T) {
	out, err := exec.Command(selfPath(), "part:leakygate").CombinedOutput()
	want := "0 nonblock=false\n1 nonblock=false\n2 nonblock=false\n"
	if string(out) != want || err != nil {
		t.Errorf("%s, %v", out, err)
	}
}

func TestInitIsNotReachedByAccident(t *testing.T) {
	cmd := &exec.Cmd{Path: selfPath(), Args: []string{"durward (init)"}}
	out, err := cmd.CombinedOutput()
	if !strings.Contains(string(out), "started by the gateway only") || cmd.ProcessState.ExitCode() != 2 {
		t.Errorf("%s, %v", out, err)
	}
}

func TestLaunchHonoursItsContext(t *testing.T) {
	for name, opts := range kinds() {
		t.Run(name, func(t *testing.T) {
			l := newLauncher(t, opts)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := l.Launch(ctx, self("part:cat")); durward.KindOf(err) != durward.Timeout {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestReasonGoesWithConfined(t *testing.T) {
	l := newLauncher(t, launch.Options{})
	if (l.Confined() == "pid-namespace") != (l.Reason() == "") {
		t.Errorf("%s because %q", l.Confined(), l.Reason())
	}
	p := start(t, l, self("part:cat"))
	if p.Confined() != l.Confined() {
		t.Errorf("%s, %s", p.Confined(), l.Confined())
	}
}
