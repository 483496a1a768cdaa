package daemon_test

import (
	"os"
	"strings"
	"testing"

	"durward/internal/daemon"
	"durward/internal/testkit/sharedlog"
)

// Rules that can have no effect are told of when they are loaded, at the start and
// when they come later.
func TestRulesWithoutEffectAreToldOfWhenTheyAreLoaded(t *testing.T) {
	home(t)
	rules := func(more string) string {
		return noServers + "policy:\n  rules:\n  - {id: gone, action: block, until: 2020-01-01}\n  - {id: typo, servers: [githbu], action: block}\n" + more
	}
	opt, log := configured(t, rules("")), new(sharedlog.Buffer)
	opt.LogTo = log
	s, err := daemon.Start(opt)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, want := range []string{"its time is over", "user/gone", "there is no server githbu", "user/typo"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is missing in\n%s", want, log)
		}
	}
	if err := os.WriteFile(opt.ConfigFile, []byte(rules("  - {id: later, when: 'mcp.method == \"tools/cal\"', action: block}\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "user/later") || !strings.Contains(log.String(), "tools/call") {
		t.Errorf("not told of:\n%s", log)
	}
}
