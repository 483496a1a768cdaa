package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a program under test.
type process struct {
	cmd   *exec.Cmd
	state string // its XDG_STATE_HOME
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Wait()
}

// echoHTTP starts the echo server over HTTP.
func (b *harness) echoHTTP(ctx context.Context, args ...string) (*process, endpoint, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(b.dir, "echo"), append([]string{"-http", "127.0.0.1:0"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, endpoint{}, err
	}
	if err := cmd.Start(); err != nil {
		return nil, endpoint{}, err
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	return &process{cmd: cmd}, endpoint{address: strings.TrimSpace(address), path: "/mcp"}, err
}

// gateway starts durward with a configuration; the endpoint is its aggregate.
func (b *harness) gateway(ctx context.Context, config string) (*process, endpoint, error) {
	state, err := os.MkdirTemp(b.dir, "state-")
	if err != nil {
		return nil, endpoint{}, err
	}
	file := filepath.Join(state, "durward.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, endpoint{}, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(b.dir, "durward"), "serve", "--config", file)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+state, "XDG_RUNTIME_DIR="+state)
	if err := cmd.Start(); err != nil {
		return nil, endpoint{}, err
	}
	p := &process{cmd: cmd, state: state}
	address, err := awaitFile(ctx, filepath.Join(state, "durward", "http.addr"))
	if err != nil {
		return p, endpoint{}, err
	}
	token, err := os.ReadFile(filepath.Join(state, "durward", "token"))
	if err != nil {
		return p, endpoint{}, err
	}
	return p, endpoint{address: address, path: "/mcp", token: strings.TrimSpace(string(token)), prefix: "echo__"}, nil
}

// awaitFile waits for a file that is written when a service listens.
func awaitFile(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if data, err := os.ReadFile(path); err == nil && len(data) > 0 {
			return strings.TrimSpace(string(data)), nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("waiting for %s: %w", path, ctx.Err())
		case <-tick.C:
		}
	}
}

// usage is what a process has used so far.
type usage struct {
	cpu     time.Duration
	rssKB   int
	peakKB  int
	mallocs uint64
}

func (p *process) usage() usage {
	var u usage
	pid := strconv.Itoa(p.cmd.Process.Pid)
	if stat, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil {
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+2:]))
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		u.cpu = time.Duration(user+system) * 10 * time.Millisecond
	}
	if status, err := os.ReadFile("/proc/" + pid + "/status"); err == nil {
		u.rssKB, u.peakKB = field(string(status), "VmRSS:"), field(string(status), "VmHWM:")
	}
	var r struct{ Mallocs uint64 }
	if err := p.get("/api/v1/runtime", &r); err == nil {
		u.mallocs = r.Mallocs
	}
	return u
}

func field(status, name string) int {
	_, rest, _ := strings.Cut(status, name)
	n, _ := strconv.Atoi(strings.Fields(rest + " 0")[0])
	return n
}

// get asks the service over its unix socket.
func (p *process) get(path string, into any) (err error) {
	if p.state == "" {
		return errors.New("not a gateway")
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(p.state, "durward", "api.sock"))
	}}
	resp, err := (&http.Client{Transport: transport}).Get("http://durward" + path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	if raw, ok := into.(*[]byte); ok {
		*raw, err = io.ReadAll(resp.Body)
		return err
	}
	return json.NewDecoder(resp.Body).Decode(into)
}
