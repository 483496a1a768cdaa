package config_test

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"durward/internal/config"
	"durward/internal/yamlx"
)

// The committed references are what the program says now.
func TestReferencesAreUpToDate(t *testing.T) {
	for name, want := range config.References() {
		file := filepath.Join("..", "..", "docs", "reference", name)
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is stale; run make docs", file)
		}
	}
}

// Every code of the source has its entry in the table, once, and the other way round.
func TestEveryCodeIsDocumented(t *testing.T) {
	declared := map[yamlx.Code]bool{}
	for _, file := range []string{"codes.go", filepath.Join("..", "yamlx", "problem.go")} {
		for _, code := range codesIn(t, file) {
			declared[code] = true
		}
	}
	if len(declared) < 20 {
		t.Fatalf("only %d codes found: the walk is broken", len(declared))
	}
	seen := map[yamlx.Code]bool{}
	for _, f := range config.Faults() {
		if seen[f.Code] || !declared[f.Code] || f.Meaning == "" || f.Fix == "" {
			t.Errorf("%s: twice, or not declared, or without a word", f.Code)
		}
		seen[f.Code] = true
	}
	for code := range declared {
		if !seen[code] {
			t.Errorf("%s is not documented", code)
		}
	}
}

func codesIn(t *testing.T, path string) (codes []yamlx.Code) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok && strings.HasPrefix(lit.Value, `"E_`) {
			text, _ := strconv.Unquote(lit.Value)
			codes = append(codes, yamlx.Code(text))
		}
		return true
	})
	return codes
}

// The examples of the documentation have the fault that they show.
func TestExamplesShowTheirFault(t *testing.T) {
	for _, f := range config.Faults() {
		if f.Example == "" {
			continue
		}
		corp := f.Corp
		if corp == "" {
			corp = "version: 1"
		}
		_, err := config.ParseLayers("durward.yaml", []byte(f.Example), config.CorpFile, []byte(corp), config.Options{})
		var ps yamlx.Problems
		if !errors.As(err, &ps) {
			t.Errorf("%s: %v", f.Code, err)
			continue
		}
		if !has(ps, f.Code) {
			t.Errorf("%s: the example gives %v", f.Code, err)
		}
	}
}

func has(ps yamlx.Problems, code yamlx.Code) bool {
	for _, p := range ps {
		if p.Code == code {
			return true
		}
	}
	return false
}

// The corpus has every fault a text can have.
func TestCorpusCoversEveryCode(t *testing.T) {
	seen := map[yamlx.Code]bool{"E_OWNER": true} // of the file, not of its text
	for _, file := range glob(t, "testdata/*.bad.yaml", 60) {
		var ps yamlx.Problems
		if errors.As(loadBad(t, file), &ps) {
			for _, p := range ps {
				seen[p.Code] = true
			}
		}
	}
	for _, f := range config.Faults() {
		if !seen[f.Code] {
			t.Errorf("no file has %s", f.Code)
		}
	}
}
