package transport

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"durward"
	"durward/internal/exchange/outbox"
	"durward/internal/wire"
)

// get opens a stream of a legacy session: the one for what belongs to no
// request, or, with Last-Event-ID, any stream after the event the client saw
// last. Without a session there are no such streams (2026-07-28).
func (e *Edge) get(w http.ResponseWriter, r *http.Request, caller durward.Caller, route durward.Route) {
	if len(r.Header[hSession]) == 0 {
		notAllowed(w)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s := &standing{stop: cancel, pump: pump{edge: e, w: w, ctx: ctx, beats: make(chan struct{}, 1)}}
	s.entry.what, s.entry.idle = s, true
	if err := e.live.enter(&s.entry); err != nil { // before a session is looked for, see brief
		writeError(w, nil, err)
		return
	}
	defer e.live.leave(&s.entry)
	session, err := e.find(r, caller, route)
	if err != nil {
		writeError(w, nil, err)
		return
	}
	if !accepts(r.Header[hAccept]).events {
		writeError(w, nil, refuse(http.StatusNotAcceptable, wire.CodeInvalidRequest, "Accept must list text/event-stream"))
		return
	}
	found, err := e.resume(session, r.Header[hLastEvent])
	if err != nil {
		writeError(w, nil, err)
		return
	}
	s.pump.reader, s.pump.resumed = found.reader, found.resumed
	s.pump.resumable(session, found.at)
	s.pump.run()
	if found.last {
		session.Retire(found.at.number)
	}
}

// standing is a stream that was opened by GET.
type standing struct {
	pump  pump
	entry entry
	stop  context.CancelFunc
}

func (s *standing) beat(now time.Time) { s.pump.beat(now) }
func (s *standing) cancel()            { s.stop() }

// brief is a request that is served at once. It is noted all the same: while we
// are shutting down a session must not be called unknown, or its client would
// begin a new one instead of going on with it in the next process.
type brief struct{}

func (brief) beat(time.Time) {}
func (brief) cancel()        {}

// found is a stream that a client gets by GET.
type found struct {
	at      place // its number is the box's
	reader  *outbox.Reader
	resumed bool // it goes on where the client saw it last
	last    bool // it was made for this, and is retired after
}

// resume connects to the stream that a client wants.
//
// Whatever a client can have been given is answered with a stream, because the
// SDKs take no other answer for what it is: on any error status the TypeScript
// ones (1.32, 2.4) ask the same twice more and never again, the Python one gives
// up after two, and the Go one (1.8) ends its whole session; a request whose
// stream was lost then waits for its time-out. So
//
//   - a place on the stream of no request that means nothing here, since it is of
//     another process, begins a new stream, as 2025-11-25 allows (basic/transports
//     "Resumability and Redelivery"); the changes that were missed were put there
//     when the session was revived;
//   - where messages in between are gone, the rest comes;
//   - a request whose answer is not here, nor will be, is answered with an error
//     that says so.
//
// An error is the answer to what was made up, or is of another session.
func (e *Edge) resume(session Session, lastEvent []string) (found, error) {
	last, ok := single(lastEvent)
	if ok && last == "" {
		return e.fresh(session)
	}
	at, readable := parsePlace(last)
	if !ok || !readable || at.session != sessionMark(session) {
		return found{}, badPlace(last)
	}
	if at.edge != e.mark {
		switch {
		case at.number == 0:
			return e.fresh(session)
		case at.request == nil:
			return found{}, badPlace(last)
		default:
			return e.lost(session, at.request, "the request was sent to another process of the gateway, which was restarted or is a replica; whether it was executed is not known"), nil
		}
	}
	box := session.Box(at.number)
	if box != nil && box.Readers() >= e.opts.Limits.Streams {
		return found{}, e.tooManyStreams()
	}
	if box != nil {
		if reader, whole := box.Resume(at.stream, at.seq); reader != nil {
			if at.number == 0 && !whole {
				mayHaveChanged(session)
			}
			return found{at: at, reader: reader, resumed: true}, nil
		}
	}
	if at.request == nil {
		return found{}, badPlace(last)
	}
	return e.lost(session, at.request, "the answer to the request is no longer kept (limits.resume, limits.resume_total, limits.resume_for); whether it was executed is not known"), nil
}

// fresh begins a stream for what belongs to no request.
func (e *Edge) fresh(session Session) (found, error) {
	box := session.Box(0)
	if box.Readers() >= e.opts.Limits.Streams {
		return found{}, e.tooManyStreams()
	}
	reader := box.ReadNew()
	at := e.placeOf(session, 0, nil)
	at.stream = reader.Stream()
	return found{at: at, reader: reader}, nil
}

// lost answers a request whose stream is gone. The answer has a place of its own,
// so that a client which comes back once more learns that it has seen all.
func (e *Edge) lost(session Session, request []byte, reason string) found {
	number, box := session.NewBox()
	box.Finish(wire.AppendFailure(nil, request, wire.AppendError(nil, wire.CodeUnknownOutcome, reason, nil)), nil)
	reader, _ := box.Resume(0, 0)
	return found{at: e.placeOf(session, number, request), reader: reader, last: true}
}

func (e *Edge) tooManyStreams() error {
	return refuse(http.StatusConflict, wire.CodeInvalidRequest,
		"this session has "+strconv.Itoa(e.opts.Limits.Streams)+" streams open, which is the bound limits.streams; close one first")
}

func badPlace(id string) error {
	return badRequest(wire.CodeInvalidRequest, "Last-Event-ID "+wire.Quote(clip(id))+" cannot be resumed from: it names no event that was sent in this session")
}

// endSession serves DELETE.
func (e *Edge) endSession(w http.ResponseWriter, r *http.Request, caller durward.Caller, route durward.Route) {
	if len(r.Header[hSession]) == 0 {
		notAllowed(w)
		return
	}
	noted := entry{what: brief{}}
	if err := e.live.enter(&noted); err != nil {
		writeError(w, nil, err)
		return
	}
	defer e.live.leave(&noted)
	session, err := e.find(r, caller, route)
	if err != nil {
		writeError(w, nil, err)
		return
	}
	e.opts.Sessions.End(session)
	w.WriteHeader(http.StatusNoContent)
}
