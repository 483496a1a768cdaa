package worker

import (
	"bytes"
	"io"
	"strconv"
	"sync"
	"time"

	"durward"
)

// sseBuffer is how much is read at once; a value that is longer is gathered in
// pieces, so it bounds no event.
const sseBuffer = 8 << 10

// sseShort bounds the fields event, id and retry in bytes. An id goes back to the
// server in a header, whose values are bounded alike (names-and-limits).
const sseShort = 8 << 10

// sseRetryMax is the longest reconnection time taken from a server.
const sseRetryMax = 60 * time.Second

// sseEvent is one dispatched event. Its bytes belong to the receiver.
type sseEvent struct {
	Type string // "" when the server named none, which means "message"
	Data []byte
	// Over: the data was longer than the limit. Data is its beginning, of at most
	// lineHead bytes, and Tail its end, of at most lineTail.
	Over bool
	Tail []byte
}

// sseReader splits a stream into server-sent events as the WHATWG HTML standard
// §9.2.6 says: lines end in LF, CR or CRLF, a byte order mark in front is
// dropped, comments and unknown fields are ignored, an event without its blank
// line is discarded. The stream may be endless; one event's data is bounded.
// Bytes are handed on as they are, so it does not replace invalid UTF-8.
type sseReader struct {
	src   io.Reader
	buf   []byte
	r, w  int // unread bytes: buf[r:w]
	err   error
	limit int

	begun  bool // the place of the byte order mark is behind us
	skipLF bool // the last line ended in CR: a LF right behind it is part of that end

	data    gather
	hasData bool
	over    *sseEvent // what is kept of an event over the limit
	kind    []byte
	id      []byte // as the fields said so far, effective when the event is dispatched

	lastID string
	retry  time.Duration
	heard  bool // a reconnection time was given
}

var sseBuffers = sync.Pool{New: func() any { return new([sseBuffer]byte) }}

// newSSEReader reads events from src whose data is at most limit bytes long.
// lastID is the id of the last event of the stream that this one continues, "" for none.
// The caller calls release when the stream is over.
func newSSEReader(src io.Reader, limit int, lastID string) *sseReader {
	return &sseReader{src: src, buf: sseBuffers.Get().(*[sseBuffer]byte)[:], limit: limit, lastID: lastID, id: []byte(lastID)}
}

// release gives the buffer back; the reader must not be used any more.
func (s *sseReader) release() {
	if s.buf != nil {
		sseBuffers.Put((*[sseBuffer]byte)(s.buf))
		s.buf = nil
	}
}

// Next returns the next event that has data. The error is that of the source
// (io.EOF at its regular end), or of kind Invalid for another field over its bound.
func (s *sseReader) Next() (sseEvent, error) {
	for {
		head, err := s.head()
		if err != nil {
			return sseEvent{}, err
		}
		if len(head) == 0 {
			s.endLine()
			if ev, ok := s.dispatch(); ok {
				return ev, nil
			}
			continue
		}
		if err := s.line(head); err != nil {
			return sseEvent{}, err
		}
	}
}

// dispatch ends an event at its blank line.
func (s *sseReader) dispatch() (sseEvent, bool) {
	if string(s.id) != s.lastID {
		s.lastID = string(s.id)
	}
	ev, ok := sseEvent{Data: s.data.take()}, s.hasData
	if s.over != nil {
		ev = *s.over
	}
	ev.Type = internEventType(s.kind)
	s.kind, s.hasData, s.over = s.kind[:0], false, nil
	return ev, ok
}

func internEventType(kind []byte) string {
	switch string(kind) {
	case "":
		return ""
	case "message":
		return "message"
	case "endpoint":
		return "endpoint"
	default:
		return string(kind)
	}
}

// longestField is the length of the longest "name: " that means something.
const longestField = len("event: ")

// head returns what is known of the line at the read position: the whole line
// without its end, or at least longestField bytes of it. It is empty only for an
// empty line, whose end is then still unread.
func (s *sseReader) head() ([]byte, error) {
	for {
		if !s.begun || s.skipLF {
			if err := s.lead(); err != nil {
				return nil, err
			}
		}
		have := s.buf[s.r:s.w]
		if i := lineEnd(have); i >= 0 {
			return have[:i], nil
		}
		if len(have) >= longestField {
			return have, nil
		}
		if err := s.fill(); err != nil {
			return nil, err
		}
	}
}

// lead moves past a byte order mark at the beginning, or the LF of a CRLF.
func (s *sseReader) lead() error {
	const mark = "\xEF\xBB\xBF"
	for !s.begun {
		have := s.buf[s.r:s.w]
		switch {
		case bytes.HasPrefix(have, []byte(mark)):
			s.r += len(mark)
			s.begun = true
		case !bytes.HasPrefix([]byte(mark), have):
			s.begun = true
		default:
			if err := s.fill(); err != nil {
				return err
			}
		}
	}
	for s.skipLF {
		if s.r == s.w {
			if err := s.fill(); err != nil {
				return err
			}
		}
		if s.buf[s.r] == '\n' {
			s.r++
		}
		s.skipLF = false
	}
	return nil
}

