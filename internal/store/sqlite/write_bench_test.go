package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"durward"
	"durward/internal/store/sqlite"
	"durward/ledger"
)

func cpu() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// makeCall is a call of ordinary shape: one of 20 tools, one of 64 sessions.
func makeCall(n int, sessions []durward.SessionID, preview string) (*ledger.Intent, *ledger.Outcome) {
	now := time.Now().UTC().Truncate(time.Microsecond)
	id := durward.NewCallID()
	tool := fmt.Sprintf("tool_%d", n%20)
	i := &ledger.Intent{
		ID: id, Session: sessions[n%len(sessions)], At: now, Principal: "local", Entrance: durward.EntranceHTTP,
		Client: durward.ClientInfo{Name: "claude-code", Version: "1.0.44"}, Route: "/mcp", Era: "modern",
		Origin: ledger.OriginMCP, Transport: durward.TransportStdio, Server: "github", Method: "tools/call", Tool: tool, FullName: "github__" + tool,
		RequestID: "17", Risk: durward.RiskMedium, Layer: "none", BytesIn: len(preview), Preview: preview,
	}
	copy(i.TraceID[:], id)
	copy(i.SpanID[:], id[8:])
	o := &ledger.Outcome{
		Call: id, At: now, Dispatched: now, Duration: 1234 * time.Microsecond, Status: durward.StatusOK, Attempts: 1, BytesOut: len(preview), Preview: preview,
	}
	return i, o
}

func sessions(n int) []durward.SessionID {
	out := make([]durward.SessionID, n)
	for i := range out {
		out[i] = durward.NewSessionID()
	}
	return out
}

// BenchmarkCalls writes intents and, a batch later, their outcomes.
func BenchmarkCalls(b *testing.B) {
	for _, sync := range []string{"normal", "full"} {
		for _, size := range []int{1, 8, 64, 512} {
			for _, preview := range []int{120, 1000} {
				b.Run(fmt.Sprintf("sync=%s/batch=%d/preview=%d", sync, size, preview), func(b *testing.B) { benchmark(b, sync, size, preview) })
			}
		}
	}
}

func benchmark(b *testing.B, sync string, size, preview int) {
	db, err := sqlite.Open(b.Context(), sqlite.Options{Path: filepath.Join(b.TempDir(), "l.db"), Sync: sync})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	who, text := sessions(64), strings.Repeat("{\"a\":[1]}", preview/9)
	var head ledger.Link
	var waiting []ledger.Record
	var digest, write time.Duration
	b.ResetTimer()
	start := time.Now()
	for n := 0; n < b.N; n += size {
		records := waiting
		waiting = nil
		for k := range size {
			i, o := makeCall(n+k, who, text)
			records, waiting = append(records, i), append(waiting, o)
		}
		c := cpu()
		batch := &ledger.Batch{Records: records, Link: head.Next(time.Now(), records)}
		d := cpu()
		if err := db.Write(context.Background(), batch); err != nil {
			b.Fatal(err)
		}
		write += cpu() - d
		digest += d - c
		head = batch.Link
	}
	b.ReportMetric(float64(write.Microseconds())/float64(b.N), "cpu-us/call")
	b.ReportMetric(float64(digest.Microseconds())/float64(b.N), "digest-us/call")
	b.ReportMetric(2*float64(b.N)/time.Since(start).Seconds(), "rows/s")
}
