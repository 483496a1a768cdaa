package policytest_test

import (
	"strings"
	"testing"
	"time"

	"durward/policy"
	"durward/policy/policytest"
)

const rules = `
rules:
- {id: force, action: block, tools: [push], when: mcp.tool.arguments.force == true}
- {id: dry, action: rewrite, tools: [delete], set: {/dry: "true"}}
- {id: secret, phase: response, action: rewrite, when: has(mcp.result.structured.key), set: {/structuredContent/key: '"***"'}}
- {id: often, action: block, tools: [often], limit: {calls: 1, per: 1m}}
- {id: night, action: block, tools: [late], when: now.getHours() == 3}
`

const good = `
tests:
- name: a forced push
  event: {mcp: {server: {name: github}, tool: {name: push, arguments: {force: true}}}}
  expect: {action: block, rule: force, layer: user, cause: rule, matches: [force]}
- event: {mcp: {server: {name: github}, tool: {name: push, arguments: {force: false}}}}
  expect: {action: allow, rule: none, layer: builtin}
- name: deleting
  event: {mcp: {server: {name: fs}, tool: {name: delete, arguments: {path: /x, n: 1.0}}}}
  expect: {action: allow, arguments: {n: 1, dry: true, path: /x}}
- name: a key
  event: {mcp: {server: {name: fs}, tool: {name: read}, result: {structuredContent: {key: k}}}}
  expect: {action: allow, result: {structuredContent: {key: "***"}}}
- name: the first of often
  event: {mcp: {server: {name: fs}, tool: {name: often}}}
  expect: {action: allow}
- name: the first of often again
  event: {mcp: {server: {name: fs}, tool: {name: often}}}
  expect: {action: allow}
- name: at night
  event: {mcp: {server: {name: fs}, tool: {name: late}}}
  expect: {action: block, rule: night}
`

func set(t *testing.T) *policy.Set {
	t.Helper()
	doc, problems := policy.ParseFile("rules.yaml", []byte(rules), policy.User)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	s, problems := policy.Compile([]policy.Document{*doc}, policy.CompileOptions{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return s
}

func run(t *testing.T, text string) (string, int) {
	t.Helper()
	table, problems := policytest.Parse("t.yaml", []byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var out strings.Builder
	failed, err := table.Run(t.Context(), set(t), time.Date(2026, 1, 1, 3, 0, 0, 0, time.UTC), &out)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), failed
}

func TestATableThatHolds(t *testing.T) {
	out, failed := run(t, good)
	if failed != 0 || strings.Count(out, "ok    ") != 7 || !strings.Contains(out, "ok    case 2\n") {
		t.Errorf("%d failed:\n%s", failed, out)
	}
}

func TestATableThatDoesNot(t *testing.T) {
	out, failed := run(t, `
tests:
- name: action
  event: {mcp: {server: {name: github}, tool: {name: push, arguments: {force: true}}}}
  expect: {action: allow}
- name: rule
  event: {mcp: {server: {name: github}, tool: {name: push, arguments: {force: true}}}}
  expect: {action: block, rule: other, layer: corp, cause: pin, matches: [dry]}
- name: arguments
  event: {mcp: {server: {name: fs}, tool: {name: delete}}}
  expect: {action: allow, arguments: {dry: false}}
- name: none
  event: {mcp: {server: {name: github}, tool: {name: push, arguments: {force: true}}}}
  expect: {action: block, rule: none}
`)
	for _, want := range []string{
		"FAIL  action (line 3): action is block, expected allow; because:",
		"FAIL  rule (line 6): rule is force, expected other; layer is user, expected corp; cause is rule, expected pin; the rule dry does not match",
		`FAIL  arguments (line 9): the arguments are {"dry":true}, expected {"dry":false}`,
		"FAIL  none (line 12): rule is force, expected none",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if failed != 4 {
		t.Errorf("%d failed", failed)
	}
}

func TestTablesThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "empty",
		"tests: []\nx: 1":                    "unknown key",
		"a: 1":                               "unknown key",
		"tests: [{event: {}}]":               "expect",
		"tests: [{expect: {action: allow}}]": "event",
		"tests: [{event: {mcp: {tol: 1}}, expect: {action: allow}}]":                            `unknown field "tol"`,
		"tests: [{event: {mcp: {method: ping}}, expect: {action: perhaps}}]":                    "allow",
		"tests: [{event: {mcp: {method: ping, request: {id: .inf}}}, expect: {action: allow}}]": "number",
	} {
		table, problems := policytest.Parse("t.yaml", []byte(text))
		if table != nil || !strings.Contains(problems.Error(), want) {
			t.Errorf("%q: %v", text, problems)
		}
	}
}
