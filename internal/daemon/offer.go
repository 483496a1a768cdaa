package daemon

import (
	"context"
	"encoding/json"
	"slices"

	"durward"
	"durward/client"
	"durward/gateway"
	"durward/internal/control"
)

// offer is what the service offers, for the service API.
type offer Service

var _ control.Offer = (*offer)(nil)

// Items implements control.Offer.
func (o *offer) Items(ctx context.Context, caller durward.Caller, kind string, f client.Filter) ([]client.Item, error) {
	route := durward.Route{}
	if f.Toolset != "" {
		route = durward.Route{Kind: durward.RouteToolset, Name: f.Toolset}
	}
	if f.Server != "" {
		if !slices.ContainsFunc(o.gateway.Status().Servers, func(s durward.ServerStatus) bool { return s.Name == f.Server }) {
			return nil, durward.Errorf(durward.NotFound, "server "+f.Server, "no server is called %q; see: durward server list", f.Server)
		}
		o.gateway.AwaitServer(ctx, f.Server, tryLeast) // a list does not wait for one that is late
	}
	return o.items(ctx, caller, route, kind, f.Server)
}

// items are those of one server, or of all, that a list of all has.
func (o *offer) items(ctx context.Context, caller durward.Caller, route durward.Route, kind, server string) ([]client.Item, error) {
	all, err := o.gateway.Items(ctx, caller, route, kind)
	if err != nil {
		return nil, err
	}
	items := []client.Item{}
	for _, it := range all {
		if server == "" || it.Server == server {
			items = append(items, item(it))
		}
	}
	return items, nil
}

func item(it gateway.Item) client.Item {
	return client.Item{Kind: it.Kind, Name: it.Offered, Server: it.Server, Native: it.Native, Risk: it.Risk.String(), Raw: it.Raw}
}

// Do implements control.Offer.
func (o *offer) Do(ctx context.Context, caller durward.Caller, method string, params json.RawMessage, notify func(string, json.RawMessage)) (json.RawMessage, error) {
	return o.gateway.Do(ctx, gateway.Request{Caller: caller, Method: method, Params: params, Notify: notify})
}
