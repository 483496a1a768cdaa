package stdiobridge

import (
	"bytes"
	"errors"

	"durward/internal/wire"
)

// What is read of the client and not handed over. Then the client has to wait.
const (
	queueMost  = 64
	queueBytes = 1 << 20 // one line may exceed it
)

// entry is a line of the client.
type entry struct {
	line   []byte    // with its end; nil when it was handed over and is not kept
	kind   wire.Kind // 0: not to be read as a message; the service says why
	method string
	id     []byte // aliases line
	about  []byte // of notifications/cancelled: the id of the request

	// Of a request in flight; guarded by Bridge.mu.
	key    string // its id
	seq    uint64 // their order
	handed bool   // it may have been read by the service
	kept   int    // bytes of line that count as kept
	tries  int    // how often it was sent again

	// Of subscriptions/listen; guarded by Bridge.mu.
	acked   bool
	ack     uint64 // digest of what was acknowledged
	renewed bool   // sent again, and not acknowledged since
	held    []byte // its result, see hold
}

// readEntry scans a line. What it returns has memory of its own.
func readEntry(line []byte) *entry {
	e := &entry{line: withEnd(line)}
	var m wire.Message
	if wire.Parse(wire.CleanLine(e.line), wire.FromClient, &m) != nil {
		return e
	}
	e.kind, e.method, e.id = m.Kind, m.Method, m.ID
	if m.Method == wire.NoteCancelled {
		e.about = m.Params.RequestID.Of(m.Params.Raw)
	}
	return e
}

// withEnd returns a copy of a line that has an end.
func withEnd(line []byte) []byte {
	own := make([]byte, len(line), len(line)+1)
	copy(own, line)
	if len(own) == 0 || own[len(own)-1] != '\n' {
		own = append(own, '\n')
	}
	return own
}

// params returns the raw params of a line that is kept, nil if it is not.
func (e *entry) params() []byte {
	if e.line == nil {
		return nil
	}
	return wire.Get(wire.CleanLine(e.line), "params")
}

// whole is how many bytes of the line make a message of it: all up to the end of
// its text. With less the service cannot have understood it, since an object that
// is not closed is none; the line's end it does not need.
func (e *entry) whole() int { return len(bytes.TrimRight(e.line, " \t\r\n")) }

// readInput reads lines of the client until there are none.
func (b *Bridge) readInput() {
	lines := newLineReader(b.opt.In, lineMost)
	for {
		line, err := lines.next()
		if errors.Is(err, errTooLong) {
			b.out.send(wire.AppendFailure(nil, nil, wire.ErrorObject(wire.CheckSize(lines.size, lineMost))))
			continue
		}
		if len(wire.CleanLine(line)) > 0 && !b.push(readEntry(line)) {
			return
		}
		if err != nil {
			b.endInput()
			return
		}
		if lines.waits() {
			b.goNow()
		}
	}
}

// push queues a line when there is room; [Bridge.goNow] has to follow, unless more
// lines are at hand. False: nobody will take it.
func (b *Bridge) push(e *entry) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for (b.load >= queueMost || b.weight >= queueBytes) && !b.over {
		b.room.Wait()
	}
	if b.over {
		return false
	}
	b.queue = append(b.queue, e)
	b.load++
	b.weight += len(e.line)
	if b.load >= queueMost || b.weight >= queueBytes {
		b.work.Signal()
	}
	return true
}

// endInput notes that the client says nothing more. It wants no subscriptions then.
func (b *Bridge) endInput() {
	b.mu.Lock()
	b.ended = true
	held := b.releaseHeld()
	if b.leave != nil && len(b.queue) == 0 {
		b.leave()
	}
	b.work.Signal()
	b.mu.Unlock()
	b.out.send(held...)
}

// took notes that a line is no longer waiting: it was handed over, or dropped.
// b.mu is held.
func (b *Bridge) took(bytes int) {
	b.load--
	b.weight -= bytes
	b.room.Signal()
}
