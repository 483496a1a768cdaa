package main_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	_ "modernc.org/sqlite" // another process that uses the file

	"durward"
	"durward/client"
	"durward/internal/testkit/smalldisk"
	"durward/test/kill/rig"
)

// fault is something that keeps the ledger from being written.
type fault struct {
	// begin makes it happen, and returns what ends it.
	begin func(s *stage) (end func())
	says  string // in the error that callers get
	small bool   // the state directory is a small file system
}

func faults() map[string]fault {
	return map[string]fault{
		"disk full":     {begin: fill, says: "disk is full", small: true},
		"locked":        {begin: lock, says: "is locked by another process"},
		"removed":       {begin: removeFile, says: "was removed while the service was using it"},
		"replaced":      {begin: replaceFile, says: "was replaced by another file"},
		"write errors":  {begin: failWrites, says: "gives errors"},
		"corrupted":     {begin: corrupt, says: "is damaged"},
		"log and index": {begin: removeLog}, // nothing is to be noticed of it
	}
}

// While the ledger cannot be written, calls are refused and nothing passes
// unrecorded, and everybody is told why. When it can be again, all goes on by itself.
func TestFaultsOfTheLedger(t *testing.T) {
	for name, f := range faults() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil, nil)
			if f.small {
				smalldisk.Mount(t, filepath.Dir(s.State), 8<<20)
			}
			s.up()
			busy, rest := context.WithCancel(t.Context())
			var group sync.WaitGroup
			group.Go(func() { s.load.Run(busy, 2) })
			defer group.Wait()
			defer rest()
			before := s.RSS()

			slow := s.underWay(&group, (*rig.Answer).OK)
			end := f.begin(s)
			if f.says == "" {
				s.await("an answer", time.Minute, func(a rig.Answer) bool { return a.OK() })
			} else {
				s.suffers(f, before)
			}
			end()
			s.recovers()

			rest()
			group.Wait()
			s.concluded(s.judge(), slow)
		})
	}
}

// underWay begins calls that are not over when the fault begins. want is what their
// answers are to be.
func (s *stage) underWay(group *sync.WaitGroup, want func(*rig.Answer) bool) (ids []string) {
	const calls = 3
	for n := range calls {
		id := fmt.Sprintf("slow-%d", n)
		ids = append(ids, id)
		group.Go(func() {
			a := s.modern.Do(s.t.Context(), rig.Request{ID: id, Method: "tools/call", Name: "web__work", Params: fmt.Sprintf(`"name":"web__work","arguments":{"id":%q,"ms":1500,"bytes":3000}`, id)})
			if !want(&a) {
				s.t.Errorf("a call that was under way when the fault began got %s", &a)
			}
		})
	}
	until := time.Now().Add(time.Minute)
	for time.Now().Before(until) {
		seen, err := rig.Seen(s.dir)
		if err != nil {
			s.t.Fatal(err)
		}
		if seen["slow-0"]+seen["slow-1"]+seen["slow-2"] == calls {
			return ids
		}
		time.Sleep(10 * time.Millisecond) // the journal is a file
	}
	s.t.Fatal("the slow calls do not reach the server")
	return nil
}

// suffers looks at the service during a fault.
func (s *stage) suffers(f fault, before int) {
	s.t.Helper()
	// Where it is busy, the first who are refused may have waited too long before it is known why.
	a := s.await("a refusal that says why", time.Minute, func(a rig.Answer) bool { return a.Code == 50301 && strings.Contains(a.Text, f.says) })
	for _, part := range []string{s.Ledger(), "it was not made"} {
		if !strings.Contains(a.Text, part) {
			s.t.Errorf("the error does not say %q: %s", part, a.Text)
		}
	}
	if status, body, err := s.Get(s.t.Context(), "/readyz"); err != nil || status != http.StatusServiceUnavailable || !strings.Contains(string(body), "recorded") {
		s.t.Errorf("/readyz: %d %s %v", status, body, err)
	}
	if status, _, err := s.Get(s.t.Context(), "/healthz"); err != nil || status != http.StatusOK {
		s.t.Errorf("/healthz: %d %v", status, err) // it is alive: whoever restarts it gains nothing
	}
	out, errs, _ := s.Command(s.t.Context(), "status") // its status is not what is looked at
	if !strings.Contains(out, f.says) {
		s.t.Errorf("durward status does not say %q: %s%s", f.says, out, errs)
	}
	var st client.Status
	if _, body, err := s.Get(s.t.Context(), "/api/v1/status"); err != nil || json.Unmarshal(body, &st) != nil || !strings.Contains(st.LedgerProblem, f.says) {
		s.t.Errorf("the service API says %q, %v", st.LedgerProblem, err)
	}
	s.hammers(f)
	if now := s.RSS(); now > before+memoryMost {
		s.t.Errorf("memory grew from %d to %d MiB during the fault", before>>20, now>>20)
	}
}

// memoryMost is by how much memory may grow while calls are refused.
const memoryMost = 64 << 20

// hammers makes many calls, large ones too. None of them passes, and none waits long.
func (s *stage) hammers(f fault) {
	s.t.Helper()
	const workers, each = 4, 25
	var group sync.WaitGroup
	pad := strings.Repeat("all work and no play ", 4_000)
	for n := range workers {
		group.Go(func() {
			c := []*rig.Client{s.modern, s.legacy}[n%2]
			for i := range each {
				id := fmt.Sprintf("hammer-%d-%d", n, i)
				a := c.Do(s.t.Context(), rig.Request{ID: id, Method: "tools/call", Name: "lines__work", Params: fmt.Sprintf(`"name":"lines__work","arguments":{"id":%q,"pad":%q}`, id, pad)})
				if a.Code != 50301 || !strings.Contains(a.Text, f.says) && !a.Unsent {
					s.t.Errorf("during the fault a call got %s", &a)
					return
				}
			}
		})
	}
	group.Wait()
}

