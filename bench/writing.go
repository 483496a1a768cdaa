package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"durward"
	"durward/internal/store/sqlite"
	"durward/ledger"
)

// The writer of the ledger by itself: how many rows of how many bytes it has to write
// in a second, and for how many callers at once. A call is two rows.
const (
	writeRows    = 40_000
	writeBytes   = 1000
	writeCallers = 512
)

// writing measures the writer, with a store as the service has it.
func writing() cell {
	return cell{"ledger-write", func(ctx context.Context, b *harness) error {
		for _, sync := range []string{"normal", "full"} {
			var rates, cpu, batch []float64
			for round := range b.rounds {
				w, err := b.write(ctx, sync, filepath.Join(b.dir, fmt.Sprintf("write-%s-%d.db", sync, round)))
				if err != nil {
					return err
				}
				rates, cpu, batch = append(rates, w.rate), append(cpu, w.cpu), append(batch, w.batch)
			}
			rate := median(rates)
			fmt.Printf("bench-ledger-write sync=%s callers=%d row_bytes=%d rows_per_s=%.0f cpu_us=%.1f rows_per_batch=%.0f\n",
				sync, writeCallers, writeBytes, rate, median(cpu), median(batch))
			if sync == "normal" {
				b.target(rate >= writeRows, "ledger-write: %.0f rows a second, wanted %d", rate, writeRows)
			}
		}
		return nil
	}}
}

// written is what one round of writing came to.
type written struct{ rate, cpu, batch float64 } // rows a second, µs of CPU per row, rows per batch

// write makes calls for the length of a round.
func (b *harness) write(ctx context.Context, sync, path string) (w written, err error) {
	store, err := sqlite.Open(ctx, sqlite.Options{Path: path, Sync: sync})
	if err != nil {
		return w, err
	}
	links, rows := 0, 0 // only the writer's goroutine changes them
	l, err := ledger.Open(ctx, ledger.Options{Store: store, Full: sync == "full", Bodies: true, Committed: func(_ ledger.Link, records []ledger.Record) {
		links++
		rows += len(records)
	}})
	if err != nil {
		return w, errors.Join(err, store.Close())
	}
	began, cpu := time.Now(), processorTime()
	err = makeCalls(ctx, l, began.Add(b.round))
	err = errors.Join(err, l.Close()) // what waits is written by then
	elapsed := time.Since(began)
	return written{
		rate: float64(rows) / elapsed.Seconds(), cpu: float64((processorTime() - cpu).Microseconds()) / float64(max(rows, 1)), batch: float64(rows) / float64(max(links, 1)),
	}, err
}

// makeCalls has many callers record calls that take no time.
func makeCalls(ctx context.Context, l *ledger.Ledger, until time.Time) error {
	content := []byte(`{"name":"tool","arguments":{"text":"` + strings.Repeat("x", writeBytes-200) + `"}}`)
	errs := make([]error, writeCallers)
	var group sync.WaitGroup
	for n := range writeCallers {
		caller := durward.Caller{Principal: "local", Entrance: durward.EntranceHTTP, Client: durward.ClientInfo{Name: "bench", Version: "1"}}
		group.Go(func() {
			for time.Now().Before(until) && errs[n] == nil {
				c := &durward.Call{
					ID: durward.NewCallID(), Caller: caller, Method: "tools/call", Received: time.Now(), RequestID: []byte("17"), Params: content,
					Server: "server", Name: "tool", FullName: "server__tool", Era: "modern", Transport: durward.TransportStdio,
				}
				if errs[n] = l.Intent(ctx, c, durward.Decision{Layer: "none"}); errs[n] == nil {
					l.Outcome(ctx, c, durward.Outcome{Status: durward.StatusOK, Result: content, Attempts: 1, Finished: time.Now()})
				}
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

func processorTime() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r) // its arguments are right, so it cannot fail
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
