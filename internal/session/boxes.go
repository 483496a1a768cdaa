package session

import (
	"sync"
	"time"

	"durward/internal/exchange/outbox"
)

// boxes are the streams to the client: number 0 for what belongs to no request,
// the others for one answered request each.
type boxes struct {
	mu       sync.Mutex // guards everything below
	last     uint64
	byNumber map[uint64]*outbox.Box
	retired  []retired // complete streams, the oldest first
	ended    bool
}

type retired struct {
	number uint64
	events int
	size   int
	at     time.Time
}

// NewBox opens the stream of one answer. The number is what [Session.Box] finds it by.
func (s *Session) NewBox() (number uint64, box *outbox.Box) {
	b := &s.boxes
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	return b.last, b.make(b.last, outbox.Options{Kept: s.store.opts.Kept, Budget: s.store.budget})
}

// Box returns a stream, nil if it is not known or no longer. Number 0 is there
// until the session ends.
func (s *Session) Box(number uint64) *outbox.Box {
	b := &s.boxes
	b.mu.Lock()
	defer b.mu.Unlock()
	box := b.byNumber[number]
	if box == nil && number == 0 {
		box = b.make(0, outbox.Options{Kept: s.store.opts.Kept}) // changes that were not told must not be crowded out
	}
	return box
}

func (b *boxes) make(number uint64, opts outbox.Options) *outbox.Box {
	if b.byNumber == nil {
		b.byNumber = make(map[uint64]*outbox.Box)
	}
	box := outbox.New(opts)
	if b.ended {
		box.Drop()
		return box
	}
	b.byNumber[number] = box
	return box
}

// Retire says that a stream is complete. It is kept for a client that lost it,
// within the bounds of the session and of the store, the oldest going first.
func (s *Session) Retire(number uint64) {
	b := &s.boxes
	b.mu.Lock()
	defer b.mu.Unlock()
	box := b.byNumber[number]
	if box == nil {
		return
	}
	entry := retired{number: number, at: time.Now()}
	entry.events, entry.size = box.Size()
	if entry.events == 0 { // there was no room for it
		delete(b.byNumber, number)
		return
	}
	b.retired = append(b.retired, entry)
	events, size := 0, 0
	for i := len(b.retired) - 1; i >= 0; i-- {
		events += b.retired[i].events
		size += b.retired[i].size
		if events > s.store.opts.Kept.Events || size > s.store.opts.Kept.Bytes {
			b.forget(i + 1)
			break
		}
	}
}

// forget drops what was kept since before a time.
func (s *Session) forget(before time.Time) {
	b := &s.boxes
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for n < len(b.retired) && b.retired[n].at.Before(before) {
		n++
	}
	b.forget(n)
}

// forget drops the n oldest complete streams. One that is being read is read to its end.
func (b *boxes) forget(n int) {
	for _, r := range b.retired[:n] {
		if box := b.byNumber[r.number]; box != nil {
			box.Forget()
		}
		delete(b.byNumber, r.number)
	}
	if b.retired = b.retired[n:]; len(b.retired) == 0 {
		b.retired = nil
	}
}

// read reports whether a connection of the client reads one of the streams.
func (b *boxes) read() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, box := range b.byNumber {
		if box.Readers() > 0 {
			return true
		}
	}
	return false
}

func (b *boxes) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	for _, box := range b.byNumber {
		box.Drop()
	}
	b.byNumber, b.retired = nil, nil
}
