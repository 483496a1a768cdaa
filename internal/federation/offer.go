package federation

import (
	"bytes"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"durward"
	"durward/internal/catalog"
	"durward/internal/wire"
)

// offer is what clients are offered: one catalog for all of them. A server of
// both eras that runs a process of its own for legacy clients may list something
// else there; from the moment one does, legacy clients have a catalog of their own.
type offer struct {
	options catalog.Options
	hub     *hub
	main    *catalog.Catalog
	legacy  atomic.Pointer[catalog.Catalog] // nil while nothing differs

	mu       sync.Mutex // guards all below, and orders what is told to the catalogs
	specs    []durward.Server
	toolsets []durward.Toolset
	primary  map[string]catalog.Snapshot // by server
	overlays map[string]catalog.Snapshot // what a server lists to legacy clients
	absent   map[string]absence
}

// absence is why a server is not there.
type absence struct{ state, reason string }

func newOffer(options catalog.Options) *offer {
	return &offer{
		options: options, hub: newHub(), main: catalog.New(options),
		primary: map[string]catalog.Snapshot{}, overlays: map[string]catalog.Snapshot{}, absent: map[string]absence{},
	}
}

// view returns what a route offers to clients of an era.
func (o *offer) view(route durward.Route, era wire.Era) (*catalog.View, bool) {
	if legacy := o.legacy.Load(); legacy != nil && era == wire.Legacy {
		return legacy.View(route)
	}
	return o.main.View(route)
}

// declare says which servers there are; others are forgotten.
func (o *offer) declare(specs []durward.Server) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.specs = specs
	for name := range o.primary {
		if !slices.ContainsFunc(specs, func(s durward.Server) bool { return s.Name == name }) {
			delete(o.primary, name)
			delete(o.overlays, name)
			delete(o.absent, name)
		}
	}
	return o.each(func(c *catalog.Catalog) (catalog.Change, error) { return c.SetServers(specs) })
}

// subsets replaces the toolsets.
func (o *offer) subsets(sets []durward.Toolset) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.toolsets = sets
	return o.each(func(c *catalog.Catalog) (catalog.Change, error) { return c.ReplaceToolsets(sets) })
}

// each changes both catalogs and tells their listeners. mu is held.
func (o *offer) each(change func(*catalog.Catalog) (catalog.Change, error)) error {
	done, err := change(o.main)
	legacy := o.legacy.Load()
	o.hub.changed(done, func(era wire.Era) bool { return legacy == nil || era != wire.Legacy })
	if legacy == nil {
		return err
	}
	done, second := change(legacy)
	o.hub.changed(done, func(era wire.Era) bool { return era == wire.Legacy })
	return errors.Join(err, second)
}

// put takes what a server lists.
func (o *offer) put(s catalog.Snapshot) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.primary[s.Server] = s
	if s.Era != wire.Modern {
		delete(o.overlays, s.Server) // it has one process for all again
	}
	o.update(s.Server)
}

// overlay takes what a server lists to legacy clients. Until it was read to its
// end once they are offered what everybody is: half a list would take tools from
// them, and nothing they could still call would make the server list again.
func (o *offer) overlay(s catalog.Snapshot) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.overlays[s.Server]; !known && !s.Complete {
		return
	}
	o.overlays[s.Server] = s
	o.update(s.Server)
}

// update brings the catalogs to what a server lists now. mu is held.
func (o *offer) update(server string) {
	overlay, own := o.overlays[server]
	if o.legacy.Load() == nil && own && !sameOffer(overlay, o.primary[server]) {
		o.split()
	}
	legacy := o.legacy.Load()
	_ = o.each(func(c *catalog.Catalog) (catalog.Change, error) { // Put has no error
		if c == legacy && own {
			return c.Put(overlay), nil
		}
		return c.Put(o.primary[server]), nil
	})
}

// split makes the catalog of legacy clients. Until now they were offered what
// everybody is, so nothing has to be told. mu is held.
func (o *offer) split() {
	c := catalog.New(o.options)
	// What cannot be declared was refused, and told, by the main catalog.
	_, _ = c.SetServers(o.specs)
	for _, s := range o.primary {
		c.Put(s)
	}
	_, _ = c.ReplaceToolsets(o.toolsets)
	for server, a := range o.absent {
		c.Missing(server, a.state, a.reason)
	}
	o.legacy.Store(c)
}

// repin looks anew at what of a server is held. Listeners hear of it if lists change.
func (o *offer) repin(server string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_ = o.each(func(c *catalog.Catalog) (catalog.Change, error) { return c.Repin(server), nil }) // Repin has no error
}

// missing says that a server is not there and why; with "" that it is.
func (o *offer) missing(server, state, reason string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if state == "" {
		delete(o.absent, server)
	} else {
		o.absent[server] = absence{state, reason}
	}
	_ = o.each(func(c *catalog.Catalog) (catalog.Change, error) {
		c.Missing(server, state, reason)
		return catalog.Change{}, nil
	})
}

// sameOffer reports whether clients would see no difference.
func sameOffer(a, b catalog.Snapshot) bool {
	same := func(x, y [][]byte) bool { return slices.EqualFunc(x, y, bytes.Equal) }
	return same(a.Tools, b.Tools) && same(a.Prompts, b.Prompts) && same(a.Resources, b.Resources) && same(a.Templates, b.Templates) &&
		a.Instructions == b.Instructions && bytes.Equal(a.Capabilities, b.Capabilities)
}
