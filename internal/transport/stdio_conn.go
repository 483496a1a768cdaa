package transport

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/exchange/outbox"
	"durward/internal/wire"
)

// lineConn is one connection with line framing.
type lineConn struct {
	edge    *Edge
	rw      io.ReadWriteCloser
	route   durward.Route
	session Session
	entry   entry
	stop    context.CancelFunc // ends the connection
	box     *outbox.Box        // all that goes to the client

	work, listens context.Context // of requests; listens ends when the client stops sending
	stopWork      context.CancelFunc
	requests      sync.WaitGroup

	greeted bool // initialize was answered; owned by the goroutine that reads
}

func (c *lineConn) beat(time.Time) {} // lines need no keep-alive
func (c *lineConn) cancel()        { c.stop() }

// take serves one line.
func (c *lineConn) take(data []byte) {
	q := &lineCall{conn: c}
	m := &q.msg
	if err := wire.Parse(data, wire.FromClient, m); err != nil {
		id, refused := unreadable(data, err)
		c.refuse(id, refused)
		return
	}
	switch m.Kind {
	case wire.Request:
		if err := c.request(q); err != nil {
			c.refuse(m.ID, err)
		}
	case wire.Notification:
		c.hear(m)
	default:
		if m.ID != nil {
			c.session.Answer(m.ID, exchange.Reply{Result: m.Result, Error: m.Error})
		}
	}
}

// hear takes a notification of either era.
func (c *lineConn) hear(m *wire.Message) {
	if m.Method == wire.NoteCancelled || c.greeted && !m.Params.Modern() {
		c.edge.hear(c.work, c.session, c.route, m)
	}
}

// request begins a request; an error is answered by the caller.
func (c *lineConn) request(q *lineCall) error {
	q.in.Route, q.in.Received, q.in.Caller = c.route, time.Now(), c.session.Caller()
	m := &q.msg
	switch {
	case m.Params.Modern() || m.Method == wire.MethodDiscover:
		if err := readModern(m, &q.in, &c.edge.said); err != nil {
			return err
		}
		q.rules.modern, q.rules.listen = true, m.Method == wire.MethodListen
	case m.Method == wire.MethodInitialize:
		return c.initialize(q)
	case m.Method == wire.MethodPing:
		c.answer(m.ID, exchange.Reply{Result: emptyResult})
		return nil
	case !c.greeted:
		return &wire.CodeError{Code: wire.CodeInvalidRequest, Message: "send initialize first, or the metadata of revision " + wire.RevisionModern}
	default:
		fillLegacy(m, &q.in, c.session.Client())
		q.in.LogLevel = c.session.Level()
	}
	q.rules.token, q.rules.level = m.Params.InMeta.ProgressToken.Of(m.Params.Raw), q.in.LogLevel
	parent := c.work
	if m.Method == wire.MethodListen {
		parent = c.listens
	}
	ctx, turn, err := c.session.Enter(parent, m.ID)
	if err != nil {
		return err
	}
	c.requests.Go(func() { q.serve(ctx, turn) })
	return nil
}

// initialize is served before the next line is read, so that a client which does
// not wait for the answer finds its session open.
func (c *lineConn) initialize(q *lineCall) error {
	if c.greeted {
		return &wire.CodeError{Code: wire.CodeInvalidRequest, Message: "this connection is initialized already"}
	}
	client, err := greeting(&q.msg.Params)
	if err != nil {
		return err
	}
	c.session.Greet(client)
	fillLegacy(&q.msg, &q.in, client)
	q.in.Caller = c.session.Caller()
	reply := c.edge.opts.Core.Serve(c.work, &q.in, q)
	if reply.Error == nil {
		c.greeted = true
		feed := &feed{session: c.session, send: func(data []byte, class outbox.Class) { c.send(data, class) }}
		c.session.OnEnd(c.edge.opts.Core.Attach(c.session.Caller(), c.route, feed))
	}
	q.over.Store(true)
	c.answer(q.msg.ID, reply)
	return nil
}

// send puts a message on the way without waiting. A client that falls too far
// behind loses its connection.
func (c *lineConn) send(data []byte, class outbox.Class) bool {
	if c.box.Put(data, class) {
		return true
	}
	c.stopWork()
	c.stop()
	return false
}

// answer waits until the client has room for it.
func (c *lineConn) answer(id []byte, reply exchange.Reply) {
	c.box.PutWait(context.Background(), message(id, reply)) // ends with the writer at the latest
}

func (c *lineConn) refuse(id []byte, err error) {
	c.box.PutWait(context.Background(), wire.AppendFailure(nil, id, failureOf(err)))
}

// lineCall is one request on a connection.
type lineCall struct {
	conn  *lineConn
	msg   wire.Message
	in    exchange.Inbound
	rules noteRules
	over  atomic.Bool // answered

	mu    sync.Mutex // guards ended
	ended chan struct{}
}

func (q *lineCall) serve(ctx context.Context, turn <-chan struct{}) {
	reply, wanted := serve(ctx, turn, q.conn.edge.opts.Core, q.conn.session, &q.in, q)
	q.over.Store(true)
	q.mu.Lock()
	if q.ended != nil {
		close(q.ended)
	}
	q.mu.Unlock()
	if wanted {
		q.conn.answer(q.msg.ID, reply)
	}
}

// Notify sends a notification about this request.
func (q *lineCall) Notify(method string, params []byte) {
	if q.over.Load() {
		return
	}
	if data, class, ok := q.rules.render(method, params); ok {
		q.conn.send(data, class)
	}
}

// Ask sends a request of the server to a legacy client and waits for the answer.
func (q *lineCall) Ask(ctx context.Context, method string, params []byte) exchange.Reply {
	if q.in.Client.Era != wire.Legacy {
		return cannotAsk(method)
	}
	q.mu.Lock()
	if q.over.Load() {
		q.mu.Unlock()
		return cannotAsk(method)
	}
	if q.ended == nil {
		q.ended = make(chan struct{})
	}
	ask := question{session: q.conn.session, limit: q.conn.edge.opts.Limits.Ask, over: q.ended,
		send: func(data []byte) bool { return q.conn.send(data, outbox.Plain) }}
	q.mu.Unlock()
	return ask.ask(ctx, method, params)
}
