package outbox

// State says how a reader stands.
type State uint8

// The states.
const (
	Open State = iota // more may come
	Done              // the last message was handed over
	Lost              // messages were dropped that this reader should have had, or the box was dropped
)

// Reader takes messages out of a box. It is used by one goroutine, which must
// call Close when it is done.
type Reader struct {
	box    *Box
	stream uint64        // which of several streams it is
	wake   chan struct{} // capacity 1
	at     uint64        // Seq of the last message handed over; guarded by box.mu
	lost   bool          // guarded by box.mu
}

// Read connects a reader that wants everything after sequence number after. It
// takes over from the readers there are; they get the messages again when it is
// closed. False means that messages after that number are gone.
func (b *Box) Read(after uint64) (*Reader, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if after < b.gap || after > b.last {
		return nil, false
	}
	return b.connect(after, 0), true
}

// ReadNew connects a reader that wants everything that nobody took yet. It begins
// a stream of its own: what it takes is not handed over again but by [Box.Resume].
func (b *Box) ReadNew() *Reader {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.streams++
	return b.connect(b.lastTaken(), b.streams)
}

// Resume connects a reader that goes on with a stream after sequence number after:
// it wants what the reader of that stream took since then, and what nobody took.
// Stream is the number that [Reader.Stream] told, 0 for a box that is one stream.
// Whole is false when messages in between are gone, which may have been of other
// streams. The reader is nil when there is nothing to come for: the number was
// never given out, or the last message of a finished box is gone.
func (b *Box) Resume(stream, after uint64) (r *Reader, whole bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.entries)
	noEnd := b.done && after < b.last && (n == 0 || b.entries[n-1].Seq != b.last)
	if after > b.last || stream > b.streams || noEnd {
		return nil, false
	}
	return b.connect(after, stream), after >= b.gap
}

// lastTaken is the number before the first message that nobody took.
func (b *Box) lastTaken() uint64 {
	if b.taken < len(b.entries) {
		return b.entries[b.taken].Seq - 1
	}
	return b.last
}

// Readers returns how many readers are connected.
func (b *Box) Readers() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.readers)
}

func (b *Box) connect(after, stream uint64) *Reader {
	r := &Reader{box: b, stream: stream, wake: make(chan struct{}, 1), at: after}
	b.readers = append(b.readers, r)
	r.nudge()
	return r
}

// Next appends to dst what is there for this reader, which is nothing while a
// newer reader is connected, and says whether more may come.
func (r *Reader) Next(dst []Event) ([]Event, State) {
	b := r.box
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.lost {
		return dst, Lost
	}
	if n := len(b.readers); n == 0 || b.readers[n-1] != r {
		if b.done {
			return dst, Done // the newer reader takes what is left
		}
		return dst, Open
	}
	for i := range b.entries {
		e := &b.entries[i]
		if e.Seq <= r.at || i < b.taken && e.by != r.stream {
			continue
		}
		e.by = r.stream
		dst = append(dst, e.Event)
		r.at = e.Seq
	}
	b.takeAll()
	if b.done {
		return dst, Done
	}
	return dst, Open
}

// Stream returns the number of the stream that the reader reads, see [Box.ReadNew].
func (r *Reader) Stream() uint64 { return r.stream }

// At returns the sequence number of the last message that was handed over to this
// reader, or after which it began.
func (r *Reader) At() uint64 {
	r.box.mu.Lock()
	defer r.box.mu.Unlock()
	return r.at
}

// Over reports whether there is nothing for this reader and never will be.
func (r *Reader) Over() bool {
	r.box.mu.Lock()
	defer r.box.mu.Unlock()
	return r.box.done && !r.lost && r.at >= r.box.last
}

// takeAll notes that everything was handed over and trims what is kept of it.
func (b *Box) takeAll() {
	if b.opts.Kept == (Limits{}) {
		clear(b.entries)
		b.entries = b.entries[:0]
		b.gap = b.last
	} else {
		b.kept += b.pending
		b.taken = len(b.entries)
	}
	b.pending = 0
	for b.taken > 0 && b.opts.Kept.over(b.taken, b.kept) {
		b.dropFirst()
	}
	b.charge()
	b.wakeSpace()
}

// Wake has a value when Next is worth calling again.
func (r *Reader) Wake() <-chan struct{} { return r.wake }

// Close disconnects the reader.
func (r *Reader) Close() {
	b := r.box
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, other := range b.readers {
		if other != r {
			continue
		}
		b.readers = append(b.readers[:i:i], b.readers[i+1:]...)
		break
	}
	if n := len(b.readers); n > 0 {
		top := b.readers[n-1]
		top.at = max(top.at, b.lastTaken()) // nothing is sent on two connections
		top.nudge()
		return
	}
	b.readers = nil
	b.wakeSpace()
	b.fit()
}

func (r *Reader) nudge() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
