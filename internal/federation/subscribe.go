package federation

import (
	"context"
	"sync"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// subscriptions counts who wants to hear of which resource, so that a server is
// asked once however many clients subscribe, and told once the last one left.
type subscriptions struct {
	mu    sync.Mutex // guards byURI
	byURI map[resource]map[*Subscription]struct{}
}

type resource struct{ server, uri string }

// Subscription is one client's interest in one resource.
type Subscription struct {
	set     *Set
	of      resource
	offered string // the URI as the client knows it
	feed    exchange.Feed
}

// Subscribe tells feed when the resource uri of server changes; offered is the
// URI to name in the notification. The server is asked if nobody has yet.
func (s *Set) Subscribe(ctx context.Context, server, uri, offered string, feed exchange.Feed) (*Subscription, error) {
	up, ok := s.Server(server)
	if !ok {
		return nil, durward.Errorf(durward.NotFound, "server "+server, "no server is called so")
	}
	sub := &Subscription{set: s, of: resource{server, uri}, offered: offered, feed: feed}
	if s.subs.add(sub) {
		if err := up.Subscribe(ctx, uri); err != nil {
			s.subs.remove(sub)
			return nil, err
		}
	}
	return sub, nil
}

// Close ends the interest.
func (sub *Subscription) Close() {
	if !sub.set.subs.remove(sub) {
		return
	}
	if up, ok := sub.set.Server(sub.of.server); ok {
		up.Unsubscribe(sub.of.uri)
	}
}

// add reports whether sub is the first of its resource.
func (t *subscriptions) add(sub *Subscription) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byURI == nil {
		t.byURI = map[resource]map[*Subscription]struct{}{}
	}
	first := t.byURI[sub.of] == nil
	if first {
		t.byURI[sub.of] = map[*Subscription]struct{}{}
	}
	t.byURI[sub.of][sub] = struct{}{}
	return first
}

// remove reports whether sub was the last of its resource.
func (t *subscriptions) remove(sub *Subscription) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, there := t.byURI[sub.of][sub]; !there {
		return false
	}
	delete(t.byURI[sub.of], sub)
	if len(t.byURI[sub.of]) > 0 {
		return false
	}
	delete(t.byURI, sub.of)
	return true
}

// updated passes a server's notification on, with the URI each client knows.
func (t *subscriptions) updated(server, uri string, params []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for sub := range t.byURI[resource{server, uri}] {
		own := params
		if sub.offered != uri {
			at := wire.Lookup(params, "uri")
			own = wire.Splice(nil, params, wire.Edit{At: at, With: wire.AppendQuote(nil, sub.offered)})
		}
		sub.feed.Notify(wire.NoteResourceUpdated, own)
	}
}
