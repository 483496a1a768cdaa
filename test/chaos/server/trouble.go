package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"durward/test/chaos/fault"
	"durward/test/chaos/journal"
)

// fault returns what is to go wrong with a call, and notes that it does. It goes
// wrong once: a call that arrives a second time meets no trouble.
func (s *server) fault(a *arguments) string {
	if a.Fault == "" {
		return ""
	}
	mark, err := os.OpenFile(filepath.Join(s.dir, "fired", a.ID), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return ""
	}
	_ = mark.Close() // empty
	s.journal.Write(journal.Entry{Kind: journal.Fault, Server: s.name, Call: a.ID, Fault: a.Fault})
	return a.Fault
}

// before goes wrong with a call that was read and not executed.
func (c *call) before() {
	switch c.fault {
	case fault.CrashBefore:
		die()
	case fault.Slow:
		time.Sleep(slowness)
	}
}

const slowness = 700 * time.Millisecond

// after goes wrong with a call that was executed and not answered.
func (c *call) after() {
	switch c.fault {
	case fault.CrashAfter:
		die()
	case fault.Hang:
		select {}
	case fault.Wedge:
		c.wedge()
	}
}

// reply sends the answer, or something like it.
func (c *call) reply(line []byte) {
	switch c.fault {
	case fault.CrashMid:
		c.half(line[:len(line)/2])
		die()
	case fault.Noise:
		for _, text := range []string{"just a line of text", `{"not":"json-rpc"}`, `{"jsonrpc":"2.0","id":424242,"result":{}}`, "\xff\xfe broken", `{"jsonrpc":"2.0","method":"notifications/nonsense"}`} {
			c.to.send([]byte(text))
		}
	}
	c.to.send(line)
	if c.fault == fault.Twice {
		c.to.send(line)
	}
}

// half writes the beginning of a line, where the transport can.
func (c *call) half(line []byte) {
	if h, ok := c.to.(interface{ half(line []byte) }); ok {
		h.half(line)
	}
}

// badStart makes a start slow, or fail, when somebody asked for it.
func (s *server) badStart() {
	if os.Remove(filepath.Join(s.dir, "slow-start", s.name)) == nil {
		time.Sleep(slowStart)
	}
	if os.Remove(filepath.Join(s.dir, "crash-start", s.name)) == nil {
		fmt.Fprintln(os.Stderr, "server: crashing at start as asked")
		os.Exit(3)
	}
}

const slowStart = 1500 * time.Millisecond

// obey takes commands by the control socket until the harness is gone. A process
// cannot be signalled from outside by its own word: it may live in a PID
// namespace, where its number is another one.
func (s *server) obey() {
	conn, err := net.Dial("unix", filepath.Join(s.dir, "control"))
	if err != nil {
		return // nobody commands
	}
	defer conn.Close()
	if _, err := fmt.Fprintln(conn, s.name); err != nil {
		return
	}
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		switch command, value, _ := strings.Cut(lines.Text(), " "); command {
		case fault.Kill:
			die()
		case fault.Freeze:
			go s.wedge()
		case fault.Pause:
			ms, _ := strconv.Atoi(value)
			go s.pause(time.Duration(ms) * time.Millisecond)
		case fault.Deaf: // requests are sent to it and never read
			s.alive.Lock()
			time.Sleep(150 * time.Millisecond)
			die()
		case fault.Forget:
			s.forget()
		}
	}
}
