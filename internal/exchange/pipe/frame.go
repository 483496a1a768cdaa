package pipe

import (
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// What a frame has besides the message of the protocol, in bytes, and what is
// allocated for a frame before its bytes have come.
const (
	frameOverhead = 64 << 10
	frameTrust    = 1 << 20
	frameHeader   = 4
)

// frameLimit is the largest frame of a link, in bytes.
func frameLimit(spec *exchange.LinkSpec) int {
	if spec.MaxMessage > 0 {
		return spec.MaxMessage + frameOverhead
	}
	return wire.MaxMessage + frameOverhead
}

// readFrame reads one frame of at most limit bytes. A length is believed up to
// frameTrust; beyond that memory grows with what really comes.
func readFrame(r io.Reader, limit int) ([]byte, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, err
	}
	size := int64(binary.BigEndian.Uint32(header[:]))
	if size > int64(limit) {
		return nil, durward.Errorf(durward.Invalid, "pipe", "a frame of %d bytes is over the limit of %d (limits.message and %d)", size, limit, frameOverhead)
	}
	frame := make([]byte, min(size, frameTrust))
	for at := int64(0); ; {
		if _, err := io.ReadFull(r, frame[at:]); err != nil {
			return nil, unexpected(err)
		}
		if at = int64(len(frame)); at == size {
			return frame, nil
		}
		longer := make([]byte, min(size, 4*at))
		copy(longer, frame)
		frame = longer
	}
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// framer packs frames, one after the other.
type framer struct {
	limit int

	mu sync.Mutex // guards p
	p  *packer
}

func newFramer(limit int) *framer { return &framer{limit: limit, p: newPacker()} }

// frame packs what pack writes, and hands the frame to use while nothing else is
// packed; use must not keep it. A frame over the limit is an Invalid error.
func (f *framer) frame(pack func(*packer), use func(frame []byte) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.p
	p.buf.Reset()
	p.err = nil
	p.buf.Write(make([]byte, frameHeader))
	pack(p)
	frame := p.buf.Bytes()
	if p.buf.Cap() > frameTrust {
		f.p = newPacker() // a large message does not stay
	}
	if p.err != nil {
		return durward.Errorf(durward.Internal, "pipe", "packing a message failed: %w", p.err)
	}
	size := len(frame) - frameHeader
	if size > f.limit {
		return durward.Errorf(durward.Invalid, "pipe", "a message of %d bytes is over the limit of %d (limits.message and %d)", size, f.limit, frameOverhead)
	}
	binary.BigEndian.PutUint32(frame, uint32(size))
	return use(frame)
}
