package worker

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// OpenSSE connects to a server over the deprecated HTTP+SSE transport of
// 2024-11-05: one stream on which everything comes, and an endpoint named on it
// to which everything is POSTed. The endpoint must have the origin of spec.URL.
// All requests go through rt. The stream is the session: when it breaks, the
// connection is Closed.
func OpenSSE(spec exchange.LinkSpec, rt http.RoundTripper, sink exchange.Sink) exchange.Link {
	spec = withDefaults(spec)
	r, err := newRemote(&spec, rt)
	if err == nil && spec.Era == wire.Modern {
		err = durward.Errorf(durward.Invalid, "", "HTTP+SSE exists in the legacy era only; set servers.%s.transport to http, or era to auto", spec.Server)
	}
	if err != nil {
		return brokenLink(spec, sink, err)
	}
	spec.Era = wire.Legacy
	l := newWebLink(spec, r, sink)
	l.oneStream = true
	l.via = &eventStream{link: l, remote: r, begun: make(chan struct{}), endpoint: make(chan string, 1), openings: make(chan answer, 1)}
	go l.run()
	return l
}

// eventStream is HTTP+SSE.
type eventStream struct {
	link    *webLink
	remote  *remote // of the stream
	post    *remote // of the endpoint
	dialect *dialect
	headers *headers // like all fields above, it does not change after open

	endpoint chan string   // the first one named
	openings chan answer   // to requests of the handshake
	begun    chan struct{} // closed once the core knows that the connection is open
	answered atomic.Bool   // the handshake is
}

// open implements carrier.
func (e *eventStream) open(ctx context.Context) (*exchange.Opened, *exchange.Closed) {
	ctx, cancel := context.WithTimeout(ctx, e.link.spec.InitTimeout)
	defer cancel()
	e.headers = newHeaders(e.remote.static, wire.Legacy, "", "")
	if f := e.connect(ctx); f != nil {
		return nil, unopened(f)
	}
	h := &handshake{spec: e.link.spec, via: e}
	opened, closed := h.run(ctx)
	if closed != nil {
		return nil, closed
	}
	e.dialect = newDialect(opened.Era, opened.Revision, e.link.spec.ClientInfo)
	e.headers = newHeaders(e.remote.static, opened.Era, opened.Revision, "")
	if f := e.tell(ctx, appendNote(nil, wire.NoteInitialized, nil)); f != nil {
		return nil, unopened(f)
	}
	return opened, nil
}

// connect opens the stream and waits for the endpoint's name.
func (e *eventStream) connect(ctx context.Context) *exchange.Fault {
	// The stream outlives ctx, which bounds only its opening.
	life, drop := context.WithCancel(e.link.life)
	stop := context.AfterFunc(ctx, drop)
	resp, f := e.remote.do(life, http.MethodGet, e.headers.get, nil)
	if f != nil {
		drop()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			f = e.slow("accept the connection")
		}
		return f
	}
	if resp.StatusCode/100 != 2 || !isStream(resp.Header) {
		defer drop()
		defer discard(resp)
		return e.noStream(resp)
	}
	if !e.link.start(func() { e.read(life, resp, drop) }) {
		drop()
		return e.remote.fault(durward.Unavailable, false, "was left: the connection was closed")
	}
	select {
	case name := <-e.endpoint:
		if !stop() {
			return e.slow("name its endpoint")
		}
		return e.setEndpoint(resp, name)
	case <-ctx.Done():
		return e.slow("name its endpoint")
	case <-life.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return e.slow("name its endpoint")
		}
		return e.remote.fault(durward.Unavailable, false, "ended its stream without naming an endpoint")
	}
}

func (e *eventStream) slow(what string) *exchange.Fault {
	return e.remote.fault(durward.Timeout, false, "did not %s within the start time-out of %s; raise servers.%s.start_timeout if it needs longer", what, e.link.spec.InitTimeout, e.remote.server)
}

func (e *eventStream) noStream(resp *http.Response) *exchange.Fault {
	f := e.remote.statusFault(resp, e.remote.readFailure(resp))
	if kind := durward.Kind(f.Kind); kind == durward.Unavailable || kind == durward.Invalid {
		f.Message += "; if it speaks streamable HTTP, set servers." + e.remote.server + ".transport to http"
	}
	return f
}

