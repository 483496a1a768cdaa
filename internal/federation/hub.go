package federation

import (
	"sync"
	"time"

	"durward"
	"durward/internal/catalog"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// coalesce is how long changes of lists are collected before they are told: 50
// servers that come up together are one change to a client.
const coalesce = 100 * time.Millisecond

// Filter says which changes a listener wants to hear of.
type Filter struct{ Tools, Prompts, Resources bool }

// hub tells listeners that lists changed.
type hub struct {
	mu        sync.Mutex // guards all below
	listeners map[*listener]struct{}
	timer     *time.Timer // runs while some listener has pending changes
	closed    bool
}

type listener struct {
	route   durward.Route
	era     wire.Era
	filter  Filter
	feed    exchange.Feed
	pending Filter
}

func newHub() *hub { return &hub{listeners: map[*listener]struct{}{}} }

// Listen tells feed of changes in the lists that a route offers to clients of an
// era, until stop is called.
func (s *Set) Listen(route durward.Route, era wire.Era, filter Filter, feed exchange.Feed) (stop func()) {
	l := &listener{route: route, era: era, filter: filter, feed: feed}
	h := s.offer.hub
	h.mu.Lock()
	h.listeners[l] = struct{}{}
	h.mu.Unlock()
	return func() {
		h.mu.Lock()
		delete(h.listeners, l)
		h.mu.Unlock()
	}
}

// changed notes a change for the listeners of some eras whose route it touches.
func (h *hub) changed(c catalog.Change, whose func(wire.Era) bool) {
	if c.Empty() {
		return
	}
	h.note(func(l *listener) Filter {
		if !whose(l.era) {
			return Filter{}
		}
		tools, prompts, resources := c.Touches(l.route)
		return Filter{tools, prompts, resources}
	})
}

// announced notes what a server said had changed, for the routes that show all
// of it; what it said to legacy clients only for those.
func (h *hub) announced(server string, toLegacy bool, which Filter) {
	if which == (Filter{}) {
		return
	}
	h.note(func(l *listener) Filter {
		if shows(l.route, server) && (!toLegacy || l.era == wire.Legacy) {
			return which
		}
		return Filter{}
	})
}

// shows reports whether a route shows everything of a server. A toolset shows
// what its globs choose: it hears of real changes only.
func shows(route durward.Route, server string) bool {
	return route.Kind == durward.RouteAll || route == durward.Route{Kind: durward.RouteServer, Name: server}
}

// note marks changes as pending, by listener.
func (h *hub) note(of func(*listener) Filter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	due := false
	for l := range h.listeners {
		c := of(l)
		l.pending.Tools = l.pending.Tools || c.Tools && l.filter.Tools
		l.pending.Prompts = l.pending.Prompts || c.Prompts && l.filter.Prompts
		l.pending.Resources = l.pending.Resources || c.Resources && l.filter.Resources
		due = due || l.pending != Filter{}
	}
	if due && h.timer == nil {
		h.timer = time.AfterFunc(coalesce, h.tell)
	}
}

// tell sends what is pending. Feeds do not block, so it may hold the lock.
func (h *hub) tell() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = nil
	for l := range h.listeners {
		p := l.pending
		l.pending = Filter{}
		if p.Tools {
			l.feed.Notify(wire.NoteToolsChanged, nil)
		}
		if p.Prompts {
			l.feed.Notify(wire.NotePromptsChanged, nil)
		}
		if p.Resources {
			l.feed.Notify(wire.NoteResourcesChanged, nil)
		}
	}
}

// ToolsChanged tells the listeners of a route that its list of tools changed,
// when it did for another reason than what servers list.
func (s *Set) ToolsChanged(route durward.Route) {
	s.offer.hub.note(func(l *listener) Filter { return Filter{Tools: l.route == route} })
}

// ListsChanged tells all listeners that their lists may have changed, when they did for
// another reason than what servers list.
func (s *Set) ListsChanged() {
	s.offer.hub.note(func(*listener) Filter { return Filter{Tools: true, Prompts: true, Resources: true} })
}

// broadcast tells the sessions of legacy clients for which to says so. Modern
// clients hear of what they asked for and nothing else (2026-07-28,
// basic/patterns/subscriptions).
func (h *hub) broadcast(method string, params []byte, to func(durward.Route) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		if l.era == wire.Legacy && to(l.route) {
			l.feed.Notify(method, params)
		}
	}
}

func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	if h.timer != nil {
		h.timer.Stop()
	}
}
