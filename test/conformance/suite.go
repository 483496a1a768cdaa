package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"durward/test/harness"
)

// check is one assertion as the suite wrote it to checks.json.
type check struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Status  string          `json:"status"`
	Message string          `json:"errorMessage"`
	Details json.RawMessage `json:"details"`
}

// result is what one cell brought: the checks of each scenario in the order in
// which the suite wrote them, and which scenarios count.
type result struct {
	dir       string
	scenarios map[string][]check
	scored    []string
	took      time.Duration
}

// passed counts the scored scenarios that ran and have no failed check.
func (r *result) passed() int {
	n := 0
	for _, s := range r.scored {
		if checks, ok := r.scenarios[s]; ok && len(failures(checks)) == 0 {
			n++
		}
	}
	return n
}

func failures(checks []check) []check {
	var bad []check
	for _, c := range checks {
		if c.Status == "FAILURE" {
			bad = append(bad, c)
		}
	}
	return bad
}

// runSuite runs the suite under the pinned Node and reads what it wrote. The
// suite's own exit code is not used: it is 1 for any failing check, and the
// checks tell more.
func runSuite(ctx context.Context, tools *harness.Toolbox, o options, c cell, url, dir string) (*result, error) {
	out := filepath.Join(dir, "checks")
	args := []string{tools.Peer(c.suite.pkg, "dist", "index.js"), "server", "--url", url, "-o", out}
	if o.scenario != "" {
		args = append(append(args, "--scenario", o.scenario), c.suite.one...)
	} else {
		args = append(args, c.suite.args...)
	}
	cmd := exec.CommandContext(ctx, tools.Node, args...)
	log := filepath.Join(dir, "suite.log")
	if _, err := runLogged(ctx, cmd, log); err != nil {
		return nil, fmt.Errorf("run the suite: %w", err)
	}
	r := &result{dir: dir}
	var err error
	if r.scenarios, err = readChecks(out, "server-"); err != nil {
		return nil, fmt.Errorf("%w (see %s)", err, log)
	}
	need, err := requirements(tools, c.suite)
	if err != nil {
		return nil, err
	}
	r.scored = need.Server
	if c.suite.scored == "" {
		r.scored = sortedKeys(r.scenarios)
	}
	r.scored = selected(r.scored, o.scenario)
	return r, nil
}

// runLogged runs a program with its output in a file. That it ended with another
// code than 0 is told and no error.
func runLogged(ctx context.Context, cmd *exec.Cmd, log string) (success bool, err error) {
	text, err := cmd.CombinedOutput()
	if werr := os.WriteFile(log, text, 0o600); werr != nil {
		return false, werr
	}
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		return false, fmt.Errorf("%w (see %s)", err, log)
	}
	return err == nil, nil
}

// readChecks collects the checks.json of every scenario folder. Their names are
// "SCENARIO-TIMESTAMP", for suites that examine servers with a prefix; a
// scenario may itself contain dashes.
func readChecks(out, prefix string) (map[string][]check, error) {
	name := regexp.MustCompile(`^` + prefix + `(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)
	files, err := filepath.Glob(filepath.Join(out, "*", "checks.json"))
	if err != nil {
		return nil, err
	}
	scenarios := make(map[string][]check)
	for _, f := range files {
		m := name.FindStringSubmatch(filepath.Base(filepath.Dir(f)))
		if m == nil {
			return nil, fmt.Errorf("unexpected result folder %s", f)
		}
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		var checks []check
		if err := json.Unmarshal(text, &checks); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		scenarios[m[1]] = checks
	}
	if len(scenarios) == 0 {
		return nil, errors.New("the suite wrote no checks")
	}
	return scenarios, nil
}

// requirement is a requirement file of the suite: what is scored, and what runs
// besides.
type requirement struct {
	Server    []string   `yaml:"server"`
	Client    []string   `yaml:"client"`
	NotScored []unscored `yaml:"not_scored"`
}

// unscored is a scenario that runs for information; leg is server or client.
type unscored struct {
	Scenario string `yaml:"scenario"`
	Leg      string `yaml:"leg"`
}

// requirements reads the suite's file; a suite without one requires nothing.
func requirements(tools *harness.Toolbox, s suite) (requirement, error) {
	var need requirement
	if s.scored == "" {
		return need, nil
	}
	text, err := os.ReadFile(tools.Peer(s.scored))
	if err != nil {
		return need, err
	}
	if err := yaml.Unmarshal(text, &need); err != nil {
		return need, fmt.Errorf("%s: %w", s.scored, err)
	}
	return need, nil
}

// selected are the names in order, or the one that was asked for.
func selected(names []string, only string) []string {
	var all []string
	for _, name := range names {
		if only == "" || name == only {
			all = append(all, name)
		}
	}
	sort.Strings(all)
	return all
}

// line shortens text to one line for a report.
func line(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > limit {
		text = text[:limit] + " …"
	}
	return text
}
