package worker

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// OpenHTTP connects to a server over streamable HTTP: 2026-07-28, or a revision
// since 2025-03-26, as spec.Era says or as probing finds. All requests go through
// rt, which dials; nothing here does. What comes of it, failures included,
// arrives at sink.
func OpenHTTP(spec exchange.LinkSpec, rt http.RoundTripper, sink exchange.Sink) exchange.Link {
	spec = withDefaults(spec)
	r, err := newRemote(&spec, rt)
	if err != nil {
		return brokenLink(spec, sink, err)
	}
	l := newWebLink(spec, r, sink)
	l.via = &streamable{link: l, remote: r}
	go l.run()
	return l
}

// streamable is streamable HTTP. Its fields do not change after open.
type streamable struct {
	link    *webLink
	remote  *remote
	dialect *dialect
	headers *headers
	session string // legacy, "" when the server has none

	refused atomic.Int32 // status of the answer to initialize that was no message, 0 if it was one
}

// open implements carrier.
func (s *streamable) open(ctx context.Context) (*exchange.Opened, *exchange.Closed) {
	ctx, cancel := context.WithTimeout(ctx, s.link.spec.InitTimeout)
	defer cancel()
	h := &handshake{spec: s.link.spec, via: s}
	opened, closed := h.run(ctx)
	if closed != nil {
		switch s.refused.Load() {
		case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
			closed.Fault.Message += "; if it speaks the older HTTP+SSE only, set servers." + s.remote.server + ".transport to sse"
		}
		return nil, closed
	}
	s.dialect = newDialect(opened.Era, opened.Revision, s.link.spec.ClientInfo)
	s.headers = newHeaders(s.remote.static, opened.Era, opened.Revision, s.session)
	if opened.Era == wire.Legacy {
		if f := s.tell(ctx, appendNote(nil, wire.NoteInitialized, nil)); f != nil {
			return nil, unopened(f)
		}
	}
	return opened, nil
}

// begin implements trip.
func (s *streamable) begin(ctx context.Context, o opening) <-chan answer {
	reply := make(chan answer, 1)
	if !s.link.start(func() { reply <- s.ask(ctx, &o) }) {
		reply <- answer{err: durward.Errorf(durward.Unavailable, "", "the connection was closed")}
	}
	return reply
}

// openingID is the id of the requests of the handshake, of which there is one at a time.
const openingID = idInitialize

func (o *opening) body() []byte {
	return wire.AppendRequest(nil, strconv.AppendUint(nil, openingID, 10), o.method, o.params)
}

// ask sends a request of the handshake.
func (s *streamable) ask(ctx context.Context, o *opening) answer {
	h := newHeaders(s.remote.static, o.era, "", "")
	if o.era == wire.Modern {
		h = newHeaders(s.remote.static, o.era, o.revision, "")
	}
	header, err := h.call(&exchange.Request{Method: o.method})
	if err != nil {
		return answer{err: err}
	}
	resp, f := s.remote.do(ctx, http.MethodPost, header, o.body())
	if f != nil {
		return answer{err: openingError(f)}
	}
	defer discard(resp)
	a := s.openingAnswer(resp)
	if o.method == wire.MethodInitialize {
		if a.foreign != "" {
			s.refused.Store(int32(resp.StatusCode))
		}
		if a.result != nil {
			if s.session, err = sessionOf(resp.Header); err != nil {
				return answer{err: err}
			}
		}
	}
	return a
}

// openingError turns the fault of a handshake into an error. A handshake executes
// nothing, so its outcome is never unknown.
func openingError(f *exchange.Fault) error {
	kind := durward.Kind(f.Kind)
	if kind == durward.Unknown {
		kind = durward.Unavailable
	}
	return durward.Errorf(kind, "", "%s", strings.TrimSuffix(f.Message, mayHaveRun))
}

// unopened is the end of a connection whose handshake met f.
func unopened(f *exchange.Fault) *exchange.Closed {
	return &exchange.Closed{Fault: faultOf(openingError(f), false)}
}

