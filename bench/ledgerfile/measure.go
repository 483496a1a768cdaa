package ledgerfile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"durward/internal/store/sqlite"
)

// Result is how long one question took.
type Result struct {
	View
	Rows int           // that it gave
	Cold time.Duration // by a connection that had just been opened, with nothing in its page cache
	Warm time.Duration // the median of the rounds after that, by the same connection
	CPU  time.Duration // processor time of a round, which does not depend on what else runs on the machine

	Disk     time.Duration // by a new connection, with nothing of the file in the memory of the system; 0: not measured
	DiskRead int64         // bytes that were read from the disk for that
}

// Measure asks all questions, each in so many rounds.
func Measure(ctx context.Context, path string, s Shape, rounds int) ([]Result, error) {
	r, err := sqlite.OpenReader(ctx, path)
	if err != nil {
		return nil, err
	}
	views, err := Views(ctx, r, s)
	if closing := r.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, v := range views {
		if !strings.Contains(v.Name, s.Only) {
			continue
		}
		res, err := measure(ctx, path, v, rounds)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.Name, err)
		}
		results = append(results, res)
	}
	return results, nil
}

func measure(ctx context.Context, path string, v View, rounds int) (Result, error) {
	res := Result{View: v}
	r, err := sqlite.OpenReader(ctx, path)
	if err != nil {
		return res, err
	}
	defer r.Close() //nolint:errcheck // it only read
	var warm, used []time.Duration
	for n := range rounds + 1 {
		start, before := time.Now(), cpu()
		if res.Rows, err = v.Ask(ctx, r); err != nil {
			return res, err
		}
		if took := time.Since(start); n == 0 {
			res.Cold = took
		} else {
			warm, used = append(warm, took), append(used, cpu()-before)
		}
	}
	slices.Sort(warm)
	slices.Sort(used)
	res.Warm, res.CPU = warm[len(warm)/2], used[len(used)/2]
	return res, nil
}

// MeasureDisk asks all questions once more, each when nothing of the file is in the
// memory of the system, and adds how long that took to the results.
func MeasureDisk(ctx context.Context, path string, results []Result) error {
	for i := range results {
		if err := results[i].disk(ctx, path); err != nil {
			return fmt.Errorf("%s: %w", results[i].Name, err)
		}
	}
	return nil
}

func (r *Result) disk(ctx context.Context, path string) error {
	if err := forget(path); err != nil {
		return err
	}
	db, err := sqlite.OpenReader(ctx, path)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // it only read
	start, before := time.Now(), diskBytes()
	if _, err := r.Ask(ctx, db); err != nil {
		return err
	}
	r.Disk, r.DiskRead = time.Since(start), diskBytes()-before
	return nil
}

// Print prints one line for each result.
func Print(rows int, results []Result) {
	for _, r := range results {
		fmt.Printf("bench-ledger-read rows=%d view=%s us=%d cold_us=%d cpu_us=%d found=%d most_us=%d",
			rows, r.Name, r.Warm.Microseconds(), r.Cold.Microseconds(), r.CPU.Microseconds(), r.Rows, r.Most.Microseconds())
		if r.Disk > 0 {
			fmt.Printf(" disk_us=%d disk_bytes=%d", r.Disk.Microseconds(), r.DiskRead)
		}
		fmt.Println()
	}
}

// Missed returns what took longer than it may.
func Missed(results []Result) (missed []string) {
	for _, r := range results {
		if r.Warm > r.Most || r.Cold > r.Most {
			missed = append(missed, fmt.Sprintf("%s took %s, and %s by a fresh connection; wanted %s", r.Name, r.Warm, r.Cold, r.Most))
		}
	}
	return missed
}

// Costly returns what took more processor time than it may take at all: that is a miss
// on any machine, however busy.
func Costly(results []Result) (costly []string) {
	for _, r := range results {
		if r.CPU > r.Most {
			costly = append(costly, fmt.Sprintf("%s took %s of a processor; wanted %s", r.Name, r.CPU, r.Most))
		}
	}
	return costly
}
