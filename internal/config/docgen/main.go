// Command docgen writes the references of the configuration below docs/reference:
// the keys, the errors, and the JSON Schema. Run it by "make docs".
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"durward/internal/config"
)

func main() {
	dir := filepath.Join("..", "..", "docs", "reference") // go generate runs in the package's directory
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := write(dir); err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, content := range config.References() {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
