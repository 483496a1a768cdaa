// Package builtin holds Durward's own tools and serves them as an upstream
// server called "local", over the same link as any other server: nothing in the
// core knows that they are special.
package builtin

import (
	"strings"
	"sync"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// ServerName is the reserved name under which the built-in tools are offered.
const ServerName = "local"

// tool is one built-in tool: how it is listed, and what it does.
type tool struct {
	name    string
	listing string // the raw Tool object
	call    func(arguments []byte) exchange.Reply
}

// tools lists the built-in tools in the order in which they are offered.
func tools() []tool {
	return append([]tool{{"echo", echoListing, echo}}, finders()...)
}

const echoListing = `{"name":"echo","title":"Echo","description":"Returns the message it was given. Use it to check that Durward can be reached.",` +
	`"inputSchema":{"type":"object","properties":{"message":{"type":"string","description":"The text to return."}},` +
	`"required":["message"],"additionalProperties":false},` +
	`"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`

func echo(arguments []byte) exchange.Reply {
	message := wire.Get(arguments, "message")
	if _, ok := wire.Unquote(message); !ok {
		return toolError(`argument "message" must be a string`)
	}
	return toolText(message, false)
}

// elsewhere answers for what the gateway answers before it comes here.
func elsewhere([]byte) exchange.Reply {
	return toolError("this tool works on a route that is lazy (lazy_tools, or lazy of a toolset)")
}

func toolError(text string) exchange.Reply { return toolText(wire.AppendQuote(nil, text), true) }

func toolText(quoted []byte, isError bool) exchange.Reply {
	r := append([]byte(`{"resultType":"complete","content":[{"type":"text","text":`), quoted...)
	if isError {
		return exchange.Reply{Result: append(r, `}],"isError":true}`...), ResultType: "complete", IsError: true}
	}
	return exchange.Reply{Result: append(r, `}]}`...), ResultType: "complete"}
}

// Open opens a connection to the built-in tools. It is ready at once.
func Open(_ exchange.LinkSpec, sink exchange.Sink) exchange.Link {
	l := &link{tools: tools(), out: make(chan exchange.Message, queueLength)}
	l.out <- &exchange.Opened{
		Era: wire.Modern, Revision: wire.RevisionModern,
		Info:         []byte(`{"name":"durward-builtin","title":"Durward's own tools","version":"1"}`),
		Capabilities: []byte(`{"tools":{}}`),
	}
	go l.deliver(sink)
	return l
}

// queueLength bounds the answers that wait for the core.
const queueLength = 256

// link answers calls on the goroutine that sends them, since no tool here waits
// for anything, and delivers the answers on one of its own, which ends with Closed.
type link struct {
	tools []tool

	mu     sync.Mutex // guards closed, and out against sends after close
	closed bool
	out    chan exchange.Message
}

func (l *link) deliver(sink exchange.Sink) {
	for m := range l.out {
		sink.Receive(m)
	}
	sink.Receive(&exchange.Closed{Phase: exchange.PhaseStopped})
}

// Send answers a call; all other messages need no answer.
func (l *link) Send(m exchange.Message) error {
	call, ok := m.(*exchange.Call)
	if !ok {
		return nil
	}
	reply := l.answer(call)
	reply.Era = wire.Modern
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return durward.Errorf(durward.Unavailable, "server local", "the built-in tools are stopped")
	}
	select {
	case l.out <- &exchange.Response{ID: call.ID, Reply: reply}:
		return nil
	default:
		return durward.Errorf(durward.Unavailable, "server local", "more than %d answers wait to be taken", queueLength)
	}
}

// Close ends the connection.
func (l *link) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.out)
	}
}

func (l *link) answer(call *exchange.Call) exchange.Reply {
	switch call.Method {
	case wire.MethodToolsList:
		return exchange.Reply{Result: l.list(), ResultType: "complete"}
	case wire.MethodDiscover, wire.MethodPing:
		return exchange.Reply{Result: []byte("{}")}
	case wire.MethodToolsCall:
		return l.callTool(call)
	default:
		return exchange.Fail(&wire.CodeError{Code: wire.CodeMethodNotFound, Message: "the built-in tools know no method " + call.Method})
	}
}

func (l *link) callTool(call *exchange.Call) exchange.Reply {
	raw := call.Name
	if raw == nil {
		raw = call.Params.Name.Of(call.Params.Raw)
	}
	name, _ := wire.Unquote(raw)
	for _, t := range l.tools {
		if t.name == name {
			return t.call(call.Params.Arguments.Of(call.Params.Raw))
		}
	}
	return exchange.Fail(&wire.CodeError{Code: wire.CodeInvalidParams, Message: "no built-in tool is called " + name})
}

func (l *link) list() []byte {
	items := make([]string, len(l.tools))
	for i, t := range l.tools {
		items[i] = t.listing
	}
	return []byte(`{"resultType":"complete","ttlMs":60000,"cacheScope":"public","tools":[` + strings.Join(items, ",") + `]}`)
}
