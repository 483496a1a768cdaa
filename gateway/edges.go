package gateway

import (
	"context"
	"io"
	"net/http"
	"sync"

	"durward"
	"durward/internal/identity"
	"durward/internal/seal"
	"durward/internal/session"
	"durward/internal/transport"
)

// edges are the entrances and what they need: who is speaking, and the sessions.
type edges struct {
	*transport.Edge
	gate     *identity.Gate
	sessions *session.Store
	stop     context.CancelFunc // ends the keeper of the sessions
	done     sync.WaitGroup
}

func newEdges(core *core, opt Options) (*edges, error) {
	gate, err := identity.New(opt.Access.identity())
	if err != nil {
		return nil, err
	}
	sessions := opt.Limits.session()
	sessions.Sealer, sessions.MaxID = sessionSeal{core.ring}, opt.Limits.sessionID()
	store := session.New(sessions)
	edge, err := transport.New(transport.Options{
		Core: core, Auth: gate, Sessions: transport.SessionsOf(store), Limits: opt.Limits.transport(), KeepAlive: opt.Limits.KeepAlive,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &edges{Edge: edge, gate: gate, sessions: store, stop: cancel}
	e.done.Go(func() { _ = store.Run(ctx) }) // it returns when ctx ends, with nothing to tell
	return e, nil
}

// sessionID bounds the id of a session, in bytes. Its client has to send it as a
// header, which proxies on the way may bound more strictly than we do.
func (l *Limits) sessionID() int {
	most := 4 << 10
	if l.Header > 0 {
		most = min(most, l.Header)
	}
	if l.Headers > 0 {
		most = min(most, l.Headers/2)
	}
	return most
}

// sessionSeal makes the ids of legacy sessions, so that they outlive the process
// and are known to replicas with the same keys.
type sessionSeal struct{ ring *seal.Ring }

func (s sessionSeal) Seal(bound string, state []byte) string {
	return s.ring.Seal(seal.Session, bound, state)
}

func (s sessionSeal) Open(bound, token string) ([]byte, error) {
	return s.ring.Open(seal.Session, bound, token)
}

// Close lets requests in flight finish for a moment and ends all sessions.
func (e *edges) Close() error {
	err := e.Edge.Close()
	e.stop()
	e.done.Wait()
	return err
}

// Handler serves /mcp, /servers/NAME/mcp and /toolsets/NAME/mcp.
func (g *Gateway) Handler() http.Handler { return g.edges }

// Admit says who sends an HTTP request, by the same rules as [Gateway.Handler].
func (g *Gateway) Admit(r *http.Request) (durward.Caller, error) { return g.edges.gate.Admit(r) }

// StdioHandler turns a connection of the service's unix socket into the stdio
// entrance: GET with Upgrade: mcp-stdio and ?server=NAME or ?toolset=NAME.
func (g *Gateway) StdioHandler() http.Handler { return g.edges.Upgrade() }

// ServeStdio serves one client on a stream of JSON lines until it ends.
func (g *Gateway) ServeStdio(ctx context.Context, stream io.ReadWriteCloser, caller durward.Caller, route durward.Route) error {
	return g.edges.ServeStdio(ctx, stream, caller, route)
}
