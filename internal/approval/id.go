package approval

import (
	"cmp"
	"crypto/rand"
	"strings"
)

// alphabet are the letters of identifiers: none that looks like another (Crockford).
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

const (
	idLength    = 10 // 50 bits: it is typed by people and guessing it gives nothing
	prefixLeast = 4  // letters that may stand for an identifier
)

// newID returns a fresh identifier.
func newID() string {
	var b [idLength]byte
	rand.Read(b[:]) // never fails since Go 1.24
	for i := range b {
		b[i] = alphabet[int(b[i])%len(alphabet)]
	}
	return string(b[:])
}

// written is an identifier as it is compared, however a person wrote it.
func written(id string) string {
	return strings.NewReplacer("o", "0", "i", "1", "l", "1").Replace(strings.ToLower(strings.TrimSpace(id)))
}

func compareIDs(a, b string) int { return cmp.Compare(a, b) }
