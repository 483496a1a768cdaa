package config_test

import (
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"durward"
	"durward/internal/config"
	"durward/internal/secret"
	"durward/internal/yamlx"
	"durward/policy"
)

var update = flag.Bool("update", false, "write the golden files")

func env(name string) (string, bool) {
	value, ok := map[string]string{
		"WORKSPACE": "/my work", "HOST": "mcp.example", "TOKEN": "s3cr3t-value", "SET_BUT_EMPTY": "",
		"TRICKY": "${env:TOKEN}${file:token}$TOKEN", "TWO_LINES": "hunter2\nX: y",
	}[name]
	return value, ok
}

// Each NAME.bad.yaml has its problems in NAME.bad.txt; a NAME.corp.yaml beside it
// is the corp layer.
func TestBadFiles(t *testing.T) {
	files := glob(t, "testdata/*.bad.yaml", 60)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			err := loadBad(t, file)
			if err == nil {
				t.Fatal("accepted")
			}
			var ps yamlx.Problems
			if !errors.As(err, &ps) || durward.KindOf(err) != durward.Invalid {
				t.Errorf("%T of kind %s", err, durward.KindOf(err))
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("shows a secret:\n%s", err)
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".txt", err.Error()+"\n")
		})
	}
}

func loadBad(t *testing.T, file string) error {
	t.Helper()
	corpFile := strings.Replace(file, ".bad.", ".corp.", 1)
	corp, err := os.ReadFile(corpFile)
	if errors.Is(err, fs.ErrNotExist) {
		_, err := config.Load(config.Options{User: file, Env: env})
		return err
	}
	if err != nil {
		t.Fatal(err)
	}
	user, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, err = config.ParseLayers(file, user, corpFile, corp, config.Options{Env: env})
	return err
}

// Each NAME.good.yaml has what it means in NAME.good.json.
func TestGoodFiles(t *testing.T) {
	for _, file := range glob(t, "testdata/*.good.yaml", 5) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c, err := config.Parse(file, data, config.Options{Env: env})
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.MarshalIndent(revealed(c), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".json", string(text)+"\n")
		})
	}
}

// revealed is c with its servers as they are, for comparison.
func revealed(c *config.Config) any {
	type plain durward.Server
	out := struct {
		*config.Config
		Servers []plain
	}{Config: c}
	for _, s := range c.Servers {
		out.Servers = append(out.Servers, plain(s))
	}
	return out
}

// differ compares what a configuration says.
func differ(want, got any) string {
	return cmp.Diff(want, got, cmpopts.IgnoreUnexported(config.Config{}), cmpopts.EquateEmpty(), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
		cmp.Comparer(func(a, b secret.Value) bool { return a.Equal(b.Reveal()) }),
		cmp.Comparer(func(a, b *policy.Set) bool { return a == b || a != nil && b != nil && a.Digest() == b.Digest() }))
}

func glob(t *testing.T, pattern string, least int) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) < least {
		t.Fatalf("%d files for %s, %v", len(files), pattern, err)
	}
	return files
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant (%s, -update writes it)\n%s", got, file, want)
	}
}

func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse(filepath.Join("testdata", "inline.yaml"), []byte(text), config.Options{Env: env})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestB21_AMissingReferenceIsNamedAndNeverSent(t *testing.T) {
	for name, text := range map[string]string{
		"GITHUB_TOKEN": "servers:\n  a: {command: x, env: {T: \"${env:GITHUB_TOKEN}\"}}",
		"ARG_TOKEN":    "servers:\n  a: {command: x, args: [\"--token=${env:ARG_TOKEN}\"]}",
		"WEB_TOKEN":    "servers:\n  a: {url: \"http://h/\", headers: {A: \"Bearer ${env:WEB_TOKEN}\"}}",
		"WEB_HOST":     "servers:\n  a: {url: \"http://${env:WEB_HOST}/\"}",
		"token.txt":    "servers:\n  a: {command: x, env: {T: \"${file:token.txt}\"}}",
		"disabled":     "servers:\n  a: {command: x, disabled: true, env: {T: \"${env:disabled}\"}}",
	} {
		c, err := config.Parse("c.yaml", []byte("version: 1\n"+text), config.Options{Env: env})
		if c != nil || err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		for _, want := range []string{"c.yaml:3:", "E_REFERENCE", name} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: lacks %q", err, want)
			}
		}
	}
}

