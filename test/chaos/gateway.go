package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v4"

	"durward/test/harness"
)

// principals are the callers over HTTP, each with a token. The owner of the
// service, "local", comes by durward stdio.
func principals() []string { return []string{"alice", "bob"} }

const principalLocal = "local"

func tokenOf(principal string) string { return "chaos-token-of-" + principal }

// gateway is the service under test, in one incarnation after the other with the
// same state directory and address.
type gateway struct {
	bin, dir, addr, config string
	env                    []string
	runs                   int

	// up is held for writing while the gateway is down, so that nobody starts a
	// durward stdio meanwhile: that would fail. Those that run wait.
	up   sync.RWMutex
	proc *harness.Process
}

func newGateway(bin, dir string, f *fleet) (*gateway, error) {
	addr, err := harness.FreeAddr()
	if err != nil {
		return nil, err
	}
	g := &gateway{bin: bin, dir: dir, addr: addr, config: filepath.Join(dir, "durward.yaml")}
	for name, folder := range map[string]string{
		"XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache", "XDG_RUNTIME_DIR": "run",
	} {
		folder = filepath.Join(dir, folder)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
		g.env = append(g.env, name+"="+folder)
	}
	callers := map[string]any{}
	for _, p := range principals() {
		variable := "CHAOS_TOKEN_" + strings.ToUpper(p)
		g.env = append(g.env, variable+"="+tokenOf(p))
		callers[p] = map[string]any{"token": "${env:" + variable + "}"}
	}
	text, err := yaml.Marshal(map[string]any{
		"version": 1, "listen": addr, "auth": "token", "builtin": false, "principals": callers, "servers": servers(f),
		// Short times, so that what has to pass passes often within a run.
		"limits":   map[string]any{"backoff_first": "50ms", "backoff_most": "500ms", "keep_alive": "200ms", "hold_life": "5s", "ask_timeout": "10s"},
		"defaults": map[string]any{"call_timeout": callTimeout.String(), "timeout": "5s", "health_every": "400ms", "start_timeout": "5s", "idle_stop": "never"},
	})
	if err != nil {
		return nil, err
	}
	return g, os.WriteFile(g.config, text, 0o600)
}

// callTimeout bounds one call upstream. A server that hangs explains that much.
const callTimeout = 6 * time.Second

func servers(f *fleet) map[string]any {
	all := map[string]any{}
	for _, t := range targets() {
		s := map[string]any{}
		if t.http {
			s["url"] = "http://" + f.proxies[t.name].addr + "/mcp"
		} else {
			s["command"], s["args"] = f.bin, f.args(t)
		}
		if t.idempotent {
			s["retry"] = "idempotent"
		}
		all[t.name] = s
	}
	return all
}

// start starts the first incarnation.
func (g *gateway) start(ctx context.Context) error {
	g.up.Lock()
	defer g.up.Unlock()
	return g.spawn(ctx)
}

// spawn starts an incarnation and waits until it listens. up is held.
func (g *gateway) spawn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var err error
	// Somebody's outgoing connection may sit on the port for a moment, and a process that
	// the one before was just forking when it was killed holds its lock.
	for until := time.Now().Add(startWithin); ; {
		g.runs++
		if g.proc, err = harness.Start(harness.Command{
			Path: g.bin, Args: []string{"serve", "--config", g.config}, Env: g.env, Dir: g.dir, Log: g.log(g.runs),
		}); err != nil {
			return err
		}
		if err = harness.WaitTCP(ctx, g.proc, g.addr); err == nil {
			return g.awaitSocket(ctx)
		}
		if ctx.Err() != nil || time.Now().After(until) {
			return err
		}
		_ = g.proc.Stop() // it has ended
	}
}

// startWithin is how long the gateway is started again when it ends at once.
const startWithin = time.Minute

// awaitSocket waits until the service API is served, too: a durward stdio that
// comes before would start a service of its own.
func (g *gateway) awaitSocket(ctx context.Context) error {
	for {
		conn, err := net.Dial("unix", filepath.Join(g.dir, "run", "durward", "api.sock"))
		if err == nil {
			return conn.Close()
		}
		if !sleep(ctx, 5*time.Millisecond) {
			return err
		}
	}
}

func (g *gateway) log(run int) string {
	return filepath.Join(g.dir, fmt.Sprintf("gateway-%03d.log", run))
}

// restart ends the gateway with a signal and starts it again. note is called
// right before.
func (g *gateway) restart(ctx context.Context, signal os.Signal, note func()) error {
	g.up.Lock()
	defer g.up.Unlock()
	process, err := os.FindProcess(g.proc.Pid())
	if err != nil {
		return err
	}
	note()
	if err := process.Signal(signal); err != nil {
		return err
	}
	select {
	case <-g.proc.Done():
	case <-time.After(harness.StopGrace):
	}
	if err := g.proc.Stop(); err != nil {
		return err // it did not end by itself
	}
	return g.spawn(ctx)
}

func (g *gateway) stop() error {
	g.up.Lock()
	defer g.up.Unlock()
	return g.proc.Stop()
}

// complaints are lines of the logs that no fault explains.
func (g *gateway) complaints() ([]string, error) {
	var found []string
	for run := 1; run <= g.runs; run++ {
		text, err := os.ReadFile(g.log(run))
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(text) {
			for _, mark := range []string{"defect of Durward", "panic:", "fatal error:", "DATA RACE"} {
				if bytes.Contains(line, []byte(mark)) {
					found = append(found, fmt.Sprintf("%s: %s", filepath.Base(g.log(run)), bytes.TrimSpace(line)))
				}
			}
		}
	}
	if _, err := os.Stat(filepath.Join(g.dir, "state", "durward", "service.log")); err == nil {
		found = append(found, "a durward stdio started a service of its own; see state/durward/service.log")
	}
	return found, nil
}
