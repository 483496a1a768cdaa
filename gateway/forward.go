package gateway

import (
	"bytes"
	"context"

	"durward"
	"durward/internal/exchange"
	"durward/internal/federation"
	"durward/internal/upstream"
	"durward/internal/wire"
)

// forward hands a request to its server and brings the reply into the caller's era.
func (g *Gateway) forward(ctx context.Context, p *passage, out exchange.Stream) exchange.Reply {
	return g.translate(p, g.converse(ctx, p, out))
}

// callTool forwards a tools/call with the headers that mirror its arguments
// (2026-07-28, streamable HTTP, "x-mcp-header").
func (g *Gateway) callTool(ctx context.Context, p *passage, out exchange.Stream) exchange.Reply {
	params := p.to.entry.HeaderParams
	if len(params) > 0 || len(p.in.ParamHeaders) > 0 {
		if err := verifyHeaders(params, p); err != nil {
			return exchange.Fail(err)
		}
		p.in.Headers = mirrored(params, p.call.Arguments)
	}
	return g.forward(ctx, p, out)
}

// readResource forwards a read; a modern reply needs caching hints, and a
// gateway that does not know better says: not at all, and for nobody else.
func (g *Gateway) readResource(ctx context.Context, p *passage, out exchange.Stream) exchange.Reply {
	reply := g.forward(ctx, p, out)
	if p.in.Client.Era == wire.Modern && reply.ResultType == "complete" && reply.Era == wire.Legacy {
		reply.Result = wire.SetResultMember(nil, reply.Result, notCached()...)
	}
	return reply
}

func notCached() []wire.Member {
	return []wire.Member{{Name: "ttlMs", Value: []byte("0")}, {Name: "cacheScope", Value: []byte(`"private"`)}}
}

// way is how a request gets to its server. It does not change once the request is
// under way: the call may be held, and then goes on when its passage is over.
type way struct {
	g      *Gateway
	server string
	key    upstream.Key
	// Where the tool is looked up that a tools/call is for.
	route durward.Route
	era   wire.Era
	tool  string
	from  *Passed // the request it is for
}

func (g *Gateway) wayOf(p *passage) way {
	w := way{
		g: g, from: &p.passed, server: p.to.server, route: p.in.Route, era: p.in.Client.Era, key: p.key(),
	}
	if p.in.Method == wire.MethodToolsCall {
		w.tool = p.call.FullName
	}
	return w
}

// key says for whom a server is asked.
func (p *passage) key() upstream.Key {
	key := upstream.Key{Principal: p.in.Caller.Principal, Session: string(p.in.Caller.Session)}
	if key.Session == "" {
		key.Client = p.in.Caller.Client.Name // no proof, but enough to tell two programs apart
	}
	return key
}

// requester says for whom resources are subscribed to. It outlives the request.
func (p *passage) requester() *federation.Requester {
	client := p.in.Client
	client.Info, client.Capabilities = nil, bytes.Clone(client.Capabilities)
	return &federation.Requester{Key: p.key(), Client: client}
}

// send hands a request to the server: a second time when the server's schema
// changed since we listed it, so that it refused the headers and ran nothing.
func (w *way) send(ctx context.Context, req *exchange.Request, out exchange.Stream) exchange.Reply {
	reply := w.sendOnce(ctx, req, out)
	if !upstream.StaleHeaders(reply) {
		return reply
	}
	view, ok := w.g.set.View(w.route, w.era)
	if !ok {
		return reply
	}
	entry, ok := view.Tool(w.tool)
	if !ok {
		return reply
	}
	again := *req
	again.Headers = mirrored(entry.HeaderParams, again.Params.Arguments.Of(again.Params.Raw))
	second := w.sendOnce(ctx, &again, out)
	if second.Attempts += reply.Attempts; !reply.Dispatched.IsZero() {
		second.Dispatched = reply.Dispatched
	}
	return second
}

func (w *way) sendOnce(ctx context.Context, req *exchange.Request, out exchange.Stream) exchange.Reply {
	server, ok := w.g.set.Server(w.server)
	if !ok {
		return exchange.Fail(durward.Errorf(durward.NotFound, "server "+w.server, "it was removed while the call was on its way"))
	}
	w.g.uses(durward.SessionID(w.key.Session), w.server, server)
	leg := w.depart(req)
	reply := server.Do(ctx, w.key, req, out)
	w.arrive(leg, &reply)
	return reply
}