// sessionOf returns the session the server opened, "" for none (legacy,
// transports "Session management": visible ASCII only).
func sessionOf(header http.Header) (string, error) {
	session := header.Get(headerSession)
	for _, c := range []byte(session) {
		if c < 0x21 || c > 0x7E || len(session) > maxHeaderValue {
			return "", durward.Errorf(durward.Invalid, "", "the server's Mcp-Session-Id is not made of at most %d visible ASCII characters", maxHeaderValue)
		}
	}
	return session, nil
}

// foreignStatus lists what servers answer that do not know the request at all.
func foreignStatus(code int) bool {
	return code/100 == 2 || code == http.StatusNotImplemented || code/100 == 4 && !slices.Contains([]int{
		http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests,
	}, code)
}

// openingAnswer reads the answer to a request of the handshake.
func (s *streamable) openingAnswer(resp *http.Response) answer {
	if resp.StatusCode/100 == 2 && isStream(resp.Header) {
		return s.openingStream(resp)
	}
	code := resp.StatusCode
	if code == http.StatusUnauthorized || code == http.StatusForbidden {
		return answer{err: openingError(s.remote.statusFault(resp, s.remote.readFailure(resp)))}
	}
	body, err := s.wholeBody(resp)
	if err != nil {
		return answer{err: s.unreadable(err)}
	}
	if a, ok := openingMessage(body); ok {
		return a
	}
	if foreignStatus(code) {
		return answer{foreign: statusText(code) + s.remote.quoted(body)}
	}
	return answer{err: openingError(s.remote.statusFault(resp, body))}
}

// wholeBody reads a body that is no stream.
func (s *streamable) wholeBody(resp *http.Response) ([]byte, error) {
	if resp.StatusCode/100 != 2 || !isJSON(resp.Header) {
		return s.remote.readFailure(resp), nil
	}
	return s.remote.readBody(resp)
}

func (s *streamable) unreadable(err error) error {
	var own *durward.Error
	if errors.As(err, &own) {
		return durward.Errorf(own.Kind, "", "the server could not be understood: %w", own)
	}
	return durward.Errorf(durward.Unavailable, "", "the connection broke within the server's answer (%v)", err)
}

func (s *streamable) openingStream(resp *http.Response) answer {
	src, err := s.remote.contentOf(resp)
	if err != nil {
		return answer{err: s.unreadable(err)}
	}
	events := newSSEReader(src, s.remote.limit, "")
	defer events.release()
	for {
		ev, err := events.Next()
		if err != nil {
			return answer{err: s.unreadable(err)}
		}
		if a, ok := openingMessage(ev.Data); ok && isMessage(&ev) {
			return a
		}
	}
}

// openingMessage reads the answer to the request openingID out of a message.
func openingMessage(body []byte) (answer, bool) {
	var m wire.Message
	if _, err := parse(body, &m); err != nil {
		return answer{}, false
	}
	id, ok := parseID(m.ID)
	switch {
	case m.Kind == wire.Failure && (m.ID == nil || ok && id == openingID):
		return answer{failure: m.Error}, true
	case m.Kind == wire.Result && ok && id == openingID:
		return answer{result: m.Result}, true
	default:
		return answer{}, false
	}
}

// isMessage reports whether an event carries a JSON-RPC message: an event of
// another type, or one that only sets an id, does not.
func isMessage(ev *sseEvent) bool {
	return len(ev.Data) > 0 && (ev.Type == "" || ev.Type == "message")
}

// tell implements carrier.
func (s *streamable) tell(ctx context.Context, body []byte) *exchange.Fault {
	resp, f := s.remote.do(ctx, http.MethodPost, s.headers.post, body)
	if f != nil {
		return f
	}
	defer discard(resp)
	switch {
	case resp.StatusCode/100 == 2:
		return nil
	case resp.StatusCode == http.StatusNotFound && s.session != "":
		return s.link.sessionLost()
	default:
		return s.remote.statusFault(resp, s.remote.readFailure(resp))
	}
}

// leave implements carrier (legacy, transports "Session management").
func (s *streamable) leave(ctx context.Context) {
	if s.session == "" || s.headers == nil {
		return
	}
	if resp, f := s.remote.do(ctx, http.MethodDelete, s.headers.get, nil); f == nil {
		discard(resp)
	}
}
