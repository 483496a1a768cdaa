package gateway

import (
	"context"

	"durward/internal/exchange"
	"durward/internal/wire"
)

// discoverTTL is how long a client may keep what server/discover said, in milliseconds.
const discoverTTL = "5000"

// initialize answers a legacy client's first request (2025-11-25, lifecycle). The
// edge negotiated the revision.
func (g *Gateway) initialize(ctx context.Context, p *passage, _ exchange.Stream) exchange.Reply {
	capabilities, instructions, err := g.describe(ctx, p)
	if err != nil {
		return exchange.Fail(err)
	}
	r := []byte(`{"protocolVersion":`)
	r = wire.AppendQuote(r, p.in.Client.Revision)
	r = append(r, `,"capabilities":`...)
	r = append(r, capabilities...)
	r = append(r, `,"serverInfo":`...)
	r = append(r, g.info...)
	return exchange.Reply{Result: append(appendInstructions(r, instructions), '}')}
}

// discover answers server/discover (2026-07-28, server/discover). What it says
// can differ between callers once policy hides things: it is private.
func (g *Gateway) discover(ctx context.Context, p *passage, _ exchange.Stream) exchange.Reply {
	capabilities, instructions, err := g.describe(ctx, p)
	if err != nil {
		return exchange.Fail(err)
	}
	r := []byte(`{"resultType":"complete","supportedVersions":[`)
	for i, revision := range wire.ModernRevisions() {
		if i > 0 {
			r = append(r, ',')
		}
		r = wire.AppendQuote(r, revision)
	}
	r = append(r, `],"capabilities":`...)
	r = append(r, capabilities...)
	r = appendInstructions(r, instructions)
	r = append(r, `,"ttlMs":`+discoverTTL+`,"cacheScope":"private","_meta":{"`+wire.MetaServerInfo+`":`...)
	r = append(r, g.info...)
	return exchange.Reply{Result: append(r, "}}"...), ResultType: "complete"}
}

func (g *Gateway) describe(ctx context.Context, p *passage) (capabilities []byte, instructions string, err error) {
	g.settle(ctx, p.in.Route)
	view, err := g.view(p)
	if err != nil {
		return nil, "", err
	}
	capabilities, instructions = view.Describe(p.audience())
	return capabilities, instructions, nil
}

func appendInstructions(r []byte, instructions string) []byte {
	if instructions == "" {
		return r
	}
	r = append(r, `,"instructions":`...)
	return wire.AppendQuote(r, instructions)
}
