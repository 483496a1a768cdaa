package ledger

import (
	"time"

	"durward"
)

// Past is a rule that matched a call, with what there is to know of the call for who
// counts anew what rules counted.
type Past struct {
	Decision
	Received  time.Time
	Session   durward.SessionID
	Principal string
	Entrance  durward.Entrance
	Server    string
	Tool      string // the server's own name
	Action    durward.Action
	BytesIn   int
	BytesOut  int            // 0 without an outcome
	Status    durward.Status // empty: it has no outcome
	Attempts  int
}

// Made reports whether the call went on, as far as is known.
func (p *Past) Made() bool {
	switch p.Status {
	case durward.StatusDenied:
		return false
	case durward.StatusRefused, durward.StatusInput, durward.StatusCancelled, durward.StatusTimeout, durward.StatusError:
		return p.Attempts > 0 // one whose result was refused was made, one that its client was asked about was not
	default:
		return true
	}
}
