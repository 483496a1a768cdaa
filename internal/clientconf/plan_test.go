package clientconf_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"durward"
	"durward/internal/clientconf"
)

func read(t testing.TB, c clientconf.Client, path, text string) *clientconf.File {
	t.Helper()
	file, problems := clientconf.Read(clientconf.Source{Client: c, Path: path}, []byte(text))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestPlanPutsClientsTogether(t *testing.T) {
	desktop := read(t, clientconf.ClaudeDesktop, "desktop.json", `{"mcpServers": {
		"github": {"command": "npx", "args": ["gh"], "env": {"GITHUB_TOKEN": "first-token"}},
		"time": {"command": "uvx", "args": ["time"], "env": {"B": "2", "A": "1"}},
		"durward": {"command": "/usr/bin/durward", "args": ["stdio"]},
		"broken": {"args": []}
	}}`)
	cursor := read(t, clientconf.Cursor, "cursor.json", `{"mcpServers": {
		"GitHub": {"command": "npx", "args": ["gh"], "env": {"GITHUB_TOKEN": "first-token"}},
		"github": {"command": "npx", "args": ["gh"], "env": {"GITHUB_TOKEN": "second-token"}},
		"clock": {"command": "uvx", "args": ["time"], "env": {"A": "1", "B": "2"}, "disabled": true},
		"taken": {"command": "x"}
	}}`)
	codex := read(t, clientconf.Codex, "config.toml", "[mcp_servers.github]\ncommand = 'npx'\nargs = ['gh']\nenv.GITHUB_TOKEN = 'second-token'\n")
	plan := clientconf.NewPlan([]*clientconf.File{desktop, cursor, codex}, clientconf.PlanOptions{Servers: []string{"taken"}, Secrets: []string{"OTHER"}})

	type server struct {
		Name, Token string
		From        []string
		Disabled    bool
	}
	var got []server
	for _, s := range plan.Servers {
		one := server{Name: s.Name, Disabled: s.Disabled}
		if len(s.Env) > 0 {
			one.Token = s.Env[0].Value
		}
		for _, o := range s.Sources {
			one.From = append(one.From, o.File+" "+o.Name)
		}
		got = append(got, one)
	}
	want := []server{
		{"github", "${secret:GITHUB_TOKEN}", []string{"desktop.json github", "cursor.json GitHub"}, false},
		{"time", "2", []string{"desktop.json time", "cursor.json clock"}, false},
		{"github-2", "${secret:GITHUB_TOKEN_2}", []string{"cursor.json github", "config.toml github"}, false},
		{"taken-2", "", []string{"cursor.json taken"}, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	secrets := map[string]string{}
	for _, s := range plan.Secrets {
		secrets[s.Name] = s.Value.Reveal()
	}
	if diff := cmp.Diff(map[string]string{"GITHUB_TOKEN": "first-token", "GITHUB_TOKEN_2": "second-token"}, secrets); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	var left []string
	for _, l := range plan.Left {
		left = append(left, l.Name+": "+l.Reason)
	}
	if diff := cmp.Diff([]string{"durward: it is Durward itself", "broken: it has neither a command nor an address"}, left); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	if desktop.Entries[0].Env[0].Value != "${secret:GITHUB_TOKEN}" || cursor.Entries[1].Name != "github" {
		t.Error("the files were changed")
	}
	golden(t, "plan.txt", plan.Text()+string(plan.YAML()))
	text, err := plan.JSON()
	if err != nil || !json.Valid(text) {
		t.Fatal(err)
	}
	golden(t, "plan.json", string(text))
}

func TestSecretNamesKeepClearOfTheStore(t *testing.T) {
	file := read(t, clientconf.Cursor, "f", `{"mcpServers": {"a": {"command": "x", "env": {"A_TOKEN": "one", "X": "$${secret:A_TOKEN}"}}}}`)
	plan := clientconf.NewPlan([]*clientconf.File{file}, clientconf.PlanOptions{Secrets: []string{"A_TOKEN", "A_TOKEN_2"}})
	if got := plan.Servers[0].Env[0].Value; got != "${secret:A_TOKEN_3}" {
		t.Errorf("got %s", got)
	}
}

func TestPromptsAreAskedOnce(t *testing.T) {
	text := `{"inputs": [{"id": "key", "type": "promptString", "password": true}],
		"servers": {"a": {"command": "x", "env": {"K": "${input:key}"}}, "b": {"command": "y", "env": {"K": "${input:key}", "KEY": "literal-key"}}}}`
	plan := clientconf.NewPlan([]*clientconf.File{read(t, clientconf.VSCode, "f", text)}, clientconf.PlanOptions{})
	if len(plan.Prompts) != 1 || plan.Prompts[0].Name != "KEY" || !plan.Prompts[0].Secret || plan.Prompts[0].Entry != "a" {
		t.Errorf("prompts: %+v", plan.Prompts)
	}
	if len(plan.Secrets) != 1 || plan.Secrets[0].Name == "KEY" {
		t.Errorf("secrets: %+v", plan.Secrets)
	}
}

// TestYAMLSaysWhatTheEntriesSay reads the text back.
func TestYAMLSaysWhatTheEntriesSay(t *testing.T) {
	texts := []string{
		"", "plain", "y", "No", "null", "~", "1e3", "0x10", "010", "1_000", ".inf", "-", "- a", "a: b", "a #b", "#c", "*x", "&x", "!t", "%a", "@a", "`a", "'q'", `"q"`,
		`back\slash`, "tab\there", "line\nbreak", "cr\r", "\x00", "\x7f", "\u0085", "\u2028", "\ufeff", "é", "日本語", "😀", "  spaces  ", "{a: 1}", "[a]", "a, b", "<<", "=", "?", "|", ">", "2024-01-01", "12:30:45", "${env:A}", "$${",
	}
	e := clientconf.Entry{Name: "s", Original: "s\n# x", Transport: durward.TransportStdio, Command: "cmd", Args: texts, Dir: "/a b"}
	for i, text := range texts {
		e.Env = append(e.Env, clientconf.Pair{Name: "V" + string(rune('A'+i%26)) + text, Value: text})
	}
	for _, command := range append(texts, "/usr/bin/x", "npx") {
		if command == "" {
			continue
		}
		e.Command = command
		plan := &clientconf.Plan{Servers: []clientconf.Planned{{Entry: e, Sources: []clientconf.Origin{{Client: clientconf.Zed, File: "a\nb: c", Name: e.Original}}}}}
		var doc struct {
			Servers map[string]struct {
				Command, Dir string
				Args         []string
				Env          map[string]string
			}
		}
		if err := yaml.Unmarshal(plan.YAML(), &doc); err != nil {
			t.Fatalf("%v\n%s", err, plan.YAML())
		}
		got := doc.Servers["s"]
		if got.Command != command || got.Dir != "/a b" {
			t.Errorf("command %q became %q", command, got.Command)
		}
		if diff := cmp.Diff(texts, got.Args); diff != "" {
			t.Fatalf("args (-want +got):\n%s", diff)
		}
		for _, p := range e.Env {
			if v, ok := got.Env[p.Name]; !ok || v != p.Value {
				t.Errorf("env %q: %q became %q", p.Name, p.Value, v)
			}
		}
	}
}

func TestServerHasTheEntry(t *testing.T) {
	_, e := readOne(t, clientconf.Gemini, `{"command": "x", "args": ["a"], "env": {"A": "b"}, "timeout": 5000, "excludeTools": ["a*"]}`)
	s := e.Server()
	if s.Name != "s" || s.Command != "x" || s.Env["A"] != "b" || s.CallTimeout.Seconds() != 5 || s.Tools.Deny[0] != `a\*` || s.Transport != durward.TransportStdio || s.Disabled {
		t.Errorf("got %+v", s)
	}
	_, e = readOne(t, clientconf.Cursor, `{"url": "https://example.com", "headers": {"A": "b"}, "disabled": true}`)
	if s := e.Server(); s.Headers["A"] != "b" || !s.Disabled || s.Transport != durward.TransportHTTP {
		t.Errorf("got %+v", s)
	}
}

func TestTooManyServers(t *testing.T) {
	text := `{"mcpServers": {` + strings.TrimSuffix(strings.Repeat(`"a@": {"command": "x"},`, 1), ",")
	for i := range 1100 {
		text += `, "n` + strings.Repeat("x", i%20) + string(rune('a'+i%26)) + strings.Repeat("y", i/50) + `": {"command": "x"}`
	}
	file, problems := clientconf.Read(clientconf.Source{Client: clientconf.Cursor, Path: "f"}, []byte(text+"}}"))
	if len(file.Entries) != 1000 || problems.Err() == nil || !strings.Contains(problems.Err().Error(), "limit of 1000") {
		t.Errorf("%d entries, %v", len(file.Entries), problems.Err())
	}
	if durward.KindOf(problems.Err()) != durward.Invalid {
		t.Error("not an error of kind invalid")
	}
	seen := map[string]bool{}
	for _, e := range file.Entries {
		if err := durward.CheckServerName(e.Name); err != nil || seen[e.Name] {
			t.Errorf("%s: %v", e.Name, err)
		}
		seen[e.Name] = true
	}
}
