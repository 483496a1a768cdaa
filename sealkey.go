package durward

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// SealKey is a secret with which the gateway seals what clients carry for it:
// tokens of requests that wait for input, ids of tasks and sessions, cursors.
// Replicas that have the same keys can take over from each other. No verb of
// package fmt, no logger and no encoder shows it; see [SealKey.Reveal].
type SealKey [32]byte

// NewSealKey makes a key that nobody has.
func NewSealKey() SealKey {
	var k SealKey
	rand.Read(k[:]) // never fails since Go 1.24
	return k
}

// ParseSealKey reads what [SealKey.Reveal] wrote. The error never quotes the text.
func ParseSealKey(text string) (SealKey, error) {
	raw, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSpace(text))
	var k SealKey
	if err != nil || len(raw) != len(k) {
		return SealKey{}, Errorf(Invalid, "seal key", "it must be %d bytes in base64 (%d characters); make one with: durward keys new", len(k), base64.StdEncoding.EncodedLen(len(k)))
	}
	copy(k[:], raw)
	return k, nil
}

// Reveal returns the key in base64, to be stored where only its owner can read it.
func (k SealKey) Reveal() string { return base64.StdEncoding.EncodeToString(k[:]) }

// String hides the key.
func (SealKey) String() string { return Hidden }

// Format hides the key, whatever the verb.
func (SealKey) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Hidden) } // fmt reports what goes wrong

// LogValue hides the key from logs.
func (SealKey) LogValue() slog.Value { return slog.StringValue(Hidden) }

// MarshalText hides the key from encoders.
func (SealKey) MarshalText() ([]byte, error) { return []byte(Hidden), nil }
