package gateway

import (
	"context"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream"
	"durward/internal/wire"
)

// forward hands a request to its server and brings the reply into the caller's era.
func (g *Gateway) forward(ctx context.Context, p *passage, out exchange.Stream) exchange.Reply {
	return g.translate(p, g.send(ctx, p, out))
}

// send hands a request to its server.
func (g *Gateway) send(ctx context.Context, p *passage, out exchange.Stream) exchange.Reply {
	server, ok := g.set.Server(p.to.server)
	if !ok {
		return exchange.Fail(durward.Errorf(durward.NotFound, "server "+p.to.server, "it was removed while the call was on its way"))
	}
	g.uses(p.in.Caller.Session, p.to.server, server)
	req := p.in.Request
	req.Name = p.to.name
	p.sent++
	key := upstream.Key{Principal: p.in.Caller.Principal, Session: string(p.in.Caller.Session)}
	return server.Do(ctx, key, &req, out)
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
	reply := g.send(ctx, p, out)
	if upstream.StaleHeaders(reply) { // the server's schema changed since we listed it; it did not run the call
		if entry, ok := g.relookup(p); ok {
			p.in.Headers = mirrored(entry.HeaderParams, p.call.Arguments)
			reply = g.send(ctx, p, out)
		}
	}
	return g.translate(p, reply)
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
