// Command docgen writes the reference of the metrics below docs/reference. Run it by
// "make docs".
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"durward/internal/telemetry"
)

func main() {
	file := filepath.Join("..", "..", "docs", "reference", "metrics.md") // go generate runs in the package's directory
	if len(os.Args) > 1 {
		file = os.Args[1]
	}
	if err := os.WriteFile(file, telemetry.Reference(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
}
