package rig

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"durward/test/chaos/journal"
)

// Counter is the server that counts, over HTTP: it outlives every incarnation of
// the service.
type Counter struct {
	URL string
	cmd *exec.Cmd
}

// StartCounter starts it; the journal is in dir.
func StartCounter(bin, dir string, env ...string) (*Counter, error) {
	cmd := exec.Command(bin, "-http", "127.0.0.1:0", "-name", "web", "-dir", dir)
	cmd.Env = append(os.Environ(), env...)
	log, err := os.Create(filepath.Join(dir, "web.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &Counter{cmd: cmd}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("%s did not say where it listens: %w; see %s", bin, err, log.Name())
	}
	c.URL = "http://" + strings.TrimSpace(address) + "/mcp"
	return c, nil
}

// Close ends it.
func (c *Counter) Close() {
	_ = c.cmd.Process.Kill() // if it has ended, that is as well
	_ = c.cmd.Wait()
}

// Servers is the servers part of a configuration: the counting server over stdio,
// called lines, and the one of c, called web.
func (c *Counter) Servers(bin, dir string) map[string]any {
	return map[string]any{
		"lines": map[string]any{"command": bin, "args": []string{"-name", "lines", "-dir", dir}},
		"web":   map[string]any{"url": c.URL},
	}
}

// Seen returns the ids of the calls that reached a server, each with how often.
func Seen(dir string) (map[string]int, error) {
	entries, err := journal.Read(dir)
	if err != nil {
		return nil, err
	}
	seen := map[string]int{}
	for _, e := range entries {
		seen[e.Call]++
	}
	return seen, nil
}
