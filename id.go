package durward

import (
	crand "crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"time"
)

// CallID names one request that passed the gate. Like all identifiers here it is
// a UUIDv7 in canonical text form (RFC 9562 §5.7), so that they sort by the time
// they were made.
type CallID string

// SessionID names one downstream session. What a legacy client sends as
// Mcp-Session-Id is more than that, and secret: it holds the session's state, sealed.
type SessionID string

// NewCallID returns a fresh identifier. It is no secret: it costs no system randomness.
func NewCallID() CallID {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], rand.Uint64())
	binary.LittleEndian.PutUint64(b[8:], rand.Uint64())
	return CallID(uuid(b, time.Now()))
}

// NewSessionID returns a fresh identifier that cannot be guessed: 74 random bits.
func NewSessionID() SessionID {
	var b [16]byte
	crand.Read(b[:]) // never fails since Go 1.24
	return SessionID(uuid(b, time.Now()))
}

// uuid makes a UUIDv7 of a time and of random bytes.
func uuid(b [16]byte, now time.Time) string {
	ms := now.UnixMilli()
	b[0], b[1], b[2], b[3], b[4], b[5] = byte(ms>>40), byte(ms>>32), byte(ms>>24), byte(ms>>16), byte(ms>>8), byte(ms)
	b[6] = 0x70 | b[6]&0x0f
	b[8] = 0x80 | b[8]&0x3f
	var out [36]byte
	hex.Encode(out[:8], b[:4])
	hex.Encode(out[9:13], b[4:6])
	hex.Encode(out[14:18], b[6:8])
	hex.Encode(out[19:23], b[8:10])
	hex.Encode(out[24:], b[10:])
	out[8], out[13], out[18], out[23] = '-', '-', '-', '-'
	return string(out[:])
}
