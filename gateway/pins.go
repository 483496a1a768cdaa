package gateway

import "durward"

// Pins knows what servers offered before, and what of it is held until somebody
// accepts it. Its methods must not block, and are called by many goroutines.
type Pins interface {
	// Observe takes what a server offers now, before anybody is offered it.
	Observe(durward.Surface)
	// Held says why a definition is held, "" if it is not: kind is tool, prompt,
	// template or instructions, name the server's own, hash that of the definition.
	Held(server, kind, name, hash string) string
}

// PinsChanged looks anew at what of a server is held, after somebody decided about
// it; of all servers without a name. Clients hear of it if their lists change.
func (g *Gateway) PinsChanged(server string) { g.set.Repin(server) }

// withhold blocks a request for what is held, whatever the rules say: they were
// written for what it was before. It is not listed, either.
func (p *passage) withhold(d durward.Decision) durward.Decision {
	entry := p.to.entry
	if entry == nil || entry.Held == "" || d.Action == durward.Block {
		return d
	}
	return durward.Decision{
		Action: durward.Block, Layer: "builtin", Cause: causePin, Matches: d.Matches, Recorded: d.Recorded,
		Reason: "it is held: " + entry.Held + "; see: durward pins diff " + entry.Server,
	}
}
