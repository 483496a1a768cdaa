package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"durward"
	"durward/internal/store/sqlite"
	"durward/ledger"
)

// work takes so much CPU, as handling a call does.
func work(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}

// BenchmarkLedger is callers that each record a call, work for it, and record how it
// ended.
func BenchmarkLedger(b *testing.B) {
	for _, callers := range []int{1, 4, 16, 64} {
		for _, busy := range []time.Duration{0, 60 * time.Microsecond} {
			b.Run(fmt.Sprintf("callers=%d/work=%s", callers, busy), func(b *testing.B) {
				db, err := sqlite.Open(b.Context(), sqlite.Options{Path: filepath.Join(b.TempDir(), "l.db")})
				if err != nil {
					b.Fatal(err)
				}
				var links, records atomic.Int64
				l, err := ledger.Open(b.Context(), ledger.Options{Store: db, Bodies: true, Committed: func(link ledger.Link, _ []ledger.Record) {
					links.Add(1)
					records.Add(int64(link.Records))
				}})
				if err != nil {
					b.Fatal(err)
				}
				who := sessions(64)
				params := []byte(`{"name":"github__create_issue","arguments":{"title":"hello","body":"something"},"_meta":{"progressToken":7}}`)
				var left atomic.Int64
				left.Store(int64(b.N))
				var all sync.WaitGroup
				b.ResetTimer()
				start := cpu()
				for range callers {
					all.Go(func() {
						for {
							n := left.Add(-1)
							if n < 0 {
								return
							}
							work(busy / 2)
							c := &durward.Call{
								ID: durward.NewCallID(), Method: "tools/call", Name: "create_issue", FullName: "github__create_issue", Server: "github", Received: time.Now(),
								Params: params, RequestID: []byte("17"), Era: "modern", Transport: durward.TransportStdio,
								Caller: durward.Caller{Principal: "local", Entrance: durward.EntranceHTTP, Session: who[int(n)%len(who)]},
							}
							if err := l.Intent(context.Background(), c, durward.Decision{Layer: "none"}); err != nil {
								b.Error(err)
								return
							}
							work(busy / 2)
							l.Outcome(context.Background(), c, durward.Outcome{Status: durward.StatusOK, Result: params, Attempts: 1, Finished: time.Now()})
						}
					})
				}
				all.Wait()
				took := cpu() - start
				b.StopTimer()
				if err := l.Close(); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(took.Nanoseconds())/float64(b.N)/1000-float64(busy.Microseconds()), "ledger-us/call")
				b.ReportMetric(float64(records.Load())/float64(links.Load()), "records/batch")
			})
		}
	}
}
