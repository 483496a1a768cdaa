package gateway

import (
	"context"
	"strconv"
	"sync"

	"durward/internal/exchange"
	"durward/internal/federation"
	"durward/internal/wire"
)

// listen serves subscriptions/listen (2026-07-28, basic/patterns/subscriptions):
// it acknowledges, then sends events until the caller goes away or the gateway stops.
func (g *Gateway) listen(ctx context.Context, p *passage, out exchange.Stream) exchange.Reply {
	feed := &listenFeed{id: p.in.ID, out: out}
	want := wire.Get(p.in.Params.Raw, "notifications")
	filter := federation.Filter{
		Tools:     string(wire.Get(want, "toolsListChanged")) == "true",
		Prompts:   string(wire.Get(want, "promptsListChanged")) == "true",
		Resources: string(wire.Get(want, "resourcesListChanged")) == "true",
	}
	uris, subs, err := g.subscribeAll(ctx, p, wire.Get(want, "resourceSubscriptions"), feed)
	defer func() {
		for _, sub := range subs {
			sub.Close()
		}
	}()
	if err != nil {
		return exchange.Fail(err)
	}
	tasks, err := g.followTasks(ctx, p, wire.Get(want, "taskIds"), len(subs))
	if err != nil {
		return exchange.Fail(err)
	}
	defer tasks.close()
	// Whoever has the acknowledgement hears of every change from then on, so we listen before it is out.
	defer g.set.Listen(p.in.Route, p.in.Client.Era, filter, feed)()
	feed.acknowledge(acknowledged(p.in.ID, filter, uris, tasks.honoured()))
	for {
		select {
		case <-tasks.ready:
			tasks.tell(ctx, feed)
			continue
		case <-ctx.Done():
		case <-g.stopping:
		}
		break
	}
	return exchange.Reply{Result: wire.AppendObject(nil, nil, nil, subscriptionMeta(p.in.ID), wire.Member{Name: "resultType", Value: []byte(`"complete"`)}), ResultType: "complete"}
}

// subscribeAll subscribes to the resources of the filter. What cannot be
// subscribed to is left out of the acknowledgement, as the specification wants.
func (g *Gateway) subscribeAll(ctx context.Context, p *passage, list []byte, feed exchange.Feed) (honoured [][]byte, subs []*federation.Subscription, err error) {
	view, err := g.view(p)
	if err != nil {
		return nil, nil, err
	}
	for at := range wire.Elements(list) {
		if len(subs) == g.subscriptions {
			return nil, subs, invalidParams("more than " + strconv.Itoa(g.subscriptions) + " resourceSubscriptions in one request (limits.session_subscriptions)")
		}
		uri, ok := wire.Unquote(at.Of(list))
		if !ok {
			return nil, subs, invalidParams("resourceSubscriptions must be strings")
		}
		to, err := view.Resource(uri)
		if err != nil {
			continue
		}
		sub, err := g.set.Subscribe(ctx, p.requester(), to.Server, to.URI, uri, feed)
		if err != nil {
			continue
		}
		honoured, subs = append(honoured, at.Of(list)), append(subs, sub)
	}
	return honoured, subs, nil
}

// listenFeed marks each event with the id of the listen request.
type listenFeed struct {
	id  []byte
	out exchange.Stream // does not block

	mu   sync.Mutex // guards open, and keeps events behind the acknowledgement
	open bool       // the acknowledgement, which has to be the first message, is out
}

// acknowledge sends the first message, and lets events pass from then on.
func (f *listenFeed) acknowledge(params []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.out.Notify(wire.NoteAcknowledged, params)
	f.open = true
}

// Notify passes an event on. What happens before the acknowledgement is not
// missed: whoever reads a resource after it sees it.
func (f *listenFeed) Notify(method string, params []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.open {
		return
	}
	f.out.Notify(method, withSubscription(params, f.id))
}

func withSubscription(params, id []byte) []byte {
	var p wire.Params
	if params != nil && wire.ParseParams(params, &p) != nil {
		p = wire.Params{}
	}
	return wire.AppendParams(nil, &p, &wire.Rewrite{
		DropMeta: func(name string) bool { return name == wire.MetaSubscriptionID },
		AddMeta:  []wire.Member{{Name: wire.MetaSubscriptionID, Value: id}},
	})
}

func subscriptionMeta(id []byte) wire.Member {
	return wire.Member{Name: "_meta", Value: wire.AppendObject(nil, nil, nil, wire.Member{Name: wire.MetaSubscriptionID, Value: id})}
}

func acknowledged(id []byte, f federation.Filter, uris, tasks [][]byte) []byte {
	var honoured []wire.Member
	for _, kind := range []struct {
		name string
		want bool
	}{{"toolsListChanged", f.Tools}, {"promptsListChanged", f.Prompts}, {"resourcesListChanged", f.Resources}} {
		if kind.want {
			honoured = append(honoured, wire.Member{Name: kind.name, Value: []byte("true")})
		}
	}
	if len(uris) > 0 {
		honoured = append(honoured, wire.Member{Name: "resourceSubscriptions", Value: array(uris)})
	}
	if len(tasks) > 0 {
		honoured = append(honoured, wire.Member{Name: "taskIds", Value: array(tasks)})
	}
	return wire.AppendObject(nil, nil, nil, subscriptionMeta(id),
		wire.Member{Name: "notifications", Value: wire.AppendObject(nil, nil, nil, honoured...)})
}

// array renders raw values as a JSON array.
func array(values [][]byte) []byte {
	list := []byte{'['}
	for i, value := range values {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, value...)
	}
	return append(list, ']')
}
