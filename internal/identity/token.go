package identity

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"io/fs"
	"strings"

	"durward"
	"durward/internal/private"
)

const (
	tokenBytes  = 32 // 256 random bits
	tokenShort  = 16 // fewer bytes can be guessed
	tokenLong   = 4096
	tokenOpName = "token"
)

// digest is what is compared of a token: its hash, so that neither time nor
// memory layout tells how much of a guess was right.
type digest struct {
	principal string
	sum       [sha256.Size]byte
}

func newDigest(t Token) (digest, error) {
	if t.Principal == "" {
		return digest{}, durward.Errorf(durward.Invalid, tokenOpName, "a token needs the name of its principal")
	}
	if len(t.Secret) < tokenShort || len(t.Secret) > tokenLong {
		return digest{}, durward.Errorf(durward.Invalid, tokenOpName, "the token of %q has %d bytes; it needs %d to %d", t.Principal, len(t.Secret), tokenShort, tokenLong)
	}
	if strings.TrimSpace(t.Secret) != t.Secret || strings.ContainsAny(t.Secret, " \t\r\n") {
		return digest{}, durward.Errorf(durward.Invalid, tokenOpName, "the token of %q holds white space", t.Principal)
	}
	return digest{t.Principal, sum(t.Secret)}, nil
}

// sum hashes without allocating for tokens of usual length.
func sum(secret string) [sha256.Size]byte {
	var space [128]byte
	return sha256.Sum256(append(space[:0], secret...))
}

// principal returns whose token the Authorization header holds. All tokens are compared, always.
func (g *Gate) principal(headers []string) (string, error) {
	if len(headers) == 0 {
		return "", durward.Errorf(durward.Unauthenticated, "identity", "no bearer token; send \"Authorization: Bearer TOKEN\"")
	}
	secret, ok := bearer(headers)
	if !ok {
		return "", durward.Errorf(durward.Unauthenticated, "identity", "the Authorization header holds no bearer token")
	}
	got := sum(secret)
	found := -1
	for i := range g.tokens {
		match := subtle.ConstantTimeCompare(got[:], g.tokens[i].sum[:])
		found = subtle.ConstantTimeSelect(match, i, found)
	}
	if found < 0 {
		return "", durward.Errorf(durward.Unauthenticated, "identity", "the bearer token is not valid")
	}
	return g.tokens[found].principal, nil
}

// bearer takes the token out of the one Authorization header (RFC 6750 §2.1).
func bearer(headers []string) (string, bool) {
	const scheme = "bearer "
	if len(headers) != 1 || len(headers[0]) <= len(scheme) || !strings.EqualFold(headers[0][:len(scheme)], scheme) {
		return "", false
	}
	secret := strings.TrimSpace(headers[0][len(scheme):])
	return secret, secret != "" && len(secret) <= tokenLong
}

// LoadToken reads the token file at path, making it first if there is none: 256
// random bits in base64url, mode 0600. It refuses a file that is no regular
// file, that others may read or write, or that belongs to somebody else (kind
// Denied). Several processes may call it at once and get the same token.
func LoadToken(path string) (string, error) {
	for range 2 {
		secret, err := ReadToken(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return secret, err
		}
		if err := makeToken(path); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", durward.Errorf(durward.KindOf(err), tokenOpName, "%w", err)
		}
	}
	return "", durward.Errorf(durward.Unavailable, tokenOpName, "the token file %s comes and goes", path)
}

// ReadToken is [LoadToken] for who only uses a token: a file that is not there is
// an error of kind Unavailable, and none is made.
func ReadToken(path string) (string, error) {
	data, err := private.Read(path, tokenLong)
	if err != nil {
		return "", durward.Errorf(durward.KindOf(err), tokenOpName, "%w", err)
	}
	secret := strings.TrimSpace(string(data))
	if len(secret) < tokenShort {
		return "", durward.Errorf(durward.Invalid, tokenOpName, "%s holds no token of %d to %d bytes; remove it to have one made", path, tokenShort, tokenLong)
	}
	return secret, nil
}

// makeToken makes a fresh token, unless there is one.
func makeToken(path string) error {
	secret := make([]byte, tokenBytes)
	rand.Read(secret) // never fails since Go 1.24
	return private.Create(path, []byte(base64.RawURLEncoding.EncodeToString(secret)+"\n"))
}
