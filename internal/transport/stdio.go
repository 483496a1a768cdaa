package transport

import (
	"bufio"
	"context"
	"errors"
	"io"
	"time"

	"durward"
	"durward/internal/exchange/outbox"
	"durward/internal/wire"
)

// ServeStdio serves the line framing over one connection: newline-delimited
// JSON, both eras (2026-07-28, basic/transports/stdio). The connection is a
// session of its own. It returns when the client closed its side and its
// requests have ended, which they get Options.Grace for before they are
// cancelled; or when ctx ends or the edge is closed, in the same way. It closes
// rw. The error is that of the connection, nil at its end or ctx's.
func (e *Edge) ServeStdio(ctx context.Context, rw io.ReadWriteCloser, caller durward.Caller, route durward.Route) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	caller.Session = durward.NewSessionID()
	c := &lineConn{edge: e, rw: rw, route: route, session: e.opts.Sessions.Loose(caller, route), stop: cancel,
		box: outbox.New(outbox.Options{Pending: e.opts.Limits.Queue})}
	defer c.session.End()
	defer rw.Close() // the connection's end is all there is to it
	c.entry.what, c.entry.idle = c, true
	if err := e.live.enter(&c.entry); err != nil {
		return err
	}
	defer e.live.leave(&c.entry)
	return c.run(ctx)
}

// run reads until the end, then winds down.
func (c *lineConn) run(ctx context.Context) error {
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	listens, stopListens := context.WithCancel(work)
	defer stopListens()
	c.work, c.listens, c.stopWork = work, listens, stopWork

	reader, _ := c.box.Read(0)
	written := make(chan struct{})
	go func() { // waited for below
		defer close(written)
		defer c.stop() // nothing more to read for when nothing can be answered
		defer stopWork()
		c.write(reader)
	}()
	unblock := context.AfterFunc(ctx, c.stopReading)
	err := c.read(ctx)
	unblock()
	stopListens()
	if err != nil && ctx.Err() == nil {
		stopWork() // the connection broke: nobody is there for the answers
	}
	c.wind(work, stopWork)
	c.box.Finish(nil, nil)
	c.awaitWriter(written)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// wind waits for the requests in flight, and cancels them after the grace.
func (c *lineConn) wind(work context.Context, stopWork func()) {
	ended := make(chan struct{})
	go func() { // ends with the requests, which are waited for
		c.requests.Wait()
		close(ended)
	}()
	timer := time.NewTimer(max(c.edge.opts.Grace, 0))
	defer timer.Stop()
	select {
	case <-ended:
		return
	case <-timer.C:
	case <-work.Done():
	}
	stopWork()
	<-ended
}

// awaitWriter gives the client time to take what is left, then closes the connection.
func (c *lineConn) awaitWriter(written <-chan struct{}) {
	timer := time.NewTimer(c.edge.opts.Stall)
	defer timer.Stop()
	select {
	case <-written:
	case <-timer.C:
		c.rw.Close() // makes the writer's Write return
		<-written
	}
}

// stopReading makes a Read return that waits for the client.
func (c *lineConn) stopReading() {
	if d, ok := c.rw.(interface{ SetReadDeadline(t time.Time) error }); ok && d.SetReadDeadline(time.Unix(1, 0)) == nil {
		return
	}
	c.rw.Close() // there is no other way to stop the Read
}

// read takes lines until the end of the stream, which is no error.
func (c *lineConn) read(ctx context.Context) error {
	lines := lineReader{from: bufio.NewReaderSize(c.rw, 32<<10), limit: c.edge.opts.Limits.Message}
	for ctx.Err() == nil {
		line, err := lines.next()
		switch {
		case err == nil:
			c.take(line)
		case errors.Is(err, errTooLong):
			c.refuse(nil, wire.CheckSize(lines.size, c.edge.opts.Limits.Message))
		case errors.Is(err, io.EOF):
			return nil
		default:
			return err
		}
	}
	return nil
}

// lineReader cuts a stream into lines of bounded length, each in memory of its own.
type lineReader struct {
	from  *bufio.Reader
	limit int
	size  int // of the line that was too long
}

var errTooLong = errors.New("line too long")

// next returns the next line that is not empty, without its end. errTooLong: the
// line was skipped. A last line without end counts.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, err := l.line()
		if err != nil {
			return nil, err
		}
		if line = wire.CleanLine(line); len(line) > 0 {
			return line, nil
		}
	}
}

func (l *lineReader) line() ([]byte, error) {
	var line []byte
	for l.size = 0; ; {
		some, err := l.from.ReadSlice('\n')
		if l.size += len(some); l.size <= l.limit+2 { // the limit does not count the line's end
			line = append(line, some...)
		} else {
			line = nil
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && l.size > 0, err == nil:
			if l.size > l.limit+2 {
				return nil, errTooLong
			}
			return line, nil
		default:
			return nil, err
		}
	}
}

// write takes what is in the box to the client, until the box is done or the
// client is gone.
func (c *lineConn) write(reader *outbox.Reader) {
	defer reader.Close()
	var events []outbox.Event
	var space []byte
	for {
		var state outbox.State
		events, state = reader.Next(events[:0])
		space = space[:0]
		for _, e := range events {
			if len(space)+len(e.Data) > maxSpace && len(space) > 0 {
				if !c.put(space) {
					return
				}
				space = space[:0]
			}
			if len(e.Data) > maxSpace {
				if !c.put(e.Data) {
					return
				}
				space = append(space, '\n')
				continue
			}
			space = append(append(space, e.Data...), '\n')
		}
		clear(events)
		if len(space) > 0 && !c.put(space) || state != outbox.Open {
			return
		}
		<-reader.Wake()
	}
}

// put writes data, each part within the stall time where the connection has deadlines.
func (c *lineConn) put(data []byte) bool {
	deadline, _ := c.rw.(interface{ SetWriteDeadline(t time.Time) error })
	for len(data) > 0 {
		now := data[:min(len(data), part)]
		if deadline != nil {
			_ = deadline.SetWriteDeadline(time.Now().Add(c.edge.opts.Stall)) // an *os.File may have none
		}
		if _, err := c.rw.Write(now); err != nil {
			return false
		}
		data = data[len(now):]
	}
	return true
}
