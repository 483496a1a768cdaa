package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"durward"
	"durward/internal/config"
)

// The policies of the layers stay apart: a rule of the user's file cannot take one of
// the corp layer away.
func TestPolicyOfTheLayers(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"rules/a.yaml": "rules:\n  - {id: from-a, servers: [a], action: block}\n",
		"rules/b.yaml": "default: ask\nrules:\n  - {id: from-b, action: allow}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	user := "version: 1\npolicy:\n  files: [\"rules/*.yaml\"]\n  rules:\n    - {id: same, action: allow}\n"
	corp := "version: 1\npolicy:\n  default: block\n  rules:\n    - {id: same, action: block, when: 'mcp.tool.name == \"x\"'}\n"
	c, err := config.ParseLayers(filepath.Join(dir, "durward.yaml"), []byte(user), "corp.yaml", []byte(corp), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range c.Policy.Rules.Rules() {
		got = append(got, r.Layer.String()+"/"+r.Rule.ID)
	}
	if want := "user/from-a user/from-b user/same corp/same"; strings.Join(got, " ") != want {
		t.Errorf("%q, wanted %q", got, want)
	}
	if len(c.Policy.Files) != 2 {
		t.Errorf("the files are %q", c.Policy.Files)
	}
	without, err := config.ParseLayers(filepath.Join(dir, "durward.yaml"), []byte(user), "corp.yaml", []byte("version: 1\n"), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Digest() == without.Digest() || len(c.Differences(without)) != 1 || c.Differences(without)[0] != "policy" {
		t.Errorf("a policy less is no difference: %q", c.Differences(without))
	}
}

// The file of a plugin is relative to the file that names it, not to where the
// service was started. Another content is another policy, and may be refused.
func TestFilesOfPlugins(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "plugins", "own.wasm")
	put := func(text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(own), 0o700), os.WriteFile(own, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	parse := func(more string) (*config.Config, error) {
		t.Helper()
		return config.Parse(filepath.Join(dir, "durward.yaml"), []byte("version: 1\npolicy: {plugins: {own: {wasm: plugins/own.wasm"+more+"}}}\n"), config.Options{})
	}
	if _, err := parse(""); err == nil || !strings.Contains(err.Error(), "policy.plugins.own.wasm") || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a file that is missing: %v", err)
	}
	put("no module")
	if _, err := parse(""); err == nil || !strings.Contains(err.Error(), "is no WebAssembly module") {
		t.Errorf("no module: %v", err)
	}
	put("\x00asm one")
	first, err := parse("")
	if err != nil {
		t.Fatal(err)
	}
	p := first.Policy.Rules.Plugins()["own"]
	if p.WASM != own || len(p.SHA256) != 64 || len(first.Policy.Files) != 1 || first.Policy.Files[0] != own {
		t.Errorf("%+v, files %q", p, first.Policy.Files)
	}
	if _, err := parse(", sha256: " + p.SHA256); err != nil {
		t.Error(err)
	}
	put("\x00asm two")
	second, err := parse("")
	if err != nil || second.Policy.Rules.Digest() == first.Policy.Rules.Digest() {
		t.Errorf("another file is the same policy: %v", err)
	}
	if _, err := parse(", sha256: " + p.SHA256); err == nil || !strings.Contains(err.Error(), "another digest") || !strings.Contains(err.Error(), "durward.yaml:2:") {
		t.Errorf("another file than is meant: %v", err)
	}
	if _, err := parse(", sha256: abc"); err == nil || !strings.Contains(err.Error(), "64 of 0-9 and a-f") {
		t.Errorf("no digest: %v", err)
	}
}

// What is wrong with a rule is told with its place, together with all else that is.
func TestProblemsOfPolicyHavePlaces(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "more.yaml")
	if err := os.WriteFile(file, []byte("rules:\n  - {id: x, action: alow}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := config.Parse(filepath.Join(dir, "durward.yaml"), []byte(`version: 1
listn: x
policy:
  files: [more.yaml, missing.yaml]
  rules:
    - id: one
      action: block
      when: 'mcp.tool.argumnts.x == 1'
`), config.Options{})
	if durward.KindOf(err) != durward.Invalid {
		t.Fatal(err)
	}
	for _, want := range []string{"durward.yaml:2:1", "listen", "durward.yaml:8:14", "arguments", "more.yaml:2:", "allow", "missing.yaml"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
}
