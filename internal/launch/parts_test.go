//go:build linux

package launch_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"durward/internal/launch"
)

// environ writes its environment, NUL-terminated, because values may hold newlines.
func environ([]string) {
	for _, entry := range os.Environ() {
		fmt.Print(entry + "\x00")
	}
}

func arguments(args []string) {
	for _, arg := range args {
		fmt.Print(arg + "\x00")
	}
}

// noise writes a megabyte to stderr before it says a word on stdout.
func noise([]string) {
	line := strings.Repeat("e", 99) + "\n"
	for range 10486 {
		fmt.Fprint(os.Stderr, line)
	}
	fmt.Fprint(os.Stderr, "the end")
	fmt.Println("done")
}

// gatewayPart launches stubborn servers and says when they run. Arguments: roll
// call, number of servers, which way to hold them.
func gatewayPart(args []string) {
	if args[2] == "subreaper" && dropSysAdmin() {
		_ = syscall.Exec(selfPath(), append([]string{selfPath(), "part:gateway"}, args...), os.Environ())
	}
	l := launch.New(launch.Options{NoInit: args[2] == "process-group"})
	if l.Confined() != args[2] {
		panic("trees are held by " + l.Confined() + ": " + l.Reason())
	}
	report(args[0], "gateway")
	n, _ := strconv.Atoi(args[1])
	for i := range n {
		more := []string{args[0], strconv.Itoa(i)}
		if args[2] == "process-group" {
			more = append(more, "same-group")
		}
		if _, err := l.Launch(background(), self("part:stubborn", more...)); err != nil {
			panic(err)
		}
	}
	select {}
}

// dropSysAdmin takes the right to make namespaces from what this process
// executes next. It says false when there is nothing to take.
func dropSysAdmin() bool {
	runtime.LockOSThread()
	held, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, unix.CAP_SYS_ADMIN, 0, 0, 0)
	return err == nil && held == 1 && unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_SYS_ADMIN, 0, 0, 0) == nil
}

// leakyGateway has a descriptor that is not closed on exec, and runs a server that lists its own.
func leakyGateway([]string) {
	fd, err := unix.Open("/dev/null", unix.O_RDONLY, 0)
	if err != nil {
		panic(err)
	}
	if err := unix.Dup3(fd, 77, 0); err != nil {
		panic(err)
	}
	l := launch.New(launch.Options{})
	p, err := l.Launch(background(), self("part:fds"))
	if err != nil {
		panic(err)
	}
	_, _ = io.Copy(os.Stdout, p.Stdout())
	l.Close()
}

// descriptors lists what was inherited: name, target, and whether it blocks.
func descriptors([]string) {
	for fd := range 256 {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		cloexec, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil || cloexec&unix.FD_CLOEXEC != 0 { // the runtime's own
			continue
		}
		fmt.Printf("%d nonblock=%v\n", fd, flags&unix.O_NONBLOCK != 0)
	}
}

// ownProc says whether /proc shows this process under its own id.
func ownProc([]string) {
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", os.Getpid()))
	fmt.Println(strings.Contains(string(cmdline), "part:wrongproc"), err)
}

// stopOrder tells what happens to it, and ends on SIGTERM only.
func stopOrder([]string) {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	fmt.Println("eof")
	<-term
	fmt.Println("term")
	unix.Exit(7) // the race detector makes os.Exit wait for a second, of which the grace has few
}

func exitWith(args []string) {
	fmt.Fprint(os.Stderr, "so long")
	if n, err := strconv.Atoi(args[0]); err == nil {
		unix.Exit(n) // without the hooks of a test binary, which write to stderr
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// orphanage makes orphans that end at once, and then counts the zombies it can see.
func orphanage([]string) {
	const orphans = 20
	for range orphans {
		// The shell's child outlives the shell and ends when its stdin does.
		cmd := exec.Command("sh", "-c", "cat <&3 >/dev/null & exec true")
		r, w, err := os.Pipe()
		if err != nil {
			panic(err)
		}
		cmd.ExtraFiles = []*os.File{r}
		if err := cmd.Run(); err != nil {
			panic(err)
		}
		r.Close()
		w.Close()
	}
	fmt.Println("made")
	in := bufio.NewReader(os.Stdin)
	for {
		if _, err := in.ReadString('\n'); err != nil {
			return
		}
		fmt.Println(childrenOf(os.Getppid()))
	}
}

// childrenOf lists the children of a process with their state.
func childrenOf(parent int) string {
	entries, _ := os.ReadDir("/proc")
	var out []string
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue // self is in the list as well
		}
		stat, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue // gone meanwhile
		}
		text := string(stat)
		fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
		if fields[1] == strconv.Itoa(parent) {
			out = append(out, entry.Name()+fields[0])
		}
	}
	return strings.Join(out, " ")
}
