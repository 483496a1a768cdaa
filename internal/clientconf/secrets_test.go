package clientconf_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"durward/internal/clientconf"
)

// readOne reads a server of Claude Desktop that is given as JSON.
func readOne(t testing.TB, client clientconf.Client, entry string) (*clientconf.File, clientconf.Entry) {
	t.Helper()
	key := map[clientconf.Client]string{clientconf.VSCode: "servers", clientconf.Zed: "context_servers"}[client]
	if key == "" {
		key = "mcpServers"
	}
	file, problems := clientconf.Read(clientconf.Source{Client: client, Path: "f.json"}, []byte(fmt.Sprintf(`{%q: {"s": %s}}`, key, entry)))
	if err := problems.Err(); err != nil || len(file.Entries) != 1 {
		t.Fatalf("%s: %v", entry, err)
	}
	return file, file.Entries[0]
}

func TestSecretsAreMovedOut(t *testing.T) {
	const random = "Zx81kQ0pLm3Vb7Nc2Xy9Wq4Rt6Ts8Ud5"
	for _, tt := range []struct{ env, want, secret string }{
		// By the name of the variable.
		{`"API_TOKEN": "abc"`, "${secret:S_API_TOKEN}", "abc"},
		{`"OPENAI_API_KEY": "abc"`, "${secret:S_OPENAI_API_KEY}", "abc"},
		{`"apiKey": "abc"`, "${secret:S_API_KEY}", "abc"},
		{`"DB_PASSWORD": "hunter2"`, "${secret:S_DB_PASSWORD}", "hunter2"},
		{`"PGPASSWD": "x"`, "x", ""},
		{`"PG_PASSWD": "xyz"`, "${secret:S_PG_PASSWD}", "xyz"},
		{`"CLIENT_SECRET_VALUE": "abc"`, "${secret:S_CLIENT_SECRET_VALUE}", "abc"},
		{`"S_TOKEN": "abc"`, "${secret:S_TOKEN}", "abc"},
		{`"AUTHORIZATION": "Bearer abc"`, "Bearer ${secret:S_AUTHORIZATION}", "abc"},
		{`"ÄÖ_TOKEN": "abc"`, "${secret:S_TOKEN}", "abc"},
		// Not by the name.
		{`"MAX_TOKENS": "4000"`, "4000", ""},
		{`"TOKEN_FILE": "/run/token"`, "/run/token", ""},
		{`"SSL_KEY": "/etc/key.pem"`, "/etc/key.pem", ""},
		{`"KEYBOARD": "de"`, "de", ""},
		{`"PUBLIC_KEY": "abc"`, "abc", ""},
		{`"PWD": "/home/ada"`, "/home/ada", ""},
		{`"USE_TOKEN": "true"`, "true", ""},
		{`"AUTH_URL": "https://example.com/login"`, "https://example.com/login", ""},
		{`"API_KEY": ""`, "", ""},
		// By the shape of the value.
		{`"X": "ghp_EXAMPLE0000000000000000000000000001"`, "${secret:S_X}", "ghp_EXAMPLE0000000000000000000000000001"},
		{`"X": "use sk-ant-EXAMPLE00000000000 here"`, "use ${secret:S_X} here", "sk-ant-EXAMPLE00000000000"},
		{`"X": "` + random + `"`, "${secret:S_X}", random},
		{`"X": "0f1e2d3c4b5a69788796a5b4c3d2e1f0"`, "${secret:S_X}", "0f1e2d3c4b5a69788796a5b4c3d2e1f0"},
		{`"X": "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----"`, "${secret:S_X}", "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----"},
		{`"X": "postgres://ada:p%40ss@db/shop"`, "postgres://ada:${secret:S_PASSWORD}@db/shop", "p%40ss"},
		{`"X": "https://` + random + `@example.com"`, "https://${secret:S_TOKEN}@example.com", random},
		{`"X": "https://example.com/?a=1&token=abc"`, "https://example.com/?a=1&token=${secret:S_TOKEN}", "abc"},
		{`"X": "Server=db;Password=abc"`, "Server=db;Password=abc", ""},
		// Neither.
		{`"X": "6ba7b810-9dad-11d1-80b4-00c04fd430c8"`, "6ba7b810-9dad-11d1-80b4-00c04fd430c8", ""},
		{`"X": "@modelcontextprotocol/server-filesystem"`, "@modelcontextprotocol/server-filesystem", ""},
		{`"X": "a-long-name-made-of-words-and-2-numbers"`, "a-long-name-made-of-words-and-2-numbers", ""},
		{`"X": "/home/ada/Documents/Projects2024/Shop"`, "/home/ada/Documents/Projects2024/Shop", ""},
		{`"X": "ALongNameInCamelCaseWithoutDigits"`, "ALongNameInCamelCaseWithoutDigits", ""},
		{`"X": "https://example.com/docs/Getting-Started-Guide-2024"`, "https://example.com/docs/Getting-Started-Guide-2024", ""},
		// Mixed with references.
		{`"API_TOKEN": "${MY_TOKEN}"`, "${env:MY_TOKEN}", ""},
		{`"AUTHORIZATION": "Bearer ${MY_TOKEN}"`, "Bearer ${env:MY_TOKEN}", ""},
		{`"X": "${HOME}/ghp_EXAMPLE0000000000000000000000000001"`, "${env:HOME}/${secret:S_X}", "ghp_EXAMPLE0000000000000000000000000001"},
	} {
		file, e := readOne(t, clientconf.Cursor, `{"command": "x", "env": {`+tt.env+`}}`)
		got, secret := e.Env[0].Value, ""
		for _, s := range file.Secrets {
			secret += s.Value.Reveal()
		}
		if got != tt.want || secret != tt.secret {
			t.Errorf("%s: got %q and the secret %q, want %q and %q", tt.env, got, secret, tt.want, tt.secret)
		}
	}
}

