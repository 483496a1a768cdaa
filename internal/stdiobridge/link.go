package stdiobridge

import (
	"io"
	"strconv"
	"time"

	"durward/internal/wire"
)

const (
	// greetLimit is how long a service may take to answer the first message on a
	// connection.
	greetLimit = time.Minute
	// drainLimit is how long what a service has sent is waited for when it takes
	// nothing more.
	drainLimit = 2 * time.Second
)

// link is one connection to the service. The goroutine of Run reads from it.
// Another one writes to it, which run waits for; but a line that comes when there
// is nothing else to write is written by who read it, which spares a turn.
type link struct {
	b    *Bridge
	conn io.ReadWriteCloser

	// Guarded by b.mu.
	own    [][]byte           // lines of ours that go first
	mine   map[string]purpose // our requests that have no answer yet
	minted int                // their ids
	open   bool               // the client's lines may go
	closed bool               // nothing more is to be written
	busy   bool               // somebody writes: the owner of batch and space
	unsent []*entry           // lines of the client that were not handed over when writing failed
	renew  []string           // resources to subscribe to again, not asked for yet

	batch []*entry
	space []byte
}

// purpose is what a request of ours is for.
type purpose struct {
	method string
	uri    string
}

func newLink(b *Bridge, conn io.ReadWriteCloser) *link {
	l := &link{b: b, conn: conn, mine: map[string]purpose{}}
	b.mu.Lock()
	defer b.mu.Unlock()
	// A service that is about to end accepts a connection and never reads it. So
	// nothing is handed over before it has answered something.
	if b.session.greeted {
		l.request(purpose{method: wire.MethodInitialize}, b.session.hello)
	} else {
		l.request(purpose{method: wire.MethodPing}, nil)
	}
	b.link = l
	return l
}

// request queues a request of ours. b.mu is held.
func (l *link) request(why purpose, params []byte) {
	l.minted++
	id := l.b.mark + strconv.Itoa(l.minted) + `"`
	l.mine[id] = why
	l.own = append(l.own, append(wire.AppendRequest(nil, []byte(id), why.method, params), '\n'))
}

// run carries lines until the connection has ended.
func (l *link) run() {
	written := make(chan struct{})
	go func() {
		defer close(written)
		l.write()
	}()
	greet := time.AfterFunc(greetLimit, l.giveUpGreeting)
	l.read()
	greet.Stop()
	l.conn.Close()
	l.b.mu.Lock()
	l.closed, l.b.link = true, nil
	l.b.work.Broadcast()
	l.b.mu.Unlock()
	<-written
}

func (l *link) giveUpGreeting() {
	l.b.mu.Lock()
	defer l.b.mu.Unlock()
	if !l.open {
		l.conn.Close()
	}
}

// errand is what the writer is to do next.
type errand int

const (
	rest      errand = iota // nothing, ever
	writeOwn                // what is in space
	writeThem               // the entries in batch, of which there may be none
	sayEnd                  // the client has said everything
)

// write writes until there is nothing more to be written.
func (l *link) write() {
	for {
		what, refusals := l.next()
		switch what {
		case writeOwn:
			_, err := l.conn.Write(l.space)
			l.wrote(err)
		case writeThem:
			l.b.out.send(refusals...)
			l.hand()
		case sayEnd:
			if half, can := l.conn.(interface{ CloseWrite() error }); can {
				_ = half.CloseWrite() // a connection that broke shows by reading
			}
			return
		case rest:
			return
		}
	}
}

// next waits for something to do. Requests that cannot go are answered by the refusals.
func (l *link) next() (what errand, refusals [][]byte) {
	b := l.b
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		switch {
		case l.busy: // its end is worth waiting for in any case
		case l.closed:
			return rest, nil
		case len(l.own) > 0:
			l.space = l.space[:0]
			for _, line := range l.own {
				l.space = append(l.space, line...)
			}
			l.own, l.busy = nil, true
			return writeOwn, nil
		case l.open && len(b.queue) > 0:
			l.busy = true
			return writeThem, l.load()
		case l.open && b.ended:
			return sayEnd, nil
		}
		b.work.Wait()
	}
}

