package daemon_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/internal/paths"
	waiting "durward/internal/store/journal"
	"durward/internal/store/sqlite"
	"durward/ledger"
)

// stubborn is a database that takes nothing: what is written stays in the journal, as if
// the process had been killed before the database was given it. That is not known before
// over is closed: until then the journal accepts what is written.
type stubborn struct {
	*sqlite.DB
	over chan struct{}
}

func (s stubborn) WriteAll(context.Context, []*ledger.Batch) error {
	<-s.over
	return durward.Errorf(durward.Unavailable, "ledger", "it takes nothing")
}

// killedService leaves a ledger as a service does that is killed: with so many notes in
// the database, and so many in the journal.
func killedService(t *testing.T, taken, left int) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: paths.Ledger()})
	if err != nil {
		t.Fatal(err)
	}
	var head ledger.Link
	write := func(to ledger.Store, n int) {
		for range n {
			records := []ledger.Record{&ledger.Note{At: time.UnixMicro(1).UTC(), What: fmt.Sprint("before ", head.Seq)}}
			next := head.Next(time.Now(), records)
			if err := to.Write(t.Context(), &ledger.Batch{Records: records, Link: next}); err != nil {
				t.Fatal(err)
			}
			head = next
		}
	}
	write(db, taken)
	over := make(chan struct{})
	j, err := waiting.Open(t.Context(), waiting.Options{Store: stubborn{db, over}, Path: paths.Ledger()})
	if err != nil {
		t.Fatal(err)
	}
	write(j, left)
	close(over)
	if err := j.Close(); err == nil {
		t.Fatal("the database took it")
	}
}

// notes returns what the notes of the ledger say.
func notes(t *testing.T) string {
	t.Helper()
	var all []string
	for _, r := range records(t) {
		if n, ok := r.(*ledger.Note); ok {
			all = append(all, n.What+": "+n.Detail)
		}
	}
	return strings.Join(all, "\n")
}

// A service takes what the one before left in its journal.
func TestWhatWaitsInTheJournalIsTaken(t *testing.T) {
	home(t)
	killedService(t, 3, 4)
	started(t, configured(t, noServers))
	said := notes(t)
	for n := range 7 {
		if !strings.Contains(said, fmt.Sprint("before ", n)) {
			t.Errorf("%d is lost", n)
		}
	}
	if strings.Contains(said, "journal aside") {
		t.Error(said)
	}
	if report := verify(t); report.Verdict == ledger.VerdictDamaged || report.To < 8 { // nobody vouched for those before
		t.Errorf("%+v", report)
	}
}

// What belongs to another database than the one that is there is kept aside, the ledger
// says so, and the service works.
func TestAJournalOfAnotherLedgerIsKeptAside(t *testing.T) {
	home(t)
	killedService(t, 3, 4)
	if err := os.Remove(paths.Ledger()); err != nil {
		t.Fatal(err)
	}
	started(t, configured(t, noServers))
	said := notes(t)
	if strings.Contains(said, "before") || !strings.Contains(said, "service start") {
		t.Error(said)
	}
	aside := paths.Ledger() + ".journal.1.aside-1"
	if !strings.Contains(said, "journal aside: "+aside) {
		t.Error(said)
	}
	if content, err := os.ReadFile(aside); err != nil || !strings.Contains(string(content), "before 6") {
		t.Errorf("%d bytes, %v", len(content), err)
	}
	if report := verify(t); report.Verdict != ledger.VerdictOK {
		t.Errorf("%+v", report)
	}
}
