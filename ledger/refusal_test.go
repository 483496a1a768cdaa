package ledger_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/ledger"
)

// Who is refused reads one sentence about what was asked for, and why; nothing twice.
func TestRefusalsAreOneSentence(t *testing.T) {
	full := durward.Errorf(durward.Unavailable, "ledger", "/x/ledger.db cannot grow: %w", errors.ErrUnsupported)
	d := &door{}
	l, err := ledger.Open(t.Context(), ledger.Options{Store: d, Wait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	d.setFail(full)
	const why = ": /x/ledger.db cannot grow: unsupported operation"
	for range 2 { // by the writer, and at once while it fails
		if err := l.Intent(t.Context(), aCall(), durward.Decision{}); !said(err, "ledger: the call cannot be recorded, so it was not made"+why) || !errors.Is(err, errors.ErrUnsupported) {
			t.Error(err)
		}
		for want, r := range map[string]ledger.Record{
			"the change cannot be recorded, so it was not made":       &ledger.Change{What: "x"},
			"that somebody is asked, or answered, cannot be recorded": &ledger.Approval{ID: "a"},
			"the session cannot be recorded":                          &ledger.SessionStart{ID: "s"},
			"this cannot be recorded":                                 &ledger.Note{What: "x"},
		} {
			if err := l.Append(t.Context(), r); !said(err, "ledger: "+want+why) {
				t.Error(err)
			}
		}
	}
	d.setFail(nil)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := l.Append(t.Context(), &ledger.Change{}); !said(err, "ledger: the change cannot be recorded, so it was not made: the service is stopping") {
		t.Error(err)
	}
}

// So do those who waited too long.
func TestRefusalsOfThoseWhoWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &door{shut: make(chan struct{})}
		l, err := ledger.Open(t.Context(), ledger.Options{Store: d, Wait: 3 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		const want = "ledger: the change cannot be recorded within 3s (limits.ledger_wait), so it was not made: more is recorded than the store can take (limits.ledger_queue); see: durward status"
		if err := l.Append(t.Context(), &ledger.Change{}); !said(err, want) {
			t.Error(err)
		}
		close(d.shut)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

func said(err error, text string) bool {
	return durward.KindOf(err) == durward.Unavailable && err != nil && err.Error() == text
}
