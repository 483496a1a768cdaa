package gateway

import (
	"context"
	"sync"
	"time"

	"durward"
	"durward/internal/federation"
	"durward/internal/upstream"
	"durward/internal/wire"
)

// RefreshServer reads anew what a server offers. One that is not connected is
// tried at once.
func (g *Gateway) RefreshServer(ctx context.Context, name string) error {
	server, err := g.server(name)
	if err != nil {
		return err
	}
	return server.Refresh(ctx)
}

// RestartServer stops all connections of a server and connects anew. Calls in
// flight end with an unknown outcome.
func (g *Gateway) RestartServer(ctx context.Context, name string) error {
	server, err := g.server(name)
	if err != nil {
		return err
	}
	return server.Restart(ctx)
}

// ServerStderr returns the end of what a server wrote to its stderr, also when it
// has ended; empty if it has none.
func (g *Gateway) ServerStderr(name string) ([]byte, error) {
	server, err := g.server(name)
	if err != nil {
		return nil, err
	}
	return server.Stderr(), nil
}

// AwaitServer waits, at most for limit, until a server has come up or failed for
// the first time.
func (g *Gateway) AwaitServer(ctx context.Context, name string, limit time.Duration) {
	g.set.AwaitServer(ctx, name, limit)
}

func (g *Gateway) server(name string) (*upstream.Server, error) {
	server, ok := g.set.Server(name)
	if !ok {
		return nil, durward.Errorf(durward.NotFound, "server "+name, "no server is called %q; see: durward server list", name)
	}
	return server, nil
}

// Watcher is told what happens. Its methods must not block and may be called
// from any goroutine.
type Watcher interface {
	// ServerChanged is called after each change of a server's state or its reason.
	ServerChanged(durward.ServerStatus)
	// ListsChanged is called after the lists of the aggregate changed: tools,
	// prompts or resources.
	ListsChanged(kind string)
}

// Watch tells w of what happens until stop is called.
func (g *Gateway) Watch(w Watcher) (stop func()) {
	key := new(Watcher)
	*key = w
	g.watchers.Store(key, w)
	unlisten := g.set.Listen(durward.Route{}, wire.Modern, federation.Filter{Tools: true, Prompts: true, Resources: true}, listFeed{w})
	var once sync.Once
	return func() {
		once.Do(func() {
			unlisten()
			g.watchers.Delete(key)
		})
	}
}

// stateChanged passes a server's state on.
func (g *Gateway) stateChanged(st durward.ServerStatus) {
	g.watchers.Range(func(_, w any) bool {
		w.(Watcher).ServerChanged(st)
		return true
	})
}

// listFeed tells a watcher of changed lists.
type listFeed struct{ w Watcher }

// Notify implements exchange.Feed.
func (f listFeed) Notify(method string, _ []byte) {
	switch method {
	case wire.NoteToolsChanged:
		f.w.ListsChanged("tools")
	case wire.NotePromptsChanged:
		f.w.ListsChanged("prompts")
	case wire.NoteResourcesChanged:
		f.w.ListsChanged("resources")
	}
}
