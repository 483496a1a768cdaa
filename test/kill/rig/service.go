package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"go.yaml.in/yaml/v4"

	"durward/client"
	"durward/test/harness"
)

// Token is the bearer token of the clients. It comes into the configuration by
// reference, as those of people do.
const Token = "kill-token-of-alice"

// ServiceOptions configure a [Service].
type ServiceOptions struct {
	Bin    string
	Dir    string         // of everything: configuration, state, logs, sockets
	State  string         // the state directory, if it is to be elsewhere: what XDG_STATE_HOME says
	Config map[string]any // besides listen, auth and principals
	Env    []string       // besides the XDG folders and the token
}

// Service is the service under test, in one incarnation after the other with the
// same address and the same state directory. Its methods are for one goroutine.
type Service struct {
	Addr  string // of HTTP
	State string // the state directory of durward itself
	Env   []string
	Runs  int // how often it was started

	bin, dir, config string
	api              *http.Client
	proc             *harness.Process
}

// NewService writes the configuration. Nothing is started.
func NewService(o ServiceOptions) (*Service, error) {
	addr, err := harness.FreeAddr()
	if err != nil {
		return nil, err
	}
	state := o.State
	if state == "" {
		state = filepath.Join(o.Dir, "state")
	}
	s := &Service{Addr: addr, State: filepath.Join(state, "durward"), bin: o.Bin, dir: o.Dir, config: filepath.Join(o.Dir, "config", "durward", "durward.yaml")}
	s.Env = append(s.Env, "KILL_TOKEN="+Token)
	s.Env = append(s.Env, o.Env...)
	for name, folder := range map[string]string{
		"XDG_CONFIG_HOME": filepath.Join(o.Dir, "config"), "XDG_STATE_HOME": state,
		"XDG_CACHE_HOME": filepath.Join(o.Dir, "cache"), "XDG_RUNTIME_DIR": filepath.Join(o.Dir, "run"),
	} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
		s.Env = append(s.Env, name+"="+folder)
	}
	config := map[string]any{
		"version": 1, "listen": addr, "auth": "token", "builtin": false,
		"principals": map[string]any{"alice": map[string]any{"token": "${env:KILL_TOKEN}"}},
	}
	maps.Copy(config, o.Config)
	text, err := yaml.Marshal(config)
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(o.Dir, "run", "durward", "api.sock")
	s.api = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	if err := os.MkdirAll(filepath.Dir(s.config), 0o700); err != nil {
		return nil, err
	}
	return s, os.WriteFile(s.config, text, 0o600)
}

// Ledger is the path of the database.
func (s *Service) Ledger() string { return filepath.Join(s.State, "ledger", "ledger.db") }

// Log is the file with what incarnation n said.
func (s *Service) Log(n int) string { return filepath.Join(s.dir, fmt.Sprintf("service-%03d.log", n)) }

// Spawn starts an incarnation and waits for nothing.
func (s *Service) Spawn() (err error) {
	s.Runs++
	s.proc, err = harness.Start(harness.Command{
		Path: s.bin, Args: []string{"serve", "--config", s.config}, Env: s.Env, Dir: s.dir, Log: s.Log(s.Runs),
	})
	return err
}

// Start starts an incarnation and waits until it listens.
func (s *Service) Start(ctx context.Context) error {
	if err := s.Spawn(); err != nil {
		return err
	}
	return s.Await(ctx)
}

// Await waits until the incarnation listens.
func (s *Service) Await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	return harness.WaitTCP(ctx, s.proc, s.Addr)
}

// Kill ends the incarnation as a power switch would; everything that it started
// has to go with it by itself. It is [ErrEnded] if it ended before by itself.
func (s *Service) Kill() error {
	if s.Ended() { // its number may be somebody else's by now
		return fmt.Errorf("%w; see %s", ErrEnded, s.Log(s.Runs))
	}
	process, err := os.FindProcess(s.proc.Pid())
	if err != nil {
		return err
	}
	if err := process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-s.proc.Done()
	killed := s.proc.Killed()
	if err := s.proc.Stop(); err != nil {
		return err
	}
	if !killed {
		return fmt.Errorf("%w; see %s", ErrEnded, s.Log(s.Runs))
	}
	return nil
}

// ErrEnded says that a service ended by itself.
var ErrEnded = errors.New("the service ended before it was killed")

// Ended reports whether the incarnation has ended.
func (s *Service) Ended() bool {
	select {
	case <-s.proc.Done():
		return true
	default:
		return false
	}
}

// Stop ends the incarnation with SIGTERM; an error if it had to be killed.
func (s *Service) Stop() error { return s.proc.Stop() }

// Pid is that of the incarnation.
func (s *Service) Pid() int { return s.proc.Pid() }

// Get asks HTTP or, by a path below /api/, the service API.
func (s *Service) Get(ctx context.Context, path string) (status int, body []byte, err error) {
	c, base := s.api, "http://durward"
	if !bytes.HasPrefix([]byte(path), []byte("/api/")) {
		c, base = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, "http://"+s.Addr
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
	if err != nil {
		return 0, nil, err
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// Command runs a durward command against the service, or against its state when
// none runs, and returns what it printed.
func (s *Service) Command(ctx context.Context, args ...string) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, s.bin, args...)
	cmd.Env = append(os.Environ(), s.Env...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// Verify runs durward ledger verify, in the service or, when none runs, without it.
// An error says what was found; that the newest links are not signed yet is none.
func (s *Service) Verify(ctx context.Context) (v client.Verified, err error) {
	out, errs, err := s.Command(ctx, "ledger", "verify", "--json")
	if err != nil {
		return v, fmt.Errorf("durward ledger verify: %w: %s%s", err, out, errs)
	}
	return v, json.Unmarshal([]byte(out), &v)
}

// RSS is how much memory the incarnation has resident, in bytes; 0 when it has ended.
func (s *Service) RSS() int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Pid()))
	if err != nil {
		return 0
	}
	var kb int
	_, rest, _ := bytes.Cut(status, []byte("VmRSS:"))
	if _, err := fmt.Sscan(string(rest), &kb); err != nil {
		return 0
	}
	return kb << 10
}

// Complaints are lines of the logs that no kill explains.
func (s *Service) Complaints() (found []string, err error) {
	for n := 1; n <= s.Runs; n++ {
		text, err := os.ReadFile(s.Log(n))
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(text) {
			for _, mark := range []string{"defect of Durward", "panic:", "fatal error:", "DATA RACE", "goroutine "} {
				if bytes.Contains(line, []byte(mark)) {
					found = append(found, fmt.Sprintf("%s: %s", filepath.Base(s.Log(n)), bytes.TrimSpace(line)))
				}
			}
		}
	}
	if _, err := os.Stat(filepath.Join(s.State, "service.log")); !errors.Is(err, os.ErrNotExist) {
		found = append(found, "a command started a service of its own")
	}
	return found, nil
}
