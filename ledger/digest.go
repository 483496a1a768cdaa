package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"time"
)

// encoder builds canonical forms: every field with its length or in a fixed
// width, in the order of the struct, so that no two records look the same.
type encoder struct{ b []byte }

func (e *encoder) text(s string) {
	e.b = binary.AppendUvarint(e.b, uint64(len(s)))
	e.b = append(e.b, s...)
}

func (e *encoder) number(n int64) { e.b = binary.AppendVarint(e.b, n) }

// time counts microseconds, which is what a store keeps; the zero time is a number
// that no other one has.
func (e *encoder) time(t time.Time) {
	if t.IsZero() {
		e.number(math.MinInt64)
		return
	}
	e.number(t.UnixMicro())
}

func (e *encoder) bytes(b []byte) { e.b = append(e.b, b...) } // of fixed width

func (i *Intent) appendTo(e *encoder) {
	e.text(string(i.ID))
	e.text(string(i.Session))
	e.text(string(i.Parent))
	e.bytes(i.TraceID[:])
	e.bytes(i.SpanID[:])
	e.time(i.At)
	e.text(i.Principal)
	e.text(string(i.Entrance))
	e.text(i.Process)
	e.text(i.Client.Name)
	e.text(i.Client.Version)
	e.text(i.Route)
	e.text(i.Era)
	e.text(string(i.Origin))
	e.text(string(i.Transport))
	e.text(i.Server)
	e.text(i.Method)
	e.text(i.Tool)
	e.text(i.FullName)
	e.text(i.RequestID)
	e.number(int64(i.Risk))
	e.number(int64(i.Action))
	e.text(i.Rule)
	e.text(i.Layer)
	e.text(i.Reason)
	e.number(int64(i.BytesIn))
	e.text(i.Preview)
	e.bytes(i.Body[:])
}

func (o *Outcome) appendTo(e *encoder) {
	e.text(string(o.Call))
	e.time(o.At)
	e.time(o.Dispatched)
	e.number(o.Duration.Microseconds())
	e.text(string(o.Status))
	e.number(int64(o.Attempts))
	e.number(int64(o.BytesOut))
	e.text(o.Error)
	e.text(o.Preview)
	e.bytes(o.Body[:])
}

func (s *SessionStart) appendTo(e *encoder) {
	e.text(string(s.ID))
	e.time(s.At)
	for _, t := range [...]string{
		s.Principal, string(s.Entrance), s.Process, s.Client.Name, s.Client.Version, s.Route, s.Era, s.Sandbox, s.Policy,
	} {
		e.text(t)
	}
}

func (s *SessionEnd) appendTo(e *encoder) {
	e.text(string(s.ID))
	e.time(s.At)
	e.text(s.Reason)
}

func (d *Decision) appendTo(e *encoder) {
	e.text(string(d.Call))
	e.time(d.At)
	for _, t := range [...]string{d.Stage, d.Layer, d.Rule, d.Action, d.Effective, d.Detection, d.Detail} {
		e.text(t)
	}
}

func (a *Approval) appendTo(e *encoder) {
	e.text(a.ID)
	e.text(string(a.Call))
	e.time(a.At)
	for _, t := range [...]string{a.Status, a.By, a.Reason, a.Scope} {
		e.text(t)
	}
}

func (c *Change) appendTo(e *encoder) {
	e.time(c.At)
	for _, t := range [...]string{c.Who, c.What, c.Target, c.OldHash, c.NewHash, c.Detail} {
		e.text(t)
	}
}

func (f *Flow) appendTo(e *encoder) {
	e.text(string(f.Call))
	e.time(f.At)
	for _, t := range [...]string{f.Server, f.Method, f.Host, f.IP, f.Path, f.Decision} {
		e.text(t)
	}
	for _, n := range [...]int64{int64(f.Port), int64(f.Status), f.BytesOut, f.BytesIn} {
		e.number(n)
	}
}

func (v *Event) appendTo(e *encoder) {
	e.time(v.At)
	e.bytes(v.TraceID[:])
	for _, t := range [...]string{v.Layer, v.Sandbox, string(v.Session), v.What, v.Detail} {
		e.text(t)
	}
}

func (n *Note) appendTo(e *encoder) {
	e.time(n.At)
	e.text(n.What)
	e.text(n.Detail)
}

// DigestOf returns the digest of a record: what the chain covers.
func DigestOf(r Record) [sha256.Size]byte {
	e := encoder{make([]byte, 0, 1024)}
	e.record(r)
	return sha256.Sum256(e.b)
}

func (e *encoder) record(r Record) {
	e.b = append(e.b, byte(r.Kind()))
	r.appendTo(e)
}

// Link is one link of the chain: one committed batch.
type Link struct {
	Seq     uint64 // 1 for the first
	At      time.Time
	Records int
	Digest  [sha256.Size]byte // of the digests of the records, in order
	Hash    [sha256.Size]byte // of the link before and this one
}

// Next returns the link that follows l with these records. The zero Link is what
// the first one follows.
func (l *Link) Next(at time.Time, records []Record) Link {
	next, _ := l.next(at, records, make([]byte, 0, 1024))
	return next
}

// next is Next; it appends the canonical forms of the records to space.
func (l *Link) next(at time.Time, records []Record, space []byte) (Link, []byte) {
	h, e := sha256.New(), encoder{space}
	for _, r := range records {
		from := len(e.b)
		e.record(r)
		d := sha256.Sum256(e.b[from:])
		h.Write(d[:])
	}
	next := Link{Seq: l.Seq + 1, At: at.UTC().Truncate(time.Microsecond), Records: len(records)}
	h.Sum(next.Digest[:0])
	next.Hash = next.hash(l.Hash)
	return next, e.b
}

// Follows reports whether l is what its fields say, and comes after before.
func (l *Link) Follows(before *Link) bool {
	return l.Seq == before.Seq+1 && l.Hash == l.hash(before.Hash)
}

func (l *Link) hash(before [sha256.Size]byte) [sha256.Size]byte {
	e := encoder{make([]byte, 0, 128)}
	e.text("durward ledger link 1")
	e.bytes(before[:])
	e.number(int64(l.Seq))
	e.time(l.At)
	e.number(int64(l.Records))
	e.bytes(l.Digest[:])
	return sha256.Sum256(e.b)
}
