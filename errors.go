package durward

import (
	"errors"
	"fmt"
)

// Kind is the machine-readable class of an [Error]. It is mapped once to
// JSON-RPC (internal/wire), once to HTTP (internal/control) and once to exit
// codes (internal/cli).
type Kind uint8

// The kinds. Internal is the zero value: an error nobody classified is ours.
const (
	Internal        Kind = iota // a defect of Durward
	Invalid                     // the request or the configuration is wrong
	Unauthenticated             // nobody proved who is speaking
	Denied                      // known, and not allowed
	NotFound                    // no such server, tool, prompt, resource or session
	Conflict                    // the state does not permit it
	Unavailable                 // a server or a resource cannot serve now; nothing was executed
	Timeout                     // a deadline passed
	Unknown                     // it may or may not have been executed
)

var kindNames = [...]string{"internal", "invalid", "unauthenticated", "denied", "not_found", "conflict", "unavailable", "timeout", "unknown"}

// String returns the name used in logs and in the service API.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "internal"
}

// ParseKind reads what [Kind.String] wrote.
func ParseKind(s string) (Kind, error) {
	for i, name := range kindNames {
		if s == name {
			return Kind(i), nil
		}
	}
	return Internal, fmt.Errorf("%q is no kind of error", s)
}

// Error says what happened (Message), where (Op), and of which kind.
// Message is safe to show to a person or an agent: it never holds a secret.
type Error struct {
	Kind    Kind
	Op      string // where: "upstream github", "config durward.yaml:12:3"; may be empty
	Message string // what happened, the cause included, and what to do about it
	Err     error  // the cause for errors.Is and errors.As; may be nil
}

// Error renders "op: message".
func (e *Error) Error() string {
	if e.Op == "" {
		return e.Message
	}
	return e.Op + ": " + e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error with a formatted message; a cause given with %w is part
// of the message and stays reachable for errors.Is and errors.As.
func Errorf(kind Kind, op, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Op: op, Message: err.Error(), Err: errors.Unwrap(err)}
}

// KindOf returns the kind of the outermost [Error] in err's chain, Internal if there is none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}
