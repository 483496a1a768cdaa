package worker

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// Bounds of taking up a broken stream again.
const (
	maxResumes   = 5 // failures in a row, for a call without a deadline
	resumeFirst  = 500 * time.Millisecond
	resumeMost   = 60 * time.Second
	resumeAtOnce = 20 * time.Millisecond // the least; a server that says "retry: 0" is not hammered
)

// position is where a stream stands that can be taken up again.
type position struct {
	lastID string
	retry  time.Duration // between a break and the next attempt, as the server wants it
	heard  bool          // it said so
	misses int           // attempts in a row that brought nothing
}

// pause is how long to wait before the next attempt: what the server asked for,
// else half a second; doubled with each miss, up to a minute, with ±20 % jitter.
func (p *position) pause() time.Duration {
	d := resumeFirst
	if p.heard {
		d = max(p.retry, resumeAtOnce)
	}
	if p.misses == 0 && p.heard {
		return d // exactly
	}
	d = min(d<<min(p.misses, 16), resumeMost)
	return d*4/5 + rand.N(d*2/5+1)
}

// wait waits before an attempt; false if ctx ended.
func (p *position) wait(ctx context.Context) bool {
	timer := time.NewTimer(p.pause())
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// read hands on what a stream brings until it ends or brings the answer to call
// related (0: it belongs to none). The caller closes the response.
func (s *streamable) read(resp *http.Response, at *position, related uint64) (*exchange.Response, error) {
	src, err := s.remote.contentOf(resp)
	if err != nil {
		return nil, err
	}
	events := newSSEReader(src, s.remote.limit, at.lastID)
	defer func() {
		if events.lastID != at.lastID {
			at.lastID, at.misses = events.lastID, 0
		}
		if events.heard {
			at.retry, at.heard = events.retry, true
		}
		events.release()
	}()
	for {
		ev, err := events.Next()
		if err != nil {
			return nil, err
		}
		at.misses = 0
		if !isMessage(&ev) {
			continue
		}
		if answered := s.link.hear(&ev, related); answered != nil {
			return answered, nil
		}
	}
}

// follow reads the stream that answers a call. A legacy server may end it early
// and go on when it is asked to (2025-11-25, transports "Resumability"; SEP-1699).
func (s *streamable) follow(ctx context.Context, c *webCall, resp *http.Response) *exchange.Response {
	at := new(position)
	for {
		answered, err := s.read(resp, at, c.id)
		if answered != nil {
			s.link.answer(c.id, answered) // before the rest of the stream, which is of no interest
			discard(resp)
			return nil
		}
		_ = resp.Body.Close() // over, or of no use
		var f *exchange.Fault
		if resp, f = s.resume(ctx, c, at, err); f != nil {
			return s.link.failed(ctx, c, f)
		}
	}
}

// resume takes up the stream of a call, which ended with err.
func (s *streamable) resume(ctx context.Context, c *webCall, at *position, err error) (*http.Response, *exchange.Fault) {
	var own *durward.Error
	if s.link.era == wire.Modern || at.lastID == "" || errors.As(err, &own) {
		return nil, s.remote.unfinished(err)
	}
	bounded := !c.deadline.IsZero()
	for bounded || at.misses < maxResumes {
		if !at.wait(ctx) {
			return nil, s.remote.unfinished(context.Cause(ctx))
		}
		at.misses++
		resp, how, why := s.get(ctx, at)
		switch how {
		case getOpen:
			return resp, nil
		case getGone:
			f := *s.link.sessionLost()
			f.Kind, f.Delivered, f.Again = uint8(durward.Unknown), true, true // unlike the session's other calls, this one was
			return nil, &f
		case getNever:
			return nil, again(s.remote.fault(durward.Unknown, true, "ended the stream before the answer and does not take it up again (%s)"+mayHaveRun, why))
		case getLater:
		}
	}
	return nil, again(s.remote.fault(durward.Unknown, true, "ended the stream before the answer, and %d attempts to take it up again brought nothing"+mayHaveRun, maxResumes))
}

// getResult says how a GET for a stream ended.
type getResult uint8

const (
	getOpen  getResult = iota
	getLater           // it may work another time
	getNever           // the server does not offer it
	getGone            // the server does not know the session
)

// get asks for a stream; why says in words why there is none.
func (s *streamable) get(ctx context.Context, at *position) (resp *http.Response, how getResult, why string) {
	resp, f := s.remote.do(ctx, http.MethodGet, s.headers.resume(at.lastID), nil)
	if f != nil {
		if durward.Kind(f.Kind) == durward.Invalid {
			return nil, getNever, f.Message
		}
		return nil, getLater, f.Message
	}
	code := resp.StatusCode
	if code/100 == 2 && isStream(resp.Header) {
		return resp, getOpen, ""
	}
	discard(resp)
	switch {
	case code == http.StatusNotFound && s.session != "":
		return nil, getGone, ""
	case code == http.StatusConflict || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout ||
		code == http.StatusUnauthorized || code/100 == 5 && code != http.StatusNotImplemented:
		return nil, getLater, statusText(code)
	default:
		return nil, getNever, statusText(code)
	}
}

// listen implements carrier: the stream for what the server says by itself
// (legacy, transports "Listening for messages"). A modern server has none.
func (s *streamable) listen(ctx context.Context, begun <-chan struct{}, heard func()) {
	if s.dialect.era == wire.Modern {
		return
	}
	at := new(position)
	for {
		resp, how, _ := s.get(ctx, at)
		heard()
		switch how {
		case getGone:
			s.link.sessionLost()
			return
		case getNever:
			return
		case getOpen:
			select {
			case <-begun:
			case <-ctx.Done():
			}
			_, _ = s.read(resp, at, 0)
			_ = resp.Body.Close() // over
		case getLater:
		}
		if !at.wait(ctx) {
			return
		}
		at.misses++
	}
}
