// Package storetest is what every store of the ledger must do, as tests.
package storetest

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"durward"
	"durward/ledger"
)

// Store is all that a store is.
type Store interface {
	ledger.Store
	ledger.Auditor
	ledger.Keeper
}

// Late is a store that accepts records before it knows of all that it has: a second
// intent of a call that has ended is not refused at once.
type Late interface{ Late() }

// Opener opens the store that is in a directory, an empty one if there is none. The
// test closes it, and may open it again.
type Opener func(t testing.TB, dir string) Store

// Run runs all tests.
func Run(t *testing.T, open Opener) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s *shop)
	}{
		{"EveryRecord", everyRecord},
		{"AnyRecords", anyRecords},
		{"AllOrNothing", allOrNothing},
		{"LinksMustFollow", linksMustFollow},
		{"OneOutcome", oneOutcome},
		{"Head", head},
		{"OpenCalls", openCalls},
		{"Bodies", bodies},
		{"LinksFromAnywhere", linksFromAnywhere},
		{"ReadWhileWriting", readWhileWriting},
		{"Prune", prune},
		{"PruneNothing", pruneNothing},
		{"PruneAnything", pruneAnything},
		{"PruneInterrupted", pruneInterrupted},
		{"PruneOpenCalls", pruneOpenCalls},
		{"PruneBodies", pruneBodies},
		{"BodiesNamedAgain", bodiesNamedAgain},
		{"BodiesBroughtAgain", bodiesBroughtAgain},
		{"Size", size},
		{"Backup", backup},
		{"BackupWhileWriting", backupWhileWriting},
		{"BackupInterrupted", backupInterrupted},
		{"Closed", closed},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &shop{T: t, open: open, dir: t.TempDir()}
			s.Store = open(t, s.dir)
			t.Cleanup(func() { _ = s.Close() })
			test.run(t, s)
		})
	}
}

// shop is a store with somebody who writes to it.
type shop struct {
	*testing.T
	Store
	open Opener
	dir  string
	last ledger.Link // as far as was written
	now  time.Time   // of the next link; zero: the real time
}

// reopen closes the store and opens it again.
func (s *shop) reopen() {
	s.Helper()
	s.must(s.Close())
	s.Store = s.open(s.T, s.dir)
}

func (s *shop) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// try writes one batch.
func (s *shop) try(records []ledger.Record, bodies ...ledger.Body) error {
	now := s.now
	if now.IsZero() {
		now = time.Now()
	}
	link := s.last.Next(now, records)
	if err := s.Write(context.Background(), &ledger.Batch{Records: records, Bodies: bodies, Link: link}); err != nil {
		return err
	}
	s.last = link
	return nil
}

// write writes one batch and returns its link.
func (s *shop) write(records ...ledger.Record) ledger.Link {
	s.Helper()
	s.must(s.try(records))
	return s.last
}

// stored is one link that was read.
type stored struct {
	Link    ledger.Link
	Records []ledger.Record
}

