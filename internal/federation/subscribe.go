package federation

import (
	"context"
	"sync"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream"
	"durward/internal/wire"
)

// subscriptions counts who wants to hear of which resource or task, so that a
// server is asked once however many clients subscribe, and told once the last one
// left.
type subscriptions struct {
	mu sync.Mutex // guards of
	of map[subject]map[*Subscription]struct{}
}

// subject is what can be subscribed to: a resource by its URI, or a modern task
// by its id.
type subject struct {
	server string
	task   bool
	name   string
}

func resourceOf(server string) subject { return subject{server: server} }
func taskOf(server string) subject     { return subject{server: server, task: true} }

// member is where notifications say what they are about.
func (s subject) member() string {
	if s.task {
		return "taskId"
	}
	return "uri"
}

// Subscription is one client's interest in one resource or task.
type Subscription struct {
	set     *Set
	of      subject
	offered string // its URI or id as the client knows it
	feed    exchange.Feed
}

// Subscribe tells feed when the resource uri of server changes; offered is the
// URI to name in the notification. The server is asked if nobody has yet.
func (s *Set) Subscribe(ctx context.Context, server, uri, offered string, feed exchange.Feed) (*Subscription, error) {
	up, err := s.named(server)
	if err != nil {
		return nil, err
	}
	sub := &Subscription{set: s, of: subject{server: server, name: uri}, offered: offered, feed: feed}
	if s.subs.add(sub) {
		if err := up.Subscribe(ctx, uri); err != nil {
			s.subs.remove(sub)
			return nil, err
		}
	}
	return sub, nil
}

// SubscribeTask tells feed what becomes of a task of a modern server; offered is
// the id to name in the notification. It fails unless the server agreed to tell.
func (s *Set) SubscribeTask(ctx context.Context, server, id, offered string, feed exchange.Feed) (*Subscription, error) {
	up, err := s.named(server)
	if err != nil {
		return nil, err
	}
	sub := &Subscription{set: s, of: subject{server: server, task: true, name: id}, offered: offered, feed: feed}
	s.subs.add(sub) // before the server agrees: it may tell at once
	agreed, err := up.SubscribeTask(ctx, id)
	if err == nil && !agreed {
		err = durward.Errorf(durward.Unavailable, "server "+server, "it does not tell what becomes of this task")
	}
	if err != nil {
		s.subs.remove(sub)
		return nil, err
	}
	return sub, nil
}

func (s *Set) named(server string) (*upstream.Server, error) {
	up, ok := s.Server(server)
	if !ok {
		return nil, durward.Errorf(durward.NotFound, "server "+server, "no server is called so")
	}
	return up, nil
}

// Close ends the interest.
func (sub *Subscription) Close() {
	there, last := sub.set.subs.remove(sub)
	up, ok := sub.set.Server(sub.of.server)
	switch {
	case !there || !ok:
	case sub.of.task:
		up.UnsubscribeTask(sub.of.name) // which counts itself: each of them had to wait for the server's word
	case last:
		up.Unsubscribe(sub.of.name)
	}
}

// add reports whether sub is the first of its subject.
func (t *subscriptions) add(sub *Subscription) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[subject]map[*Subscription]struct{}{}
	}
	first := t.of[sub.of] == nil
	if first {
		t.of[sub.of] = map[*Subscription]struct{}{}
	}
	t.of[sub.of][sub] = struct{}{}
	return first
}

// remove reports whether sub was there, and the last of its subject.
func (t *subscriptions) remove(sub *Subscription) (there, last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, there = t.of[sub.of][sub]; !there {
		return false, false
	}
	delete(t.of[sub.of], sub)
	if len(t.of[sub.of]) > 0 {
		return true, false
	}
	delete(t.of, sub.of)
	return true, true
}

// updated passes a server's notification about something of the kind of about on,
// with the name by which each client knows it.
func (t *subscriptions) updated(about subject, n exchange.Notification) {
	at := wire.Lookup(n.Params, about.member())
	name, ok := wire.Unquote(at.Of(n.Params))
	if !ok {
		return
	}
	about.name = name
	t.mu.Lock()
	defer t.mu.Unlock()
	for sub := range t.of[about] {
		own := n.Params
		if sub.offered != name {
			own = wire.Splice(nil, n.Params, wire.Edit{At: at, With: wire.AppendQuote(nil, sub.offered)})
		}
		sub.feed.Notify(n.Method, own)
	}
}
