package config_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"durward/internal/config"
)

// mentioned finds keys in messages: "limits.message", "servers.%s.timeout".
var mentioned = regexp.MustCompile(`\b(limits|defaults|servers\.%[sqv]|tls|log)\.([a-z_]+)`)

// A message that tells somebody to change a key names one that there is.
func TestEveryKeyThatAMessageNamesExists(t *testing.T) {
	found := 0
	for place, text := range literals(t) {
		for _, m := range mentioned.FindAllStringSubmatch(text, -1) {
			found++
			path := strings.NewReplacer("%s", "NAME", "%q", "NAME", "%v", "NAME").Replace(m[1]) + "." + m[2]
			if _, err := config.Explain(path); err != nil {
				t.Errorf("%s: %q: %v", place, text, err)
			}
		}
	}
	if found < 40 {
		t.Fatalf("only %d keys found: the walk is broken", found)
	}
}

// Every limit is named by the error of what exceeds it, but for those that are
// not exceeded.
func TestEveryLimitIsNamedByAMessage(t *testing.T) {
	never := map[string]string{
		"keep_alive":          "a time after which something is sent",
		"session_idle":        "an unused session ends without a word, the next request gets 404",
		"resume_events":       "limits.resume is named for it",
		"stream_queue":        "a reader that falls behind is disconnected and resumes",
		"stream_queue_events": "a reader that falls behind is disconnected and resumes",
		"backoff_first":       "a time after which something is tried",
		"backoff_most":        "a time after which something is tried",
		"approval_life":       "a time after which nobody is waited for any more; the reason of the rule's own time is told",
		"stderr":              "the end is kept, what is older is dropped on purpose",
		"instructions":        "the text itself says that it was cut",
	}
	named := map[string]bool{}
	for _, text := range literals(t) {
		for _, m := range mentioned.FindAllStringSubmatch(text, -1) {
			named[m[1]+"."+m[2]] = true
		}
	}
	for _, key := range config.Keys() {
		name, isLimit := strings.CutPrefix(key.Path, "limits.")
		if _, excused := never[name]; isLimit && named[key.Path] == excused {
			t.Errorf("%s: named by a message: %t, excused: %t", key.Path, named[key.Path], excused)
		}
	}
}

// literals returns the string literals of the product by place, tests left out.
func literals(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	root := filepath.Join("..", "..")
	for _, dir := range []string{"gateway", "ledger", "internal", "federation", "policy", "client", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && slices.Contains([]string{"testdata", "testkit", "config"}, d.Name()) {
				return filepath.SkipDir
			}
			if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				collect(t, path, out)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func collect(t *testing.T, path string, out map[string]string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if _, isImport := n.(*ast.ImportSpec); isImport {
			return false
		}
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		out[set.Position(lit.Pos()).String()] = text
		return true
	})
}
