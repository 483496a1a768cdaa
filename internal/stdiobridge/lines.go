package stdiobridge

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"durward/internal/wire"
)

const (
	// bufferSize is what is read, and written, at once.
	bufferSize = 64 << 10
	// lineMost bounds a line, in bytes: it is the highest value that limits.message
	// can have. The service refuses what is above the value that it does have.
	lineMost = wire.MaxScan
	// keepSpace is how large a buffer for lines longer than bufferSize may stay.
	keepSpace = 1 << 20
)

var errTooLong = errors.New("line too long")

// lineReader cuts a stream into lines.
type lineReader struct {
	from  *bufio.Reader
	most  int
	space []byte // a line that does not fit into the reader's own buffer
	size  int    // of the line that was too long
}

func newLineReader(from io.Reader, most int) *lineReader {
	return &lineReader{from: bufio.NewReaderSize(from, bufferSize), most: most}
}

// next returns the next line with its end, valid until the next call. A last
// line without end comes with [io.EOF], or whatever ended the stream. errTooLong:
// a line was skipped; size says how long it was.
func (l *lineReader) next() ([]byte, error) {
	if cap(l.space) > keepSpace {
		l.space = nil
	}
	line, err := l.from.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	l.space, l.size = append(l.space[:0], line...), len(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = l.from.ReadSlice('\n')
		if l.size += len(line); l.size <= l.most {
			l.space = append(l.space, line...)
		} else {
			l.space = nil
		}
	}
	if l.size > l.most && err == nil {
		return nil, errTooLong
	}
	return l.space, err
}

// waits reports whether the next line is not here yet.
func (l *lineReader) waits() bool {
	here, _ := l.from.Peek(l.from.Buffered()) // no more than there is
	return bytes.IndexByte(here, '\n') < 0
}
