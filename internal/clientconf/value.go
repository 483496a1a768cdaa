package clientconf

import (
	"fmt"
	"io"
	"log/slog"
)

// Mask stands wherever a secret value would have been shown.
const Mask = "«redacted»"

// Value is a text that may be a secret. However it is printed, logged or
// encoded, also inside other structures, only [Mask] appears; [Value.Reveal] is
// the one way to the text. The zero value is the empty text.
type Value struct {
	// A function, because fmt and dumpers look through unexported fields and
	// pointers but not into functions.
	reveal func() string
}

// NewValue returns a Value that holds text.
func NewValue(text string) Value { return Value{reveal: func() string { return text }} }

// Reveal returns the text. The caller answers for where it goes.
func (v Value) Reveal() string {
	if v.reveal == nil {
		return ""
	}
	return v.reveal()
}

// Equal reports whether both hold the same text.
func (v Value) Equal(o Value) bool { return v.Reveal() == o.Reveal() }

// String returns the mask.
func (v Value) String() string { return Mask }

// GoString returns the mask.
func (v Value) GoString() string { return Mask }

// Format writes the mask, whatever the verb.
func (v Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Mask) }

// MarshalJSON writes the mask.
func (v Value) MarshalJSON() ([]byte, error) { return []byte(`"` + Mask + `"`), nil }

// MarshalText writes the mask.
func (v Value) MarshalText() ([]byte, error) { return []byte(Mask), nil }

// LogValue returns the mask.
func (v Value) LogValue() slog.Value { return slog.StringValue(Mask) }
