package config_test

import (
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
// service was started.
func TestFilesOfPluginsAreRelativeToTheConfiguration(t *testing.T) {
	c, err := config.Parse("/some/where/durward.yaml", []byte("version: 1\npolicy: {plugins: {own: {wasm: plugins/own.wasm}, other: {wasm: /abs/other.wasm}}}\n"), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"own": "/some/where/plugins/own.wasm", "other": "/abs/other.wasm"} {
		if got := c.Policy.Rules.Plugins()[name].WASM; got != want {
			t.Errorf("%s is at %q, wanted %q", name, got, want)
		}
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
