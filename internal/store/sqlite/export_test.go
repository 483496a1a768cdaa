package sqlite

import (
	"context"
	"time"
)

// WithSegments makes segments small, so that few rows make many of them.
func WithSegments(o Options, calls, others, amend int) Options {
	o.sizes = segmentSizes{calls, others, amend}
	return o
}

// WithCache makes the writer keep few pages in memory, so that it reads them again.
func WithCache(o Options, kib int) Options {
	o.cache = kib
	return o
}

// Statements returns the texts of the statements that answers took.
func (r *Reader) Statements() []string {
	var all []string
	for range readersMost {
		c := <-r.conns
		if c != nil {
			for text := range c.stmts {
				all = append(all, text)
			}
		}
		r.conns <- c
	}
	return all
}

// Endless runs a query that finds nothing and never ends by itself.
func (r *Reader) Endless(ctx context.Context) error {
	return r.view(ctx, func(v *view) error {
		return v.eachOf(v.ctx, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0", func([]value) error { return nil })
	})
}

// LogLimit is logLimit.
func LogLimit(room int64) int { return logLimit(room) }

// Copied returns when the copier has done what it was asked to; it is stopped.
func (d *DB) Copied() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.copier
	d.copier = nil
	return k.stop()
}

// Begun makes an empty file a ledger without tables, and calls f before it closes it.
func Begun(path string, f func()) error {
	c, err := begun(path, time.Second)
	if err != nil {
		return err
	}
	f()
	return c.close()
}

// Unwritable is unwritable.
func Unwritable(path string) bool { return unwritable(path) }
