package policies_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/docs/policies"
	"durward/policy"
	"durward/policy/policytest"
)

// noPlugins runs nothing and finds nothing: what plugins find is theirs to test.
type noPlugins struct{}

func (noPlugins) Preprocess(context.Context, *durward.Call, []string) (durward.Decision, []string, error) {
	return durward.Decision{}, nil, nil
}

func (noPlugins) Postprocess(context.Context, *durward.Call, []byte, []string) (durward.Decision, []string, float64, error) {
	return durward.Decision{}, nil, -1, nil
}

func compiled(t *testing.T, name string) *policy.Set {
	t.Helper()
	text, ok := policies.Text(name)
	if !ok {
		t.Fatalf("there is no policy %s", name)
	}
	doc, problems := policy.ParseFile(name+".yaml", text, policy.User)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	set, problems := policy.Compile([]policy.Document{*doc}, policy.CompileOptions{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return set
}

func names() []string { return append(policies.Names(), "data-flow") }

// TestPoliciesLintClean: nothing in a ready-made policy is without effect.
func TestPoliciesLintClean(t *testing.T) {
	for _, name := range names() {
		for _, finding := range compiled(t, name).Lint(nil, time.Now()) {
			t.Errorf("%s: %+v", name, finding)
		}
	}
}

// TestPoliciesDoWhatTheySay: the table beside each policy passes, and speaks of
// every rule of it that is no limit.
func TestPoliciesDoWhatTheySay(t *testing.T) {
	files, err := filepath.Glob("*.test.yaml")
	if err != nil || len(files) != len(names()) {
		t.Fatalf("%d tables for %d policies, %v", len(files), len(names()), err)
	}
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(name + ".test.yaml")
			if err != nil {
				t.Fatal(err)
			}
			table, problems := policytest.Parse(name+".test.yaml", data)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			set := compiled(t, name)
			var out strings.Builder
			failed, err := table.Run(t.Context(), set, time.Time{}, &out)
			if err != nil || failed > 0 {
				t.Errorf("%d fail, %v\n%s", failed, err, out.String())
			}
			for _, r := range set.Rules() {
				if r.Limit == "" && !strings.Contains(string(data), "rule: "+r.Rule.ID) {
					t.Errorf("no test decides by the rule %s", r.Rule.ID)
				}
			}
		})
	}
}

// TestBudgetsArePerPrincipalAndDay: what one has used up is not missing to another,
// and is there again on the next day.
func TestBudgetsArePerPrincipalAndDay(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	engine, err := policy.New(policy.Options{Set: compiled(t, "locked-down"), Plugins: noPlugins{}, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	call := func(principal string) durward.Decision {
		c := durward.Call{
			ID: durward.NewCallID(), Method: "tools/call", Server: "local", Name: "echo", FullName: "local__echo", Transport: durward.TransportBuiltin,
			Caller: durward.Caller{Principal: principal}, Params: []byte(`{"name":"echo","arguments":{}}`), Arguments: []byte(`{}`),
			Tool: &durward.Tool{Annotations: []byte(`{"readOnlyHint":true}`), Floor: durward.RiskLow},
		}
		d, err := engine.Decide(t.Context(), &c)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for i := range 1000 {
		if d := call("alice"); d.Action != durward.Allow {
			t.Fatalf("call %d: %+v", i, d)
		}
		now = now.Add(3 * time.Second) // slower than a burst
	}
	if d := call("alice"); d.Action != durward.Block || d.Rule != "budget-calls" || d.Cause != "limit" || d.RetryAfter <= 0 {
		t.Errorf("beyond the budget: %+v", d)
	}
	if d := call("bob"); d.Action != durward.Allow {
		t.Errorf("another principal: %+v", d)
	}
	if now = now.Add(24 * time.Hour); call("alice").Action != durward.Allow {
		t.Error("the next day is no new one")
	}
	for range 29 {
		call("alice")
	}
	if d := call("alice"); d.Rule != "burst" {
		t.Errorf("a burst: %+v", d)
	}
}
