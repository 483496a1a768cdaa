package gateway

import (
	"context"

	"durward"
	"durward/internal/catalog"
	"durward/internal/wire"
)

// PolicyChanged tells clients that what they may use may be other than it was,
// because the Decider decides by other rules now.
func (g *Gateway) PolicyChanged() { g.set.ListsChanged() }

// ToolCall returns what the gate would see of a call of a server's tool, by the
// server's own name of it: without caller and arguments. It waits, within ctx, for a
// server that comes up for the first time. An unknown server or tool is NotFound.
func (g *Gateway) ToolCall(ctx context.Context, server, tool string) (*durward.Call, error) {
	s, err := g.server(server)
	if err != nil {
		return nil, err
	}
	g.set.AwaitServer(ctx, server, firstStart)
	view, ok := g.set.View(durward.Route{}, wire.Modern)
	if ok {
		for e := range view.Entries(catalog.Tool) {
			if e.Server == server && e.Name == tool {
				return &durward.Call{
					Method: wire.MethodToolsCall, Server: server, Name: tool, FullName: e.Offered, Risk: e.Risk, Tool: e.Tool, Transport: s.Transport(),
				}, nil
			}
		}
	}
	return nil, durward.Errorf(durward.NotFound, "server "+server, "it offers no tool %q; see: durward tools --server %s", clip(tool), server)
}
