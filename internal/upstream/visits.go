package upstream

import (
	"durward/internal/exchange"
	"durward/internal/wire"
)

// maxPages bounds how many pages are remembered that requesters were asked to visit.
const maxPages = 256

// visits remembers who was asked to visit which page (2025-11-25,
// client/elicitation "URL Mode"): only they may hear that they are done with it.
// Guarded by Server.mu.
type visits struct {
	asked map[string]page
	order []string // oldest first
}

// page is whom a page was put to.
type page struct {
	key    Key
	legacy bool
}

// note remembers the page of a question, if it is about one. mu is held.
func (v *visits) note(p *pending, r *exchange.ServerRequest) {
	if r.Method != wire.MethodElicit {
		return
	}
	id, ok := wire.Unquote(wire.Get(r.Params, "elicitationId"))
	if !ok || len(id) > 1<<10 {
		return
	}
	if v.asked == nil {
		v.asked = map[string]page{}
	}
	if _, again := v.asked[id]; !again {
		if len(v.order) >= maxPages {
			delete(v.asked, v.order[0])
			v.order = v.order[1:]
		}
		v.order = append(v.order, id)
	}
	v.asked[id] = page{p.key, p.legacy}
}

// visited passes on that a page was dealt with: to the requester that was asked to
// visit it, on a call of it that is in flight, else to the Observer, for those that
// are not on a call. Modern requesters do not know such news (2026-07-28, changelog).
func (c *conn) visited(n *exchange.Notification) {
	id, _ := wire.Unquote(wire.Get(n.Params, "elicitationId"))
	c.s.mu.Lock()
	c.heard()
	p := c.calls[n.Related]
	asked, known := c.visits.asked[id]
	if known {
		p = c.newestOf(asked.key)
	}
	modern := known && !asked.legacy || p != nil && p.out != nil && !p.legacy
	var out exchange.Stream
	if p != nil {
		out = p.out
	}
	c.s.mu.Unlock()
	if !modern {
		c.deliver(out, n)
	}
}

// newestOf returns the newest call of a requester, nil if it has none. mu is held.
func (c *conn) newestOf(key Key) *pending {
	var newest *pending
	for _, p := range c.calls {
		if p.out != nil && p.key == key && (newest == nil || p.id > newest.id) {
			newest = p
		}
	}
	return newest
}
