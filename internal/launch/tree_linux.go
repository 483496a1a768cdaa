package launch

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// finishWithin bounds how long an init tries to end what its server left behind.
const finishWithin = 10 * time.Second

// signalTree signals every process of the tree but the init itself.
func (r *reaper) signalTree(s unix.Signal) {
	if r.mode == modeNamespace {
		_ = unix.Kill(-1, s) // everything in the namespace but its first process
		return
	}
	for _, pid := range descendants(os.Getpid()) {
		_ = unix.Kill(pid, s)
	}
}

// finish ends what the server left behind. In a namespace the kernel does
// that when we exit; elsewhere we kill until no child is left, because each
// death hands its children to us.
func (r *reaper) finish() {
	if r.mode == modeNamespace {
		return
	}
	deadline := time.Now().Add(finishWithin)
	for time.Now().Before(deadline) {
		r.signalTree(unix.SIGKILL)
		for {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if err == unix.ECHILD {
				return
			}
			if pid <= 0 && err != unix.EINTR {
				break
			}
		}
		time.Sleep(time.Millisecond)
	}
}

// descendants lists all processes below root, from one pass over /proc.
func descendants(root int) []int {
	children := make(map[int][]int)
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if parent, ok := parentOf(name); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	var all []int
	for queue := children[root]; len(queue) > 0; queue = queue[1:] {
		all = append(all, queue[0])
		queue = append(queue, children[queue[0]]...)
	}
	return all
}

// parentOf reads the parent from /proc/PID/stat, where it follows the state
// after the last parenthesis: the program's name before it may hold anything.
func parentOf(pid string) (int, bool) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, false
	}
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, false
	}
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return parent, err == nil
}
