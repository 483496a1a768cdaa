package transport

import (
	"context"
	"net/http"

	"durward"
	"durward/internal/exchange"
	"durward/internal/exchange/outbox"
	"durward/internal/wire"
)

// serveLegacy serves a message of revision 2025-11-25 or older over HTTP.
func (c *call) serveLegacy(version string) error {
	if version != "" && wire.EraOf(version) != wire.Legacy {
		return badRequest(wire.CodeInvalidRequest, "header MCP-Protocol-Version names no revision that is spoken here: "+wire.Quote(clip(version)))
	}
	if c.msg.Kind == wire.Request && c.msg.Method == wire.MethodInitialize {
		return c.initialize()
	}
	session, err := c.edge.find(c.r, c.in.Caller, c.in.Route)
	if err != nil {
		return err
	}
	switch c.msg.Kind {
	case wire.Request:
		return c.serveSession(session)
	case wire.Notification:
		c.edge.hear(c.r.Context(), session, c.in.Route, &c.msg)
	default:
		if c.msg.ID == nil {
			return badRequest(wire.CodeInvalidRequest, "a response needs the id of the request it answers")
		}
		session.Answer(c.msg.ID, exchange.Reply{Result: c.msg.Result, Error: c.msg.Error})
	}
	c.accepted()
	return nil
}

// find returns the session that a request names.
func (e *Edge) find(r *http.Request, caller durward.Caller, route durward.Route) (Session, error) {
	id, ok := single(r.Header[hSession])
	if !ok || id == "" {
		return nil, badRequest(wire.CodeInvalidRequest, "header Mcp-Session-Id is missing; send initialize to begin a session, or the metadata of revision "+wire.RevisionModern)
	}
	session, err := e.opts.Sessions.Find(id, caller, route)
	if err != nil {
		return nil, err
	}
	if !session.Attached() { // it was begun in another process, or is being begun just now
		e.attach(session, route)
	}
	return session, nil
}

// attach makes a session known to the core. The client of one that was revived
// may have missed changes while nobody knew it, so it is told to list anew, on
// the stream that belongs to no request.
func (e *Edge) attach(session Session, route durward.Route) {
	session.Attach(func(revived bool) {
		feed := &feed{session: session, send: func(data []byte, class outbox.Class) { session.Box(0).Put(data, class) }}
		session.OnEnd(e.opts.Core.Attach(session.Caller(), route, feed))
		if revived {
			mayHaveChanged(session)
		}
	})
}

// mayHaveChanged tells the client of a session to list anew. What still waits to
// be read is not said twice.
func mayHaveChanged(session Session) {
	box := session.Box(0)
	for _, method := range [...]string{wire.NoteToolsChanged, wire.NotePromptsChanged, wire.NoteResourcesChanged} {
		box.Put(note(method, nil), outbox.Change)
	}
}

// initialize opens a session.
func (c *call) initialize() error {
	client, err := greeting(&c.msg.Params)
	if err != nil {
		return err
	}
	fillLegacy(&c.msg, &c.in, client)
	c.in.Caller.Session = durward.NewSessionID()
	c.in.Caller.Client = describe(client.Info)
	ctx, cancel := context.WithCancel(c.r.Context())
	defer cancel()
	c.takes = forms{json: true} // the session's id stands in the head, which a stream would have sent by then
	c.begin(cancel, nil)
	reply := c.edge.opts.Core.Serve(ctx, &c.in, c)
	if reply.Error == nil {
		session, err := c.edge.opts.Sessions.Open(c.in.Caller, c.in.Route, client)
		if err != nil {
			reply = exchange.Fail(err)
		} else {
			c.edge.attach(session, c.in.Route)
			c.w.Header()[hSession] = []string{session.ID()}
		}
	}
	c.finish(reply, true)
	return nil
}

// greeting reads what a client says at initialize and settles the revision: the
// one it asks for if we speak it, else our newest (2025-11-25, basic/lifecycle).
func greeting(p *wire.Params) (exchange.Client, error) {
	asked, ok := wire.Unquote(wire.Get(p.Raw, "protocolVersion"))
	if !ok {
		return exchange.Client{}, badRequest(wire.CodeInvalidParams, "initialize needs params.protocolVersion, a string")
	}
	if wire.EraOf(asked) != wire.Legacy {
		asked = wire.RevisionLegacy
	}
	return exchange.Client{
		Era: wire.Legacy, Revision: asked,
		Info: object(wire.Get(p.Raw, "clientInfo")), Capabilities: object(wire.Get(p.Raw, "capabilities")),
	}, nil
}

