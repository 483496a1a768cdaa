package gateway

import (
	"context"

	"durward/internal/exchange"
	"durward/internal/upstream"
	"durward/internal/wire"
)

// forward hands a request to its server and brings the reply into the caller's era.
func (g *Gateway) forward(ctx context.Context, p *passage, out exchange.Stream) exchange.Reply {
	return g.translate(p, g.converse(ctx, p, out, g.sender(p)))
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
	return g.translate(p, g.converse(ctx, p, out, g.toolSender(p)))
}

// toolSender is sender for tools: it sends a second time when the server's schema
// changed since we listed it, so that it refused the headers and ran nothing.
func (g *Gateway) toolSender(p *passage) send {
	do, find := g.sender(p), g.finderOf(p)
	return func(ctx context.Context, req *exchange.Request, out exchange.Stream) exchange.Reply {
		reply := do(ctx, req, out)
		if !upstream.StaleHeaders(reply) {
			return reply
		}
		entry, ok := find()
		if !ok {
			return reply
		}
		again := *req
		again.Headers = mirrored(entry.HeaderParams, again.Params.Arguments.Of(again.Params.Raw))
		second := do(ctx, &again, out)
		second.Attempts += reply.Attempts
		return second
	}
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
