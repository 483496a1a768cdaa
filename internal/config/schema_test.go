package config_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v4"

	"durward/internal/config"
)

func schema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(config.Schema(), &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

func document(t *testing.T, file string) (any, bool) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	return value, yaml.Unmarshal(data, &value) == nil
}

// The schema takes what Load takes.
func TestSchemaTakesGoodFiles(t *testing.T) {
	s := schema(t)
	for _, file := range append(glob(t, "testdata/*.good.yaml", 5), "demo.yaml") {
		value, ok := document(t, file)
		if !ok {
			t.Fatalf("%s is no YAML", file)
		}
		if err := s.Validate(value); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// The schema finds what can be said of single values.
func TestSchemaRefusesBadFiles(t *testing.T) {
	s := schema(t)
	for _, name := range []string{"unknown-key", "types", "words", "version-missing", "version-other", "server-kinds", "server-names", "tls-half", "prefix-word"} {
		value, ok := document(t, filepath.Join("testdata", name+".bad.yaml"))
		if !ok {
			t.Fatalf("%s is no YAML", name)
		}
		if err := s.Validate(value); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// Every key has its text, its default in that text, and a place in the schema.
func TestEveryKeyIsDocumented(t *testing.T) {
	keys := config.Keys()
	if len(keys) < 80 {
		t.Fatalf("only %d keys", len(keys))
	}
	for _, key := range keys {
		if key.Doc == "" || !strings.HasSuffix(key.Doc, ".") {
			t.Errorf("%s has no comment that ends with a full stop: %q", key.Path, key.Doc)
		}
		if key.Default != "" && !strings.Contains(strings.ReplaceAll(key.Doc, "60s", "1m"), "efault "+key.Default) {
			t.Errorf("%s: the comment does not tell the default %s: %q", key.Path, key.Default, key.Doc)
		}
		if strings.HasPrefix(key.Path, "limits.") && !strings.Contains(key.Doc, key.Min+" to "+key.Max) {
			t.Errorf("%s: the comment does not tell the bounds %s to %s", key.Path, key.Min, key.Max)
		}
		if again, err := config.Explain(key.Path); err != nil || again.Doc != key.Doc {
			t.Errorf("Explain(%s): %+v, %v", key.Path, again, err)
		}
	}
}

func TestExplain(t *testing.T) {
	key, err := config.Explain("servers.github.env")
	if err != nil || key.Path != "servers.github.env" || !key.References || !key.Sensitive || key.Type != "mapping of names to texts" {
		t.Errorf("%+v, %v", key, err)
	}
	for path, want := range map[string]string{
		"limits.mesage":           `there is no key "limits.mesage"; did you mean "limits.message"?`,
		"limit":                   `there is no key "limit"; did you mean "limits"?`,
		"listen.port":             `there is no key "listen.port"; listen is a single value`,
		"":                        `there is no key ""; known here: `,
		"servers.github.comand":   `there is no key "servers.github.comand"; did you mean "servers.github.command"?`,
		"servers..command":        `there is no key "servers..command"; `,
		"servers.a.env.X.further": `there is no key "servers.a.env.X.further"; servers.a.env.X is a single value`,
	} {
		if _, err := config.Explain(path); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", path, err)
		}
	}
}
