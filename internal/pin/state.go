package pin

// State is what is known of a definition. It is a plain string, so that policy,
// which has the same words, need not import this package.
type State = string

// The states.
const (
	Accepted State = "accepted" // somebody accepted exactly this definition
	First    State = "first"    // seen when its server was seen first; nobody accepted it
	Held     State = "held"     // came later, or first sight is held: nobody accepted it
	Changed  State = "changed"  // held as well: another definition of the same name was seen before
	Rejected State = "rejected" // somebody rejected exactly this definition
	Unknown  State = "unknown"  // nothing is recorded
)

// IsHeld reports whether something in this state must not reach clients.
func IsHeld(s State) bool { return s != Accepted && s != First }
