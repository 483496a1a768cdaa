package approval

import (
	"time"

	"durward"
)

// Status is how far a question has come.
type Status string

// The statuses. All but pending are final, and all but approved mean no.
const (
	Pending   Status = "pending"
	Approved  Status = "approved"
	Denied    Status = "denied"    // by a person, or because nobody could be asked
	Expired   Status = "expired"   // nobody answered in time
	Cancelled Status = "cancelled" // whoever made the call left
)

// ByService is who answers when no person did.
const ByService = "durward"

// Step is one step in the life of a question, as it is written down.
type Step struct {
	ID     string
	Call   durward.CallID
	At     time.Time
	Status Status
	By     string // who answered; empty while it is pending
	Reason string
	Scope  durward.Scope // of an answer; of a question, the widest that one may have
}

// Asked is a call that is parked, without its arguments.
type Asked struct {
	ID       string
	Call     durward.CallID
	At       time.Time
	Deadline time.Time
	Caller   durward.Caller
	Route    durward.Route
	Method   string
	Server   string
	Tool     string // the server's own name of the tool or prompt, or the URI of a resource
	FullName string // the name that the caller used
	Risk     durward.Risk
	Rules    []string
	Text     string        // the reasons of the rules
	Remember durward.Scope // the widest scope that an answer may have
}

// Detail is all that a person is shown.
type Detail struct {
	Asked
	Arguments []byte           // raw JSON, whole, redacted; nil: none
	Changes   []durward.Change // what rules rewrote; redacted
	Matches   []durward.Match
	Pin       string // SHA-256, in hex, of the tool's definition
	Digest    string // of the arguments: see [Binding]
}

// Event is what a watcher is told: a question, or what came of one.
type Event struct {
	Asked  *Asked
	Answer *Step
}

// Reply is a person's answer.
type Reply struct {
	Approve bool
	// Scope is how far an approval reaches; default call. It is never wider than the
	// question allows.
	Scope durward.Scope
	// For is how long a grant holds: [GrantLeast] to [GrantMost]; default [GrantFor].
	For time.Duration
	// Patterns widen a grant or an answer for a session: globs by JSON pointer. See
	// [Pattern].
	Patterns map[string]string
	Reason   string // at most 1 KiB
	By       string // who answers; required
}
