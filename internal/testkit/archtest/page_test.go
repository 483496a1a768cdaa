package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// page returns the rows of the first table below a heading of ARCHITECTURE.md,
// without the two rows of its head.
func page(t *testing.T, heading string) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("ARCHITECTURE.md has no section %q", heading)
	}
	var rows [][]string
	for line := range strings.SplitSeq(rest, "\n") {
		if !strings.HasPrefix(line, "|") {
			if len(rows) > 0 {
				break
			}
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	if len(rows) < 5 {
		t.Fatalf("the table of %q has %d rows: the page or its reader is broken", heading, len(rows))
	}
	return rows[2:]
}

// quoted returns what stands in backticks.
func quoted(cell string) []string {
	var out []string
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
		out = append(out, m[1])
	}
	return out
}

func TestThePageHasEveryPackageOnItsFloor(t *testing.T) {
	tree := packages(t, false)
	listed := map[string]bool{}
	for _, row := range page(t, "Floor plan") {
		names := quoted(row[1])
		if len(names) != 1 {
			t.Errorf("the row %q names no package, or several", row)
			continue
		}
		dir := names[0]
		if listed[dir] {
			t.Errorf("%s is there twice", dir)
		}
		listed[dir] = true
		if _, there := tree[dir]; !there {
			t.Errorf("ARCHITECTURE.md names the package %s, which is not there", dir)
			continue
		}
		if want := floorOf(dir); row[0] != want {
			t.Errorf("ARCHITECTURE.md has %s on floor %s, the test of imports on %s", dir, row[0], want)
		}
	}
	for dir := range tree {
		if !listed[dir] {
			t.Errorf("the floor plan of ARCHITECTURE.md lacks the package %s; add a line that says what it is", dir)
		}
	}
}

func floorOf(dir string) string {
	if floor := floors()[entry(dir)]; floor < 9 {
		return strconv.Itoa(floor)
	}
	return "–" // not part of the product
}

func TestThePathOfACallIsInTheCode(t *testing.T) {
	for _, row := range page(t, "The path of a call") {
		functions, files := quoted(row[1]), quoted(row[2])
		if len(functions) == 0 || len(functions) != len(files) {
			t.Errorf("step %s: each function needs its file", row[0])
			continue
		}
		for i, name := range functions {
			if !declares(t, files[i], name) {
				t.Errorf("step %s: %s does not declare %s", row[0], files[i], name)
			}
		}
	}
}

// declares reports whether a file declares package.Function or package.Type.Method.
func declares(t *testing.T, file, name string) bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "..", filepath.FromSlash(file)), nil, 0)
	if err != nil {
		t.Error(err)
		return false
	}
	parts := strings.Split(name, ".")
	if parts[0] != parsed.Name.Name {
		return false
	}
	for _, decl := range parsed.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if ok && f.Name.Name == parts[len(parts)-1] && receiver(f) == strings.Join(parts[1:len(parts)-1], ".") {
			return true
		}
	}
	return false
}

// receiver returns the name of a method's type, "" for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	expr := f.Recv.List[0].Type
	if pointer, ok := expr.(*ast.StarExpr); ok {
		expr = pointer.X
	}
	if name, ok := expr.(*ast.Ident); ok {
		return name.Name
	}
	return "?"
}

func TestThePageHasEveryDependencyAndItsOwner(t *testing.T) {
	want := dependencies(t)
	listed := map[string]bool{}
	for _, row := range page(t, "Dependencies") {
		module := quoted(row[0])[0]
		listed[module] = true
		if _, used := want[module]; !used {
			t.Errorf("ARCHITECTURE.md lists %s, which nothing imports", module)
			continue
		}
		said := quoted(row[1])
		if row[1] == "tests" {
			said = nil
		}
		slices.Sort(said)
		if !slices.Equal(said, want[module]) {
			t.Errorf("ARCHITECTURE.md gives %s to %q, the imports say %q (nobody: tests)", module, said, want[module])
		}
		if row[2] == "" || row[3] == "" {
			t.Errorf("%s needs a reason and a licence", module)
		}
	}
	for module := range want {
		if !listed[module] {
			t.Errorf("ARCHITECTURE.md lacks a line on %s: owner, reason, licence", module)
		}
	}
}

// dependencies returns the modules that are imported, each with the packages of
// the product that do, as the floor plan names them; none for those that only
// tests and test programs import.
func dependencies(t *testing.T) map[string][]string {
	t.Helper()
	modules := required(t)
	out := map[string][]string{}
	for _, tests := range []bool{false, true} {
		for dir, imports := range packages(t, tests) {
			for _, imp := range imports {
				at := slices.IndexFunc(modules, func(m string) bool { return imp == m || strings.HasPrefix(imp, m+"/") })
				if at < 0 {
					continue
				}
				users := out[modules[at]]
				if owner := entry(dir); !tests && floors()[owner] < 9 && !slices.Contains(users, owner) {
					users = append(users, shorter(owner, dir))
				}
				slices.Sort(users)
				out[modules[at]] = slices.Compact(users)
			}
		}
	}
	return out
}

// shorter returns the room of exchange where an import is, since exchange itself
// takes no library; for all other packages the place in the plan.
func shorter(owner, dir string) string {
	if owner == "internal/exchange" {
		return dir
	}
	return owner
}

// required returns the modules that go.mod names, the longest path first.
func required(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	var modules []string
	for line := range strings.SplitSeq(string(text), "\n") {
		fields := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(fields) >= 2 && strings.HasPrefix(fields[1], "v") && strings.Contains(path.Dir(fields[0]), ".") {
			modules = append(modules, fields[0])
		}
	}
	slices.SortFunc(modules, func(a, b string) int { return len(b) - len(a) })
	if len(modules) < 3 {
		t.Fatal("no modules were found in go.mod")
	}
	return modules
}
