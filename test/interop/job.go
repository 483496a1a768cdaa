package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"durward/test/harness"
)

// jobLimit bounds one script; every check in it has a shorter limit of its own.
const jobLimit = 15 * time.Minute

// target is where a script's client connects to: an URL or a command.
type target struct {
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
}

// server is one MCP server as the scripts know it.
type server struct {
	Name   string  `json:"name"`
	Kind   string  `json:"kind"`
	Says   string  `json:"says,omitempty"`
	Files  string  `json:"files,omitempty"`
	Direct *target `json:"direct,omitempty"`
	// Era is modern or legacy: the only one this server is spoken to in. At is where
	// it is reached in jobs with a connection per server; Without is as in a job.
	Era string `json:"era,omitempty"`
	At  target `json:"at,omitzero"`
	// Abandon: the server counts calls that ended while they waited for an answer.
	Abandon bool              `json:"abandon,omitempty"`
	Without map[string]string `json:"without,omitempty"`
}

// job is one run of one script, or of a client program in its place. It is handed
// over as JSON in INTEROP_TARGET.
type job struct {
	Script  string   `json:"-"`
	Program []string `json:"-"`
	// Client is the name in the matrix; a job without one does not count there.
	Client    string   `json:"-"`
	Label     string   `json:"label"`
	Mode      string   `json:"mode"`
	Era       string   `json:"era,omitempty"`
	Aggregate bool     `json:"aggregate"`
	Complete  bool     `json:"complete"`
	Target    target   `json:"target"`
	Servers   []server `json:"servers"`
	// Principals are who calls, for scripts with more than one caller.
	Principals map[string]target `json:"principals,omitempty"`
	Modes      map[string]string `json:"modes,omitempty"`
	// Leaving: the job leaves calls, and does nothing else.
	Leaving bool `json:"leaving,omitempty"`
	// Without names the checks that the client cannot make, with the reason.
	Without map[string]string `json:"without,omitempty"`
}

// check is one line that a script printed.
type check struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Error   string `json:"error"`
	Skipped string `json:"skipped"`
	// Feature and Server say where in the matrix the check counts.
	Feature string `json:"feature"`
	Server  string `json:"server"`
}

// run runs the script and returns its checks, also when it ended badly.
func (j job) run(ctx context.Context, tools *harness.Toolbox) ([]check, error) {
	ctx, cancel := context.WithTimeout(ctx, jobLimit)
	defer cancel()
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	command := j.Program
	if j.Script != "" {
		command = []string{tools.Node, filepath.Join(tools.Root, "test", "interop", j.Script)}
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "INTEROP_TARGET="+string(text))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	checks, perr := parse(stdout.String())
	switch {
	case err != nil:
		return checks, fmt.Errorf("%w\n%s", err, tail(stderr.String()))
	case perr != nil:
		return checks, perr
	case len(checks) == 0:
		return nil, fmt.Errorf("the script made no check\n%s", tail(stderr.String()))
	}
	return checks, nil
}

func parse(text string) ([]check, error) {
	var checks []check
	for line := range strings.Lines(text) {
		var c check
		if err := json.Unmarshal([]byte(line), &c); err != nil || c.Name == "" {
			return checks, fmt.Errorf("the script printed something else than a check: %q", line)
		}
		checks = append(checks, c)
	}
	return checks, nil
}

func tail(text string) string {
	const keep = 2000
	if len(text) > keep {
		text = "… " + text[len(text)-keep:]
	}
	return strings.TrimSpace(text)
}

func indent(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}
