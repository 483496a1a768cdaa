package gateway

import (
	"context"

	"durward"
	"durward/internal/catalog"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// list answers the four list methods from the catalog.
func (g *Gateway) list(ctx context.Context, p *passage, _ exchange.Stream) exchange.Reply {
	g.settle(ctx, p.in.Route)
	view, err := g.view(p)
	if err != nil {
		return exchange.Fail(err)
	}
	cursor, _ := p.in.Params.String(p.in.Params.Cursor)
	result, err := view.List(p.in.Method, cursor, p.in.Client.Era, g.keep(p))
	if err != nil {
		return exchange.Fail(err)
	}
	return exchange.Reply{Result: result}
}

// settle waits for the servers that come up for the first time.
func (g *Gateway) settle(ctx context.Context, route durward.Route) {
	if route.Kind == durward.RouteServer {
		g.set.AwaitServer(ctx, route.Name, firstStart)
		return
	}
	g.set.Await(ctx)
}

// keep returns the filter of what the caller is listed: what the route lists, of
// what policy lets him call; nil when nothing is hidden, so that the stored bytes
// can be sent as they are.
func (g *Gateway) keep(p *passage) func(*catalog.Entry) bool {
	if p.in.Method != wire.MethodToolsList {
		return nil
	}
	lists, visible := g.finder.lists(p.in.Route), g.visible(p)
	switch {
	case lists == nil:
		return visible
	case visible == nil:
		return lists
	default:
		return func(e *catalog.Entry) bool { return lists(e) && visible(e) }
	}
}

// visible returns the filter that hides what the caller may not call; nil when
// policy hides nothing.
func (g *Gateway) visible(p *passage) func(*catalog.Entry) bool {
	if _, all := g.decider.(allowAll); all {
		return nil
	}
	return func(e *catalog.Entry) bool {
		would := p.call
		would.Method = wire.MethodToolsCall
		would.Server, would.Name, would.FullName, would.Risk = e.Server, e.Name, e.Offered, e.Risk
		return g.decider.Visible(&p.in.Caller, &would)
	}
}
