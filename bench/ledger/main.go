// Command ledger makes a ledger of any size and measures how fast it is read.
//
//	go run ./bench/ledger                                         # 200,000 calls, thrown away afterwards
//	go run ./bench/ledger -rows 10000000 -file /var/tmp/big.db    # made once (about 7 GB), then only measured
//
// It prints one line a question: us is the median of the rounds with a warm page cache
// of SQLite, cold_us the first round, by a connection that was just opened, and with
// -disk disk_us one with nothing of the file in the memory of the system. It exits
// non-zero when one of them took longer than it may.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"durward/bench/ledgerfile"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench/ledger:", err)
		os.Exit(1)
	}
}

func run() error {
	rows := flag.Int("rows", 200_000, "calls")
	days := flag.Int("days", 30, "over which they are spread evenly")
	file := flag.String("file", "", "the ledger: made if it is not there, and kept; default: a temporary one")
	rounds := flag.Int("rounds", 5, "times that each question is asked after the first")
	gate := flag.Bool("gate", true, "fail when a question takes too long")
	disk := flag.Bool("disk", false, "also ask with nothing of the file in the memory of the system (Linux)")
	only := flag.String("only", "", "ask only questions with this in their name")
	makeOnly := flag.Bool("make", false, "only make the file")
	reindex := flag.Bool("reindex", false, "make its segments anew first")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	path := *file
	if path == "" {
		dir, err := os.MkdirTemp("", "durward-ledger-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
		path = filepath.Join(dir, "ledger.db")
	}
	shape := ledgerfile.Shape{Rows: *rows, Days: *days, Only: *only, Until: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := create(ctx, path, shape); err != nil {
			return err
		}
	}
	if *reindex {
		start := time.Now()
		if err := ledgerfile.Reindex(ctx, path); err != nil {
			return err
		}
		fmt.Printf("bench-ledger-reindex rows=%d seconds=%.1f\n", *rows, time.Since(start).Seconds())
	}
	if *makeOnly {
		return nil
	}
	results, err := ledgerfile.Measure(ctx, path, shape, *rounds)
	if err != nil {
		return err
	}
	if *disk {
		if err := ledgerfile.MeasureDisk(ctx, path, results); err != nil {
			return err
		}
	}
	ledgerfile.Print(*rows, results)
	missed := ledgerfile.Missed(results)
	for _, m := range missed {
		fmt.Println("missed:", m)
	}
	if len(missed) > 0 && *gate {
		return fmt.Errorf("%d questions took too long", len(missed))
	}
	return nil
}

// create makes the file and tells how far it is.
func create(ctx context.Context, path string, shape ledgerfile.Shape) error {
	start, done, told := time.Now(), 0, time.Now()
	shape.Done = func(n int) {
		done += n
		if time.Since(told) > 5*time.Second {
			told = time.Now()
			fmt.Fprintf(os.Stderr, "made %d of %d calls\n", done, shape.Rows)
		}
	}
	if err := ledgerfile.Make(ctx, path, shape); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	took := time.Since(start)
	fmt.Printf("bench-ledger-make rows=%d seconds=%.1f rows_per_s=%.0f bytes=%d\n", shape.Rows, took.Seconds(), float64(shape.Rows)/took.Seconds(), info.Size())
	return nil
}
