package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"durward/test/harness"
)

// runClientSuite lets the suite examine the go-sdk's everything-client, or the
// gateway in between as the suite's client. Every scenario has a server, a
// client and a gateway of its own, and is run by itself: scenarios about
// authorization are left out, and the suite has no switch for that.
func runClientSuite(ctx context.Context, tools *harness.Toolbox, o options, c cell, dir string) (*result, error) {
	need, err := requirements(tools, c.suite)
	if err != nil {
		return nil, err
	}
	scored, rest := clientScenarios(need)
	r := &result{dir: dir, scenarios: make(map[string][]check), scored: selected(scored, o.scenario)}
	for i, scenario := range selected(slices.Concat(scored, rest), o.scenario) {
		// Short: the path of the gateway's socket has little room.
		folder := filepath.Join(dir, strconv.Itoa(i))
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
		checks, err := runClientScenario(ctx, tools, o, c, scenario, folder)
		if err != nil {
			return nil, fmt.Errorf("scenario %s: %w", scenario, err)
		}
		r.scenarios[scenario] = checks
	}
	return r, nil
}

// clientScenarios are the scenarios that examine a client without authorization:
// the scored ones, and the others.
func clientScenarios(need requirement) (scored, rest []string) {
	for _, name := range need.Client {
		if !strings.HasPrefix(name, "auth/") {
			scored = append(scored, name)
		}
	}
	for _, n := range need.NotScored {
		if n.Leg == "client" && !strings.HasPrefix(n.Scenario, "auth/") {
			rest = append(rest, n.Scenario)
		}
	}
	return scored, rest
}

func runClientScenario(ctx context.Context, tools *harness.Toolbox, o options, c cell, scenario, dir string) ([]check, error) {
	command, err := clientCommand(tools, o, c, dir)
	if err != nil {
		return nil, err
	}
	out := filepath.Join(dir, "checks")
	args := []string{tools.Peer(c.suite.pkg, "dist", "index.js"), "client", "--command", command, "--scenario", scenario, "-o", out, "--force"}
	log := filepath.Join(dir, "suite.log")
	success, err := runLogged(ctx, exec.CommandContext(ctx, tools.Node, append(args, c.suite.one...)...), log)
	if err != nil {
		return nil, fmt.Errorf("run the suite: %w", err)
	}
	scenarios, err := readChecks(out, "")
	if err != nil {
		return nil, fmt.Errorf("%w (see %s)", err, log)
	}
	return append(scenarios[scenario], verdict(success, log)), nil
}

// verdict is the suite's own opinion as one more check: it also fails a scenario
// whose client ended with an error.
func verdict(success bool, log string) check {
	v := check{ID: "suite-verdict", Status: "SUCCESS"}
	if !success {
		v.Status, v.Message = "FAILURE", "a check failed or the client ended with an error: see "+log
	}
	return v
}

// clientCommand is what the suite runs with the URL of its server as one more
// argument.
func clientCommand(tools *harness.Toolbox, o options, c cell, dir string) (string, error) {
	client := tools.Fixture("everything-client")
	if c.isDirect() {
		return quote(client), nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	words := []string{self, driveCommand, "-gateway", o.gateway, "-client", client, "-dir", dir}
	for i, w := range words {
		words[i] = quote(w)
	}
	return strings.Join(words, " "), nil
}

// quote makes one word for the shell that the suite runs commands with.
func quote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
