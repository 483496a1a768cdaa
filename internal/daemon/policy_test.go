package daemon_test

import (
	"path/filepath"
	"testing"
	"time"

	"durward/internal/testkit/rawclient"
	"durward/internal/wire"
)

// A file of rules that the configuration names is read anew when it changes, also
// one that was named only later; a broken one changes nothing. Each time a real call shows it.
func TestFilesOfRulesAreWatched(t *testing.T) {
	home(t)
	opt := configured(t, noServers+"auth: none\n")
	rules := filepath.Join(filepath.Dir(opt.ConfigFile), "rules.yaml")
	s := started(t, opt)
	c := &rawclient.Client{URL: "http://" + s.Address() + "/mcp", Modern: true}
	comes := func(what string, code int) {
		t.Helper()
		got := -1
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) { // a file cannot be waited for
			a, err := c.CallTool(t.Context(), "local__echo", `{"message":"x"}`)
			if err != nil {
				t.Fatal(err)
			}
			if got = a.Code(); got == code {
				return
			}
		}
		t.Fatalf("%s: the call still has code %d, wanted %d", what, got, code)
	}
	comes("at first", 0)
	const block, none = "rules:\n  - {id: no-echo, tools: [echo], action: block}\n", "rules: []\n"
	replace(t, rules, block)
	replace(t, opt.ConfigFile, noServers+"auth: none\npolicy: {files: [rules.yaml]}\n")
	comes("with a file", wire.CodeRefused)
	replace(t, rules, none)
	comes("with the file changed", 0)
	replace(t, rules, block)
	comes("with the file changed back", wire.CodeRefused)
	replace(t, rules, "rules:\n  - {id: no-echo, action: nonsense}\n")
	for s.Status().Config.Problem == "" {
		time.Sleep(10 * time.Millisecond) // as above
	}
	comes("with a broken file", wire.CodeRefused)
}