// read returns everything from a link on.
func read(t testing.TB, a ledger.Auditor, from uint64) []stored {
	t.Helper()
	var all []stored
	err := a.Links(context.Background(), from, func(l ledger.Link, records []ledger.Record) error {
		all = append(all, stored{l, slices.Clone(records)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// chained checks that links follow each other and are what their records say.
func chained(t testing.TB, all []stored, before ledger.Link) {
	t.Helper()
	for _, s := range all {
		if want := before.Next(s.Link.At, s.Records); s.Link != want || !s.Link.Follows(&before) {
			t.Fatalf("link %d is not what its records say", s.Link.Seq)
		}
		before = s.Link
	}
}

// same compares what was written with what was read.
func same(t testing.TB, want, got []ledger.Record) {
	t.Helper()
	// The moment 0 is none: a digest cannot tell the two apart.
	none := func(t time.Time) bool { return t.IsZero() || t.UnixMicro() == 0 }
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) || none(a) && none(b) })); diff != "" {
		t.Fatalf("records (-written +read):\n%s", diff)
	}
	for i := range want {
		if ledger.DigestOf(want[i]) != ledger.DigestOf(got[i]) {
			t.Fatalf("record %d has another digest", i)
		}
	}
}

// bodiesOf returns all bodies, unpacked.
func bodiesOf(t testing.TB, a ledger.Auditor) map[ledger.Digest]string {
	t.Helper()
	all := map[ledger.Digest]string{}
	err := a.Bodies(context.Background(), func(info ledger.BodyInfo, content io.Reader) error {
		text, err := io.ReadAll(content)
		if _, twice := all[info.Digest]; twice {
			err = fmt.Errorf("body %x is there twice", info.Digest)
		}
		all[info.Digest] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func everyRecord(t *testing.T, s *shop) {
	for _, records := range samples() {
		before := s.last
		s.write(records...)
		all := read(t, s, s.last.Seq)
		if len(all) != 1 || all[0].Link != s.last {
			t.Fatalf("%d links were read, not the one that was written", len(all))
		}
		same(t, records, all[0].Records)
		chained(t, all, before)
	}
	s.reopen()
	chained(t, read(t, s, 0), ledger.Link{})
}

func allOrNothing(t *testing.T, s *shop) {
	first, second := intent(durward.NewCallID()), intent(durward.NewCallID())
	s.write(first)
	before := read(t, s, 0)
	batch := []ledger.Record{
		second, outcome(first.ID), &ledger.Note{At: at(0), What: "a"}, &ledger.SessionEnd{ID: "x"}, &ledger.Change{What: "b"},
		outcome(durward.NewCallID()), // of no call: the batch cannot be written
	}
	content := body("all or nothing")
	err := s.try(batch, content)
	if durward.KindOf(err) != durward.Conflict {
		t.Fatalf("an outcome without an intent: %v", err)
	}
	for range 2 {
		if diff := cmp.Diff(before, read(t, s, 0)); diff != "" {
			t.Fatalf("half a batch was written:\n%s", diff)
		}
		if left := bodiesOf(t, s); len(left) > 0 {
			t.Fatalf("a body of a batch that was refused is there")
		}
		if got, err := s.Head(t.Context()); err != nil || got != s.last {
			t.Fatalf("head %v, %v", got, err)
		}
		if open, err := s.Store.Open(t.Context(), 10); err != nil || !slices.Equal(open, []durward.CallID{first.ID}) {
			t.Fatalf("open %v, %v", open, err)
		}
		s.reopen()
	}
	s.must(s.try(batch[:5], content))
	chained(t, read(t, s, 0), ledger.Link{})
}

func linksMustFollow(t *testing.T, s *shop) {
	s.write(&ledger.Note{What: "a"})
	first := s.last
	s.write(&ledger.Note{What: "b"})
	records := []ledger.Record{&ledger.Note{What: "c"}}
	good := s.last.Next(time.Now(), records)
	other := good
	other.Hash[0] ^= 1
	later := good
	later.Seq++
	for what, link := range map[string]ledger.Link{"zero": {}, "again": s.last, "fork": first.Next(time.Now(), records), "other hash": other, "later": later} {
		if err := s.Write(t.Context(), &ledger.Batch{Records: records, Link: link}); durward.KindOf(err) != durward.Conflict {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := s.Write(t.Context(), &ledger.Batch{Records: append(records, records...), Link: good}); durward.KindOf(err) != durward.Conflict {
		t.Errorf("more records than the link says: %v", err)
	}
	if got, err := s.Head(t.Context()); err != nil || got != s.last {
		t.Fatalf("head %v, %v", got, err)
	}
	s.must(s.Write(t.Context(), &ledger.Batch{Records: records, Link: good}))
	chained(t, read(t, s, 0), ledger.Link{})
}

func oneOutcome(t *testing.T, s *shop) {
	i := intent(durward.NewCallID())
	s.write(i)
	s.write(outcome(i.ID))
	for range 2 {
		if err := s.try([]ledger.Record{&ledger.Note{What: "x"}, outcome(i.ID)}); durward.KindOf(err) != durward.Conflict {
			t.Errorf("a second outcome: %v", err)
		}
		s.reopen()
	}
	j := intent(durward.NewCallID())
	if err := s.try([]ledger.Record{j, outcome(j.ID), outcome(j.ID)}); durward.KindOf(err) != durward.Conflict {
		t.Errorf("two outcomes at once: %v", err)
	}
	if _, late := s.Store.(Late); !late {
		if err := s.try([]ledger.Record{intent(i.ID)}); durward.KindOf(err) != durward.Conflict {
			t.Errorf("a second intent: %v", err)
		}
	}
	s.write(intent("going on"))
	if err := s.try([]ledger.Record{intent("going on")}); durward.KindOf(err) != durward.Conflict {
		t.Errorf("a second intent of a call that goes on: %v", err)
	}
	s.write(j, outcome(j.ID))
	if n := len(read(t, s, 0)); n != 4 {
		t.Errorf("%d links", n)
	}
}

func head(t *testing.T, s *shop) {
	if got, err := s.Head(t.Context()); err != nil || got != (ledger.Link{}) {
		t.Fatalf("an empty store has the head %v, %v", got, err)
	}
	for range 3 {
		s.write(&ledger.Note{What: "x"})
		if got, err := s.Head(t.Context()); err != nil || got != s.last {
			t.Fatalf("head %v, %v", got, err)
		}
		s.reopen()
		if got, err := s.Head(t.Context()); err != nil || got != s.last {
			t.Fatalf("head after opening again %v, %v", got, err)
		}
	}
}

func openCalls(t *testing.T, s *shop) {
	var want []durward.CallID
	check := func() {
		t.Helper()
		for limit := range len(want) + 2 {
			open, err := s.Store.Open(t.Context(), limit)
			if err != nil || !slices.Equal(open, want[:min(limit, len(want))]) {
				t.Fatalf("of %v at most %d: %v, %v", want, limit, open, err)
			}
		}
	}
	check()
	for n := range 20 {
		id := durward.NewCallID()
		if n%5 == 4 {
			id = durward.CallID(fmt.Sprintf("call %d", 100-n)) // sorts otherwise
		}
		want = append(want, id)
		s.write(intent(id), &ledger.Note{What: "x"})
		if n%3 == 2 { // one in the middle ends
			done := want[len(want)/2]
			want = slices.DeleteFunc(want, func(id durward.CallID) bool { return id == done })
			s.write(outcome(done))
		}
		check()
		if n%4 == 3 {
			s.reopen()
			check()
		}
	}
	id := durward.NewCallID()
	s.write(intent(id), outcome(id))
	check()
}

func closed(t *testing.T, s *shop) {
	s.write(&ledger.Note{What: "x"})
	s.must(s.Close())
	if err := s.try([]ledger.Record{&ledger.Note{What: "y"}}); durward.KindOf(err) != durward.Unavailable {
		t.Errorf("a closed store was written to: %v", err)
	}
	if _, err := s.Head(t.Context()); durward.KindOf(err) != durward.Unavailable {
		t.Errorf("a closed store has a head: %v", err)
	}
	s.must(s.Close())
}

// copyPath is where copies are made.
func (s *shop) copyPath() string {
	s.Helper()
	dir := s.TempDir()
	return filepath.Join(dir, "copy.db")
}
