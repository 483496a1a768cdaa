package launch

import "sync"

// DefaultStderr is how much of a server's stderr is kept, in bytes: its end.
const DefaultStderr = 256 << 10

// ring keeps the last max bytes written to it. It grows as needed, so that a
// quiet server costs nothing.
type ring struct {
	mu   sync.Mutex // guards all fields
	max  int
	buf  []byte
	head int // where the oldest byte is, once buf is full
}

func (r *ring) write(b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(b) > r.max {
		b = b[len(b)-r.max:]
	}
	if room := r.max - len(r.buf); room > 0 {
		n := min(room, len(b))
		r.buf = append(r.buf, b[:n]...)
		b = b[n:]
	}
	for len(b) > 0 {
		n := copy(r.buf[r.head:], b)
		b = b[n:]
		r.head = (r.head + n) % r.max
	}
}

func (r *ring) bytes() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]byte, 0, len(r.buf))
	out = append(out, r.buf[r.head:]...)
	return append(out, r.buf[:r.head]...)
}
