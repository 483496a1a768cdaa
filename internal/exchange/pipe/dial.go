package pipe

import (
	"bufio"
	"errors"
	"io"
	"math"
	"slices"
	"sync"

	"durward"
	"durward/internal/exchange"
)

// queueFloor is the least bound of what waits for the far end, in bytes.
const queueFloor = 64 << 20

// Dial is the core's end: it asks the far end behind rw to open a link with
// spec and returns its Link. It owns rw and closes it. The far end may vanish at
// any time: then every call under way gets a Fault, and Closed follows. Closing rw
// must end a Read and a Write that are under way.
//
// Send never blocks. It fails with Unavailable when the link is closed or its
// queue is full (twice limits.message, at least 64 MiB), and with Invalid when the
// message is over limits.message. A call that the far end does not take is answered
// with a Fault.
func Dial(rw io.ReadWriteCloser, spec exchange.LinkSpec, sink exchange.Sink) exchange.Link {
	n := &nearEnd{
		rw: rw, sink: sink, framer: newFramer(frameLimit(&spec)), wrote: make(chan struct{}),
		calls: map[uint64]uint64{}, limit: 2 * frameLimit(&spec),
	}
	n.limit = max(n.limit, queueFloor)
	n.more.L = &n.mu
	err := n.queueFrame(n.limit, func(p *packer) { p.spec(&spec) }, nil)
	go n.write()
	go n.read(err)
	return n
}

// nearEnd is the core's end. Its reading goroutine waits for the writing one and
// sends Closed last.
type nearEnd struct {
	rw     io.ReadWriteCloser
	sink   exchange.Sink // of the reader
	framer *framer       // locked before mu
	wrote  chan struct{} // closed when the writer ended
	limit  int

	mu      sync.Mutex // guards the fields below
	more    sync.Cond  // with mu: queue or ended changed
	queue   []byte
	total   uint64            // bytes ever queued
	written uint64            // bytes that left
	calls   map[uint64]uint64 // call under way -> offset of its frame
	opened  bool
	stopped bool // Close was called
	ended   bool
}

var _ exchange.Link = (*nearEnd)(nil)

// Send queues m; see [Dial].
func (n *nearEnd) Send(m exchange.Message) error {
	if !n.isOpen() {
		return durward.Errorf(durward.Unavailable, "", "the connection to the server is not open yet")
	}
	switch m := m.(type) {
	case *exchange.Call:
		return n.queueFrame(n.limit, func(p *packer) { p.message(m) }, func() { n.calls[m.ID] = n.total })
	case *exchange.Cancel:
		if !n.answered(m.ID) {
			return nil // meanwhile
		}
		return n.queueFrame(n.limit, func(p *packer) { p.message(m) }, nil)
	case *exchange.Notification, *exchange.Response:
		return n.queueFrame(n.limit, func(p *packer) { p.message(m) }, nil)
	default:
		return durward.Errorf(durward.Internal, "pipe", "a %T does not go to a connection", m)
	}
}

// queueFrame packs one frame and queues it while no more than limit bytes wait;
// note is called under mu when it is taken.
func (n *nearEnd) queueFrame(limit int, pack func(*packer), note func()) error {
	return n.framer.frame(pack, func(frame []byte) error {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.ended || n.stopped {
			return durward.Errorf(durward.Unavailable, "", "the connection to the server is closed")
		}
		if len(n.queue)+len(frame) > limit {
			return durward.Errorf(durward.Unavailable, "",
				"the worker does not read: %d bytes wait for it already, the queue holds %d (twice limits.message, at least %d)",
				len(n.queue), limit, queueFloor)
		}
		if note != nil {
			note()
		}
		n.total += uint64(len(frame))
		n.queue = append(n.queue, frame...)
		n.more.Signal()
		return nil
	})
}

// Close asks the far end to close its link. Closed follows. The request is queued
// even when the queue is full.
func (n *nearEnd) Close() {
	_ = n.queueFrame(math.MaxInt, func(p *packer) { p.begin(kindClose) }, func() { n.stopped = true })
}

