//go:build unix

package readme_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	_ "durward/internal/cli" // a change of the product runs these tests again
)

// TestMain builds the product, which may need the network, and then runs the
// tests where nothing but this machine's own loopback can be reached and every
// port is free: the documents name port 8484 and mean it.
func TestMain(m *testing.M) {
	if !alone() {
		if err := build(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if status, entered := runAlone(); entered {
			os.Exit(status)
		}
	}
	os.Exit(m.Run())
}

func root() string {
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		panic(err) // the working directory is gone
	}
	return dir
}

func build() error {
	cmd := exec.Command("make", "build")
	cmd.Dir = root()
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make build: %w\n%s", err, text)
	}
	return nil
}
