package gateway

import (
	"context"
	"sync"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/federation"
	"durward/internal/upstream"
	"durward/internal/wire"
)

// attached is what the gateway keeps of a legacy session: where its events go,
// what it subscribed to, and which servers it used (those are not idle).
type attached struct {
	feed exchange.Feed
	stop func()

	mu     sync.Mutex // guards all below
	subs   map[string]*federation.Subscription
	used   map[string]*upstream.Server
	closed bool
}

// Attach opens a legacy session.
func (c *core) Attach(caller durward.Caller, route durward.Route, feed exchange.Feed) (detach func()) {
	g := (*Gateway)(c)
	a := &attached{feed: feed}
	a.stop = g.set.Listen(route, wire.Legacy, federation.Filter{Tools: true, Prompts: true, Resources: true}, feed)
	g.sessions.Store(caller.Session, a)
	begun := time.Now()
	record, recorded := g.recorder.(SessionRecorder)
	if recorded {
		record.SessionBegan(caller, route)
	}
	return func() {
		if !g.sessions.CompareAndDelete(caller.Session, a) {
			return
		}
		a.close(caller.Session)
		if recorded {
			record.SessionEnded(caller, g.whyEnded())
		}
		if g.observer != nil {
			g.observer.SessionEnded(caller, time.Since(begun))
		}
	}
}

// whyEnded says in words why a session ends now.
func (g *Gateway) whyEnded() string {
	select {
	case <-g.stopping:
		return "the service ended; the client may go on with another"
	default:
		return "the client ended it, or did not use it for long"
	}
}

func (a *attached) close(id durward.SessionID) {
	a.stop()
	a.mu.Lock()
	subs, used := a.subs, a.used
	a.subs, a.used, a.closed = nil, nil, true
	a.mu.Unlock()
	for _, sub := range subs {
		sub.Close()
	}
	for _, server := range used {
		server.Release()
		server.EndSession(string(id))
	}
}

// keep notes a subscription; false when there is one of the URI already, or the session ended.
func (a *attached) keep(uri string, sub *federation.Subscription) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, there := a.subs[uri]; there || a.closed {
		return false
	}
	if a.subs == nil {
		a.subs = map[string]*federation.Subscription{}
	}
	a.subs[uri] = sub
	return true
}

func (g *Gateway) session(id durward.SessionID) (*attached, bool) {
	v, ok := g.sessions.Load(id)
	if !ok {
		return nil, false
	}
	return v.(*attached), true
}

// uses notes that a session used a server, which keeps the server from being
// stopped as idle while the session lives.
func (g *Gateway) uses(id durward.SessionID, name string, server *upstream.Server) {
	if id == "" {
		return
	}
	a, ok := g.session(id)
	if !ok {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.used[name]
	if old == server || a.closed {
		return
	}
	if old != nil {
		old.Release()
	}
	if a.used == nil {
		a.used = map[string]*upstream.Server{}
	}
	a.used[name] = server
	server.Retain()
}

// subscribe serves a legacy resources/subscribe.
func (g *Gateway) subscribe(ctx context.Context, p *passage, _ exchange.Stream) exchange.Reply {
	a, ok := g.session(p.in.Caller.Session)
	if !ok {
		return exchange.Fail(invalidParams("resources/subscribe needs a session; modern clients use subscriptions/listen"))
	}
	uri := p.call.FullName
	a.mu.Lock()
	_, there := a.subs[uri]
	full := len(a.subs) >= g.subscriptions
	a.mu.Unlock()
	if there {
		return exchange.Reply{Result: []byte("{}")}
	}
	if full {
		return exchange.Fail(durward.Errorf(durward.Conflict, "session", "it holds %d subscriptions, which is the bound limits.session_subscriptions; unsubscribe from some first", g.subscriptions))
	}
	sub, err := g.set.Subscribe(ctx, p.requester(), p.to.server, p.call.Name, uri, a.feed)
	if err != nil {
		return exchange.Fail(err)
	}
	if !a.keep(uri, sub) {
		sub.Close()
	}
	return exchange.Reply{Result: []byte("{}")}
}

// unsubscribe serves a legacy resources/unsubscribe.
func (g *Gateway) unsubscribe(_ context.Context, p *passage, _ exchange.Stream) exchange.Reply {
	if a, ok := g.session(p.in.Caller.Session); ok {
		a.mu.Lock()
		sub := a.subs[p.call.FullName]
		delete(a.subs, p.call.FullName)
		a.mu.Unlock()
		if sub != nil {
			sub.Close()
		}
	}
	return exchange.Reply{Result: []byte("{}")}
}

// setLevel serves logging/setLevel. The edge keeps the session's own level and
// filters by it; legacy servers are asked for the most verbose level anybody wants.
func (g *Gateway) setLevel(_ context.Context, p *passage, _ exchange.Stream) exchange.Reply {
	level, ok := wire.Unquote(wire.Get(p.in.Params.Raw, "level"))
	rank := levelRank(level)
	if !ok || rank < 0 {
		return exchange.Fail(invalidParams("logging/setLevel needs params.level, one of debug, info, notice, warning, error, critical, alert, emergency"))
	}
	g.levelMu.Lock()
	defer g.levelMu.Unlock()
	if g.level < 0 || rank < g.level {
		g.level = rank
		g.set.SetLevel(level)
	}
	return exchange.Reply{Result: []byte("{}")}
}

// levelRank orders the log levels of MCP (RFC 5424), the most verbose first; -1 for others.
func levelRank(level string) int {
	for i, known := range [...]string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"} {
		if level == known {
			return i
		}
	}
	return -1
}

// Notify takes a client's notification that is about no request in flight.
func (c *core) Notify(_ context.Context, in *exchange.Inbound) {
	if in.Method == wire.NoteRootsChanged {
		(*Gateway)(c).set.RootsChanged()
	}
}