// goNow writes what is queued if nobody else does and nothing else comes first;
// if not, the writer will.
func (b *Bridge) goNow() {
	b.mu.Lock()
	l := b.link
	if l == nil || !l.open || l.busy || l.closed || len(l.own) > 0 || len(b.queue) == 0 {
		b.mu.Unlock() // who is busy looks again, and opening wakes the writer
		return
	}
	l.busy = true
	refusals := l.load()
	b.mu.Unlock()
	b.out.send(refusals...)
	l.hand()
}

// wrote notes that somebody has written, and whether it failed: then no more is.
func (l *link) wrote(err error) {
	l.b.mu.Lock()
	defer l.b.mu.Unlock()
	l.busy = false
	if err != nil && !l.closed {
		l.closed = true
		// What the service has sent is worth reading still; then it is over.
		time.AfterFunc(drainLimit, func() { l.conn.Close() })
	}
	if l.closed || len(l.own) > 0 || len(l.b.queue) > 0 || l.b.ended {
		l.b.work.Signal() // not for nothing: waking it costs more than a line
	}
}

// load takes entries from the queue into the batch, as many as are written at
// once. b.mu is held.
func (l *link) load() (refusals [][]byte) {
	b := l.b
	taken, size := 0, 0
	for _, e := range b.queue {
		if taken > 0 && size+len(e.line) > bufferSize {
			break
		}
		taken++
		size += len(e.line)
		bytes := len(e.line)
		pass, err := b.depart(e)
		switch {
		case pass:
			b.weight += len(e.line) - bytes // an answer has another id now
			l.batch = append(l.batch, e)
			continue
		case err != nil:
			refusals = append(refusals, wire.AppendFailure(nil, e.id, wire.ErrorObject(err)))
		}
		b.took(bytes)
	}
	b.queue = append(b.queue[:0], b.queue[taken:]...)
	return refusals
}

// depart notes what a line means that is about to be handed over. False: it must
// not be; an error is the answer to it then. b.mu is held.
func (b *Bridge) depart(e *entry) (pass bool, err error) {
	switch e.kind {
	case wire.Request:
		err = b.flights.add(e)
		return err == nil, err
	case wire.Notification:
		if f := b.flights.byID[string(e.about)]; f != nil && e.about != nil && f.method != wire.MethodInitialize {
			b.flights.remove(f) // nobody waits for its answer any more
		}
		return true, nil
	case wire.Result, wire.Failure:
		line, ok := b.asks.answer(wire.CleanLine(e.line), e.id)
		if ok {
			e.line = withEnd(line)
		}
		return ok, nil
	default:
		return true, nil
	}
}

// hand writes the batch, and notes how much of it may have been read.
func (l *link) hand() {
	var data []byte
	if len(l.batch) == 1 {
		data = l.batch[0].line
	} else {
		data = l.space[:0]
		for _, e := range l.batch {
			data = append(data, e.line...)
		}
		l.space = data
	}
	n, err := 0, error(nil)
	if len(data) > 0 {
		n, err = l.conn.Write(data)
	}
	l.note(n, err)
	l.wrote(err)
}

// note notes that n bytes of the batch were written.
func (l *link) note(n int, err error) {
	b := l.b
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, e := range l.batch {
		size := len(e.line)
		if err != nil && n < e.whole() {
			l.unsent = append(l.unsent, l.batch[i:]...)
			break
		}
		n -= size
		b.handed(e)
		b.took(size)
	}
	clear(l.batch)
	l.batch = l.batch[:0]
}

// handed notes that the service may have read a line. b.mu is held.
func (b *Bridge) handed(e *entry) {
	switch {
	case e.kind == wire.Request:
		b.flights.hand(e)
	case e.method == wire.NoteInitialized:
		b.session.initialized = true
	}
}
