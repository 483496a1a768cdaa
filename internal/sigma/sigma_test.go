package sigma_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"durward/internal/sigma"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden: what the samples become, and what is said of those that cannot be.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yml")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			rules, problems := sigma.Translate(filepath.Base(file), data, sigma.Options{})
			got := string(sigma.Render(rules))
			if len(problems) > 0 {
				got += "\n# problems:\n" + regexp.MustCompile(`(?m)^`).ReplaceAllString(problems.Error(), "# ") + "\n"
			}
			golden := strings.TrimSuffix(file, ".yml") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestRefusalsNameFieldAndLine: each thing that cannot be translated is told with
// its place.
func TestRefusalsNameFieldAndLine(t *testing.T) {
	data, err := os.ReadFile("testdata/refused.yml")
	if err != nil {
		t.Fatal(err)
	}
	rules, problems := sigma.Translate("refused.yml", data, sigma.Options{})
	if len(rules) != 0 {
		t.Errorf("%d rules came of what cannot be translated", len(rules))
	}
	lines := strings.Split(string(data), "\n")
	for _, want := range []struct{ line, path, says string }{
		{"Image|endswith", "detection.unknown_field.Image", "no counterpart"},
		{"- rm -rf", "detection.keywords", "keywords"},
		{"windash", "detection.modifier.mcp.tool.name", "windash"},
		{"(?=x)", "detection.regex.mcp.tool.name", "RE2"},
		{"|gt: 5", "detection.number.mcp.tool.name", "not a number"},
		{"10.0.0.0/64", "detection.network.dst_ip", "no network"},
		{"argumens", "detection.typo.mcp.tool.argumens.path", "no counterpart"},
		{"maybe", "detection.bool.mcp.result.is_error", "true or false"},
		{"timeframe", "detection.timeframe", "counted"},
		{"count()", "detection.condition", "counted"},
		{"not filters", "detection.condition", `no selection is called "filters"`},
		{"level: urgent", "level", "informational"},
		{"correlation", "correlation", "cannot be translated"},
	} {
		found := false
		for _, p := range problems {
			found = found || p.Path == want.path && strings.Contains(p.Message, want.says) && strings.Contains(lines[p.Line-1], want.line)
		}
		if !found {
			t.Errorf("nothing says %q at %s (%s):\n%v", want.says, want.path, want.line, problems)
		}
	}
}

func TestOneOfSeveralWithTheSameTitle(t *testing.T) {
	one := "title: Same title\ndetection: {a: {mcp.tool.name: x}, condition: a}\n"
	rules, problems := sigma.Translate("f", []byte(one+"---\n"+one+"---\n"+strings.Replace(one, "condition: a", "condition: [a, not a]", 1)), sigma.Options{Action: "block"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var ids []string
	for _, r := range rules {
		ids = append(ids, r.ID)
	}
	if got := strings.Join(ids, " "); got != "same-title same-title-2 same-title-3 same-title-4" {
		t.Error(got)
	}
}

func TestMappedFields(t *testing.T) {
	rule := "title: t\ndetection: {a: {CommandLine|contains: rm}, condition: a}\n"
	if _, problems := sigma.Translate("f", []byte(rule), sigma.Options{}); len(problems) != 1 {
		t.Error(problems)
	}
	rules, problems := sigma.Translate("f", []byte(rule), sigma.Options{Fields: map[string]string{"CommandLine": "mcp.tool.arguments.command"}})
	if len(problems) != 0 || len(rules) != 1 || !strings.Contains(rules[0].When, "mcp.tool.arguments.command.matches(") {
		t.Error(rules, problems)
	}
	if rules[0].Action != "ask" {
		t.Errorf("a detection must never become an allow rule by itself, got %s", rules[0].Action)
	}
}
