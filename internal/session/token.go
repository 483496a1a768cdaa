package session

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// Sealer makes of a session's state the id that its client carries, and reads it
// again. What it made opens only with the same bound, and tells the client nothing.
type Sealer interface {
	Seal(bound string, state []byte) string
	Open(bound, token string) ([]byte, error)
}

// instance tells one store from those of other processes that have the same keys.
type instance [8]byte

// state is what a sealed id says.
type state struct {
	session durward.SessionID
	issuer  instance
	whole   bool            // client is here; else the id was too long with it, and cannot bring the session back
	client  exchange.Client // of the legacy era
}

// The form of a state is
//
//	version | session: 16 bytes | issuer: 8 bytes
//
// and, when it is whole, revision, info and capabilities, each with its length in
// front as a varint; nothing is written as length 0.
const (
	stateVersion = 1
	shortState   = 1 + 16 + 8
)

// appendState fails if the session has no UUID in canonical form.
func appendState(dst []byte, s *state) ([]byte, bool) {
	dst = append(dst, stateVersion)
	dst, ok := appendUUID(dst, string(s.session))
	dst = append(dst, s.issuer[:]...)
	if s.whole {
		for _, part := range [...][]byte{[]byte(s.client.Revision), s.client.Info, s.client.Capabilities} {
			dst = binary.AppendUvarint(dst, uint64(len(part)))
			dst = append(dst, part...)
		}
	}
	return dst, ok
}

// readState reads what appendState wrote and nothing else.
func readState(raw []byte) (s state, ok bool) {
	if len(raw) < shortState || raw[0] != stateVersion {
		return state{}, false
	}
	s.session = durward.SessionID(textUUID([16]byte(raw[1:17])))
	s.issuer = instance(raw[17:shortState])
	rest := raw[shortState:]
	if len(rest) == 0 {
		return s, true
	}
	var parts [3][]byte
	for i := range parts {
		if parts[i], rest, ok = cutPart(rest); !ok {
			return state{}, false
		}
	}
	s.whole = true
	s.client = exchange.Client{Era: wire.Legacy, Revision: string(parts[0]), Info: parts[1], Capabilities: parts[2]}
	ok = len(rest) == 0 && wire.EraOf(s.client.Revision) == wire.Legacy && objectOrNothing(parts[1]) && objectOrNothing(parts[2])
	if !ok {
		return state{}, false
	}
	return s, true
}

// cutPart cuts one part off; an empty one is nil.
func cutPart(raw []byte) (part, rest []byte, ok bool) {
	n, used := binary.Uvarint(raw)
	if used <= 0 || used > 1 && raw[used-1] == 0 || n > uint64(len(raw)-used) { // the second: not the shortest form
		return nil, nil, false
	}
	if n > 0 {
		part = raw[used : used+int(n)]
	}
	return part, raw[used+int(n):], true
}

func objectOrNothing(raw []byte) bool {
	return raw == nil || raw[0] == '{' && wire.Valid(raw)
}

// bound is what the id of a session is bound to besides its purpose.
func bound(principal string, route durward.Route) string {
	return strconv.Itoa(len(principal)) + ":" + principal + route.String()
}

// name returns the id under which the client of a new session will come back:
// its state, sealed, and without what the client said if that is too long.
func (s *Store) name(caller durward.Caller, route durward.Route, client exchange.Client) (string, error) {
	if s.opts.Sealer == nil {
		return string(caller.Session), nil
	}
	st := state{session: caller.Session, issuer: s.instance, client: client}
	// Sealing makes it longer, so what is too long before is so after.
	st.whole = len(client.Info)+len(client.Capabilities) < s.opts.MaxID
	for {
		raw, ok := appendState(nil, &st)
		if !ok {
			return "", durward.Errorf(durward.Internal, "session", "the identifier %q of a session is no UUID", caller.Session)
		}
		if id := s.opts.Sealer.Seal(bound(caller.Principal, route), raw); len(id) <= s.opts.MaxID || !st.whole {
			return id, nil
		}
		st.whole = false
	}
}

// The digits of a UUID stand in five groups (RFC 9562 §4).
const (
	uuidText  = 36
	uuidForm  = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
	uuidBytes = 16
)

// appendUUID appends the bytes of a UUID; false if text is not its canonical form.
func appendUUID(dst []byte, text string) ([]byte, bool) {
	if len(text) != uuidText {
		return dst, false
	}
	digits := make([]byte, 0, 2*uuidBytes)
	for i := range uuidText {
		if uuidForm[i] != '-' {
			digits = append(digits, text[i])
		}
	}
	var b [uuidBytes]byte
	if _, err := hex.Decode(b[:], digits); err != nil || textUUID(b) != text {
		return dst, false
	}
	return append(dst, b[:]...), true
}

func textUUID(b [uuidBytes]byte) string {
	digits := hex.EncodeToString(b[:])
	return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:]
}
