package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"time"
)

// options are the flags.
type options struct {
	rounds  int
	round   time.Duration
	only    *regexp.Regexp
	profile bool
	gate    bool
}

func main() {
	if err := bench(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench() error {
	var opt options
	flag.IntVar(&opt.rounds, "rounds", 15, "rounds per cell")
	flag.DurationVar(&opt.round, "round", 500*time.Millisecond, "length of a round per path")
	flag.BoolVar(&opt.profile, "profile", false, "write CPU profiles of the gateway to bench/out")
	flag.BoolVar(&opt.gate, "gate", true, "fail when a target is missed")
	only := flag.String("only", "", "regular expression of the cells to run; default all")
	flag.Parse()
	var err error
	if opt.only, err = regexp.Compile(*only); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp("", "durward-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	b := &harness{options: opt, dir: dir}
	if err := b.build(ctx); err != nil {
		return err
	}
	for _, cell := range cells() {
		if !opt.only.MatchString(cell.name) {
			continue
		}
		if err := cell.run(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", cell.name, err)
		}
	}
	return b.verdict()
}

// harness holds what the cells share.
type harness struct {
	options
	dir    string
	missed []string
}

func (b *harness) build(ctx context.Context) error {
	for name, pkg := range map[string]string{"durward": "./cmd/durward", "echo": "./bench/echo"} {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", filepath.Join(b.dir, name), pkg)
		cmd.Stderr = os.Stderr
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("build %s: %w", pkg, err)
		}
	}
	return nil
}

// target notes a target that was missed.
func (b *harness) target(ok bool, format string, args ...any) {
	if !ok {
		b.missed = append(b.missed, fmt.Sprintf(format, args...))
	}
}

func (b *harness) verdict() error {
	for _, m := range b.missed {
		fmt.Println("missed:", m)
	}
	if len(b.missed) > 0 && b.gate {
		return fmt.Errorf("%d targets missed", len(b.missed))
	}
	return nil
}
