package policy_test

import (
	"strings"
	"testing"
	"time"

	"durward"
	"durward/policy"
)

// A call that waited is judged by what holds when it was approved, but for limits: it
// must not be its own reason to be over one.
func TestACallThatWaitedIsReconsidered(t *testing.T) {
	const asks = "- {id: asks, action: ask}\n"
	for name, tt := range map[string]struct {
		first, now string // rules
		wait       time.Duration
		mark       string
		want       string
	}{
		"the same":                  {asks, asks, 0, "", "ask user/asks"},
		"nothing asks any more":     {asks, "", 0, "", "allow"},
		"a block came":              {asks, asks + "- {id: no, action: block}\n", 0, "", "block user/no"},
		"a rule ended":              {asks + "- {id: soon, action: ask, until: 2026-01-01T00:01:00Z}\n", asks + "- {id: soon, action: ask, until: 2026-01-01T00:01:00Z}\n", time.Hour, "", "ask user/asks"},
		"a time came":               {asks + "- {id: late, when: 'now > timestamp(\"2026-01-01T00:01:00Z\")', action: block}\n", asks + "- {id: late, when: 'now > timestamp(\"2026-01-01T00:01:00Z\")', action: block}\n", time.Hour, "", "block user/late"},
		"the session was marked":    {asks + "- {id: mixed, when: '\"private-data\" in session.labels', action: block}\n", asks + "- {id: mixed, when: '\"private-data\" in session.labels', action: block}\n", 0, "private-data", "block user/mixed"},
		"it used up the questions":  {asks + "- {id: budget, action: block, limit: {approvals: 1, per: 24h, by: principal}}\n", asks + "- {id: budget, action: block, limit: {approvals: 1, per: 24h, by: principal}}\n", 0, "", "ask user/asks"},
		"it asked beyond a limit":   {"- {id: many, action: ask, limit: {bytes: 1, per: 24h, by: principal}}\n", "- {id: many, action: ask, limit: {bytes: 1, per: 24h, by: principal}}\n", 0, "", "ask user/many"},
		"a limit that is new to it": {asks, asks + "- {id: none, action: block, limit: {bytes: 1, per: 24h, by: principal}}\n", 0, "", "ask user/asks"},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			e := engine(t, compile(t, user("rules:\n"+tt.first)), func(o *policy.Options) { o.Now = func() time.Time { return now } })
			c := call(`{}`)
			c.Caller.Session = "s"
			first := decide(t, e, c)
			if first.Action != durward.Ask {
				t.Fatal(short(first))
			}
			now = now.Add(tt.wait)
			e.Swap(compile(t, user("rules:\n"+tt.now)), nil)
			if tt.mark != "" {
				if err := e.Mark(&c.Caller, tt.mark); err != nil {
					t.Fatal(err)
				}
			}
			d := e.Reconsider(t.Context(), c, &first)
			got := d.Action.String()
			if d.Rule != "" {
				got += " " + d.Layer + "/" + d.Rule
			}
			if got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			if again := decide(t, e, c); strings.HasPrefix(name, "it used up") && again.Cause != "limit" {
				t.Errorf("the next one is not over the limit: %s", short(again))
			}
		})
	}
}