// write is the writing goroutine.
func (n *nearEnd) write() {
	defer close(n.wrote)
	var buf []byte
	for {
		var ok bool
		if buf, ok = n.next(buf); !ok {
			return
		}
		sent, err := n.rw.Write(buf)
		n.mu.Lock()
		n.written += uint64(sent)
		n.mu.Unlock()
		if err != nil {
			n.rw.Close() // the reader ends the link
			return
		}
	}
}

// next waits for something to write and takes it; spent becomes the next queue.
func (n *nearEnd) next(spent []byte) ([]byte, bool) {
	if cap(spent) > frameTrust {
		spent = nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.queue) == 0 && !n.ended {
		n.more.Wait()
	}
	if n.ended {
		return nil, false
	}
	full := n.queue
	n.queue = spent[:0]
	return full, true
}

var errNoClosed = errors.New("the worker ended without a word")

// read is the reading goroutine. err is why the link could not be asked for.
func (n *nearEnd) read(err error) {
	if err != nil {
		n.finish(nil, err)
		return
	}
	from := bufio.NewReaderSize(n.rw, 64<<10)
	for {
		m, err := n.receive(from)
		closed, last := m.(*exchange.Closed)
		switch {
		case err != nil:
			n.finish(nil, err)
			return
		case last:
			n.finish(closed, nil)
			return
		case m != nil:
			n.sink.Receive(m)
		}
	}
}

// receive reads one message; nil when it is for nobody any more.
func (n *nearEnd) receive(from io.Reader) (exchange.Message, error) {
	frame, err := readFrame(from, n.framer.limit)
	if err != nil {
		return nil, err
	}
	m, err := decode(frame)
	if err != nil {
		return nil, err
	}
	switch m := m.(type) {
	case *exchange.Response:
		if !n.answered(m.ID) {
			return nil, nil // a late answer: for nobody
		}
		return m, nil
	case *exchange.Opened:
		if !n.open() {
			return nil, errors.New("the worker opened the link twice")
		}
		return m, nil
	case *exchange.Notification, *exchange.ServerRequest, *exchange.Anomaly, *exchange.Closed:
		return m.(exchange.Message), nil
	default:
		return nil, errors.New("a frame of the worker that does not go this way")
	}
}

func (n *nearEnd) answered(id uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, ok := n.calls[id]
	delete(n.calls, id)
	return ok
}

func (n *nearEnd) isOpen() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.opened
}

func (n *nearEnd) open() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	first := !n.opened
	n.opened = true
	return first
}

// finish ends the link: with the far end's Closed, after which no call it
// accepted is open, or without because of err.
func (n *nearEnd) finish(closed *exchange.Closed, err error) {
	n.mu.Lock()
	n.ended = true
	n.more.Signal()
	n.mu.Unlock()
	n.rw.Close()
	<-n.wrote

	n.mu.Lock()
	orderly := closed != nil
	if !orderly {
		closed = n.lost(err)
	}
	ids := make([]uint64, 0, len(n.calls))
	for id := range n.calls {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	faults := make([]exchange.Message, 0, len(ids))
	for _, id := range ids {
		delivered := !orderly && n.calls[id] < n.written
		faults = append(faults, &exchange.Response{ID: id, Fault: noAnswer(delivered, closed.Fault.Message)})
	}
	clear(n.calls)
	n.mu.Unlock()
	for _, m := range faults {
		n.sink.Receive(m)
	}
	n.sink.Receive(closed)
}

// lost says why the link ended without Closed. It needs mu.
func (n *nearEnd) lost(err error) *exchange.Closed {
	if errors.Is(err, io.EOF) {
		err = errNoClosed
	}
	c := &exchange.Closed{Fault: exchange.Fault{Kind: uint8(durward.Unavailable), Message: "the link to the worker is broken: " + err.Error()}}
	switch {
	case n.stopped:
		c.Phase = exchange.PhaseStopped
	case n.opened:
		c.Phase = exchange.PhaseReady
	}
	return c
}

func noAnswer(delivered bool, why string) *exchange.Fault {
	if delivered {
		return &exchange.Fault{Kind: uint8(durward.Unknown), Message: why + "; it may or may not have executed the request", Delivered: true}
	}
	return &exchange.Fault{Kind: uint8(durward.Unavailable), Message: why + "; the request did not reach it"}
}
