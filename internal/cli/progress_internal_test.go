package cli

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/internal/store/sqlite"
	"durward/internal/testkit/collector"
	"durward/ledger"
)

// filled makes a ledger of so many calls, one a link, without checkpoints.
func filled(t *testing.T, calls int) *archive {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	path := filepath.Join(t.TempDir(), "ledger.db")
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	var batches []*ledger.Batch
	var head ledger.Link
	for range calls {
		i := &ledger.Intent{ID: durward.NewCallID(), At: time.Now().UTC().Truncate(time.Microsecond), Method: "tools/call", Tool: "t"}
		records := []ledger.Record{i, &ledger.Outcome{Call: i.ID, Status: durward.StatusOK}}
		head = head.Next(i.At, records)
		batches = append(batches, &ledger.Batch{Records: records, Link: head})
	}
	if err := db.WriteAll(t.Context(), batches); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	a, err := openArchive(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// What takes long knows its end, also where there is no service and nothing was signed.
func TestProgressKnowsTheEnd(t *testing.T) {
	a := filled(t, 600)
	var out bytes.Buffer
	bar := func() *bar {
		out.Reset()
		return &bar{out: &out, what: "w", terminal: true}
	}
	bounded := func(what string) {
		t.Helper()
		for step := range strings.SplitSeq(strings.TrimPrefix(out.String(), "\r\x1b[K"), "\r\x1b[K") {
			if !strings.HasSuffix(step, " %") {
				t.Errorf("%s: %q", what, step)
			}
		}
	}
	if _, err := ledger.Verify(t.Context(), a, ledger.VerifyOptions{Checkpoints: a.checkpoints, Verifiers: a.keys, Progress: bar().tell}); err != nil {
		t.Error(err)
	}
	bounded("verify")
	if err := ledger.ExportNDJSON(t.Context(), &bytes.Buffer{}, a, ledger.ExportOptions{Progress: bar().tell}); err != nil {
		t.Error(err)
	}
	bounded("export")
	if err := ledger.Backup(t.Context(), a, ledger.BackupOptions{To: filepath.Join(t.TempDir(), "copy"), Progress: bar().tell}); err != nil {
		t.Error(err)
	}
	bounded("backup")
	server := httptest.NewServer(&collector.Collector{})
	defer server.Close()
	if err := sendLogs(t.Context(), a, ledger.Filter{}, ledgerExportOptions{endpoint: server.URL}, bar()); err != nil {
		t.Error(err)
	}
	bounded("export to a collector")
	if want := fmt.Sprintf("  %d %%\r", 512*100/600); !strings.Contains(out.String(), want) {
		t.Errorf("%q has no %q", out.String(), want)
	}
}
