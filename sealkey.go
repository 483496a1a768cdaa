package durward

import (
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// sealKeySize is the size of a key, in bytes: that of AES-256.
const sealKeySize = 32

// SealKey is a secret with which the gateway seals what clients carry for it:
// tokens of requests that wait for input, ids of tasks and sessions, cursors.
// Replicas that have the same keys can take over from each other. No verb of
// package fmt, no logger and no encoder shows it; see [SealKey.Reveal]. The zero
// SealKey is no key. It cannot be compared with ==; see [SealKey.Equal].
type SealKey struct {
	_ [0]func() // not comparable
	// key is behind a pointer so that printing a struct that holds a SealKey in a
	// field that fmt cannot call methods on shows an address, not the key. It is a
	// string because fmt follows a pointer to an array.
	key *string
}

// NewSealKey makes a key that nobody has.
func NewSealKey() SealKey {
	raw := make([]byte, sealKeySize)
	rand.Read(raw) // never fails since Go 1.24
	return sealKey(raw)
}

func sealKey(raw []byte) SealKey {
	key := string(raw)
	return SealKey{key: &key}
}

// ParseSealKey reads what [SealKey.Reveal] wrote; white space around it does not
// count. The error, of kind Invalid, never quotes the text.
func ParseSealKey(text string) (SealKey, error) {
	text = strings.TrimSpace(text)
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != sealKeySize || strings.ContainsAny(text, "\r\n") { // which the decoder skips
		return SealKey{}, Errorf(Invalid, "seal key", "it must be %d bytes in base64 (%d characters); make one with: durward keys new", sealKeySize, base64.StdEncoding.EncodedLen(sealKeySize))
	}
	if len(bytes.Trim(raw, "\x00")) == 0 {
		return SealKey{}, Errorf(Invalid, "seal key", "it is all zeros, which everybody can guess; make one with: durward keys new")
	}
	return sealKey(raw), nil
}

// Reveal returns the key in base64, to be stored where only its owner can read
// it; "" for the zero SealKey.
func (k SealKey) Reveal() string { return base64.StdEncoding.EncodeToString(k.Bytes()) }

// Bytes returns a copy of the 32 bytes of the key, for the cipher; nil for the
// zero SealKey.
func (k SealKey) Bytes() []byte {
	if k.key == nil {
		return nil
	}
	return []byte(*k.key)
}

// Equal compares in a time that does not depend on the keys.
func (k SealKey) Equal(other SealKey) bool {
	return subtle.ConstantTimeCompare(k.Bytes(), other.Bytes()) == 1
}

// String hides the key.
func (SealKey) String() string { return Hidden }

// GoString hides the key.
func (SealKey) GoString() string { return Hidden }

// Format hides the key, whatever the verb.
func (SealKey) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Hidden) } // fmt reports what goes wrong

// LogValue hides the key from logs.
func (SealKey) LogValue() slog.Value { return slog.StringValue(Hidden) }

// MarshalText hides the key from encoders, JSON and YAML among them.
func (SealKey) MarshalText() ([]byte, error) { return []byte(Hidden), nil }

// MarshalBinary hides the key from gob and its like.
func (SealKey) MarshalBinary() ([]byte, error) { return []byte(Hidden), nil }
