package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/internal/config"
	"durward/internal/secret"
)

func layered(t *testing.T, user, corp string) *config.Config {
	t.Helper()
	c, err := config.ParseLayers("/home/u/durward.yaml", []byte(user), config.CorpFile, []byte(corp), config.Options{Env: env})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const userLayer = `
version: 1
listen: 127.0.0.1:9000
allowed_hosts: [user.example, other.example]
allowed_origins: ["https://user.example"]
limits: {sessions: 5, in_flight: 2}
defaults: {risk: low, timeout: 5s}
tls: {cert: user.pem, key: user.key}
servers:
  both: {command: ./user, args: [a], env: {A: user, B: user}}
  mine: {command: ./mine, timeout: 1s}
toolsets:
  both: {tools: [user]}
  mine: {tools: [user]}
principals: {ann: {token: user-ann-0123456789}, ci: {token: user-ci-0123456789}}
`

const corpLayer = `
version: 1
allowed_hosts: [corp.example]
allowed_origins:
limits: {sessions: 7}
defaults: {risk: critical}
tls: {cert: corp.pem, key: /corp.key}
servers:
  both: {command: ./corp, env: {A: corp}}
  corp: {url: "https://mcp.example/"}
toolsets:
  both: {tools: [corp]}
log: {level: debug}
principals: {ci: {token: corp-ci-0123456789}, corp: {token: corp-corp-0123456789}}
`

func TestTheCorpLayerWins(t *testing.T) {
	c := layered(t, userLayer, corpLayer)
	got := map[string]any{
		"listen": c.Listen, "hosts": c.AllowedHosts, "origins": c.AllowedOrigins, "sessions": c.Limits.Sessions,
		"in flight": c.Limits.InFlight, "level": c.Log.Level, "tls": c.TLS, "toolsets": c.Toolsets,
	}
	want := map[string]any{
		"listen": "127.0.0.1:9000", "hosts": []string{"corp.example"}, "origins": []string(nil), "sessions": 7,
		"in flight": 2, "level": "debug", "tls": config.TLS{Cert: "/etc/durward/corp.pem", Key: "/corp.key"},
		"toolsets": []durward.Toolset{{Name: "both", Tools: []string{"corp"}}, {Name: "mine", Tools: []string{"user"}}},
	}
	if diff := differ(want, got); diff != "" {
		t.Error(diff)
	}
	var tokens []string
	for _, p := range c.Principals {
		tokens = append(tokens, p.Name+"="+p.Token.Reveal())
	}
	if !slices.Equal(tokens, []string{"ann=user-ann-0123456789", "ci=corp-ci-0123456789", "corp=corp-corp-0123456789"}) {
		t.Error(tokens)
	}
	var names []string
	for _, s := range c.Servers {
		names = append(names, s.Name)
		if s.Risk != durward.RiskCritical {
			t.Errorf("%s: risk %s", s.Name, s.Risk)
		}
	}
	if !slices.Equal(names, []string{"both", "corp", "mine"}) {
		t.Error(names)
	}
	// An entry is taken whole, and paths are relative to the file it is from.
	both, mine := c.Servers[0], c.Servers[2]
	if both.Command != "/etc/durward/corp" || len(both.Args) != 0 || len(both.Env) != 1 || both.Env["A"] != "corp" || both.Timeout != 5*time.Second {
		t.Errorf("%s %v %v %s", both.Command, both.Args, both.Env, both.Timeout)
	}
	if mine.Command != "/home/u/mine" || mine.Timeout != time.Second {
		t.Errorf("%s %s", mine.Command, mine.Timeout)
	}
}

// Retry and the limits of holds are merged, locked and explained as their neighbours are.
func TestRetryAndHoldsAreKeysLikeOthers(t *testing.T) {
	user := "version: 1\ndefaults: {retry: idempotent}\nlimits: {holds: 3}\nservers:\n  a: {command: x, tools: {idempotent: [get]}}\n  b: {command: x, retry: undelivered}\n"
	c := layered(t, user, "version: 1\nlimits: {rounds: 4}\n")
	got := []any{c.Servers[0].Retry, c.Servers[0].Tools.Idempotent[0], c.Servers[1].Retry, c.Limits.Holds, c.Limits.Rounds}
	want := []any{durward.RetryIdempotent, "get", durward.RetryUndelivered, 3, 4}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	corp := "version: 1\nlocked: [defaults.retry, \"servers.*.retry\", \"servers.*.tools.idempotent\", limits.holds]\n"
	_, err := config.ParseLayers("u.yaml", []byte(user), config.CorpFile, []byte(corp), config.Options{Env: env})
	for _, path := range []string{"defaults.retry", "servers.b.retry", "servers.a.tools.idempotent", "limits.holds"} {
		if err == nil || !strings.Contains(err.Error(), "E_LOCKED: "+path+":") {
			t.Errorf("%s is not locked: %v", path, err)
		}
		if key, err := config.Explain(path); err != nil || key.Doc == "" {
			t.Errorf("%s: %+v, %v", path, key, err)
		}
	}
}

func TestSettingsTellTheLayer(t *testing.T) {
	byPath := map[string]config.Setting{}
	settings := layered(t, userLayer, corpLayer).Settings()
	for _, s := range settings {
		byPath[s.Path] = s
	}
	user, corp := "/home/u/durward.yaml", config.CorpFile
	for _, want := range []config.Setting{
		{Path: "listen", Value: "127.0.0.1:9000", Layer: config.LayerUser, File: user, Line: 3},
		{Path: "auth", Value: "token", Layer: config.LayerDefault},
		{Path: "allowed_hosts", Value: "[corp.example]", Layer: config.LayerCorp, File: corp, Line: 3, Overruled: []config.Place{{Layer: config.LayerUser, File: user, Line: 4}}},
		{Path: "allowed_origins", Value: "[]", Layer: config.LayerCorp, File: corp, Line: 4, Overruled: []config.Place{{Layer: config.LayerUser, File: user, Line: 5}}},
		{Path: "limits.sessions", Value: "7", Layer: config.LayerCorp, File: corp, Line: 5, Overruled: []config.Place{{Layer: config.LayerUser, File: user, Line: 6}}},
		{Path: "limits.in_flight", Value: "2", Layer: config.LayerUser, File: user, Line: 6},
		{Path: "limits.message", Value: "32MiB", Layer: config.LayerDefault},
		{Path: "defaults.timeout", Value: "5s", Layer: config.LayerUser, File: user, Line: 7},
		{Path: "servers.both.command", Value: "./corp", Layer: config.LayerCorp, File: corp, Line: 9, Overruled: []config.Place{{Layer: config.LayerUser, File: user, Line: 10}}},
		{Path: "servers.both.env.A", Value: "4 bytes, not shown", Layer: config.LayerCorp, File: corp, Line: 9, Overruled: []config.Place{{Layer: config.LayerUser, File: user, Line: 10}}},
		{Path: "principals.ci.token", Value: "18 bytes, not shown", Layer: config.LayerCorp, File: corp, Line: 14, Overruled: []config.Place{{Layer: config.LayerUser, File: user, Line: 15}}},
		{Path: "servers.mine.timeout", Value: "1s", Layer: config.LayerUser, File: user, Line: 11},
	} {
		if diff := differ(want, byPath[want.Path]); diff != "" {
			t.Error(diff)
		}
	}
	for _, path := range []string{"servers.both.args", "servers.both.env.B", "servers.mine.risk", "tls"} {
		if s, there := byPath[path]; there {
			t.Errorf("%+v", s)
		}
	}
	if !slices.IsSortedFunc(settings, func(a, b config.Setting) int { return strings.Compare(a.Path, b.Path) }) {
		t.Error("not sorted")
	}
}

func TestSettingsShowReferencesOnly(t *testing.T) {
	c := parse(t, `
version: 1
servers:
  a:
    url: "https://${env:HOST}/?key=hunter2"
    headers: {A: "${env:TOKEN}", B: "Bearer ${env:TOKEN}", C: "${env:ABSENT:-hunter2}", D: hunter2}
    proxy: http://u:hunter2@proxy.example
`)
	want := map[string]string{
		"servers.a.url": "…${env:HOST}…", "servers.a.headers.A": "${env:TOKEN}", "servers.a.headers.B": "…${env:TOKEN}…",
		"servers.a.headers.C": "…${env:ABSENT:-…}…", "servers.a.headers.D": "7 bytes, not shown", "servers.a.proxy": "30 bytes, not shown",
	}
	for _, s := range c.Settings() {
		if wanted, ok := want[s.Path]; ok && s.Value != wanted {
			t.Errorf("%s: %s, want %s", s.Path, s.Value, wanted)
		}
	}
}

// However a configuration is printed, nothing that a reference stands for shows.
func TestAConfigurationPrintsNoSecrets(t *testing.T) {
	c := parse(t, `
version: 1
servers:
  files: {command: x, args: ["${env:TOKEN}"], env: {A: "${env:TOKEN}", B: "${file:token}"}}
  web: {url: "https://mcp.example/${env:TOKEN}", headers: {Authorization: "Bearer ${env:TOKEN}", X-Api-Key: literal-key}, proxy: "http://u:${env:TOKEN}@proxy.example"}
principals: {ci: {token: "ci--${env:TOKEN}"}, ann: {token: literal-key-of-ann}}
seal_keys: ["${file:seal.key}", AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=]
`)
	holder := struct {
		Config *config.Config
		Plain  config.Config
		Server durward.Server
	}{c, *c, c.Servers[0]}
	// fmt calls no methods on unexported fields; behind a pointer nothing shows all the same.
	hidden := struct{ c *config.Config }{c}
	var shown []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		for _, what := range []any{c, *c, holder, &holder, c.Servers, c.Principals, c.SealKeys, c.Secrets(), c.Settings()} {
			shown = append(shown, fmt.Sprintf(verb, what))
		}
	}
	shown = append(shown, fmt.Sprintf("%v %+v %#v", hidden, hidden, hidden))
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range append(shown, string(data)) {
		for _, value := range []string{"s3cr3t-value", "file-token", "literal-key", "Hx4dHBsa", "AAECAwQF", "[31 30 29", "[0 1 2 3"} {
			if strings.Contains(text, value) || strings.Contains(text, fmt.Sprintf("%x", value)) {
				t.Errorf("shows %s: %.2000s", value, text)
			}
		}
	}
	if c.Servers[0].Env["A"] != "s3cr3t-value" || c.Servers[1].Headers["Authorization"] != "Bearer s3cr3t-value" {
		t.Error("the values are not there at all")
	}
	if !c.Principals[0].Token.Equal("literal-key-of-ann") || !c.Principals[1].Token.Equal("ci--s3cr3t-value") {
		t.Error("the tokens of principals are not there")
	}
	if len(c.SealKeys) != 2 || c.SealKeys[0].Bytes()[0] != 31 || c.SealKeys[1].Bytes()[0] != 0 {
		t.Error("the keys are not there")
	}
	if got := c.Redact(c.SealKeys[0].Reveal() + " " + c.SealKeys[1].Reveal()); got != secret.Mask+" "+secret.Mask {
		t.Error(got)
	}
	if got := c.Redact("literal-key-of-ann"); got != secret.Mask {
		t.Error(got)
	}
	if got := c.Redact("s3cr3t-value file-token literal-key"); got != strings.Repeat(secret.Mask+" ", 2)+secret.Mask {
		t.Error(got)
	}
}

