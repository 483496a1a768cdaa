package ledger_test

import (
	"testing"

	"durward"
	"durward/ledger"
)

func TestWhatHasAnAttemptWasMade(t *testing.T) {
	for _, status := range []durward.Status{durward.StatusRefused, durward.StatusInput, durward.StatusCancelled, durward.StatusTimeout, durward.StatusError} {
		for attempts := range 3 {
			if p := (&ledger.Past{Status: status, Attempts: attempts}); p.Made() != (attempts > 0) {
				t.Errorf("%s after %d attempts: made is %v", status, attempts, p.Made())
			}
		}
	}
	for status, made := range map[durward.Status]bool{
		"": true, durward.StatusOK: true, durward.StatusToolError: true, durward.StatusUnknown: true, durward.StatusDenied: false,
	} {
		if p := (&ledger.Past{Status: status}); p.Made() != made {
			t.Errorf("%q: made is %v", status, p.Made())
		}
	}
}
