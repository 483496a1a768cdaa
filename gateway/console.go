package gateway

import (
	"context"
	"encoding/json"
	"time"

	"durward"
	"durward/internal/catalog"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// Request is a request that the owner of the service makes himself, not an agent.
// It takes the same path as all others.
type Request struct {
	Caller durward.Caller
	Route  durward.Route
	Method string          // of MCP, as a modern client would send it
	Params json.RawMessage // raw JSON object; nil counts as {}
	// Notify, if set, gets progress and log messages while the request is under
	// way. It is called from any goroutine and must not block.
	Notify func(method string, params json.RawMessage)
}

// Do makes a request and returns the raw result. The error of a request that the
// server or the gateway refused is a *CallError.
func (g *Gateway) Do(ctx context.Context, r Request) (json.RawMessage, error) {
	in := &exchange.Inbound{Caller: r.Caller, Route: r.Route, Received: time.Now(), ID: []byte("0")}
	in.Method, in.Progress, in.LogLevel = r.Method, r.Notify != nil, "info"
	in.Client = exchange.Client{Era: wire.Modern, Revision: wire.RevisionModern, Info: g.info}
	params := []byte(r.Params)
	if len(params) == 0 {
		params = []byte("{}")
	}
	if err := wire.ParseParams(params, &in.Params); err != nil {
		return nil, durward.Errorf(durward.Invalid, r.Method, "its parameters: %w", err)
	}
	reply := (*core)(g).Serve(ctx, in, ownStream{r.Notify})
	if reply.Error != nil {
		return nil, newCallError(reply.Error)
	}
	return reply.Result, nil
}

// ownStream is the way back to a caller in this process.
type ownStream struct {
	notify func(string, json.RawMessage)
}

// Notify implements exchange.Stream.
func (s ownStream) Notify(method string, params []byte) {
	if s.notify != nil {
		s.notify(method, params)
	}
}

// Ask implements exchange.Stream: nobody sits there to be asked.
func (ownStream) Ask(context.Context, string, []byte) exchange.Reply {
	return exchange.Fail(&wire.CodeError{Code: wire.CodeMethodNotFound, Message: "this caller answers no requests"})
}

// CallError is the JSON-RPC error that a request was answered with.
type CallError struct {
	Code    int
	Message string
	Raw     json.RawMessage // the whole error object
}

func newCallError(raw []byte) *CallError {
	e := &CallError{Raw: raw}
	e.Code, _ = wire.ErrorCode(raw)
	e.Message, _ = wire.Unquote(wire.Get(raw, "message"))
	return e
}

// Error returns the message.
func (e *CallError) Error() string { return e.Message }

// As makes it a durward.Error of the kind that its code stands for.
func (e *CallError) As(target any) bool {
	err, ok := target.(**durward.Error)
	if ok {
		*err = &durward.Error{Kind: e.kind(), Message: e.Message}
	}
	return ok
}

// RawError returns Raw.
func (e *CallError) RawError() json.RawMessage { return e.Raw }

func (e *CallError) kind() durward.Kind {
	switch e.Code {
	case wire.CodeInvalidParams, wire.CodeInvalidRequest, wire.CodeMethodNotFound, wire.CodeHeaderMismatch, wire.CodeMissingCapability:
		return durward.Invalid
	case wire.CodeResourceNotFound:
		return durward.NotFound
	case wire.CodeRefused, wire.CodeDeniedByPerson, wire.CodeApprovalTimeout:
		return durward.Denied
	case wire.CodeUnavailable, wire.CodeRateLimited:
		return durward.Unavailable
	case wire.CodeTimeout:
		return durward.Timeout
	case wire.CodeUnknownOutcome:
		return durward.Unknown
	default:
		return durward.Internal
	}
}

// Item is a tool, prompt, resource or resource template as a route offers it.
type Item struct {
	Kind    string // tool, prompt, resource or template
	Offered string // its name or URI here
	Server  string
	Native  string // the server's own name or URI for it
	Risk    durward.Risk
	Raw     json.RawMessage // as it is listed here
}

// Items lists what a route offers of one kind, in the order of its lists: tools,
// prompts, resources and templates are the kinds. It waits, within ctx, for
// servers that come up for the first time.
func (g *Gateway) Items(ctx context.Context, caller durward.Caller, route durward.Route, kind string) ([]Item, error) {
	k, name, ok := kindOf(kind)
	if !ok {
		return nil, durward.Errorf(durward.Invalid, "", "%q is not one of tools, prompts, resources, templates", kind)
	}
	g.settle(ctx, route)
	view, ok := g.set.View(route, wire.Modern)
	if !ok {
		return nil, durward.Errorf(durward.NotFound, "route "+route.String(), "no %s is called %q", routeNoun(route), route.Name)
	}
	items, call := []Item{}, durward.Call{Caller: caller, Route: route}
	for e := range view.Entries(k) {
		risk, may := g.riskOf(&call, usesOf(k), e)
		if !may {
			continue
		}
		items = append(items, Item{Kind: name, Offered: e.Offered, Server: e.Server, Native: e.Name, Risk: risk, Raw: e.AppendOffered(nil)})
	}
	return items, nil
}

// usesOf returns the method that uses items of a kind.
func usesOf(k catalog.Kind) string {
	switch k {
	case catalog.Tool:
		return wire.MethodToolsCall
	case catalog.Prompt:
		return wire.MethodPromptsGet
	default:
		return wire.MethodResourcesRead
	}
}

func routeNoun(r durward.Route) string {
	if r.Kind == durward.RouteToolset {
		return "toolset"
	}
	return "server"
}

func kindOf(kind string) (catalog.Kind, string, bool) {
	switch kind {
	case "tools":
		return catalog.Tool, "tool", true
	case "prompts":
		return catalog.Prompt, "prompt", true
	case "resources":
		return catalog.Resource, "resource", true
	case "templates":
		return catalog.Template, "template", true
	default:
		return 0, "", false
	}
}
