package gateway

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"durward"
	"durward/internal/seal"
	"durward/internal/wire"
)

// state is what the requestState says that a modern client carries from one round
// of input to the next. Towards the client it is a sealed token, so that whoever
// has the keys can go on, and it is bound to the principal and the route.
type state struct {
	server  string
	request [sha256.Size]byte // digest of what was asked for: see digest
	round   int               // of input: 1 for the first
	expires time.Time

	own   []byte // the server's own requestState, raw JSON string; nil: it gave none. Of a question of ours: what asks
	hold  string // the call that waits for the answers; "" when none does
	again bool   // nothing waits: the server refused the call until the answers are there

	question bool   // we ourselves asked whether the call may be made
	approval string // the answer under which earlier rounds were made; "": they needed none
}

const (
	stateVersion = 2
	// stateLife bounds how long a client may take for one round when no call waits
	// for it. It is long, because nothing is held meanwhile and people go to lunch.
	stateLife = time.Hour
	// maxOwnState bounds a server's own requestState, in bytes.
	maxOwnState = 16 << 10

	flagOwn      = 1 << 0
	flagAgain    = 1 << 1
	flagQuestion = 1 << 2
)

// sealState makes the token of a state, as a raw JSON string.
func (g *Gateway) sealState(p *passage, s *state) []byte {
	if p.approval != "" {
		s.approval = p.approval
		g.rounds.put(s.approval, s.round, s.expires)
	}
	b := make([]byte, 0, 64+len(s.server)+len(s.hold)+len(s.own)+len(s.approval))
	var flags byte
	if s.own != nil {
		flags |= flagOwn
	}
	if s.again {
		flags |= flagAgain
	}
	if s.question {
		flags |= flagQuestion
	}
	b = append(b, stateVersion, flags)
	b = append(b, s.request[:]...)
	b = binary.AppendUvarint(b, uint64(s.round))
	b = binary.AppendUvarint(b, uint64(s.expires.Unix()))
	b = appendText(b, s.server)
	b = appendText(b, s.hold)
	b = appendText(b, s.approval)
	b = append(b, s.own...)
	return wire.AppendQuote(nil, g.ring.Seal(seal.RequestState, binding(p), b))
}

// binding is what a token is good for and does not say: this principal, on this route.
func binding(p *passage) string { return p.in.Caller.Principal + "\x00" + p.in.Route.String() }

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// openState reads the state that a request brings; nil if it brings none. A token
// that was made up, changed, or is another's or another request's is refused
// with [errForeignState]; one whose time is over is returned, with expired set.
func (g *Gateway) openState(p *passage) (s *state, expired bool, err error) {
	params := &p.in.Params
	if !params.RequestState.Present() {
		return nil, false, nil
	}
	token, ok := params.String(params.RequestState)
	if !ok {
		return nil, false, errForeignState
	}
	payload, err := g.ring.Open(seal.RequestState, binding(p), token)
	if err != nil {
		return nil, false, errForeignState
	}
	if s, ok = parseState(payload); !ok || s.server != p.call.Server || s.request != digest(p) {
		return nil, false, errForeignState
	}
	return s, !time.Now().Before(s.expires), nil
}

var errForeignState = invalidParams("the requestState is not of this request: it was changed, made up, given to somebody else, or its key was retired; send the request again without it")

func parseState(b []byte) (*state, bool) {
	s := new(state)
	if len(b) < 2+len(s.request) || b[0] != stateVersion || b[1]&^(flagOwn|flagAgain|flagQuestion) != 0 {
		return nil, false
	}
	flags := b[1]
	b = b[2+copy(s.request[:], b[2:]):]
	round, b, ok := takeNumber(b, true)
	expires, b, ok := takeNumber(b, ok)
	s.server, b, ok = takeText(b, ok)
	s.hold, b, ok = takeText(b, ok)
	s.approval, b, ok = takeText(b, ok)
	if !ok || flags&flagOwn == 0 && len(b) > 0 {
		return nil, false
	}
	s.round, s.expires, s.again = int(round), time.Unix(int64(expires), 0), flags&flagAgain != 0
	s.question = flags&flagQuestion != 0
	if flags&flagOwn != 0 {
		s.own = b
	}
	return s, true
}

func takeNumber(b []byte, ok bool) (uint64, []byte, bool) {
	n, size := binary.Uvarint(b)
	if !ok || size <= 0 {
		return 0, nil, false
	}
	return n, b[size:], true
}

func takeText(b []byte, ok bool) (string, []byte, bool) {
	n, b, ok := takeNumber(b, ok)
	if !ok || n > uint64(len(b)) {
		return "", nil, false
	}
	return string(b[:n]), b[n:], true
}

// digest identifies what a request asks for, whatever its spelling: the method,
// the server's own name of the tool, prompt or resource, and everything in the
// parameters that can change what is done, as the caller sent it. Metadata, and what
// a retry adds, can not.
func digest(p *passage) [sha256.Size]byte {
	params := p.in.Params.Raw
	if p.asked.Raw != nil {
		params = p.asked.Raw
	}
	salient := wire.AppendObject(nil, params, func(name string) bool {
		switch name {
		case "_meta", "name", "uri", "requestState", "inputResponses":
			return true
		default:
			return false
		}
	})
	b := append([]byte(p.in.Method), 0)
	b = append(append(b, p.call.Name...), 0)
	return sha256.Sum256(wire.AppendCanonical(b, salient))
}

// ownState returns the requestState of a server's result, and says why it cannot be taken.
func ownState(server string, result []byte) ([]byte, error) {
	own := wire.Get(result, "requestState")
	switch {
	case own == nil || bytes.Equal(own, []byte("null")):
		return nil, nil
	case own[0] != '"':
		return nil, durward.Errorf(durward.Unavailable, "server "+server, "it asks for input with a requestState that is no string")
	case len(own) > maxOwnState:
		return nil, durward.Errorf(durward.Unavailable, "server "+server, "it asks for input with a requestState of %d bytes, the bound is %d", len(own), maxOwnState)
	default:
		return own, nil
	}
}
