package ledger

import (
	"errors"
	"fmt"
	"time"

	"durward"
)

// refusal is what they are told who wanted something recorded that was not; nil if
// there is no cause. It is of kind Unavailable.
func refusal(r Record, cause error) error {
	if cause == nil {
		return nil
	}
	return durward.Errorf(durward.Unavailable, "ledger", "%s: %w", notRecorded(r, ""), bare(cause))
}

// tooLate is refusal of what waited too long.
func tooLate(r Record, wait time.Duration, why string) error {
	return durward.Errorf(durward.Unavailable, "ledger", "%s: %s; see: durward status", notRecorded(r, fmt.Sprintf(" within %s (limits.ledger_wait)", wait)), why)
}

// notRecorded says what was not recorded, and what comes of it.
func notRecorded(r Record, within string) string {
	what, then := "this", ""
	switch r.(type) {
	case *Intent:
		what, then = "the call", ", so it was not made"
	case *Change:
		what, then = "the change", ", so it was not made"
	case *Approval:
		what = "that somebody is asked, or answered,"
	case *SessionStart, *SessionEnd:
		what = "the session"
	}
	return what + " cannot be recorded" + within + then
}

// bare is an error of the ledger, or of its store, to stand in a sentence of the
// ledger: without the word that says whose it is.
func bare(err error) error {
	var own *durward.Error
	if errors.As(err, &own) && error(own) == err && own.Op == "ledger" { //nolint:errorlint // itself: what wraps one says more
		return bareError{own}
	}
	return err
}

type bareError struct{ err *durward.Error }

// Error returns the message alone.
func (e bareError) Error() string { return e.err.Message }

// Unwrap returns the error as it is.
func (e bareError) Unwrap() error { return e.err }