func TestSecretsInArguments(t *testing.T) {
	for args, want := range map[string]string{
		`["--api-key", "abc"]`:                         "--api-key ${secret:S_API_KEY}",
		`["--api-key=abc"]`:                            "--api-key=${secret:S_API_KEY}",
		`["--api-key", "--other"]`:                     "--api-key --other",
		`["-e", "TOKEN=abc"]`:                          "-e TOKEN=${secret:S_TOKEN}",
		`["-e", "TOKEN"]`:                              "-e TOKEN",
		`["-H", "X-Api-Key: abc"]`:                     "-H X-Api-Key: ${secret:S_X_API_KEY}",
		`["--header", "Authorization:Bearer abc"]`:     "--header Authorization:Bearer ${secret:S_AUTHORIZATION}",
		`["QWxhZGRpbjpvcGVuIHNlc2FtZTEyMzQ1Njc4OQ=="]`: "${secret:S_TOKEN}",
		`["--secret", "a", "--secret", "b"]`:           "--secret ${secret:S_SECRET} --secret ${secret:S_SECRET_2}",
		`["--secret", "a", "--secret", "a"]`:           "--secret ${secret:S_SECRET} --secret ${secret:S_SECRET}",
	} {
		if _, e := readOne(t, clientconf.Cursor, `{"command": "x", "args": `+args+`}`); strings.Join(e.Args, " ") != want {
			t.Errorf("%s: got %q, want %q", args, e.Args, want)
		}
	}
}

