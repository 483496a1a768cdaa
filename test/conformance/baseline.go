package main

import (
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v4"

	"durward/test/harness"
)

// accepted is one entry of a baseline file: a check that is allowed to come out
// worse through the gateway, and why.
type accepted struct {
	Scenario string `yaml:"scenario"`
	Check    string `yaml:"check"`
	Gateway  string `yaml:"gateway"`
	Route    string `yaml:"route"` // empty: every route
	Reason   string `yaml:"reason"`
	// Sometimes: how the check comes out is a race in the fixture. Such an entry
	// is not stale when no run needed it.
	Sometimes bool `yaml:"sometimes"`
}

func (a accepted) covers(route string, d difference) bool {
	return a.Scenario == d.scenario && a.Check == baseName(d.check) && a.Gateway == d.gateway &&
		(a.Route == "" || a.Route == route)
}

// loadBaselines reads baseline-NAME.yml for every name that a cell uses.
func loadBaselines(tools *harness.Toolbox) (map[string][]accepted, error) {
	all := make(map[string][]accepted)
	for _, c := range matrix() {
		if _, read := all[c.baseline()]; read {
			continue
		}
		name := filepath.Join(tools.Root, "test", "conformance", "baseline-"+c.baseline()+".yml")
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var entries []accepted
		if err := yaml.Load(text, &entries, yaml.WithKnownFields()); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for i, e := range entries {
			if e.Scenario == "" || e.Check == "" || e.Gateway == "" || e.Reason == "" {
				return nil, fmt.Errorf("%s: entry %d: scenario, check, gateway and reason are required", name, i+1)
			}
		}
		all[c.baseline()] = entries
	}
	return all, nil
}
