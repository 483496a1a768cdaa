package transport

import (
	"context"
	"net/http"
	"strconv"
	"strings"
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
	session, err := e.find(r, caller, route)
	if err != nil {
		writeError(w, nil, err)
		return
	}
	if !accepts(r.Header[hAccept]).events {
		writeError(w, nil, refuse(http.StatusNotAcceptable, wire.CodeInvalidRequest, "Accept must list text/event-stream"))
		return
	}
	number, reader, err := e.resume(session, r.Header[hLastEvent])
	if err != nil {
		writeError(w, nil, err)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s := &standing{pump: pump{edge: e, w: w, ctx: ctx, reader: reader, number: number, resumable: true, beats: make(chan struct{}, 1)}, stop: cancel}
	s.entry.what, s.entry.idle = s, true
	if err := e.live.enter(&s.entry); err != nil {
		reader.Close()
		writeError(w, nil, err)
		return
	}
	defer e.live.leave(&s.entry)
	s.pump.run()
}

// standing is a stream that was opened by GET.
type standing struct {
	pump  pump
	entry entry
	stop  context.CancelFunc
}

func (s *standing) beat(now time.Time) { s.pump.beat(now) }
func (s *standing) cancel()            { s.stop() }

// resume connects to the stream that a client wants.
func (e *Edge) resume(session Session, lastEvent []string) (number uint64, reader *outbox.Reader, err error) {
	last, ok := single(lastEvent)
	if ok && last == "" {
		box := session.Box(0)
		if box.Readers() >= e.opts.Limits.Streams {
			return 0, nil, refuse(http.StatusConflict, wire.CodeInvalidRequest,
				"this session has "+strconv.Itoa(e.opts.Limits.Streams)+" streams open, which is the bound limits.streams; close one first")
		}
		return 0, box.ReadNew(), nil
	}
	number, seq, ok := eventID(last)
	if ok {
		if box := session.Box(number); box != nil && box.Readers() < e.opts.Limits.Streams {
			if reader, ok := box.Read(seq); ok {
				return number, reader, nil
			}
		}
	}
	return 0, nil, badRequest(wire.CodeInvalidRequest,
		"Last-Event-ID "+wire.Quote(clip(last))+" cannot be resumed from: unknown, or what came after it is no longer kept (limits.resume)")
}

// eventID reads what pump.appendID wrote.
func eventID(id string) (number, seq uint64, ok bool) {
	before, after, ok := strings.Cut(id, "_")
	if !ok {
		return 0, 0, false
	}
	number, err := strconv.ParseUint(before, 10, 64)
	if err != nil {
		return 0, 0, false
	}
	seq, err = strconv.ParseUint(after, 10, 64)
	return number, seq, err == nil
}

// endSession serves DELETE.
func (e *Edge) endSession(w http.ResponseWriter, r *http.Request, caller durward.Caller, route durward.Route) {
	if len(r.Header[hSession]) == 0 {
		notAllowed(w)
		return
	}
	session, err := e.find(r, caller, route)
	if err != nil {
		writeError(w, nil, err)
		return
	}
	e.opts.Sessions.End(session)
	w.WriteHeader(http.StatusNoContent)
}
