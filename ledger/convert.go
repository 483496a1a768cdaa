package ledger

import (
	"strconv"
	"time"
	"unicode/utf8"

	"durward"
)

// intent makes the record of a call, and its body if the preview is not all of it.
func (l *Ledger) intent(c *durward.Call, d durward.Decision) (*Intent, *Body) {
	params := l.opt.Redact(c.Params)
	preview, body := l.bodies.of(params)
	i := &Intent{
		ID: c.ID, Session: c.Caller.Session, Parent: c.Parent, TraceID: c.Trace.TraceID, SpanID: c.Trace.SpanID, At: micro(c.Received),
		Principal: c.Caller.Principal, Entrance: c.Caller.Entrance, Process: c.Caller.Process, Client: c.Caller.Client,
		Route: c.Route.String(), Era: c.Era, Origin: originOf(c), Transport: c.Transport,
		Server: c.Server, Method: c.Method, Tool: c.Name, FullName: c.FullName, RequestID: string(c.RequestID), Risk: c.Risk,
		Action: d.Action, Rule: d.Rule, Layer: d.Layer, Reason: d.Reason, BytesIn: len(c.Params), Preview: preview,
	}
	if body != nil {
		i.Body = body.Digest
	}
	return i, body
}

// originOf says where a call came from.
func originOf(c *durward.Call) Origin {
	switch {
	case c.Caller.Entrance == durward.EntranceConsole:
		return OriginConsole
	case c.Caller.Entrance == durward.EntranceLibrary:
		return OriginLibrary
	case c.Server == "":
		return OriginLocal
	case c.Transport == durward.TransportBuiltin:
		return OriginBuiltin
	default:
		return OriginMCP
	}
}

// outcome makes the record of how a call ended.
func (l *Ledger) outcome(c *durward.Call, o durward.Outcome) (*Outcome, *Body) {
	r := &Outcome{
		Call: c.ID, At: micro(o.Finished), Dispatched: micro(o.Dispatched), Duration: o.Finished.Sub(c.Received).Truncate(time.Microsecond),
		Status: o.Status, Attempts: o.Attempts, BytesOut: len(o.Result) + len(o.Error),
	}
	if o.Error != nil {
		r.Error = cut(l.opt.Redact(o.Error), PreviewMost)
		return r, nil
	}
	preview, body := l.bodies.of(l.opt.Redact(o.Result))
	if r.Preview = preview; body != nil {
		r.Body = body.Digest
	}
	return r, body
}

// micro is a time as a store keeps it.
func micro(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// cut is the beginning of a text, cut on a rune, without bytes that are no UTF-8.
func cut(text []byte, most int) string {
	if len(text) > most {
		text = text[:most]
		for len(text) > 0 && !utf8.RuneStart(text[len(text)-1]) {
			text = text[:len(text)-1]
		}
		if r, size := utf8.DecodeLastRune(text); r == utf8.RuneError && size <= 1 && len(text) > 0 {
			text = text[:len(text)-1]
		}
	}
	if utf8.Valid(text) {
		return string(text)
	}
	return string([]rune(string(text)))
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + more
}
