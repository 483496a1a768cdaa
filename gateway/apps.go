package gateway

import (
	"context"
	"strings"

	"durward/internal/exchange"
	"durward/internal/wire"
)

// isView reports whether a request reads the page that shows a tool's results
// (MCP Apps) by another URI than its server's own.
func (p *passage) isView() bool {
	return p.to.name != nil && strings.HasPrefix(p.call.Name, "ui://")
}

// readView serves a resources/read of such a page.
//
// Results are not rewritten, with this one exception: the contents get the URI
// they were asked for by. What a host reads is to have the URI of the view (MCP
// Apps, "UI Resource Format"), and there are hosts that look for it and show
// nothing when it is not there. What an app itself reads, by the URI it knows, has
// that URI already.
func (g *Gateway) readView(ctx context.Context, p *passage, out exchange.Stream) exchange.Reply {
	reply := g.readResource(ctx, p, out)
	if reply.Result == nil {
		return reply
	}
	var edits []wire.Edit
	contents := wire.Lookup(reply.Result, "contents")
	for at := range wire.Elements(contents.Of(reply.Result)) {
		start := contents.Start + at.Start
		uri := wire.Lookup(reply.Result[start:contents.Start+at.End], "uri")
		if own, ok := wire.Unquote(uri.Of(reply.Result[start:])); ok && own == p.call.Name {
			edits = append(edits, wire.Edit{At: wire.Span{Start: start + uri.Start, End: start + uri.End}, With: wire.AppendQuote(nil, p.call.FullName)})
		}
	}
	if edits != nil {
		reply.Result = wire.Splice(nil, reply.Result, edits...)
	}
	return reply
}
