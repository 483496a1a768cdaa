package worker

import (
	"io"
	"sync"

	"durward"
)

// queueFloor is the least bound of a pump's queue, in bytes.
const queueFloor = 64 << 20

// keepBuffer is the largest write buffer that is kept for the next message.
const keepBuffer = 1 << 20

// pump writes messages to a pipe and never blocks those who hand them over.
//
// Who hands over a message while nobody writes makes one attempt that cannot
// block, on its own goroutine: that spares a switch of goroutines per call, the
// larger part of what a call costs here. What does not fit into the pipe, and what
// others hand over meanwhile, is written by the pump's own goroutine, in one piece.
type pump struct {
	to     io.WriteCloser
	try    func([]byte) (int, error) // never blocks; nil where the system has no such write
	limit  int                       // bytes waiting
	failed func(written uint64)      // called once, by the pump's goroutine, when writing failed

	wake    chan struct{} // has room for one; closed by stop
	done    chan struct{} // closed when the pump's goroutine ended
	closing sync.Once     // of to

	mu      sync.Mutex // guards the fields below
	settled sync.Cond  // with mu: trying became false
	queue   []byte     // messages that nobody is writing yet
	rest    []byte     // what an attempt left over; goes before queue
	spare   []byte     // an empty buffer, to be the next queue
	total   uint64     // bytes ever handed over: the offset of the next message
	written uint64     // bytes that are in the pipe
	busy    bool       // somebody writes, or the pump's goroutine was woken to
	trying  bool       // that somebody is a sender
	stopped bool       // wake is closed
	err     error      // why no more is taken
}

// newPump starts the goroutine of a pump; stop ends it and waits for it.
func newPump(to io.WriteCloser, maxMessage int, failed func(written uint64)) *pump {
	p := &pump{
		to: to, try: nonBlocking(to), limit: max(2*maxMessage, queueFloor), failed: failed,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	p.settled.L = &p.mu
	go p.run()
	return p
}

// put hands over one message of about size bytes. build appends it to dst,
// newline included; start is the message's offset in all that is ever written.
// build may refuse by returning false. It is called under the pump's lock.
// An error means that not a byte of the message went out.
func (p *pump) put(size int, build func(dst []byte, start uint64) ([]byte, bool)) error {
	p.mu.Lock()
	if err := p.refusal(size); err != nil {
		p.mu.Unlock()
		return err
	}
	longer, ok := build(p.queue, p.total)
	if !ok {
		p.mu.Unlock()
		return durward.Errorf(durward.Unavailable, "", "the connection to the server is closed")
	}
	p.total += uint64(len(longer) - len(p.queue))
	p.queue = longer
	if p.busy {
		p.mu.Unlock()
		return nil
	}
	p.busy = true
	if p.try == nil {
		p.signal()
		p.mu.Unlock()
		return nil
	}
	buf := p.take()
	p.trying = true
	p.mu.Unlock()
	n, err := p.try(buf)
	return p.settle(buf, n, err)
}

// refusal says why a message of size bytes is not taken now. It needs mu.
func (p *pump) refusal(size int) error {
	if p.err != nil {
		return p.err
	}
	if waiting := p.total - p.written; waiting+uint64(size) > uint64(p.limit) {
		return durward.Errorf(durward.Unavailable, "",
			"the server does not read its input: %d bytes wait for it already, the queue holds %d (twice limits.message, at least %d)",
			waiting, p.limit, queueFloor)
	}
	return nil
}

// take returns the queue and puts an empty one in its place. It needs mu.
func (p *pump) take() []byte {
	buf := p.queue
	p.queue, p.spare = p.spare, nil
	return buf
}

// settle ends a sender's attempt. Before it the queue was empty, so buf is one
// message: when nothing of it went out, the sender is told.
func (p *pump) settle(buf []byte, n int, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trying = false
	p.written += uint64(n)
	if err != nil {
		p.fail(err)
	}
	switch {
	case p.err != nil: // also when stop came in between: the rest is dropped
		p.signal()
	case n < len(buf):
		p.rest = buf[n:]
		p.signal()
	default:
		p.recycle(buf)
		if p.busy = len(p.queue) > 0; p.busy {
			p.signal()
		}
	}
	p.settled.Broadcast()
	if err != nil && n == 0 {
		return p.err
	}
	return nil
}

// recycle keeps buf for a later message. It needs mu.
func (p *pump) recycle(buf []byte) {
	if cap(buf) > keepBuffer {
		return
	}
	if p.queue == nil {
		p.queue = buf[:0]
	} else if p.spare == nil {
		p.spare = buf[:0]
	}
}

// fail notes why nothing is written any more. It needs mu.
func (p *pump) fail(err error) {
	if p.err == nil {
		p.err = durward.Errorf(durward.Unavailable, "", "the server takes no more input: %w", err)
	}
}

// signal wakes the pump's goroutine. It needs mu.
func (p *pump) signal() {
	if p.stopped {
		return
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *pump) run() {
	defer close(p.done)
	told := false
	for range p.wake {
		for buf := p.next(); buf != nil; buf = p.next() {
			n, err := p.to.Write(buf)
			p.wrote(buf, n, err)
		}
		if written, failed := p.failure(); failed && !told {
			told = true
			p.failed(written)
		}
	}
}

// next returns what is to be written, nil when there is nothing (any more).
func (p *pump) next() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return nil
	}
	if buf := p.rest; buf != nil {
		p.rest = nil
		return buf
	}
	if len(p.queue) == 0 {
		p.busy = false
		return nil
	}
	return p.take()
}

func (p *pump) wrote(buf []byte, n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written += uint64(n)
	if err != nil {
		p.fail(err)
		return
	}
	p.recycle(buf)
}

func (p *pump) failure() (written uint64, failed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.written, p.err != nil
}

// shut closes the pipe; what waits is dropped, and put fails with err from now
// on. It does not wait.
func (p *pump) shut(err error) {
	p.mu.Lock()
	if p.err == nil {
		p.err = err
	}
	p.mu.Unlock()
	p.closing.Do(func() { p.to.Close() })
}

// stop is shut, and waits until nobody writes. It returns how many bytes went out.
func (p *pump) stop(err error) (written uint64) {
	p.shut(err)
	p.mu.Lock()
	p.stopped = true
	close(p.wake)
	for p.trying {
		p.settled.Wait()
	}
	p.mu.Unlock()
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.written
}

func tooLarge(size, limit int) error {
	return durward.Errorf(durward.Invalid, "", "the request of %d bytes is larger than limits.message (%d bytes)", size, limit)
}
