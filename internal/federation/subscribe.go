package federation

import (
	"context"
	"sync"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream"
	"durward/internal/wire"
)

// subscriptions knows who wants to hear of which resource or task. How many they
// are for one connection, which is asked once, is counted by package upstream.
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
	undo    func() // tells the server; which counts itself: everybody had to wait for its word
}

// Requester says for whom a resource is subscribed to: it is reported by the
// connection that its calls go to.
type Requester struct {
	Key    upstream.Key
	Client exchange.Client
}

// Subscribe tells feed when the resource uri of server changes; offered is the
// URI to name in the notification. It returns once the server reports it.
func (s *Set) Subscribe(ctx context.Context, of *Requester, server, uri, offered string, feed exchange.Feed) (*Subscription, error) {
	up, err := s.named(server)
	if err != nil {
		return nil, err
	}
	sub := &Subscription{set: s, of: subject{server: server, name: uri}, offered: offered, feed: feed}
	s.subs.add(sub) // before the server agrees: it may tell at once
	if sub.undo, err = up.SubscribeAs(ctx, of.Key, &of.Client, uri); err != nil {
		s.subs.remove(sub)
		return nil, err
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
	sub.undo = func() { up.UnsubscribeTask(id) }
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
	if sub.set.subs.remove(sub) {
		sub.undo()
	}
}

func (t *subscriptions) add(sub *Subscription) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[subject]map[*Subscription]struct{}{}
	}
	if t.of[sub.of] == nil {
		t.of[sub.of] = map[*Subscription]struct{}{}
	}
	t.of[sub.of][sub] = struct{}{}
}

// remove reports whether sub was there.
func (t *subscriptions) remove(sub *Subscription) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, there := t.of[sub.of][sub]; !there {
		return false
	}
	if delete(t.of[sub.of], sub); len(t.of[sub.of]) == 0 {
		delete(t.of, sub.of)
	}
	return true
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
