package main_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"durward/internal/testkit/smalldisk"
	"durward/test/kill/rig"
)

// A service that cannot write its ledger does not start, and says why; what the one
// before left is recovered when it can.
func TestNoStartWithoutTheLedger(t *testing.T) {
	for name, f := range map[string]struct {
		begin   func(s *stage) (end func())
		says    []string
		orderly bool // what was recorded is in the file itself, not in its log
	}{
		"corrupted":    {begin: corrupt, says: []string{"is damaged", "restore a backup"}, orderly: true},
		"read-only":    {begin: readOnly, says: []string{"read-only"}},
		"another file": {begin: otherFile, says: []string{"put the right file back"}},
		"for others":   {begin: forOthers, says: []string{"others may read it", "chmod 600"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil, nil)
			s.upOnSmallDisk()
			if !f.orderly {
				s.kill()
			} else if err := s.Stop(); err != nil {
				t.Fatal(err)
			}
			end := f.begin(s)
			if err := s.Spawn(); err != nil {
				t.Fatal(err)
			}
			s.ends(f.says...)
			end()
			s.up()
			s.await("an answer", time.Minute, func(a rig.Answer) bool { return a.OK() })
			s.judge()
		})
	}
}

// A full disk does not keep a service from starting that has nothing to recover: it refuses
// calls until there is space. One that has may need more than there is; it says so then.
func TestStartOnAFullDisk(t *testing.T) {
	for name, recovers := range map[string]bool{"nothing to recover": false, "calls to recover": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil, nil)
			s.upOnSmallDisk()
			if recovers {
				group := &sync.WaitGroup{}
				defer group.Wait()
				s.underWay(group, func(a *rig.Answer) bool { return a.Broke != nil || a.OK() }) // or it ended before
			} else {
				s.settles()
			}
			s.kill()
			end := smalldisk.Fill(s.t, filepath.Join(filepath.Dir(s.Ledger()), "filler"))
			if err := s.Spawn(); err != nil {
				t.Fatal(err)
			}
			refused := func(a rig.Answer) bool { return a.Code == 50301 && strings.Contains(a.Text, "disk is full") }
			s.await("a refusal, or the end", time.Minute, func(a rig.Answer) bool { return recovers && s.Ended() || refused(a) })
			ended := s.Ended()
			if ended {
				s.ends("full", "free some space")
			}
			end()
			if ended {
				s.up()
			}
			s.await("an answer", time.Minute, func(a rig.Answer) bool { return a.OK() })
			s.judge()
		})
	}
}

// upOnSmallDisk starts the service with a ledger on a small disk, and makes calls.
func (s *stage) upOnSmallDisk() {
	s.t.Helper()
	dir := filepath.Dir(s.Ledger())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		s.t.Fatal(err)
	}
	smalldisk.Mount(s.t, dir, 4<<20)
	s.up()
	for range 20 {
		if a, _ := s.call(s.modern, "web", "work", `"bytes":3000`); !a.OK() {
			s.t.Fatal(&a)
		}
	}
}

// settles waits until all calls are in the database with their outcomes.
func (s *stage) settles() {
	s.t.Helper()
	for until := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // another process offers no event to wait for
		r, err := rig.ReadRecords(s.t.Context(), s.Ledger())
		if err == nil && len(r.Rows) == len(s.recorded) && len(r.Open) == 0 {
			return
		}
		if time.Now().After(until) {
			s.t.Fatal("not all calls come into the database: ", err)
		}
	}
}

// ends waits until the service that was started ends by itself, and looks whether it says
// why.
func (s *stage) ends(says ...string) {
	s.t.Helper()
	for until := time.Now().Add(time.Minute); !s.Ended(); time.Sleep(10 * time.Millisecond) { // another process offers no event to wait for
		if time.Now().After(until) {
			_ = s.Stop()
			s.t.Fatal("the service starts")
		}
	}
	text, err := os.ReadFile(s.Log(s.Runs))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, part := range append(says, s.Ledger()) {
		if !bytes.Contains(text, []byte(part)) {
			s.t.Errorf("it does not say %q: %s", part, text)
		}
	}
}

// readOnly makes the file system of the ledger read-only.
func readOnly(s *stage) func() {
	dir := filepath.Dir(s.Ledger())
	smalldisk.SetReadOnly(s.t, dir, true)
	return func() { smalldisk.SetReadOnly(s.t, dir, false) }
}

// otherFile puts a file of something else in place of the ledger.
func otherFile(s *stage) func() {
	s.rename(s.Ledger(), s.Ledger()+".aside")
	if err := os.WriteFile(s.Ledger(), bytes.Repeat([]byte("no ledger at all\n"), 1000), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return func() { s.rename(s.Ledger()+".aside", s.Ledger()) }
}

// forOthers lets everybody read the ledger.
func forOthers(s *stage) func() {
	mode := func(m os.FileMode) {
		if err := os.Chmod(s.Ledger(), m); err != nil {
			s.t.Fatal(err)
		}
	}
	mode(0o644)
	return func() { mode(0o600) }
}
