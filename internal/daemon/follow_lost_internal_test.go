package daemon

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/internal/store/journal"
	"durward/internal/store/sqlite"
	"durward/ledger"
)

// failing is a chain that cannot always be read.
type failing struct {
	*chain
	calls func() error         // before a call is looked up; nil: it is found
	links func(n uint64) error // before link n; nil: it is read
}

func (f *failing) Call(ctx context.Context, id string) (*ledger.Story, error) {
	if f.calls != nil {
		if err := f.calls(); err != nil {
			return nil, err
		}
	}
	return f.chain.Call(ctx, id)
}

func (f *failing) Links(ctx context.Context, from uint64, give func(ledger.Link, []ledger.Record) error) error {
	return f.chain.Links(ctx, from, func(l ledger.Link, records []ledger.Record) error {
		if f.links != nil {
			if err := f.links(l.Seq); err != nil {
				return err
			}
		}
		return give(l, records)
	})
}

// told returns what a follower is told until nothing has come for a moment.
func told(t *testing.T, f *follower) string {
	t.Helper()
	var all []string
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		some, err := f.Next(ctx)
		cancel()
		if all = append(all, names(some)...); errors.Is(err, context.DeadlineExceeded) && f.live {
			return strings.Join(all, " ")
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	}
}

// A stream may be silent for so long, and then what was being looked up is given up: it is
// told afterwards, with all that was committed together with it or meanwhile.
func TestACallThatCannotBeLookedUpAtOnceIsToldLater(t *testing.T) {
	var h hub
	tries := 0
	c := &failing{chain: &chain{}, calls: func() error {
		if tries++; tries < 3 {
			return durward.Errorf(durward.Timeout, "ledger", "the search was given up: %w", context.DeadlineExceeded)
		}
		return nil
	}}
	h.committed(c.commit(begun(0), begun(1)))
	f, err := h.follow(c, c, ledger.Filter{}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := told(t, f); got != "" {
		t.Error(got)
	}
	h.committed(c.commit(begun(2), ended(2)))
	h.committed(c.commit(begun(3), ended(3), ended(0), begun(4), ended(4)))
	h.committed(c.commit(ended(1)))
	if got := told(t, f); got != "c2 c3 c0 c4 c1" {
		t.Error(got)
	}
	if tries < 3 {
		t.Error(tries)
	}
}

// What was read from the store before that was given up is told, too.
func TestWhatWasReadBeforeAnErrorIsTold(t *testing.T) {
	var h hub
	gone := false
	c := &failing{chain: &chain{}, links: func(n uint64) error {
		if n == 3 && !gone {
			gone = true
			return context.DeadlineExceeded
		}
		return nil
	}}
	for i := range 4 {
		h.committed(c.commit(begun(i), ended(i)))
	}
	f, err := h.follow(c, c, ledger.Filter{}, "0")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := told(t, f); got != "c0 c1 c2 c3" || !gone {
		t.Error(got, gone)
	}
}

// Calls are told as soon as the journal has them, which is before the database does: one
// that began before its follower is told with its outcome all the same.
func TestACallThatBeganBeforeItsFollowerIsToldWithItsOutcome(t *testing.T) {
	b := journaled(t)
	for _, wanted := range []durward.Status{"", durward.StatusOK} {
		call := &durward.Call{ID: durward.NewCallID(), Method: "tools/call", Received: time.Now()}
		if err := b.Intent(t.Context(), call, durward.Decision{}); err != nil {
			t.Fatal(err)
		}
		f, err := b.hub.follow(settled{b}, settled{b}, ledger.Filter{Status: wanted}, "")
		if err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); !f.live; { // until it has caught up
			quiet, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
			some, err := f.Next(quiet)
			if cancel(); err == nil || time.Now().After(end) {
				t.Fatal(names(some), err)
			}
		}
		b.Outcome(t.Context(), call, durward.Outcome{Status: durward.StatusOK, Finished: time.Now(), Result: []byte("{}")})
		some, err := f.Next(t.Context())
		if err != nil || len(some) != 1 || some[0].Call == nil {
			t.Fatal(names(some), err)
		}
		if c := some[0].Call; c.ID != call.ID || c.Status != string(durward.StatusOK) || c.Response != "{}" {
			t.Errorf("with the status %q wanted it is told as %+v", wanted, *c)
		}
		f.Close()
	}
}

// While the database takes nothing calls go on. Of one that only the journal has nobody
// says that there is no such call.
func TestACallThatOnlyTheJournalHasIsNotSaidToBeNone(t *testing.T) {
	b := journaled(t)
	other, err := sql.Open("sqlite", b.path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	holder, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	call := &durward.Call{ID: durward.NewCallID(), Method: "tools/call", Received: time.Now()}
	if err := b.Intent(t.Context(), call, durward.Decision{}); err != nil {
		t.Fatal(err)
	}
	if _, err := (settled{b}).Call(t.Context(), string(call.ID)); durward.KindOf(err) != durward.Unavailable {
		t.Errorf("while it is locked: %v", err)
	}
	if _, err := holder.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	for {
		story, err := (settled{b}).Call(t.Context(), string(call.ID))
		if err == nil {
			if story.ID != call.ID {
				t.Error(story.ID)
			}
			break
		}
		if durward.KindOf(err) != durward.Unavailable {
			t.Fatal(err)
		}
	}
	if _, err := (settled{b}).Call(t.Context(), string(durward.NewCallID())); durward.KindOf(err) != durward.NotFound {
		t.Error(err)
	}
}

// journaled is a book as a service has it, without what signs and removes.
func journaled(t *testing.T) *book {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Busy: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	b := &book{path: path, store: db}
	if b.journal, err = journal.Open(t.Context(), journal.Options{Store: db, Path: path}); err != nil {
		t.Fatal(err)
	}
	b.Ledger, err = ledger.Open(t.Context(), ledger.Options{Store: b.journal, Redact: func(text []byte) []byte { return text }, Committed: b.hub.committed})
	if err != nil {
		t.Fatal(err)
	}
	if b.reader, err = sqlite.OpenReader(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(b.reader.Close(), b.Close()); err != nil {
			t.Error(err)
		}
	})
	return b
}
