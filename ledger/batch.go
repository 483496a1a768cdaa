package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"time"

	"durward"
)

// A batch outside of a database: its link, its records in their canonical form, and
// its bodies. The link proves the records, so nothing else does.

// AppendTo appends what [DecodeBatch] reads. It is not safe for concurrent use before it
// was called once.
func (b *Batch) AppendTo(to []byte) []byte {
	e := encoder{to}
	e.number(int64(b.Link.Seq))
	e.time(b.Link.At)
	e.bytes(b.Link.Digest[:])
	e.bytes(b.Link.Hash[:])
	e.number(int64(len(b.Records)))
	if b.forms != nil {
		e.bytes(b.forms)
		b.forms = nil // whoever keeps the batch does not keep their memory: others come there
	} else {
		for _, r := range b.Records {
			e.record(r)
		}
	}
	e.number(int64(len(b.Bodies)))
	for i := range b.Bodies {
		e.body(&b.Bodies[i])
	}
	return e.b
}

func (e *encoder) body(b *Body) {
	e.bytes(b.Digest[:])
	e.text(b.Encoding)
	e.number(int64(b.Original))
	truncated := int64(0)
	if b.Truncated {
		truncated = 1
	}
	e.number(truncated)
	e.number(int64(len(b.Data)))
	e.bytes(b.Data)
}

// errNoBatch is what is no batch, or not the one that was written.
var errNoBatch = errors.New("these bytes are no batch of records")

// DecodeBatch reads a batch. One whose records are not those that its link covers is an
// error. Nothing of data is kept.
func DecodeBatch(data []byte) (*Batch, error) {
	d := decoder{b: data}
	b := &Batch{}
	b.Link.Seq, b.Link.At = uint64(d.number()), d.time()
	d.fixed(b.Link.Digest[:])
	d.fixed(b.Link.Hash[:])
	b.Link.Records = d.count()
	for range b.Link.Records {
		if b.Records = append(b.Records, d.record()); d.bad {
			return nil, errNoBatch
		}
	}
	for range d.count() {
		b.Bodies = append(b.Bodies, d.body())
		if d.bad {
			return nil, errNoBatch
		}
	}
	if d.bad || len(d.b) > 0 || (&Link{}).Next(b.Link.At, b.Records).Digest != b.Link.Digest {
		return nil, errNoBatch
	}
	return b, nil
}

// MayBeBatch reports whether data begins as a batch does. It looks at a few bytes; of what
// is none, one of some hundred does.
func MayBeBatch(data []byte) bool {
	d := decoder{b: data}
	seq := d.number()
	d.number() // the time
	d.take(2 * sha256.Size)
	if records := d.count(); seq < 1 || records < 1 {
		return false
	}
	kind := d.take(1)
	return !d.bad && KindIntent <= Kind(kind[0]) && Kind(kind[0]) <= KindNote
}

// decoder reads what an encoder wrote. After the first thing that it could not have
// written, bad is true and what it returns is nothing.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) take(n int) []byte {
	if d.bad || n < 0 || n > len(d.b) {
		d.bad = true
		return nil
	}
	taken := d.b[:n]
	d.b = d.b[n:]
	return taken
}

func (d *decoder) fixed(to []byte) { copy(to, d.take(len(to))) }

func (d *decoder) number() int64 {
	n, size := binary.Varint(d.b)
	if d.bad || size <= 0 {
		d.bad = true
		return 0
	}
	d.b = d.b[size:]
	return n
}

// count is how many things follow: each takes a byte at least.
func (d *decoder) count() int {
	n := d.number()
	if n < 0 || n > int64(len(d.b)) {
		d.bad = true
		return 0
	}
	return int(n)
}

// small is a number of the type T, which has no room for all.
func small[T ~uint8 | ~int | ~int32](d *decoder) T {
	n := d.number()
	if int64(T(n)) != n {
		d.bad = true
		return 0
	}
	return T(n)
}

func (d *decoder) text() string {
	n, size := binary.Uvarint(d.b)
	if d.bad || size <= 0 || n > uint64(len(d.b)-size) {
		d.bad = true
		return ""
	}
	d.b = d.b[size:]
	return string(d.take(int(n)))
}

