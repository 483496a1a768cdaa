package readme_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pages returns the documents of the repository, by their path from its top.
func pages(t *testing.T) map[string]string {
	t.Helper()
	top := filepath.Join("..", "..")
	out := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		files, err := filepath.Glob(filepath.Join(top, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name, err := filepath.Rel(top, file)
			if err != nil {
				t.Fatal(err)
			}
			out[filepath.ToSlash(name)] = string(text)
		}
	}
	if len(out) < 5 {
		t.Fatalf("only %d documents were found", len(out))
	}
	return out
}

// A document that names a test claims that it is there.
func TestTestsThatAreNamedExist(t *testing.T) {
	there := testFunctions(t)
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9_]+)`")
	count := 0
	for page, text := range pages(t) {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			count++
			if !there[m[1]] {
				t.Errorf("%s names %s, which is no test here", page, m[1])
			}
		}
	}
	if count == 0 {
		t.Error("no document names a test")
	}
}

func testFunctions(t *testing.T) map[string]bool {
	t.Helper()
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9_]+)\(`)
	there := map[string]bool{}
	top := filepath.Join("..", "..")
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != top && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range function.FindAllStringSubmatch(string(text), -1) {
			there[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return there
}

func TestLinksLeadSomewhere(t *testing.T) {
	all := pages(t)
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for page, text := range all {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			at := page
			if target != "" {
				at = filepath.ToSlash(filepath.Join(filepath.Dir(page), filepath.FromSlash(target)))
			}
			if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(at))); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
				continue
			}
			if anchor != "" && !anchors(all[at])[anchor] {
				t.Errorf("%s links to %s, which has no such heading", page, m[1])
			}
		}
	}
}

// anchors are the names of a page's headings in links.
func anchors(text string) map[string]bool {
	drop := regexp.MustCompile("[^a-z0-9 _-]")
	out := map[string]bool{}
	for line := range strings.SplitSeq(text, "\n") {
		if heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			out[strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), ""), " ", "-")] = true
		}
	}
	return out
}
