package gateway

import (
	"context"

	"durward"
	"durward/internal/catalog"
	"durward/internal/exchange"
	"durward/internal/seal"
	"durward/internal/wire"
)

// list answers the four list methods from the catalog.
func (g *Gateway) list(ctx context.Context, p *passage, _ exchange.Stream) exchange.Reply {
	g.settle(ctx, p.in.Route)
	view, err := g.view(p)
	if err != nil {
		return exchange.Fail(err)
	}
	cursor, err := cursorOf(&p.in.Params)
	if err != nil {
		return exchange.Fail(err)
	}
	sealed := cursors{ring: g.ring, bound: binding(p)}
	result, err := view.List(catalog.Query{
		Method: p.in.Method, Cursor: cursor, Audience: p.audience(), Cursors: &sealed, Keep: g.keep(p),
	})
	if err != nil {
		reply := exchange.Fail(err)
		reply.BadRequest = sealed.forged
		return reply
	}
	return exchange.Reply{Result: result}
}

// cursorOf returns the cursor of a request, "" for the first page.
func cursorOf(params *wire.Params) (string, error) {
	raw := params.Cursor.Of(params.Raw)
	if raw == nil || string(raw) == "null" {
		return "", nil
	}
	cursor, ok := wire.Unquote(raw)
	if !ok {
		return "", invalidParams("params.cursor must be a string: one that a list gave as nextCursor")
	}
	return cursor, nil
}

// cursors seal the cursors of one caller on one route.
type cursors struct {
	ring   *seal.Ring
	bound  string
	forged bool // one that was opened is none of ours for this caller and route
}

// Seal implements catalog.Cursors.
func (c *cursors) Seal(payload []byte) string { return c.ring.Seal(seal.Cursor, c.bound, payload) }

// Open implements catalog.Cursors.
func (c *cursors) Open(text string) ([]byte, error) {
	payload, err := c.ring.Open(seal.Cursor, c.bound, text)
	c.forged = err != nil
	return payload, err
}

// audience is what the caller can make of what is offered.
func (p *passage) audience() catalog.Audience {
	return catalog.AudienceOf(p.in.Client.Era, p.in.Client.Revision)
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
// what policy lets him use; nil when nothing is hidden, so that the stored bytes
// can be sent as they are.
func (g *Gateway) keep(p *passage) func(*catalog.Entry) bool {
	use, ok := usedBy(p.in.Method)
	if !ok {
		return nil
	}
	permitted := g.permitted(p, use)
	if p.in.Method != wire.MethodToolsList {
		return permitted
	}
	return joint(g.finder.lists(p.in.Route), permitted)
}

// usedBy returns the method that uses what a method lists.
func usedBy(list string) (use string, ok bool) {
	switch list {
	case wire.MethodToolsList:
		return wire.MethodToolsCall, true
	case wire.MethodPromptsList:
		return wire.MethodPromptsGet, true
	case wire.MethodResourcesList, wire.MethodTemplatesList:
		return wire.MethodResourcesRead, true
	default:
		return "", false
	}
}

// joint joins filters; nil is one that hides nothing.
func joint(a, b func(*catalog.Entry) bool) func(*catalog.Entry) bool {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	default:
		return func(e *catalog.Entry) bool { return a(e) && b(e) }
	}
}

// visible returns the filter of what the caller can call; nil when that is all.
func (g *Gateway) visible(p *passage) func(*catalog.Entry) bool {
	var usable func(*catalog.Entry) bool
	if view, err := g.view(p); err == nil && view.HidesTools() {
		a := p.audience()
		usable = func(e *catalog.Entry) bool { return e.HiddenFrom(a) == "" }
	}
	return joint(usable, g.permitted(p, wire.MethodToolsCall))
}

// permitted returns the filter that hides what the caller may not use; nil when
// policy hides nothing.
func (g *Gateway) permitted(p *passage, use string) func(*catalog.Entry) bool {
	if _, all := g.decider.(allowAll); all {
		return nil
	}
	return func(e *catalog.Entry) bool { return g.mayUse(&p.call, use, e) }
}

// mayUse reports whether the caller of a request may use what is listed, in some way.
func (g *Gateway) mayUse(call *durward.Call, use string, e *catalog.Entry) bool {
	_, may := g.riskOf(call, use, e)
	return may
}

// riskOf says the same, and which risk what is listed has.
func (g *Gateway) riskOf(call *durward.Call, use string, e *catalog.Entry) (durward.Risk, bool) {
	would := *call
	would.Method, would.Params, would.Arguments = use, nil, nil
	would.Server, would.Name, would.FullName, would.Risk, would.Tool = e.Server, e.Name, e.Offered, e.Risk, e.Tool
	if e.Kind == catalog.Template { // its URI is not one that is read
		would.Name, would.FullName = "", ""
	}
	visible := g.decider.Visible(&would.Caller, &would)
	return would.Risk, visible
}
