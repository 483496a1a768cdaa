package policy

// PinState is what is known of a definition of a server. It is an alias, so that
// those who keep pins need not import this package.
type PinState = string

// The states of a pin.
const (
	PinAccepted PinState = "accepted" // somebody accepted exactly this definition
	PinFirst    PinState = "first"    // recorded when the server was seen first; nobody accepted it yet
	PinHeld     PinState = "held"     // came after that, or pins.first_use is hold: nobody accepted it
	PinChanged  PinState = "changed"  // another definition was accepted, or recorded first
	PinRejected PinState = "rejected" // somebody rejected exactly this definition
	PinUnknown  PinState = "unknown"  // nothing is recorded
)

// Pins knows which definitions of servers were accepted. It is called for every
// call by many goroutines, and must answer from memory.
type Pins interface {
	// Pin returns the state of a definition. Kind is tool or prompt; name is the
	// server's own; hash is that of the definition as it is offered now
	// ([durward.Tool]), and empty where the caller does not know it.
	Pin(server, kind, name, hash string) PinState
}

// held reports whether what is in this state must not be used: everything that
// nobody accepted and that did not come with its server. Doubt is a state nobody knows.
func held(s PinState) bool { return s != PinAccepted && s != PinFirst }
