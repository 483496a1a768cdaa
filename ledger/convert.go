package ledger

import (
	"bytes"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"durward"
)

// What a store is given: texts are UTF-8 without the character NUL, which not every
// database can keep, and names are at most PreviewMost bytes; times are UTC and whole
// microseconds. Callers choose some of the texts, and may choose ill.

// intent makes the record of a call, and its body if the preview is not all of it.
func (l *Ledger) intent(c *durward.Call, d durward.Decision) (*Intent, *Body) {
	params := l.opt.Redact(c.Params)
	preview, body := l.bodies.of(params)
	i := &Intent{
		ID: text(c.ID), Session: text(c.Caller.Session), Parent: text(c.Parent), TraceID: c.Trace.TraceID, SpanID: c.Trace.SpanID, At: micro(c.Received),
		Principal: text(c.Caller.Principal), Entrance: text(c.Caller.Entrance), Process: text(c.Caller.Process),
		Client: c.Caller.Client, Route: c.Route.String(), Era: text(c.Era), Origin: originOf(c), Transport: text(c.Transport),
		Server: text(c.Server), Method: c.Method, Tool: c.Name, FullName: c.FullName, RequestID: string(c.RequestID), Risk: c.Risk,
		Action: d.Action, Rule: text(d.Rule), Layer: text(d.Layer), Reason: d.Reason, BytesIn: len(c.Params), Preview: preview,
	}
	if body != nil {
		i.Body = body.Digest
	}
	l.hide(&i.Method, &i.Tool, &i.FullName, &i.RequestID, &i.Client.Name, &i.Client.Version, &i.Route, &i.Reason)
	return i, body
}

// spaceMost bounds the buffers that are kept for hide, in bytes.
const spaceMost = 4 << 10

// hide makes texts that somebody else chose what a store is given, without secrets.
// There hardly ever are any, so all texts are looked through at once.
func (l *Ledger) hide(texts ...*string) {
	space, _ := l.spaces.Get().(*[]byte)
	if space == nil {
		space = new([]byte)
	}
	all := (*space)[:0]
	for _, t := range texts {
		all = append(append(all, *t...), 0) // no secret has a NUL
	}
	found := !bytes.Equal(l.opt.Redact(all), all)
	if *space = all; len(all) <= spaceMost {
		l.spaces.Put(space)
	}
	for _, t := range texts {
		if found {
			*t = string(l.opt.Redact([]byte(*t)))
		}
		*t = text(*t)
	}
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
		Call: text(c.ID), At: micro(o.Finished), Dispatched: micro(o.Dispatched), Duration: o.Finished.Sub(c.Received).Truncate(time.Microsecond),
		Status: text(o.Status), Attempts: o.Attempts, BytesOut: len(o.Result) + len(o.Error),
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

// cut is the beginning of a text, cut on a rune. What is no UTF-8 in it, and NUL, is
// replaced.
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
	if utf8.Valid(text) && bytes.IndexByte(text, 0) < 0 {
		return string(text)
	}
	clean := strings.ToValidUTF8(strings.ReplaceAll(string(text), "\x00", "\uFFFD"), "\uFFFD")
	if len(clean) > most { // the replacement is longer than what it replaces
		return cut([]byte(clean), most)
	}
	return clean
}

// text is a name as a store is given it.
func text[T ~string](s T) T {
	if len(s) <= PreviewMost && isPlain(string(s)) {
		return s
	}
	return T(cut([]byte(s[:min(len(s), PreviewMost+1)]), PreviewMost))
}

func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c == 0 || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// long is long without secrets.
func (l *Ledger) long(s string) string { return long(string(l.opt.Redact([]byte(s)))) }

// long is a text that may be long: it is not cut.
func long(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + more
}
