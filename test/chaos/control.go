package main

import (
	"bufio"
	"fmt"
	"net"
	"path/filepath"
	"sync"
)

// control is the socket on which every server process reports, to be told what
// to do wrong. A process that is gone reports its end by that of its connection.
type control struct {
	listener net.Listener
	wg       sync.WaitGroup

	mu    sync.Mutex // guards conns
	conns map[string]map[net.Conn]bool
}

func openControl(dir string) (*control, error) {
	l, err := net.Listen("unix", filepath.Join(dir, "control"))
	if err != nil {
		return nil, err
	}
	c := &control{listener: l, conns: map[string]map[net.Conn]bool{}}
	c.wg.Go(c.accept)
	return c, nil
}

func (c *control) accept() {
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			return
		}
		c.wg.Go(func() { c.keep(conn) })
	}
}

// keep knows a process as long as it lives.
func (c *control) keep(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	if !lines.Scan() {
		return
	}
	name := lines.Text()
	c.mu.Lock()
	if c.conns[name] == nil {
		c.conns[name] = map[net.Conn]bool{}
	}
	c.conns[name][conn] = true
	c.mu.Unlock()
	lines.Scan() // the end
	c.mu.Lock()
	delete(c.conns[name], conn)
	c.mu.Unlock()
}

// command tells one process of a server to do something; false if there is none.
func (c *control) command(server, what string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.conns[server] { // any of them
		_, err := fmt.Fprintln(conn, what)
		return err == nil
	}
	return false
}

// close must come after the processes have ended.
func (c *control) close() {
	_ = c.listener.Close()
	c.mu.Lock()
	for _, conns := range c.conns {
		for conn := range conns {
			_ = conn.Close()
		}
	}
	c.mu.Unlock()
	c.wg.Wait()
}