// object returns raw if it is an object, else nil.
func object(raw []byte) []byte {
	if len(raw) > 0 && raw[0] == '{' {
		return raw
	}
	return nil
}

// fillLegacy puts what the core needs into in.
func fillLegacy(m *wire.Message, in *exchange.Inbound, client exchange.Client) {
	in.Method, in.Params, in.ID, in.Client = m.Method, m.Params, m.ID, client
	in.Progress = m.Params.InMeta.ProgressToken.Present()
}

// serveSession serves a request of a session. It goes on when the client's
// connection breaks (2025-11-25, basic/transports "Sending Messages to the Server").
func (c *call) serveSession(session Session) error {
	fillLegacy(&c.msg, &c.in, session.Client())
	c.in.Caller = session.Caller()
	c.in.LogLevel = session.Level()
	c.rules = noteRules{token: c.in.Params.InMeta.ProgressToken.Of(c.in.Params.Raw), level: c.in.LogLevel}
	if c.msg.Method == wire.MethodPing {
		c.begin(func() {}, session)
		c.finish(exchange.Reply{Result: emptyResult}, true)
		return nil
	}
	id := c.msg.ID
	c.begin(func() { session.Stop(id) }, session)
	ctx, turn, err := session.Enter(context.WithoutCancel(c.r.Context()), id)
	if err != nil {
		c.finish(exchange.Fail(err), true)
		return nil
	}
	if c.wasCancelled() { // before there was anything to stop
		session.Stop(id)
	}
	c.finish(serve(ctx, turn, c.edge.opts.Core, session, &c.in, c))
	return nil
}

var emptyResult = []byte("{}")

// serve hands a request that has entered its session to the core when it is its
// turn. It leaves the session, and reports whether the answer is wanted.
func serve(ctx context.Context, turn <-chan struct{}, core exchange.Core, session Session, in *exchange.Inbound, out exchange.Stream) (reply exchange.Reply, wanted bool) {
	defer func() { wanted = !session.Leave(in.ID) }()
	if turn != nil {
		select {
		case <-turn:
		case <-ctx.Done():
			return exchange.Fail(durward.Errorf(durward.Unavailable, "", "the request was cancelled before it was begun")), true
		}
	}
	reply = core.Serve(ctx, in, out)
	if in.Method == wire.MethodSetLevel && reply.Error == nil {
		if _, name, ok := level(wire.Get(in.Params.Raw, "level")); ok {
			session.SetLevel(name)
		}
	}
	return reply, true
}

// hear takes a notification of a legacy client.
func (e *Edge) hear(ctx context.Context, session Session, route durward.Route, m *wire.Message) {
	switch m.Method {
	case wire.NoteCancelled:
		if id := m.Params.RequestID.Of(m.Params.Raw); id != nil {
			session.Cancel(id)
		}
	case wire.NoteInitialized, wire.NoteProgress:
		// Nothing waits for the first, and nobody asked for progress of our questions.
	default:
		in := &exchange.Inbound{Caller: session.Caller(), Route: route}
		fillLegacy(m, in, session.Client())
		e.opts.Core.Notify(ctx, in)
	}
}

// feed passes on what belongs to no request.
type feed struct {
	session Session
	send    func(data []byte, class outbox.Class)
}

// Notify never blocks.
func (f *feed) Notify(method string, params []byte) {
	class := outbox.Plain
	switch method {
	case wire.NoteCancelled, wire.NoteAcknowledged, noteTask:
		return // see noteRules.knows
	case wire.NoteMessage:
		// It came by no request of this client, so it is passed only to those who asked for log messages.
		least := f.session.Level()
		if least == "" || !atLeast(wire.Get(params, "level"), least) {
			return
		}
	case wire.NoteToolsChanged, wire.NotePromptsChanged, wire.NoteResourcesChanged, wire.NoteResourceUpdated:
		class = outbox.Change
	}
	f.send(note(method, params), class)
}
