package rig

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Binaries are the programs under test.
type Binaries struct {
	Gateway string
	Server  string // the server that counts: test/kill/server
}

// Build builds into dir what is not given.
func Build(ctx context.Context, dir string, given Binaries) (Binaries, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return given, fmt.Errorf("go list -m: %w", err)
	}
	root := strings.TrimSpace(string(out))
	for _, b := range []struct {
		to   *string
		name string
		pkg  string
	}{{&given.Gateway, "durward", "./cmd/durward"}, {&given.Server, "server", "./test/kill/server"}} {
		if *b.to != "" {
			continue
		}
		*b.to = filepath.Join(dir, b.name)
		cmd := exec.CommandContext(ctx, "go", "build", "-o", *b.to, b.pkg)
		cmd.Dir = root
		if text, err := cmd.CombinedOutput(); err != nil {
			return given, fmt.Errorf("%v: %w\n%s", cmd.Args, err, text)
		}
	}
	return given, nil
}