func TestReferences(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                         "plain",
		"${env:HOST}":                   "mcp.example",
		"<${env:HOST}|${env:TOKEN}>":    "<mcp.example|s3cr3t-value>",
		"${env:ABSENT:-a:-b c}":         "a:-b c",
		"${env:ABSENT:-}":               "",
		"${env:SET_BUT_EMPTY:-x}":       "x",
		"${env:SET_BUT_EMPTY}":          "",
		"${env:HOST:-x}":                "mcp.example",
		"${file:token}":                 "file-token",
		"$${env:HOST}":                  "${env:HOST}",
		"$$${env:HOST}":                 "$${env:HOST}",
		"$HOME $$ ${env:HOST}$":         "$HOME $$ mcp.example$",
		"${env:TRICKY}":                 "${env:TOKEN}${file:token}$TOKEN",
		"$${":                           "${",
		"a \"b\" 'c' \\ \n ü $(id) `x`": "a \"b\" 'c' \\ \n ü $(id) `x`",
	} {
		quoted, _ := json.Marshal(in)
		c := parse(t, "version: 1\nservers: {a: {command: x, env: {V: "+string(quoted)+"}}}")
		if got := c.Servers[0].Env["V"]; got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}

func TestReferencedFileIsBounded(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big")
	if err := os.WriteFile(big, make([]byte, 64<<10+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{big: "larger than the limit of 65536 bytes", dir: "does not name a regular file", os.DevNull: "does not name a regular file"} {
		_, err := config.Parse("c.yaml", []byte("version: 1\nservers: {a: {command: x, env: {T: \"${file:"+path+"}\"}}}"), config.Options{Env: env})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestRedact(t *testing.T) {
	c := parse(t, `
version: 1
servers:
  a: {command: x, env: {A: "${env:TOKEN}", B: "${file:token}", C: "${env:NOT:-default}"}, args: ["${env:SET_BUT_EMPTY}"]}
`)
	in := "401 for s3cr3t-value, file-token and default"
	if got := c.Redact(in); got != "401 for «redacted», «redacted» and default" {
		t.Error(got)
	}
	if got := config.Default().Redact(in); got != in {
		t.Error(got)
	}
}

func TestLoadTellsNoConfigurationFromABadOne(t *testing.T) {
	_, err := config.Load(config.Options{User: filepath.Join(t.TempDir(), "none.yaml"), Env: env})
	if durward.KindOf(err) != durward.NotFound || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("%v", err)
	}
	_, err = config.Load(config.Options{User: t.TempDir(), Env: env})
	if durward.KindOf(err) != durward.Invalid {
		t.Errorf("a directory: %v", err)
	}
	big := filepath.Join(t.TempDir(), "big.yaml")
	if err := os.WriteFile(big, []byte("version: 1\n#"+strings.Repeat("x", 1<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(config.Options{User: big, Env: env}); err == nil || !strings.Contains(err.Error(), "E_SIZE") {
		t.Errorf("too large: %v", err)
	}
}

// The limits are those of names-and-limits, and a file that says nothing has them.
func TestDefaults(t *testing.T) {
	nothing, problems := policy.Compile(nil, policy.CompileOptions{})
	if problems != nil {
		t.Fatal(problems)
	}
	want := &config.Config{
		Listen: "127.0.0.1:8484", Loopback: true, Auth: config.AuthToken, Builtin: true,
		Limits: config.Limits{
			Message: 32 << 20, Header: 8 << 10, Headers: 64 << 10, Requests: 16384, Streams: 8,
			StreamQueue: 8 << 20, StreamQueueEvents: 1024, KeepAlive: 15 * time.Second,
			Sessions: 10_000, SessionIdle: time.Hour, InFlight: 64, SessionSubscriptions: 1000, Asks: 64, AskTimeout: 5 * time.Minute,
			Resume: 1 << 20, ResumeEvents: 256, ResumeTotal: 64 << 20, ResumeFor: 5 * time.Minute,
			Holds: 16, HoldLife: 5 * time.Minute, Rounds: 10,
			StartParallel: 16, Instances: 128, Subscriptions: 10_000, ServerAsks: 16, BackoffFirst: 500 * time.Millisecond, BackoffMost: time.Minute, Stderr: 256 << 10,
			Items: 10_000, Templates: 1000, Pages: 1000, List: 64 << 20, Item: 4 << 20,
			Schema: 1 << 20, Description: 64 << 10, Instructions: 16 << 10,
		},
		Ledger: config.Ledger{
			Enabled: true, Sync: config.SyncNormal, Bodies: true,
			Keep:  config.Keep{Rows: 90 * 24 * time.Hour, Bodies: 30 * 24 * time.Hour, MaxSize: 5 << 30},
			Queue: 8192, Wait: 5 * time.Second, BodyMost: 10 << 20,
		},
		Approvals: config.ApprovalLimits{Most: 64, Life: 5 * time.Minute, Grants: 1000}, PolicyLimits: config.PolicyLimits{Counters: 65_536, Sessions: 16_384},
		Policy: config.Policy{Rules: nothing},
		Log:    config.Log{Level: "info", Format: "auto"},
	}
	if diff := differ(want, config.Default()); diff != "" {
		t.Error(diff)
	}
	if diff := differ(want, parse(t, "version: 1")); diff != "" {
		t.Errorf("minimal file: %s", diff)
	}
	server := parse(t, "version: 1\nservers: {a: {command: x}}").Servers[0]
	wantServer := durward.Server{
		Name: "a", Transport: durward.TransportStdio, Command: "x", Era: "auto", Retry: durward.RetryUndelivered, Instances: durward.InstancesShared, Risk: durward.RiskHigh,
		StartTimeout: 30 * time.Second, Timeout: 60 * time.Second, Concurrency: 128,
		IdleStop: 10 * time.Minute, HealthEvery: 30 * time.Second,
	}
	if diff := differ(wantServer, server); diff != "" {
		t.Error(diff)
	}
}

func TestDemo(t *testing.T) {
	c, err := config.Load(config.Options{Demo: true})
	if err != nil {
		t.Fatal(err)
	}
	if !c.Loopback || !c.Builtin || len(c.Servers) != 0 || c.Auth != config.AuthToken {
		t.Errorf("%+v", c)
	}
}

func TestLoopback(t *testing.T) {
	for listen, want := range map[string]bool{
		"127.0.0.1:0": true, "127.9.9.9:1": true, "[::1]:1": true, "localhost:1": true, "LOCALHOST:1": true, "[::ffff:127.0.0.1]:1": true,
		"0.0.0.0:1": false, "[::]:1": false, ":1": false, "10.0.0.1:1": false, "localhost.example:1": false,
	} {
		c := parse(t, "version: 1\ninsecure: true\nlisten: \""+listen+"\"")
		if c.Loopback != want {
			t.Errorf("%s: %t", listen, c.Loopback)
		}
	}
}

// Paths are fixed when the file is read: the service may change its directory.
func TestLoadMakesPathsAbsolute(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Options{User: "testdata/full.good.yaml", Env: env})
	if err != nil {
		t.Fatal(err)
	}
	got := []string{c.TLS.Cert, c.TLS.Key, c.Servers[0].Command, c.Servers[0].Dir, c.Servers[1].Command, c.Servers[2].CAFile, c.Ledger.Path}
	dir := filepath.Join(here, "testdata")
	want := []string{dir + "/cert.pem", "/etc/durward/key.pem", "node", dir + "/work", dir + "/bin/server", dir + "/ca.pem", dir + "/audit/calls.db"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestTrustedProxies(t *testing.T) {
	c := parse(t, "version: 1\ntrusted_proxies: [10.0.0.0/8, 192.0.2.1, \"2001:db8::/32\"]")
	want := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("2001:db8::/32")}
	if !reflect.DeepEqual(c.TrustedProxies, want) {
		t.Errorf("%v", c.TrustedProxies)
	}
}