// setEndpoint takes the place to POST to, which must not lead elsewhere: the
// configured credentials go there.
func (e *eventStream) setEndpoint(resp *http.Response, name string) *exchange.Fault {
	base := e.remote.target
	if resp.Request != nil && resp.Request.URL != nil {
		base = resp.Request.URL
	}
	to, err := base.Parse(name)
	if err != nil {
		return e.remote.fault(durward.Invalid, false, "names an endpoint that is no URL%s", e.remote.quoted([]byte(name)))
	}
	to.User, to.Fragment = nil, ""
	if !sameOrigin(base, to) {
		return e.remote.fault(durward.Invalid, false, "names an endpoint at another origin, %s://%s, which is not used", to.Scheme, to.Host)
	}
	post := *e.remote
	post.target = to
	e.post = &post
	return nil
}

// read hands on what the stream brings. When it ends, so does the connection.
func (e *eventStream) read(life context.Context, resp *http.Response, drop context.CancelFunc) {
	defer drop()
	err := e.events(resp)
	_ = resp.Body.Close() // it is over
	if life.Err() != nil {
		return // we let it go
	}
	why := e.remote.fault(durward.Unavailable, false, "ended its event stream (%v)", err)
	e.link.end(e.link.phase(), *why)
}

func (e *eventStream) events(resp *http.Response) error {
	src, err := e.remote.contentOf(resp)
	if err != nil {
		return err
	}
	events := newSSEReader(src, e.remote.limit, "")
	defer events.release()
	for {
		ev, err := events.Next()
		switch {
		case err != nil:
			return err
		case ev.Type == "endpoint":
			select {
			case e.endpoint <- string(ev.Data):
			default: // named again; the first one stays
			}
		case isMessage(&ev):
			e.message(&ev)
		}
	}
}

// message takes a message of the stream. Until the handshake is answered only
// its answer matters: the core asks for all lists once it knows of the
// connection. From then on nothing is lost, but the core hears of the connection first.
func (e *eventStream) message(ev *sseEvent) {
	if !e.answered.Load() {
		if a, ok := openingMessage(ev.Data); ok {
			e.answered.Store(true)
			e.openings <- a // has room for the one there is
		}
		return
	}
	select {
	case <-e.begun:
		e.link.hear(ev, 0)
	case <-e.link.life.Done():
	}
}

// begin implements trip.
func (e *eventStream) begin(ctx context.Context, o opening) <-chan answer {
	reply := make(chan answer, 1)
	if !e.link.start(func() { reply <- e.ask(ctx, &o) }) {
		reply <- answer{err: durward.Errorf(durward.Unavailable, "", "the connection was closed")}
	}
	return reply
}

func (e *eventStream) ask(ctx context.Context, o *opening) answer {
	status, f := e.send(ctx, e.headers.post, o.body())
	if f != nil {
		if foreignStatus(status) {
			return answer{foreign: f.Message}
		}
		return answer{err: openingError(f)}
	}
	select {
	case a := <-e.openings:
		return a
	case <-ctx.Done():
		return answer{err: durward.Errorf(durward.Unavailable, "", "the connection ended during its handshake")}
	}
}

// send POSTs a message. The response carries none; its status, 0 when there was no
// response, says whether the message was accepted.
func (e *eventStream) send(ctx context.Context, header http.Header, body []byte) (status int, f *exchange.Fault) {
	resp, f := e.post.do(ctx, http.MethodPost, header, body)
	if f != nil {
		return 0, f
	}
	defer discard(resp)
	switch status = resp.StatusCode; {
	case status/100 == 2:
		return status, nil
	case status == http.StatusNotFound && e.answered.Load():
		return status, e.link.sessionLost()
	default:
		return status, e.post.statusFault(resp, e.post.readFailure(resp))
	}
}

// listen implements carrier: the one stream is read since open.
func (e *eventStream) listen(ctx context.Context, begun <-chan struct{}, heard func()) {
	heard()
	select {
	case <-begun:
		close(e.begun)
	case <-ctx.Done():
	}
}

// call implements carrier: the answer comes on the stream.
func (e *eventStream) call(ctx context.Context, c *webCall) *exchange.Response {
	body := e.dialect.appendCall(make([]byte, 0, len(c.request.Params.Raw)+256), c.id, c.request)
	if _, f := e.send(ctx, withTrace(e.headers.post, c.request.Trace), body); f != nil {
		return e.link.failed(ctx, c, f)
	}
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return e.link.failed(ctx, c, e.remote.unfinished(context.Cause(ctx)))
	}
}

// tell implements carrier.
func (e *eventStream) tell(ctx context.Context, body []byte) *exchange.Fault {
	_, f := e.send(ctx, e.headers.post, body)
	return f
}

// leave implements carrier: the end of the stream says it.
func (e *eventStream) leave(context.Context) {}