func (d *decoder) time() time.Time {
	n := d.number()
	if n == math.MinInt64 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}

func (d *decoder) body() (b Body) {
	d.fixed(b.Digest[:])
	b.Encoding, b.Original, b.Truncated = d.text(), small[int](d), d.number() != 0
	b.Data = append([]byte{}, d.take(d.count())...)
	return b
}

func (d *decoder) record() Record {
	kind := d.take(1)
	if d.bad {
		return nil
	}
	switch Kind(kind[0]) {
	case KindIntent:
		return d.intent()
	case KindOutcome:
		return d.outcome()
	case KindSessionStart:
		return d.sessionStart()
	case KindSessionEnd:
		return &SessionEnd{ID: durward.SessionID(d.text()), At: d.time(), Reason: d.text()}
	case KindDecision:
		return &Decision{
			Call: durward.CallID(d.text()), At: d.time(), Stage: d.text(), Layer: d.text(), Rule: d.text(), Action: d.text(), Effective: d.text(),
			Detection: d.text(), Detail: d.text(),
		}
	case KindApproval:
		return &Approval{ID: d.text(), Call: durward.CallID(d.text()), At: d.time(), Status: d.text(), By: d.text(), Reason: d.text(), Scope: d.text()}
	case KindChange:
		return &Change{At: d.time(), Who: d.text(), What: d.text(), Target: d.text(), OldHash: d.text(), NewHash: d.text(), Detail: d.text()}
	case KindFlow:
		return &Flow{
			Call: durward.CallID(d.text()), At: d.time(), Server: d.text(), Method: d.text(), Host: d.text(), IP: d.text(), Path: d.text(), Decision: d.text(),
			Port: small[int](d), Status: small[int](d), BytesOut: d.number(), BytesIn: d.number(),
		}
	case KindEvent:
		v := &Event{At: d.time()}
		d.fixed(v.TraceID[:])
		v.Layer, v.Sandbox, v.Session, v.What, v.Detail = d.text(), d.text(), durward.SessionID(d.text()), d.text(), d.text()
		return v
	case KindNote:
		return &Note{At: d.time(), What: d.text(), Detail: d.text()}
	}
	d.bad = true
	return nil
}

func (d *decoder) intent() *Intent {
	i := &Intent{ID: durward.CallID(d.text()), Session: durward.SessionID(d.text()), Parent: durward.CallID(d.text())}
	d.fixed(i.TraceID[:])
	d.fixed(i.SpanID[:])
	i.At = d.time()
	i.Principal, i.Entrance, i.Process = d.text(), durward.Entrance(d.text()), d.text()
	i.Client.Name, i.Client.Version = d.text(), d.text()
	i.Route, i.Era, i.Origin, i.Transport = d.text(), d.text(), Origin(d.text()), durward.Transport(d.text())
	i.Server, i.Method, i.Tool, i.FullName, i.RequestID = d.text(), d.text(), d.text(), d.text(), d.text()
	i.Risk, i.Action = small[durward.Risk](d), small[durward.Action](d)
	i.Rule, i.Layer, i.Reason = d.text(), d.text(), d.text()
	i.BytesIn, i.Preview = small[int](d), d.text()
	d.fixed(i.Body[:])
	return i
}

func (d *decoder) outcome() *Outcome {
	o := &Outcome{
		Call: durward.CallID(d.text()), At: d.time(), Dispatched: d.time(), Duration: time.Duration(d.number()) * time.Microsecond,
		Status: durward.Status(d.text()), Attempts: small[int](d), BytesOut: small[int](d), Error: d.text(), Preview: d.text(),
	}
	d.fixed(o.Body[:])
	return o
}

func (d *decoder) sessionStart() *SessionStart {
	s := &SessionStart{ID: durward.SessionID(d.text()), At: d.time(), Principal: d.text(), Entrance: durward.Entrance(d.text()), Process: d.text()}
	s.Client.Name, s.Client.Version = d.text(), d.text()
	s.Route, s.Era, s.Sandbox, s.Policy = d.text(), d.text(), d.text(), d.text()
	return s
}
