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

	"go.yaml.in/yaml/v4"

	"durward/test/harness"
)

// check is one assertion as the suite wrote it to checks.json.
type check struct {
	ID      string          `json:"id"`
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
	text, err := cmd.CombinedOutput()
	if werr := os.WriteFile(filepath.Join(dir, "suite.log"), text, 0o600); werr != nil {
		return nil, werr
	}
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		return nil, fmt.Errorf("run the suite: %w (see %s)", err, dir)
	}
	r := &result{dir: dir}
	if r.scenarios, err = readChecks(out); err != nil {
		return nil, fmt.Errorf("%w (see %s)", err, filepath.Join(dir, "suite.log"))
	}
	r.scored, err = scoredScenarios(tools, o, c.suite, r)
	return r, err
}

// readChecks collects the checks.json of every scenario folder. Their names are
// "server-SCENARIO-TIMESTAMP"; a scenario may itself contain dashes.
func readChecks(out string) (map[string][]check, error) {
	name := regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)
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

// scoredScenarios is the requirement file's server list, or everything that ran
// when the suite has no such file.
func scoredScenarios(tools *harness.Toolbox, o options, s suite, r *result) ([]string, error) {
	var scored []string
	if s.scored != "" {
		text, err := os.ReadFile(tools.Peer(s.scored))
		if err != nil {
			return nil, err
		}
		var file struct {
			Server []string `yaml:"server"`
		}
		if err := yaml.Unmarshal(text, &file); err != nil {
			return nil, fmt.Errorf("%s: %w", s.scored, err)
		}
		scored = file.Server
	} else {
		for name := range r.scenarios {
			scored = append(scored, name)
		}
	}
	if o.scenario != "" {
		scored = intersect(scored, o.scenario)
	}
	sort.Strings(scored)
	return scored, nil
}

func intersect(scored []string, name string) []string {
	for _, s := range scored {
		if s == name {
			return []string{name}
		}
	}
	return nil
}

// line shortens text to one line for a report.
func line(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > limit {
		text = text[:limit] + " …"
	}
	return text
}
