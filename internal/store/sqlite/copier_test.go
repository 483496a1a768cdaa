package sqlite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"durward/internal/store/sqlite"
	"durward/ledger"
)

// What is written is copied into the file while it is written, and not only when the
// log is full.
func TestTheLogIsCopiedBesideWhoWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	who, text := sessions(1), strings.Repeat("x", 1000)
	head, size := ledger.Link{}, int64(0)
	for range 60 { // some 50 pages each
		var records []ledger.Record
		for n := range 100 {
			i, o := makeCall(n, who, text)
			records = append(records, i, o)
		}
		link := head.Next(time.Now(), records)
		if err := db.Write(t.Context(), &ledger.Batch{Records: records, Link: link}); err != nil {
			t.Fatal(err)
		}
		head = link
	}
	if err := db.Copied(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err == nil {
		size = info.Size()
	}
	if size < 6<<20 {
		t.Errorf("the file has %d bytes, after 12 MB of records", size)
	}
	if got, err := db.Head(t.Context()); err != nil || got != head {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestTheLogIsSmallerOnASmallDisk(t *testing.T) {
	for room, want := range map[int64]int{0: 2000, 24 << 20: 2000, 128 << 20: 4096, 1 << 40: 16000} {
		if got := sqlite.LogLimit(room); got != want {
			t.Errorf("%d pages with %d bytes free, wanted %d", got, room, want)
		}
	}
}
