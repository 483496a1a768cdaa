package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"durward"
	"durward/internal/config"
)

// FuzzParse: no input panics, and what is accepted keeps the promises that the
// rest of the program relies on.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Add("version: 1\nprincipals: {a: {token: 0123456789abcdef}}\nseal_keys: [AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=]\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "${file:") {
			return // what it finds is not the same everywhere
		}
		c, err := config.Parse("f.yaml", []byte(text), config.Options{Env: env})
		if err != nil {
			if c != nil || err.Error() == "" || durward.KindOf(err) != durward.Invalid {
				t.Fatalf("%+v, %v", c, err)
			}
			return
		}
		again, err := config.Parse("f.yaml", []byte(text), config.Options{Env: env})
		if err != nil || differ(c, again) != "" {
			t.Fatalf("read twice: %+v, then %+v, %v", c, again, err)
		}
		checkPromises(t, c)
	})
}

func checkPromises(t *testing.T, c *config.Config) {
	t.Helper()
	if !c.Loopback && (c.Auth == config.AuthNone || c.TLS.Cert == "" && !c.Insecure) {
		t.Fatalf("open to everybody: %+v", c)
	}
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		t.Fatalf("half of TLS: %+v", c.TLS)
	}
	enabled := 0
	for _, s := range c.Servers {
		if !s.Disabled {
			enabled++
		}
		if err := durward.CheckServerName(s.Name); err != nil {
			t.Fatal(err)
		}
		stdio := s.Transport == durward.TransportStdio
		if stdio != (s.Command != "") || stdio != (s.URL == "") || stdio && len(s.Headers) > 0 || !stdio && len(s.Env) > 0 {
			t.Fatalf("neither one nor the other: %+v", s)
		}
		if s.StartTimeout <= 0 || s.Timeout <= 0 || s.CallTimeout < 0 || s.HealthEvery <= 0 || s.IdleStop == 0 || s.Concurrency <= 0 || s.Risk == durward.RiskUnset {
			t.Fatalf("without a default: %+v", s)
		}
		for name, value := range s.Headers {
			if strings.ContainsAny(name+value, "\r\n\x00") || strings.HasPrefix(strings.ToLower(name), "mcp-") {
				t.Fatalf("header %q: %q", name, value)
			}
		}
		for name, value := range s.Env {
			if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
				t.Fatalf("variable %q: %q", name, value)
			}
		}
	}
	if c.NoPrefix && (enabled != 1 || c.Builtin) {
		t.Fatalf("no prefix with %d servers", enabled)
	}
}

// FuzzLayers: whatever the user writes, what the corp layer says is in force.
func FuzzLayers(f *testing.F) {
	f.Add(userLayer, corpLayer)
	f.Add("version: 1", "version: 1\nlocked: [servers.*.env, limits]")
	f.Add("version: 1\nservers: &a {b: {command: x}}\ntoolsets: {t: {tools: [x]}}", "version: 1\nservers:\nallowed_hosts:\nbuiltin: false")
	f.Add("version: 1\nservers: {a: {command: x, env: {A: b}}}", "version: 1\nservers: {a: {url: \"http://h/\"}}\ntls: {cert: a, key: b}")
	f.Fuzz(func(t *testing.T, user, corp string) {
		if strings.Contains(user+corp, "${file:") {
			return // what it finds is not the same everywhere
		}
		opt := config.Options{Env: env}
		both, err := config.ParseLayers("user.yaml", []byte(user), "corp.yaml", []byte(corp), opt)
		if err != nil {
			if both != nil || durward.KindOf(err) != durward.Invalid {
				t.Fatalf("%v, %v", both, err)
			}
			return
		}
		checkPromises(t, both)
		inForce := map[string]config.Setting{}
		for _, s := range both.Settings() {
			inForce[s.Path] = s
		}
		alone, err := config.ParseLayers("user.yaml", []byte("version: 1"), "corp.yaml", []byte(corp), opt)
		if err != nil {
			return // what the corp layer needs is in the user's file
		}
		for _, s := range alone.Settings() {
			if got := inForce[s.Path]; s.Layer == config.LayerCorp && (got.Layer != s.Layer || got.Value != s.Value || got.Line != s.Line) {
				t.Fatalf("%s is %+v, want %+v", s.Path, got, s)
			}
		}
	})
}
