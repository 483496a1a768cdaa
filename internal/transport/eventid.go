package transport

import (
	"encoding/base64"
	"strconv"
	"strings"

	"durward/internal/wire"
)

// place is one event of one stream of one session, and what a Last-Event-ID says.
//
// As text it is SESSION_EDGE_NUMBER_SEQ, and for the stream of a request _REQUEST
// more. SESSION is the end of the session's identifier: an id that strayed from
// one session to another is refused. EDGE is of this edge: numbers of streams
// begin again when a session goes on in another process, so they mean nothing
// there (see [Edge.resume]). NUMBER is that of the box; those of box 0, which may
// be read on several streams, have a point and the stream behind it. REQUEST is
// the JSON-RPC id of the request, so that one whose stream is gone can still be
// answered.
type place struct {
	session, edge string
	number        uint64 // of the box
	stream        uint64 // of box 0
	seq           uint64
	request       []byte // raw; nil when the stream is of none, or the id is too long
}

// longestRequest is the length of a JSON-RPC id up to which it is put into event
// ids. Clients count, or use a UUID.
const longestRequest = 64

// placeOf returns the beginning of a request's stream.
func (e *Edge) placeOf(session Session, number uint64, request []byte) place {
	p := place{session: sessionMark(session), edge: e.mark, number: number}
	if len(request) <= longestRequest {
		p.request = request
	}
	return p
}

// sessionMark is what event ids say of a session: the last of a UUID's digits,
// which are random.
func sessionMark(session Session) string {
	id := session.Caller().Session
	return string(id[max(0, len(id)-8):])
}

// parts returns what stands before and after the number of an event.
func (p *place) parts() (before, after string) {
	before = p.session + "_" + p.edge + "_" + strconv.FormatUint(p.number, 10)
	if p.number == 0 {
		before += "." + strconv.FormatUint(p.stream, 10)
	}
	if p.request != nil {
		after = "_" + base64.RawURLEncoding.EncodeToString(p.request)
	}
	return before + "_", after
}

// parsePlace reads what parts and a number between them made.
func parsePlace(id string) (p place, ok bool) {
	parts := strings.SplitN(id, "_", 5) // base64url has the separator in its alphabet, and comes last
	if len(parts) < 4 {
		return place{}, false
	}
	p.session, p.edge = parts[0], parts[1]
	number, stream, several := strings.Cut(parts[2], ".")
	ok = count(&p.number, number) && count(&p.seq, parts[3]) && several == (p.number == 0)
	if several {
		ok = ok && count(&p.stream, stream) && p.stream > 0
	}
	if len(parts) == 5 {
		var sound bool
		p.request, sound = requestID(parts[4])
		ok = ok && sound && !several
	}
	if !ok {
		return place{}, false
	}
	return p, true
}

func count(n *uint64, text string) bool {
	var err error
	*n, err = strconv.ParseUint(text, 10, 64)
	return err == nil && strconv.FormatUint(*n, 10) == text
}

// requestID reads the JSON-RPC id of a request, which a client could have made up.
func requestID(text string) ([]byte, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) == 0 || len(raw) > longestRequest {
		return nil, false
	}
	var m wire.Message
	if err := wire.Parse(wire.AppendRequest(nil, raw, wire.MethodPing, nil), wire.FromClient, &m); err != nil || string(m.ID) != string(raw) {
		return nil, false
	}
	return raw, true
}
