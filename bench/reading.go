package main

import (
	"context"
	"path/filepath"
	"time"

	"durward/bench/ledgerfile"
)

// readingRows is how many calls the ledger has that is read here. bench/ledger reads
// larger ones.
const readingRows = 200_000

// reading measures how fast a ledger is read.
func reading() cell {
	return cell{"ledger-read", func(ctx context.Context, b *harness) error {
		path := filepath.Join(b.dir, "reading", "ledger.db")
		shape := ledgerfile.Shape{Rows: readingRows, Until: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)}
		if err := ledgerfile.Make(ctx, path, shape); err != nil {
			return err
		}
		results, err := ledgerfile.Measure(ctx, path, shape, b.rounds)
		if err != nil {
			return err
		}
		ledgerfile.Print(readingRows, results)
		for _, costly := range ledgerfile.Costly(results) {
			b.target(false, "ledger-read: %s", costly)
		}
		return nil
	}}
}
