package cli_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"durward/internal/cli"
)

var update = flag.Bool("update", false, "write docs/reference/cli.md")

// go test ./internal/cli -update writes the page.
func TestTheReferenceIsUpToDate(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "reference", "cli.md")
	page := cli.Reference()
	if *update {
		if err := os.WriteFile(file, page, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(old, page) {
		t.Errorf("%s is stale (%v): run go test ./internal/cli -update", file, err)
	}
}