// fill reads more; it makes room first. At least one byte more is there on return without error.
func (s *sseReader) fill() error {
	if s.err != nil {
		return s.err
	}
	if s.r > 0 {
		s.w = copy(s.buf, s.buf[s.r:s.w])
		s.r = 0
	}
	for range 100 {
		n, err := s.src.Read(s.buf[s.w:])
		s.w += n
		s.err = err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	s.err = io.ErrNoProgress
	return s.err
}

// lineEnd returns the offset of the first CR or LF in b, -1 if there is none.
func lineEnd(b []byte) int {
	i := bytes.IndexByte(b, '\n')
	if i >= 0 {
		b = b[:i]
	}
	if j := bytes.IndexByte(b, '\r'); j >= 0 {
		return j
	}
	return i
}

// line reads one line that is not empty and of which head is known.
func (s *sseReader) line(head []byte) error {
	name, skip := head, len(head)
	if i := bytes.IndexByte(head, ':'); i >= 0 {
		name, skip = head[:i], i+1
		if skip < len(head) && head[skip] == ' ' {
			skip++
		}
	}
	field := fieldOf(name)
	if field != fieldNone {
		s.r += skip
	}
	switch field {
	case fieldData:
		return s.dataLine()
	case fieldEvent:
		s.kind = s.kind[:0]
		return s.value(func(part []byte) error { return appendShort(&s.kind, part, "event") })
	case fieldID:
		return s.idLine()
	case fieldRetry:
		return s.retryLine()
	default:
		return s.value(func([]byte) error { return nil })
	}
}

type sseField uint8

const (
	fieldNone sseField = iota // a comment, or a field without meaning
	fieldData
	fieldEvent
	fieldID
	fieldRetry
)

func fieldOf(name []byte) sseField {
	switch string(name) {
	case "data":
		return fieldData
	case "event":
		return fieldEvent
	case "id":
		return fieldID
	case "retry":
		return fieldRetry
	default:
		return fieldNone
	}
}

// value hands the rest of the line to take, piece by piece, and moves past its end.
func (s *sseReader) value(take func(part []byte) error) error {
	for {
		have := s.buf[s.r:s.w]
		i := lineEnd(have)
		part := have
		if i >= 0 {
			part = have[:i]
		}
		if err := take(part); err != nil {
			s.err = err
			return err
		}
		s.r += len(part)
		if i >= 0 {
			s.endLine()
			return nil
		}
		if err := s.fill(); err != nil {
			return err
		}
	}
}

// endLine moves past the CR or LF at the read position.
func (s *sseReader) endLine() {
	s.skipLF = s.buf[s.r] == '\r'
	s.r++
}

func (s *sseReader) dataLine() error {
	if s.hasData && s.over == nil {
		s.data.add([]byte{'\n'})
	}
	s.hasData = true
	return s.value(func(part []byte) error {
		if s.over != nil || s.data.size+len(part) > s.limit {
			s.drop(part)
			return nil
		}
		s.data.add(part)
		return nil
	})
}

// drop leaves out part of an event over the limit, besides what tells whose it was.
func (s *sseReader) drop(part []byte) {
	if s.over == nil {
		all := s.data.take()
		head := all
		if len(head) == 0 {
			head = part
		}
		s.over = &sseEvent{Over: true, Data: bytes.Clone(head[:min(len(head), lineHead)]), Tail: bytes.Clone(all[max(0, len(all)-lineTail):])}
	}
	tail := append(s.over.Tail, part[max(0, len(part)-lineTail):]...)
	s.over.Tail = append(tail[:0], tail[max(0, len(tail)-lineTail):]...)
}

func (s *sseReader) idLine() error {
	var id []byte
	err := s.value(func(part []byte) error { return appendShort(&id, part, "id") })
	if err == nil && bytes.IndexByte(id, 0) < 0 {
		s.id = id
	}
	return err
}

func (s *sseReader) retryLine() error {
	var digits []byte
	if err := s.value(func(part []byte) error { return appendShort(&digits, part, "retry") }); err != nil {
		return err
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return nil
		}
	}
	if len(digits) == 0 {
		return nil
	}
	s.heard, s.retry = true, sseRetryMax
	if ms, err := strconv.ParseUint(string(digits), 10, 32); err == nil {
		s.retry = min(time.Duration(ms)*time.Millisecond, sseRetryMax)
	}
	return nil
}

func appendShort(dst *[]byte, part []byte, field string) error {
	if len(*dst)+len(part) > sseShort {
		return durward.Errorf(durward.Invalid, "", "the field %q of a server-sent event is over its limit of %d bytes", field, sseShort)
	}
	*dst = append(*dst, part...)
	return nil
}
