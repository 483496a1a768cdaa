package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const module = "durward"

// floors is the plan, from the ground up. A package may import packages of
// lower floors; what else it may import is in sameFloor. A directory stands for
// everything below it unless that has an entry of its own.
func floors() map[string]int {
	return map[string]int{
		".": 0, "internal/wire": 0, "internal/yamlx": 0, "internal/paths": 0, "internal/private": 0, "internal/reveal": 0, "internal/lcs": 0, "internal/clientconf": 1, "docs/policies": 0, "internal/secret": 1,
		// exchange is the one package of the first floor that its neighbours may import.
		"internal/exchange":  1,
		"internal/transport": 1, "internal/session": 1, "internal/identity": 1, "internal/catalog": 1,
		"internal/upstream": 1, "internal/builtin": 1, "internal/launch": 1, "internal/egress": 1, "internal/toolsearch": 1,
		"internal/seal": 1, "internal/hold": 1, "internal/stdiobridge": 1, "ledger": 1,
		"policy": 1, "internal/plugin": 1, "internal/approval": 1, "internal/pin": 1, "internal/sigma": 1, "internal/store": 2,
		"internal/federation": 3, "federation": 3, "gateway": 3,
		"internal/config": 4, "internal/telemetry": 4, "internal/control": 4, "internal/ledgerapi": 4, "internal/daemon": 4,
		"client": 5, "internal/tui": 5, "internal/cli": 5, "cmd": 6,
		// Not part of the product.
		"internal/store/storetest": 9, "internal/testkit": 9, "test": 9, "bench": 9, "tools": 9,
	}
}

// exceptions are imports within a floor, or upwards, each with its reason.
func exceptions() map[string]map[string]string {
	return map[string]map[string]string{
		"gateway":            {"internal/federation": "the gateway stands on the federation's engine"},
		"federation":         {"internal/federation": "the public face of the engine"},
		"internal/config":    {},
		"internal/control":   {"client": "the service API has one vocabulary, declared by its client"},
		"internal/ledgerapi": {"client": "the service API's vocabulary"},
		"internal/daemon": {
			"client": "the service API's vocabulary", "internal/config": "assembly", "internal/control": "assembly", "internal/telemetry": "assembly",
			"internal/ledgerapi": "assembly",
		},
		"internal/cli": {"client": "the command line is a client of the service", "internal/tui": "the terminal screens of its commands"},
		"internal/tui": {"client": "what it shows comes from the service"},
	}
}

// owners says which package owns a third-party library. Test files may use any.
func owners() map[string][]string {
	return map[string][]string{
		"github.com/spf13/cobra":          {"internal/cli"},
		"go.yaml.in/yaml/v4":              {"internal/yamlx"},
		"github.com/vmihailenco/msgpack/": {"internal/exchange/pipe"},
		"github.com/tailscale/hujson":     {"internal/clientconf"},
		"github.com/pelletier/go-toml/v2": {"internal/clientconf"},
		"github.com/fsnotify/fsnotify":    {"internal/config"},
		"github.com/klauspost/compress":   {"ledger", "internal/store/sqlite"},
		"modernc.org/sqlite":              {"internal/store/sqlite", "internal/store/guard"},
		"modernc.org/libc":                {"internal/store/sqlite"},
		"github.com/pressly/goose/v3":     {"internal/store/sqlite", "internal/store/guard"},
		"cel.dev/cel-go":                  {"policy"},
		"golang.org/x/net":                {"policy"},
		"golang.org/x/text":               {"internal/plugin", "internal/reveal", "policy"},
		"github.com/tetratelabs/wazero":   {"internal/plugin"},
		"charm.land/":                     {"internal/tui"},
		"github.com/gen2brain/beeep":      {"internal/daemon"},
		"golang.org/x/mod":                {"ledger"},
		"github.com/prometheus/":          {"internal/telemetry"},
		"go.opentelemetry.io/":            {"internal/telemetry"},
		"google.golang.org/protobuf":      {"internal/telemetry/otlp"},
		"github.com/google/jsonschema-go": {"internal/config", "internal/control", "internal/cli"},
		"golang.org/x/sys":                {"internal/launch", "internal/identity", "internal/private", "internal/cli", "internal/store"},
	}
}

func TestImportsKeepTheFloorPlan(t *testing.T) {
	seen := 0
	for dir, imports := range packages(t, false) {
		seen++
		for _, imp := range imports {
			if imp == module || strings.HasPrefix(imp, module+"/") {
				checkInternal(t, dir, strings.TrimPrefix(strings.TrimPrefix(imp, module), "/"))
			} else if strings.Contains(strings.Split(imp, "/")[0], ".") {
				checkLibrary(t, dir, imp)
			}
		}
	}
	if seen < 10 {
		t.Fatalf("only %d packages found: the walk is broken", seen)
	}
}

func checkInternal(t *testing.T, dir, imp string) {
	t.Helper()
	if imp == "" {
		imp = "."
	}
	from, to := entry(dir), entry(imp)
	if to == "." {
		return // the vocabulary is everybody's
	}
	if from == "" || to == "" {
		t.Errorf("%s imports %s: one of them has no place in the floor plan", dir, imp)
		return
	}
	if from == to || floors()[from] > floors()[to] {
		return
	}
	if to == "internal/exchange" && floors()[from] == 1 {
		return
	}
	if _, ok := exceptions()[from][to]; !ok {
		t.Errorf("%s (floor %d) must not import %s (floor %d)", dir, floors()[from], imp, floors()[to])
	}
}

func checkLibrary(t *testing.T, dir, imp string) {
	t.Helper()
	if floors()[entry(dir)] == 9 {
		return
	}
	for library, allowed := range owners() {
		if !strings.HasPrefix(imp, library) {
			continue
		}
		for _, owner := range allowed {
			if dir == owner || strings.HasPrefix(dir, owner+"/") {
				return
			}
		}
		t.Errorf("%s imports %s, which is owned by %v", dir, imp, allowed)
		return
	}
	t.Errorf("%s imports %s, which has no owner in the plan", dir, imp)
}

// entry returns the entry of the floor plan that dir falls under, "" if none.
func entry(dir string) string {
	for d := dir; d != "." && d != "/"; d = path.Dir(d) {
		if _, ok := floors()[d]; ok {
			return d
		}
	}
	if dir == "." {
		return "."
	}
	return ""
}

// packages returns the imports of every package, by directory.
func packages(t *testing.T, tests bool) map[string][]string {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	out := map[string][]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && p != root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata" || isModule(p)) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") != tests {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		dir, _ := filepath.Rel(root, filepath.Dir(p))
		dir = filepath.ToSlash(dir)
		for _, spec := range file.Imports {
			out[dir] = append(out[dir], strings.Trim(spec.Path.Value, `"`))
		}
		if out[dir] == nil {
			out[dir] = []string{}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for dir := range packages(t, false) {
		if !documented(t, filepath.Join("..", "..", "..", dir)) {
			t.Errorf("%s has no package comment", dir)
		}
	}
}

func documented(t *testing.T, dir string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if parsed.Doc != nil {
			return true
		}
	}
	return false
}

func TestNoInitFunctions(t *testing.T) {
	for dir := range packages(t, false) {
		if floors()[entry(dir)] == 9 {
			continue
		}
		files, _ := filepath.Glob(filepath.Join("..", "..", "..", dir, "*.go"))
		for _, f := range files {
			if !strings.HasSuffix(f, "_test.go") {
				checkNoInit(t, f)
			}
		}
	}
}

func checkNoInit(t *testing.T, file string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range parsed.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			t.Errorf("%s has an init function", file)
		}
	}
}
