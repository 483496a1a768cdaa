package worker

import (
	"bytes"
	"io"
)

const (
	lineBuffer = 64 << 10  // what a quiet connection keeps
	lineGrown  = 256 << 10 // what a connection with many long lines keeps
	lineChunk  = 1 << 20   // a longer line is gathered in pieces of up to this size
	lineHead   = 8 << 10   // kept of an oversized line's start
	lineTail   = 128       // and of its end
)

// lines splits a stream into lines. A line that fits into the buffer is not
// copied; a longer one is gathered in pieces and put together once, so that it
// costs twice its size at most. It belongs to one goroutine.
type lines struct {
	from io.Reader
	max  int // bytes of a line

	buf        []byte
	start, end int // what is read and not used yet
	longs      int // how usual lines beyond lineBuffer are
	err        error
}

// line is one line without its end.
type line struct {
	data  []byte // valid until the next call of next, unless owned
	owned bool
	// oversized: data is the first bytes only, tail the last ones.
	oversized bool
	tail      []byte
	half      bool // the stream ended before the line did
}

func newLines(from io.Reader, maxLine int) *lines {
	return &lines{from: from, max: maxLine, buf: make([]byte, lineBuffer)}
}

// next returns the next line, or the error that ended the stream (io.EOF).
func (l *lines) next() (line, error) {
	l.settle()
	seen := 0
	for {
		if i := bytes.IndexByte(l.buf[l.start+seen:l.end], '\n'); i >= 0 {
			return l.cut(seen+i, 1), nil
		}
		seen = l.end - l.start
		if l.err != nil {
			if seen == 0 {
				return line{}, l.err
			}
			rest := l.cut(seen, 0)
			rest.half = true
			return rest, nil
		}
		if seen == len(l.buf) && !l.grow() {
			return l.long(), nil
		}
		l.fill()
	}
}

// cut takes n bytes and skips those of the line's end.
func (l *lines) cut(n, end int) line {
	data := l.buf[l.start : l.start+n : l.start+n]
	l.start += n + end
	if n > l.max {
		return line{data: data[:min(n, lineHead)], tail: data[max(0, n-lineTail):], oversized: true}
	}
	if n > lineBuffer {
		l.longs = min(l.longs+2, 8)
	} else if l.longs > 0 {
		l.longs--
	}
	return line{data: data}
}

// settle gives a grown buffer back when it is empty and long lines are rare.
func (l *lines) settle() {
	if l.start < l.end {
		return
	}
	l.start, l.end = 0, 0
	if len(l.buf) > lineBuffer && l.longs < 4 {
		l.buf = make([]byte, lineBuffer)
	}
}

// fill reads once. The buffer has room, or is made to have.
func (l *lines) fill() {
	if l.end == len(l.buf) {
		copy(l.buf, l.buf[l.start:l.end])
		l.start, l.end = 0, l.end-l.start
	}
	n, err := readSome(l.from, l.buf[l.end:])
	l.end += n
	l.err = err
}

func (l *lines) grow() bool {
	if len(l.buf) >= lineGrown {
		return false
	}
	grown := make([]byte, lineGrown)
	l.end = copy(grown, l.buf[l.start:l.end])
	l.start, l.buf = 0, grown
	return true
}

// long gathers a line that fills the whole buffer without an end.
func (l *lines) long() line {
	l.longs = min(l.longs+2, 8)
	chunks := [][]byte{bytes.Clone(l.buf[l.start:l.end])}
	size := l.end - l.start
	l.start, l.end = 0, 0
	for {
		chunk := make([]byte, min(max(size/2, lineGrown), lineChunk))
		n, how := l.gather(chunk)
		chunk = chunk[:n]
		size += n
		if size > l.max {
			tail := bytes.Clone(chunk[max(0, n-lineTail):])
			return l.skip(bytes.Clone(chunks[0][:lineHead]), tail, how)
		}
		chunks = append(chunks, chunk)
		if how != gotMore {
			return line{data: bytes.Join(chunks, nil), owned: true, half: how == gotEnd}
		}
	}
}

// What a piece of a line ended with.
type got uint8

const (
	gotMore got = iota // nothing: the line goes on
	gotLine            // the end of the line
	gotEnd             // the end of the stream
)

// gather fills chunk up to the end of the line; what is behind it goes to the buffer.
func (l *lines) gather(chunk []byte) (n int, how got) {
	for n < len(chunk) {
		// Never more than the buffer holds, should the line end at once.
		read, err := readSome(l.from, chunk[n:min(len(chunk), n+len(l.buf))])
		l.err = err
		if i := bytes.IndexByte(chunk[n:n+read], '\n'); i >= 0 {
			l.start, l.end = 0, copy(l.buf, chunk[n+i+1:n+read])
			return n + i, gotLine
		}
		n += read
		if err != nil {
			return n, gotEnd
		}
	}
	return n, gotMore
}

// skip drops the rest of a line over the limit.
func (l *lines) skip(head, tail []byte, how got) line {
	scratch := make([]byte, lineBuffer)
	for how == gotMore {
		var n int
		n, how = l.gather(scratch)
		tail = append(tail, scratch[max(0, n-lineTail):n]...)
		tail = append(tail[:0], tail[max(0, len(tail)-lineTail):]...)
	}
	return line{data: head, tail: tail, oversized: true, half: how == gotEnd}
}

// readSome reads at least one byte or returns an error.
func readSome(from io.Reader, into []byte) (int, error) {
	for range 100 {
		if n, err := from.Read(into); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}