func TestVariablesOfEachClient(t *testing.T) {
	for _, tt := range []struct {
		client    clientconf.Client
		text      string
		want      string
		attention bool
	}{
		{clientconf.ClaudeDesktop, "${A}", "${env:A}", false},
		{clientconf.ClaudeDesktop, "$A", "$A", false},
		{clientconf.ClaudeCode, "${A:-b}", "${env:A:-b}", false},
		{clientconf.ClaudeCode, "$A and $5", "$A and $5", false},
		{clientconf.ClaudeCode, "${A:-${B}}", "$${A:-${env:B}}", true},
		{clientconf.ClaudeCode, "${", "$${", true},
		{clientconf.Cursor, "${env:A}", "${env:A}", false},
		{clientconf.Cursor, "${userHome}/x", "${env:HOME}/x", false},
		{clientconf.Cursor, "a${/}b${pathSeparator}c", "a/b/c", false},
		{clientconf.Cursor, "${workspaceFolder}", "$${workspaceFolder}", true},
		{clientconf.Cursor, "${A:-b}", "$${A:-b}", true},
		{clientconf.Cursor, "$${A}", "$${env:A}", true},
		{clientconf.VSCode, "${config:a.b}", "$${config:a.b}", true},
		{clientconf.Gemini, "$A/${B}/${C:-d}", "${env:A}/${env:B}/${env:C:-d}", false},
		{clientconf.Gemini, "$5", "$5", false},
		{clientconf.Windsurf, "${file:/etc/x}", "${file:/etc/x}", false},
		{clientconf.Cursor, "${file:/etc/x}", "$${file:/etc/x}", true},
		{clientconf.ClaudeCode, "${SOME_VAR:-ghp_EXAMPLE0000000000000000000000000001}", "${env:SOME_VAR}", false},
	} {
		text, err := json.Marshal(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		_, e := readOne(t, tt.client, `{"command": "x", "env": {"X": `+string(text)+`}}`)
		if e.Env[0].Value != tt.want || (len(e.Attention) > 0) != tt.attention {
			t.Errorf("%s %q: got %q and %q, want %q", tt.client, tt.text, e.Env[0].Value, e.Attention, tt.want)
		}
	}
	// A shell's own variables stay its own.
	if _, e := readOne(t, clientconf.Zed, `{"command": "/bin/bash", "args": ["-c", "echo ${x#y}"]}`); e.Args[1] != "echo $${x#y}" || e.Attention != nil {
		t.Errorf("got %q, %q", e.Args, e.Attention)
	}
	// A password with a $ is a password, also for a client that knows $NAME.
	if file, e := readOne(t, clientconf.Gemini, `{"command": "x", "env": {"DB_PASSWORD": "pa$$word"}}`); e.Env[0].Value != "${secret:S_DB_PASSWORD}" || file.Secrets[0].Value.Reveal() != "pa$$word" {
		t.Errorf("got %q", e.Env)
	}
}

// TestNothingPrintsSecrets prints everything that Read, NewPlan and Install
// return for the whole corpus, in every way, and looks for the secrets.
func TestNothingPrintsSecrets(t *testing.T) {
	looked := 0
	for _, f := range corpus(t) {
		file, problems := clientconf.Read(f.Source, f.data)
		plan := clientconf.NewPlan([]*clientconf.File{file}, clientconf.PlanOptions{})
		asJSON, err := plan.JSON()
		if err != nil {
			t.Fatal(err)
		}
		fileJSON, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		logger := slog.New(slog.NewJSONHandler(&log, nil))
		logger.Info("x", "file", file, "plan", plan, "secrets", file.Secrets)
		shown := []string{
			fmt.Sprintf("%v %+v %#v", file, file, file), fmt.Sprintf("%v %+v %#v", *plan, plan, *plan),
			problems.Error(), plan.Text(), string(plan.YAML()), string(asJSON), string(fileJSON), log.String(),
		}
		for _, o := range modes(f) {
			if change, err := clientconf.Install(f.Source, f.data, o); err == nil {
				record := change.Record
				logger.Info("x", "record", record)
				shown = append(shown, change.Diff, fmt.Sprintf("%v %+v %#v %d", record, record, record, record), log.String())
				if record != nil {
					shown = append(shown, fmt.Sprintf("%v %+v %#v", *record, *record, *record))
				}
			} else {
				shown = append(shown, err.Error())
			}
		}
		for _, s := range file.Secrets {
			for i, text := range shown {
				looked++
				if value := s.Value.Reveal(); len(value) > 6 && strings.Contains(text, value) {
					t.Errorf("%s: form %d shows the secret %s:\n%.400s", f.name, i, s.Name, text)
				}
			}
		}
		for _, hidden := range []string{"hidden", "EXAMPLE0000000000000000000000000002"} { // in keys that are not taken
			for i, text := range shown {
				if strings.Contains(text, hidden) {
					t.Errorf("%s: form %d shows %q:\n%.400s", f.name, i, hidden, text)
				}
			}
		}
	}
	if looked < 100 {
		t.Errorf("only %d looks: the corpus has too few secrets", looked)
	}
}

func TestValueIsMaskedInEveryForm(t *testing.T) {
	v := clientconf.NewValue("hunter2")
	asJSON, err := json.Marshal(map[string]any{"v": v, "p": &v, "s": []clientconf.Value{v}})
	if err != nil {
		t.Fatal(err)
	}
	var zero clientconf.Value
	for _, text := range []string{
		fmt.Sprint(v), fmt.Sprintf("%s %q %x %d %v %+v %#v", v, v, v, v, v, v, v), fmt.Sprintf("%v %+v", struct{ V clientconf.Value }{v}, struct{ v clientconf.Value }{v}),
		string(asJSON), v.String(), v.GoString(), v.LogValue().String(), fmt.Errorf("x %w", fmt.Errorf("%v", v)).Error(),
	} {
		if strings.Contains(text, "hunter2") || strings.Contains(text, "68756e74657232") {
			t.Errorf("shown: %s", text)
		}
	}
	if v.Reveal() != "hunter2" || zero.Reveal() != "" || !v.Equal(clientconf.NewValue("hunter2")) || v.Equal(zero) {
		t.Error("a value is not what it was made of")
	}
}
