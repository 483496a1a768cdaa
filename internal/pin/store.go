package pin

import (
	"context"
	"time"
)

// The kinds of what is pinned. A server itself is a row too, of kind server, whose
// name is empty or "legacy": it says that the first sight of the server, or of what
// it lists to legacy clients, is over.
const (
	KindTool         = "tool"
	KindPrompt       = "prompt"
	KindTemplate     = "template" // of resources
	KindInstructions = "instructions"
	kindServer       = "server"
)

// Key names one definition that was seen.
type Key struct {
	Server string
	Kind   string
	Name   string // the server's own; empty for instructions
	Hash   string // SHA-256 in hex of the canonical definition
}

// Row is one definition that was seen, as a [Store] keeps it. One that was
// replaced by another one has a row besides it until it is dropped.
type Row struct {
	Key
	State   State     // first, accepted, held or rejected
	Raw     []byte    // the definition as the server sent it; nil where rows are loaded without
	Seen    time.Time // when it was seen first
	Decided time.Time // when somebody accepted or rejected it; zero: nobody did
	By      string    // who did
}

// Store keeps pins. Its methods are not called at the same time.
type Store interface {
	// LoadPins yields all rows, without Raw, until yield returns an error.
	LoadPins(ctx context.Context, yield func(Row) error) error
	// PinDefinitions returns the rows of one thing, whatever their Hash, with Raw.
	PinDefinitions(ctx context.Context, server, kind, name string) ([]Row, error)
	// SavePins puts rows in place of those of the same key and drops others, in one
	// transaction. A row without Raw that is there already keeps the Raw it has.
	SavePins(ctx context.Context, put []Row, drop []Key) error
}
