package outbox

import (
	"bytes"
	"context"
	"sync"
)

// Limits bound a part of a box.
type Limits struct {
	Events int
	Bytes  int // the sum of the messages' lengths
}

// over reports whether so much is more than the limits allow.
func (l Limits) over(events, size int) bool { return events > l.Events || size > l.Bytes }

// Options say how much a box holds.
type Options struct {
	// Pending bounds what a connected reader has not taken yet; default 1,024 events and 8 MiB.
	Pending Limits
	// Kept bounds what is held for a reader that may come back: messages already
	// taken, and those that come in while no reader is connected. The zero value
	// keeps nothing; messages that come in without a reader are then refused.
	Kept Limits
	// Budget bounds what several boxes hold so; nil: each has its own bound only.
	Budget *Budget
}

// Class says what may be done to a message when there are too many.
type Class uint8

// The classes.
const (
	Plain    Class = iota
	Progress       // worthless once a later one exists: dropped first
	Change         // says only that something changed: an equal one that still waits is enough
)

// Event is one message. Seq counts from 1 and never repeats; numbers of dropped messages stay unused.
type Event struct {
	Seq  uint64
	Data []byte
}

type entry struct {
	Event
	class Class
	by    uint64 // if it was taken: the number of the stream on which that was
}

// Box is a bounded queue. Its methods may be called from any goroutine.
type Box struct {
	opts Options

	mu      sync.Mutex // guards everything below
	entries []entry    // in order of Seq
	charged int        // what the budget knows of
	taken   int        // entries[:taken] have been handed to a reader
	kept    int        // bytes in entries[:taken]
	pending int        // bytes in entries[taken:]
	last    uint64     // Seq of the newest message
	gap     uint64     // Seq of the newest message that was dropped unread or is no longer kept
	done    bool
	instead []byte        // what takes the place of a last message that is too long to keep
	readers []*Reader     // the newest is last and gets the messages
	streams uint64        // numbers given to readers by ReadNew
	space   chan struct{} // closed when something was taken; nil while nobody waits for that
}

// New makes an empty box.
func New(opts Options) *Box {
	if opts.Pending == (Limits{}) {
		opts.Pending = Limits{Events: 1024, Bytes: 8 << 20}
	}
	return &Box{opts: opts}
}

// Put appends a message and never waits. The box owns data from then on. False
// means that it was not taken: the box is finished, or nothing is kept and nobody
// reads it, or no longer since its reader fell too far behind and was told so.
func (b *Box) Put(data []byte, class Class) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done || len(b.readers) == 0 && b.opts.Kept == (Limits{}) {
		return false
	}
	if class == Change && b.waiting(data) {
		return true
	}
	if !b.makeRoom(len(data)) {
		b.lose()
		if b.opts.Kept == (Limits{}) {
			return false
		}
	}
	b.append(data, class)
	b.fit()
	return true
}

// PutWait appends a message, waiting until the pending ones are within the
// bounds. The message itself may exceed them. False: as with Put, or ctx ended.
func (b *Box) PutWait(ctx context.Context, data []byte) bool {
	for {
		b.mu.Lock()
		if b.done || len(b.readers) == 0 {
			b.mu.Unlock()
			return false
		}
		if b.pending == 0 || !b.opts.Pending.over(len(b.entries)-b.taken+1, b.pending+len(data)) {
			b.append(data, Plain)
			b.mu.Unlock()
			return true
		}
		if b.space == nil {
			b.space = make(chan struct{})
		}
		space := b.space
		b.mu.Unlock()
		select {
		case <-space:
		case <-ctx.Done():
			return false
		}
	}
}

// Finish appends the last message, nil for none, whatever its length, and closes
// the box. Where it has to be kept for a reader that may come back and is longer
// than the bound, instead takes its place.
func (b *Box) Finish(data, instead []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return
	}
	if data != nil {
		b.instead = instead
		b.append(data, Plain)
	}
	b.done = true
	b.wakeAll()
	b.fit()
}

// Size returns how much the box holds.
func (b *Box) Size() (events, size int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.entries), b.kept + b.pending
}

// Drop forgets everything and closes the box; its readers are told.
func (b *Box) Drop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done = true
	b.lose()
	b.entries, b.taken, b.kept, b.pending = nil, 0, 0, 0
	b.gap = b.last
	b.charge()
}

// Forget keeps nothing any more for a reader that may come back. One that is
// connected gets what is left.
func (b *Box) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opts.Kept = Limits{}
	b.fit()
	for b.taken > 0 {
		b.dropFirst()
	}
	b.charge()
}

// Idle reports whether nothing waits to be read.
func (b *Box) Idle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.taken == len(b.entries)
}

func (b *Box) append(data []byte, class Class) {
	b.last++
	b.entries = append(b.entries, entry{Event: Event{b.last, data}, class: class})
	b.pending += len(data)
	if n := len(b.readers); n > 0 {
		b.readers[n-1].nudge()
	}
}

func (b *Box) waiting(data []byte) bool {
	for _, e := range b.entries[b.taken:] {
		if e.class == Change && bytes.Equal(e.Data, data) {
			return true
		}
	}
	return false
}

// makeRoom drops waiting progress if one more message of so many bytes would be
// too much for a connected reader, and reports whether it fits then.
func (b *Box) makeRoom(size int) bool {
	if len(b.readers) == 0 || !b.opts.Pending.over(len(b.entries)-b.taken+1, b.pending+size) {
		return true
	}
	b.dropProgress()
	return b.pending == 0 || !b.opts.Pending.over(len(b.entries)-b.taken+1, b.pending+size)
}

func (b *Box) dropProgress() {
	rest := b.entries[:b.taken]
	for _, e := range b.entries[b.taken:] {
		if e.class == Progress {
			b.pending -= len(e.Data)
			continue
		}
		rest = append(rest, e)
	}
	clear(b.entries[len(rest):])
	b.entries = rest
}

// lose tells all readers that they missed something and lets go of them.
func (b *Box) lose() {
	for _, r := range b.readers {
		r.lost = true
		r.nudge()
	}
	b.readers = nil
	b.wakeSpace()
	b.fit()
}

// fit brings a box without readers down to what is kept, progress first, then the oldest.
func (b *Box) fit() {
	if len(b.readers) > 0 {
		return
	}
	b.trim()
	b.charge()
}

func (b *Box) trim() {
	if !b.opts.Kept.over(len(b.entries), b.kept+b.pending) {
		return
	}
	b.dropProgress()
	if n := len(b.entries); b.done && n > b.taken && b.instead != nil && len(b.entries[n-1].Data) > b.opts.Kept.Bytes {
		b.pending += len(b.instead) - len(b.entries[n-1].Data)
		b.entries[n-1].Data = b.instead
	}
	for b.opts.Kept.over(len(b.entries), b.kept+b.pending) {
		b.dropFirst()
	}
}

// dropFirst forgets the oldest entry.
func (b *Box) dropFirst() {
	e := b.entries[0]
	b.entries[0] = entry{}
	b.entries = b.entries[1:]
	b.gap = e.Seq
	if b.taken > 0 {
		b.taken--
		b.kept -= len(e.Data)
	} else {
		b.pending -= len(e.Data)
	}
	if len(b.entries) == 0 {
		b.entries = nil
	}
}

func (b *Box) wakeSpace() {
	if b.space != nil {
		close(b.space)
		b.space = nil
	}
}

func (b *Box) wakeAll() {
	for _, r := range b.readers {
		r.nudge()
	}
	b.wakeSpace()
}
