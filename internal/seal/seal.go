// Package seal makes and opens the gateway's sealed tokens: what a client has to
// carry for us (the state of a multi round-trip request, a task's id, a cursor,
// a legacy session's id) and must be able neither to read nor to change.
//
// A token is base64url(version ‖ key id ‖ nonce ‖ AES-256-GCM(payload)), and what
// it is bound to (its purpose, and whatever the caller adds: principal, route) is
// authenticated without being in it. Tokens need no memory: whoever has the keys
// can open them, after a restart and on another replica.
//
// The keys come from whoever makes the [Ring]; [LoadFile] and [RotateFile] keep
// them in a file.
//
// What a payload says, and whether it has expired, is the business of who sealed it.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"sync/atomic"

	"durward"
)

// Purpose says what a token is for. One of another purpose does not open.
type Purpose byte

// The purposes.
const (
	RequestState Purpose = iota + 1 // of a multi round-trip request (2026-07-28, basic/patterns/mrtr)
	Task                            // the id of a task
	Cursor                          // of a list
	Session                         // the id of a legacy session
)

// Ring seals with its first key and opens with any. It is safe for concurrent use.
type Ring struct {
	openers atomic.Pointer[[]opener]
}

type opener struct {
	id   uint32
	aead cipher.AEAD
}

const (
	version   = 1
	headSize  = 1 + 4 // version, key id
	nonceSize = 12
)

// NewRing makes a ring of 1 to MaxKeys keys.
func NewRing(keys ...durward.SealKey) (*Ring, error) {
	r := new(Ring)
	if err := r.Replace(keys...); err != nil {
		return nil, err
	}
	return r, nil
}

// Replace puts other keys, 1 to MaxKeys, in place of the ring's: a rotation. The
// first seals.
func (r *Ring) Replace(keys ...durward.SealKey) error {
	if len(keys) == 0 || len(keys) > MaxKeys {
		return durward.Errorf(durward.Invalid, "seal", "there are %d keys; it takes 1 to %d", len(keys), MaxKeys)
	}
	openers := make([]opener, 0, len(keys))
	for _, k := range keys {
		block, err := aes.NewCipher(k.Bytes())
		if err != nil {
			return durward.Errorf(durward.Invalid, "seal", "the zero value is no key; see durward.NewSealKey")
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return durward.Errorf(durward.Internal, "seal", "%w", err)
		}
		openers = append(openers, opener{keyID(k), aead})
	}
	r.openers.Store(&openers)
	return nil
}

// Seal makes a token of a payload, bound to a purpose and to bound.
func (r *Ring) Seal(p Purpose, bound string, payload []byte) string {
	k := &(*r.openers.Load())[0]
	raw := make([]byte, headSize+nonceSize, headSize+nonceSize+len(payload)+k.aead.Overhead())
	raw[0] = version
	binary.BigEndian.PutUint32(raw[1:], k.id)
	rand.Read(raw[headSize:]) // never fails since Go 1.24
	raw = k.aead.Seal(raw, raw[headSize:headSize+nonceSize], payload, additional(raw[:headSize], p, bound))
	return base64.RawURLEncoding.EncodeToString(raw)
}

// Open returns the payload of a token. The error, of kind Invalid, says no more
// than that it is not one of ours for this purpose and bound: it was changed, made
// up, made for somebody else, or its key is gone.
func (r *Ring) Open(p Purpose, bound, token string) ([]byte, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if strings.ContainsAny(token, "\r\n") {
		return nil, errForeign // the decoder skips them, and a token is to have one form
	}
	if err != nil || len(raw) < headSize+nonceSize || raw[0] != version {
		return nil, errForeign
	}
	id := binary.BigEndian.Uint32(raw[1:])
	openers := *r.openers.Load()
	for i := range openers {
		k := &openers[i]
		if k.id != id {
			continue
		}
		nonce, sealed := raw[headSize:headSize+nonceSize], raw[headSize+nonceSize:]
		if payload, err := k.aead.Open(nil, nonce, sealed, additional(raw[:headSize], p, bound)); err == nil {
			return payload, nil
		}
	}
	return nil, errForeign
}

// ID names a key for people, in 8 hex digits. It tells nothing of the key, and
// replicas with the same key give it the same name.
func ID(k durward.SealKey) string { return fmt.Sprintf("%08x", keyID(k)) }

// keyID names a key in tokens. It is made of the key, so that replicas agree on it
// without a word; 32 bits of a hash tell nothing of a random secret.
func keyID(k durward.SealKey) uint32 {
	sum := sha256.Sum256(append([]byte("durward seal key id\x00"), k.Bytes()...))
	return binary.BigEndian.Uint32(sum[:])
}

var errForeign = durward.Errorf(durward.Invalid, "", "the token is not valid here: it was changed, belongs to somebody else, or its key was retired")

// additional is what is authenticated besides the payload.
func additional(head []byte, p Purpose, bound string) []byte {
	out := make([]byte, 0, len(head)+1+len(bound))
	return append(append(append(out, head...), byte(p)), bound...)
}