// recovers waits until calls go on.
func (s *stage) recovers() {
	s.t.Helper()
	s.await("an answer after the fault", time.Minute, func(a rig.Answer) bool { return a.OK() })
	if status, body, err := s.Get(s.t.Context(), "/readyz"); err != nil || status != http.StatusOK {
		s.t.Errorf("/readyz after the fault: %d %s %v", status, body, err)
	}
	if out, _, err := s.Command(s.t.Context(), "status"); err != nil || strings.Contains(out, "nothing can be recorded") {
		s.t.Errorf("durward status after the fault: %s %v", out, err)
	}
}

// concluded looks whether the outcomes of calls are there that came while nothing
// could be written.
func (s *stage) concluded(r *rig.Records, ids []string) {
	s.t.Helper()
	for _, id := range ids {
		if row := r.Rows[id]; row == nil || len(row.Outcomes) != 1 || row.Outcomes[0].Status != durward.StatusOK {
			s.t.Errorf("the row of %s: %+v", id, row)
		}
	}
}

// fill fills the file system of the state directory.
func fill(s *stage) func() {
	return smalldisk.Fill(s.t, filepath.Join(filepath.Dir(s.State), "filler"))
}

// lock locks the file as another program that uses SQLite would.
func lock(s *stage) func() {
	db, err := sql.Open("sqlite", "file:"+s.Ledger()+"?_pragma=busy_timeout(60000)&_txlock=immediate")
	if err != nil {
		s.t.Fatal(err)
	}
	tx, err := db.BeginTx(s.t.Context(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return func() {
		if err := errors.Join(tx.Rollback(), db.Close()); err != nil {
			s.t.Error(err)
		}
	}
}

func (s *stage) rename(from, to string) {
	if err := os.Rename(from, to); err != nil {
		s.t.Error(err)
	}
}

// removeFile takes the file away, and puts it back.
func removeFile(s *stage) func() {
	aside := s.Ledger() + ".aside"
	s.rename(s.Ledger(), aside)
	return func() { s.rename(aside, s.Ledger()) }
}

// replaceFile puts a copy in its place.
func replaceFile(s *stage) func() {
	aside := s.Ledger() + ".aside"
	if err := os.Link(s.Ledger(), aside); err != nil {
		s.t.Fatal(err)
	}
	copyFile(s.t, s.Ledger(), s.path("copy"))
	s.rename(s.path("copy"), s.Ledger())
	return func() { s.rename(aside, s.Ledger()) }
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
}

// removeLog takes the write-ahead log and its index away.
func removeLog(s *stage) func() {
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(s.Ledger() + suffix); err != nil {
			s.t.Error(err)
		}
	}
	return func() {}
}

// failWrites has the system refuse everything that the service writes to files.
func failWrites(s *stage) func() {
	var before unix.Rlimit
	if err := unix.Prlimit(s.Pid(), unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 0, Max: unix.RLIM_INFINITY}, &before); err != nil {
		s.t.Fatal(err)
	}
	return func() {
		if err := unix.Prlimit(s.Pid(), unix.RLIMIT_FSIZE, &before, nil); err != nil {
			s.t.Error(err)
		}
	}
}

// still has nobody write to the ledger, and nothing be in its log that would be copied
// into the file, until the function that it returns is called.
func (s *stage) still() (end func()) {
	db, err := sql.Open("sqlite", "file:"+s.Ledger()+"?_pragma=busy_timeout(60000)")
	if err != nil {
		s.t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	run := func(query string) {
		if _, err := db.ExecContext(s.t.Context(), query); err != nil {
			s.t.Fatal(err)
		}
	}
	for {
		run("PRAGMA wal_checkpoint(TRUNCATE)")
		run("BEGIN IMMEDIATE")
		if log, err := os.Stat(s.Ledger() + "-wal"); err == nil && log.Size() == 0 {
			break
		}
		run("ROLLBACK")
	}
	return func() {
		run("ROLLBACK")
		if err := db.Close(); err != nil {
			s.t.Error(err)
		}
	}
}

// corrupt overwrites all pages of the file but the first, and has the service, if it
// runs, open it anew. What ends it puts back those that nobody has written since.
func corrupt(s *stage) func() {
	const page = 4096
	runs := !s.Ended()
	write := func() {}
	if runs {
		write = s.still()
	}
	whole, err := os.ReadFile(s.Ledger())
	if err != nil {
		s.t.Fatal(err)
	}
	if len(whole) < 3*page { // all is in the log still
		s.t.Fatalf("the ledger has only %d bytes", len(whole))
	}
	f, err := os.OpenFile(s.Ledger(), os.O_RDWR, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	garbage := bytes.Repeat([]byte("\xa5"), page)
	for at := page; at+page <= len(whole); at += page {
		if _, err := f.WriteAt(garbage, int64(at)); err != nil {
			s.t.Fatal(err)
		}
	}
	if runs {
		removeLog(s)
	}
	write()
	return func() {
		now := make([]byte, page)
		for at := page; at+page <= len(whole); at += page {
			if _, err := f.ReadAt(now, int64(at)); err != nil {
				s.t.Error(err)
			}
			if !bytes.Equal(now, garbage) {
				continue
			}
			if _, err := f.WriteAt(whole[at:at+page], int64(at)); err != nil {
				s.t.Error(err)
			}
		}
		if err := f.Close(); err != nil {
			s.t.Error(err)
		}
	}
}
