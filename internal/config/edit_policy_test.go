package config_test

import (
	"strings"
	"testing"

	"durward"
	"durward/internal/config"
)

func TestAddRule(t *testing.T) {
	const rule = "id: no-push\naction: block # never\nwhen: |-\n  true\n"
	for name, test := range map[string]struct {
		file, want string
		line       int
	}{
		"no file":  {"", "version: 1\npolicy:\n  rules:\n    - id: no-push\n      action: block # never\n      when: |-\n        true\n", 4},
		"comments": {"version: 1\npolicy:\n  rules:\n    # mine\n    - {id: a, action: ask}\n  # end\n", "version: 1\npolicy:\n  rules:\n    # mine\n    - {id: a, action: ask}\n    - id: no-push\n      action: block # never\n      when: |-\n        true\n  # end\n", 6},
	} {
		got, line, err := config.AddRule("f", []byte(test.file), rule)
		if err != nil || string(got) != test.want || line != test.line {
			t.Errorf("%s: line %d, %v\n%s", name, line, err, got)
		}
	}
}

func TestAddRuleRefuses(t *testing.T) {
	const file = "version: 1\npolicy:\n  rules:\n    - id: a\n      action: ask\n"
	for name, test := range map[string]struct {
		rule string
		kind durward.Kind
	}{
		"an id that is taken": {"id: a\naction: block", durward.Conflict},
		"no mapping":          {"- a", durward.Invalid},
		"no id":               {"action: block", durward.Invalid},
		"two documents":       {"id: b\n---\nid: c", durward.Invalid},
		"no YAML":             {"id: [", durward.Invalid},
	} {
		if out, _, err := config.AddRule("f", []byte(file), test.rule); err == nil || durward.KindOf(err) != test.kind {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

func TestSetTool(t *testing.T) {
	for name, test := range map[string]struct{ file, old, now string }{
		"first":        {"version: 1\n", "version: 1\n", "version: 1\npolicy:\n  tools:\n    github:\n      \"push_*\": ask\n"},
		"change":       {"version: 1\npolicy:\n  tools:\n    github:\n      \"push_*\": block # mine\n", "block #", "ask #"},
		"same":         {"policy: {tools: {github: {\"push_*\": ask}}}\n", "", ""},
		"in braces":    {"policy:\n  tools:\n    github: {get_me: allow}\n", "{get_me", "{\"push_*\": ask, get_me"},
		"other server": {"policy:\n  tools: {files: {a: allow}}\n", "{files", "{github: {\"push_*\": ask}, files"},
	} {
		got, line, err := config.SetTool("f", []byte(test.file), "github", "push_*", "ask")
		if want := strings.Replace(test.file, test.old, test.now, 1); err != nil || string(got) != want || line < 1 {
			t.Errorf("%s: line %d, %v\ngot\n%s\nwant\n%s", name, line, err, got, want)
		}
	}
}
