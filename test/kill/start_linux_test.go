package main_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
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
		"disk full":    {begin: fillLedger, says: []string{"full", "free some space"}},
		"another file": {begin: otherFile, says: []string{"put the right file back"}},
		"for others":   {begin: forOthers, says: []string{"others may read it", "chmod 600"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil, nil)
			dir := filepath.Dir(s.Ledger())
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			smalldisk.Mount(t, dir, 4<<20)
			s.up()
			for range 20 {
				if a, _ := s.call(s.modern, "web", "work", `"bytes":3000`); !a.OK() {
					t.Fatal(&a)
				}
			}
			if !f.orderly {
				s.kill()
			} else if err := s.Stop(); err != nil {
				t.Fatal(err)
			}
			end := f.begin(s)
			said := s.failsToStart()
			for _, part := range append(f.says, s.Ledger()) {
				if !strings.Contains(said, part) {
					t.Errorf("it does not say %q: %s", part, said)
				}
			}
			end()
			s.up()
			s.await("an answer", time.Minute, func(a rig.Answer) bool { return a.OK() })
			s.judge()
		})
	}
}

// failsToStart starts the service, which is to end by itself, and returns what it said.
func (s *stage) failsToStart() string {
	s.t.Helper()
	if err := s.Spawn(); err != nil {
		s.t.Fatal(err)
	}
	for until := time.Now().Add(time.Minute); !s.Ended(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			_ = s.Stop()
			s.t.Fatal("the service starts")
		}
	}
	text, err := os.ReadFile(s.Log(s.Runs))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// readOnly makes the file system of the ledger read-only.
func readOnly(s *stage) func() {
	dir := filepath.Dir(s.Ledger())
	smalldisk.SetReadOnly(s.t, dir, true)
	return func() { smalldisk.SetReadOnly(s.t, dir, false) }
}

// fillLedger fills the file system of the ledger.
func fillLedger(s *stage) func() {
	return smalldisk.Fill(s.t, filepath.Join(filepath.Dir(s.Ledger()), "filler"))
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
