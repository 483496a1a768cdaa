package transport

import (
	"context"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/exchange/outbox"
	"durward/internal/wire"
)

// noteRules say how notifications about a request are passed to who sent it.
type noteRules struct {
	token  []byte // raw progress token of the requester; nil: it wants no progress
	level  string // least severe level of log messages wanted
	modern bool   // then no level means no log messages; else all of them
	listen bool   // the request is subscriptions/listen
}

// Notifications of tasks: those of the extension, and those of revision 2025-11-25.
const (
	noteTask       = "notifications/tasks"
	noteTaskStatus = "notifications/tasks/status"
)

// knows reports whether a notification has a place on the stream of this request.
// To a modern one belong progress and log messages, and changes only to
// subscriptions/listen, which in turn gets nothing else (2026-07-28,
// basic/transports/streamable-http "Receiving Messages"). What an extension that
// we do not know defines is passed on. A cancellation would name a request of
// another hop: what we asked is withdrawn by ourselves.
func (n *noteRules) knows(method string) bool {
	switch method {
	case wire.NoteProgress, wire.NoteMessage:
		return !n.listen
	case wire.NoteToolsChanged, wire.NotePromptsChanged, wire.NoteResourcesChanged, wire.NoteResourceUpdated:
		return n.listen || !n.modern
	case wire.NoteAcknowledged, noteTask:
		return n.listen
	case wire.NoteElicitComplete, noteTaskStatus:
		return !n.modern
	case wire.NoteCancelled:
		return false
	default:
		return true
	}
}

// render makes the message for a notification; false if the requester does not want it.
func (n *noteRules) render(method string, params []byte) (data []byte, class outbox.Class, ok bool) {
	if !n.knows(method) {
		return nil, 0, false
	}
	switch method {
	case wire.NoteProgress:
		if n.token == nil {
			return nil, 0, false
		}
		if params = withToken(params, n.token); params == nil {
			return nil, 0, false
		}
		class = outbox.Progress
	case wire.NoteToolsChanged, wire.NotePromptsChanged, wire.NoteResourcesChanged, wire.NoteResourceUpdated:
		class = outbox.Change
	case wire.NoteMessage:
		if n.level == "" && n.modern || n.level != "" && !atLeast(wire.Get(params, "level"), n.level) {
			return nil, 0, false
		}
	}
	return note(method, params), class, true
}

// note renders a notification as one line.
func note(method string, params []byte) []byte {
	return oneLine(wire.AppendRequest(make([]byte, 0, len(method)+len(params)+48), nil, method, params))
}

// withToken puts the requester's own progress token in; nil if params hold none.
func withToken(params, token []byte) []byte {
	at := wire.Lookup(params, "progressToken")
	if !at.Present() {
		return nil
	}
	return wire.Splice(make([]byte, 0, len(params)+len(token)), params, wire.Edit{At: at, With: token})
}

// Notify sends a notification on the stream of the answer, which it begins.
func (c *call) Notify(method string, params []byte) {
	if data, class, ok := c.rules.render(method, params); ok {
		c.send(data, class)
	}
}

// send puts a message on the stream; false if the requester will not get it.
func (c *call) send(data []byte, class outbox.Class) bool {
	c.mu.Lock()
	if !c.stream() {
		c.mu.Unlock()
		return false
	}
	box, stop := c.box, c.stop
	c.mu.Unlock()
	if box.Put(data, class) {
		return true
	}
	if c.session == nil {
		stop() // a modern client that lost its stream lost its request (2026-07-28)
	}
	return false
}

// Ask sends a request of the server to a legacy client and waits for the answer.
func (c *call) Ask(ctx context.Context, method string, params []byte) exchange.Reply {
	c.mu.Lock()
	if c.phase == answered || c.session == nil || !c.takes.events {
		c.mu.Unlock()
		return cannotAsk(method)
	}
	if c.over == nil {
		c.over = make(chan struct{})
	}
	over := c.over
	c.mu.Unlock()
	q := question{session: c.session, limit: c.edge.opts.Limits.Ask, over: over,
		send: func(data []byte) bool { return c.send(data, outbox.Plain) }}
	return q.ask(ctx, method, params)
}

func cannotAsk(method string) exchange.Reply {
	code := wire.CodeInvalidParams
	if method == wire.MethodRootsList { // see exchange.NotDeclared
		code = wire.CodeMethodNotFound
	}
	return exchange.Fail(&wire.CodeError{Code: code, Message: "the client of this request cannot be asked for " + method})
}

// question is a request of ours to a legacy client.
type question struct {
	session Session
	limit   time.Duration
	over    <-chan struct{} // closed when the request it belongs to is answered
	send    func(data []byte) bool
}

func (q *question) ask(ctx context.Context, method string, params []byte) exchange.Reply {
	if missing := exchange.Missing(q.session.Client().Capabilities, method, params); missing != "" {
		return exchange.Fail(exchange.NotDeclared(missing))
	}
	id, answer, err := q.session.Expect()
	if err != nil {
		return exchange.Fail(err)
	}
	defer q.session.Forget(id)
	if !q.send(oneLine(wire.AppendRequest(nil, id, method, withElicitationID(method, params)))) {
		return exchange.Fail(durward.Errorf(durward.Unavailable, "transport", "the client cannot be reached"))
	}
	timer := time.NewTimer(q.limit)
	defer timer.Stop()
	select {
	case reply := <-answer:
		return reply
	case <-ctx.Done():
		q.withdraw(id, "nobody waits for the answer any more")
		return exchange.Fail(durward.Errorf(durward.Timeout, "transport", "%s was withdrawn: %w", method, context.Cause(ctx)))
	case <-timer.C:
		q.withdraw(id, "the answer took too long")
		return exchange.Fail(durward.Errorf(durward.Timeout, "transport", "the client did not answer %s within %s (limits.ask_timeout)", method, q.limit))
	case <-q.over:
		return exchange.Fail(durward.Errorf(durward.Conflict, "transport", "the request that needed %s is answered already", method))
	}
}

// withElicitationID gives a question by URL the id that revision 2025-11-25 demands
// (client/elicitation "URL Mode Elicitation Requests"). One of a modern server has
// none; nothing will ever refer to it.
func withElicitationID(method string, params []byte) []byte {
	if method != wire.MethodElicit {
		return params
	}
	if mode, _ := wire.Unquote(wire.Get(params, "mode")); mode != "url" {
		return params
	}
	if _, ok := wire.Unquote(wire.Get(params, "elicitationId")); ok {
		return params
	}
	return wire.AppendObject(nil, params, nil, wire.Member{Name: "elicitationId", Value: []byte(wire.Quote(string(durward.NewCallID())))})
}

// withdraw tells the client that its answer is not needed.
func (q *question) withdraw(id []byte, reason string) {
	params := append([]byte(`{"requestId":`), id...)
	params = append(params, `,"reason":`...)
	params = append(wire.AppendQuote(params, reason), '}')
	q.send(note(wire.NoteCancelled, params))
}
