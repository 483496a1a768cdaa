package secret

import (
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
)

// Mask stands for a value wherever one would be shown.
const Mask = "«redacted»"

// Value is a secret text. However it is printed, logged or encoded, it shows as
// [Mask]; only [Value.Reveal] gives the text. The zero Value is empty. It is not
// comparable with ==, which would take different time for different texts; see
// [Value.Equal].
type Value struct {
	_ [0]func() // not comparable
	// text is behind a pointer so that printing a struct that holds a Value in a
	// field that fmt cannot call methods on shows an address, not the text.
	text *string
}

// New makes a Value of text.
func New(text string) Value { return Value{text: &text} }

// Reveal returns the text. Call it at the last hop only: where the text is put
// into a request or into the environment of a process.
func (v Value) Reveal() string {
	if v.text == nil {
		return ""
	}
	return *v.text
}

// Empty reports whether the text is "".
func (v Value) Empty() bool { return v.Reveal() == "" }

// Equal compares with text in a time that depends on the lengths only.
func (v Value) Equal(text string) bool {
	return subtle.ConstantTimeCompare([]byte(v.Reveal()), []byte(text)) == 1
}

// String returns Mask.
func (Value) String() string { return Mask }

// GoString returns Mask.
func (Value) GoString() string { return Mask }

// Format writes Mask, whatever the verb.
func (Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Mask) } // fmt reports what goes wrong

// LogValue shows Mask in logs.
func (Value) LogValue() slog.Value { return slog.StringValue(Mask) }

// MarshalText encodes Mask.
func (Value) MarshalText() ([]byte, error) { return []byte(Mask), nil }

// MarshalJSON encodes Mask.
func (Value) MarshalJSON() ([]byte, error) { return []byte(`"` + Mask + `"`), nil }

// MarshalYAML encodes Mask.
func (Value) MarshalYAML() (any, error) { return Mask, nil }

// MarshalBinary encodes Mask, so that gob and its like show nothing either.
func (Value) MarshalBinary() ([]byte, error) { return []byte(Mask), nil }
