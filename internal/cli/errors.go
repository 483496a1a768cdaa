package cli

import (
	"errors"
	"fmt"
	"io"

	"durward"
)

// exitHelp is in the help of every command.
const exitHelp = `
Exit status: 0 success, 1 internal error, 2 wrong usage, arguments or
configuration, 3 not found, 4 denied or unauthenticated, 5 conflict,
6 unavailable, 7 timeout or unknown outcome, 8 the tool reported a failure.`

// exitStatus maps an error to the exit status: the one place where kinds become numbers.
func exitStatus(err error) int {
	var failed *toolFailure
	if errors.As(err, &failed) {
		return 8
	}
	var said *verdict
	if errors.As(err, &said) {
		return said.status
	}
	switch durward.KindOf(err) {
	case durward.Invalid:
		return 2
	case durward.NotFound:
		return 3
	case durward.Denied, durward.Unauthenticated:
		return 4
	case durward.Conflict:
		return 5
	case durward.Unavailable:
		return 6
	case durward.Timeout, durward.Unknown:
		return 7
	default:
		return 1
	}
}

// usage makes a wrong command line an error of kind Invalid.
func usage(err error) error { return durward.Errorf(durward.Invalid, "", "%w; see --help", err) }

// hinted is an error with a line that says what to do about it.
type hinted struct {
	error
	hint string
}

// Unwrap returns the error.
func (h *hinted) Unwrap() error { return h.error }

// withHint adds a hint to an error; nil stays nil.
func withHint(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &hinted{err, fmt.Sprintf(format, args...)}
}

// report tells a person what went wrong. The hint is the outermost one.
func report(w io.Writer, err error) {
	_, _ = fmt.Fprintln(w, "durward:", err) // there is nobody else to tell
	var h *hinted
	if errors.As(err, &h) && h.hint != "" {
		_, _ = fmt.Fprintln(w, "durward: hint:", h.hint)
	}
}
