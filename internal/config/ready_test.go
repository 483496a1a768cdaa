package config_test

import (
	"path/filepath"
	"testing"

	"durward/docs/policies"
	"durward/internal/config"
)

// TestReadyPolicies: every answer to the questions of durward init makes a sound
// configuration, in a new file and in one that there is.
func TestReadyPolicies(t *testing.T) {
	file := filepath.Join(t.TempDir(), "durward.yaml")
	for _, name := range policies.Names() {
		for how, action := range map[string]string{"remember": "ask", "always": "ask", "block": "block", "never": "allow"} {
			text, err := config.ReadyPolicy(name, how)
			if err != nil {
				t.Fatal(name, how, err)
			}
			for _, before := range []string{"", "# mine\nversion: 1\npolicy: # old\n  default: ask\nlisten: 127.0.0.1:0 # kept\n"} {
				after, err := config.SetPolicy(file, []byte(before), text, true)
				if err != nil {
					t.Fatal(name, how, err)
				}
				c, err := config.Check(config.Options{User: file}, after)
				if err != nil {
					t.Fatalf("%s, %s: %v\n%s", name, how, err, after)
				}
				found := false
				for _, r := range c.Policy.Rules.Rules() {
					found = found || r.Rule.ID == "destructive" && r.Rule.Action == action
				}
				if !found {
					t.Errorf("%s, %s: the rule destructive does not %s\n%s", name, how, action, after)
				}
			}
		}
	}
}