type store map[string]string

func (s store) Lookup(name string) (secret.Value, error) {
	if name == "down" {
		return secret.Value{}, durward.Errorf(durward.Unavailable, "store", "the keyring is locked")
	}
	value, ok := s[name]
	if !ok {
		return secret.Value{}, durward.Errorf(durward.NotFound, "", "not there")
	}
	return secret.New(value), nil
}

func TestB21_SecretsComeFromTheStoreOrAreNamed(t *testing.T) {
	opt := config.Options{Env: env, Secrets: store{"github": "gh-${env:TOKEN}"}}
	text := func(name string) []byte {
		return []byte("version: 1\nservers: {a: {command: x, env: {T: \"<${secret:" + name + "}>\"}}}")
	}
	c, err := config.Parse("c.yaml", text("github"), opt)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Servers[0].Env["T"]; got != "<gh-${env:TOKEN}>" {
		t.Errorf("%q", got)
	}
	if got := c.Redact("gh-${env:TOKEN}"); got != secret.Mask {
		t.Error(got)
	}
	for name, want := range map[string]string{
		"gitlab": "the secret gitlab is not stored; set it with: durward secret set gitlab",
		"down":   "the secret down cannot be read: the keyring is locked",
	} {
		if _, err := config.Parse("c.yaml", text(name), opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnAbsentLayerIsNone(t *testing.T) {
	dir := t.TempDir()
	opt := config.Options{User: filepath.Join(dir, "none.yaml"), Optional: true, Corp: filepath.Join(dir, "corp.yaml"), Env: env}
	c, err := config.Load(opt)
	if err != nil || c.HasUserFile() {
		t.Fatalf("%v", err)
	}
	if diff := differ(config.Default(), c); diff != "" {
		t.Error(diff)
	}
	opt.Optional = false
	if _, err := config.Load(opt); durward.KindOf(err) != durward.NotFound {
		t.Errorf("%v", err)
	}
}

func TestLastGood(t *testing.T) {
	dir := t.TempDir()
	user, state := filepath.Join(dir, "durward.yaml"), filepath.Join(dir, "state")
	write := func(text string) {
		if err := os.WriteFile(user, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	copied, err := config.LastGoodPath(state, user)
	if err != nil {
		t.Fatal(err)
	}
	opt := config.Options{User: user, Env: env}
	fromCopy := opt
	fromCopy.LastGood, fromCopy.Optional = copied, true
	if _, err := config.Load(fromCopy); durward.KindOf(err) != durward.Unavailable || !strings.Contains(err.Error(), "no last good copy") {
		t.Fatalf("without a copy: %v", err)
	}

	good := "version: 1\nservers: {a: {command: ./x, env: {T: \"${env:TOKEN}\"}}}\n"
	write(good)
	c, err := config.Load(opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.KeepLastGood(state); err != nil {
		t.Fatal(err)
	}
	write("version: 1\nbroken: true\n")
	if _, err := config.Load(opt); durward.KindOf(err) != durward.Invalid {
		t.Fatalf("%v", err)
	}
	again, err := config.Load(fromCopy)
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Servers[0]; got.Command != filepath.Join(dir, "x") || got.Env["T"] != "s3cr3t-value" {
		t.Errorf("%s %v: paths must stay relative to the original", got.Command, got.Env)
	}
	checkCopy(t, copied, good)
	// A start from the copy does not make it the copy of itself.
	if err := again.KeepLastGood(state); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(filepath.Dir(copied))
	if err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
}

func checkCopy(t *testing.T, path, want string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil || string(data) != want {
		t.Errorf("%s, %v", data, err)
	}
	if bytes.Contains(data, []byte("s3cr3t")) {
		t.Error("the copy holds what a reference stands for")
	}
	stat, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && stat.Mode().Perm() != 0o600 {
		t.Errorf("mode %o", stat.Mode().Perm())
	}
}

func TestNothingIsKeptWithoutAFile(t *testing.T) {
	state := t.TempDir()
	demo, err := config.Load(config.Options{Demo: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*config.Config{demo, config.Default()} {
		if err := c.KeepLastGood(state); err != nil {
			t.Error(err)
		}
	}
	if files, err := os.ReadDir(state); err != nil || len(files) != 0 {
		t.Errorf("%v, %v", files, err)
	}
}
