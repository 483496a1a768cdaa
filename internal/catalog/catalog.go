package catalog

import (
	"errors"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"

	"durward"
)

// Catalog holds what all servers offer. It is safe for concurrent use.
type Catalog struct {
	opt    Options
	naming naming // of the aggregate

	views atomic.Pointer[viewSet]

	mu       sync.Mutex // guards what follows, and serialises changes of views
	members  map[string]*member
	order    []string // names of members, as configured
	toolsets []*toolset
	missing  map[string]absence
}

// toolset is a durward.Toolset, checked and ready to apply.
type toolset struct {
	name  string
	globs []string
}

// absence says why a server's items may be missing from lists.
type absence struct{ state, reason string }

// New returns an empty catalog.
func New(opt Options) *Catalog {
	c := &Catalog{opt: opt.withDefaults(), naming: prefixed, members: map[string]*member{}, missing: map[string]absence{}}
	if c.opt.Prefix == PrefixNone {
		c.naming = bare
	}
	c.views.Store(&viewSet{})
	c.rebuild()
	return c
}

// View returns what a route offers now; false if there is no such server or
// toolset. The view never changes: a request that uses one view sees one state.
func (c *Catalog) View(route durward.Route) (*View, bool) {
	set := c.views.Load()
	var v *View
	switch route.Kind {
	case durward.RouteAll:
		v = set.all
	case durward.RouteServer:
		v = set.servers[route.Name]
	case durward.RouteToolset:
		v = set.toolsets[route.Name]
	}
	return v, v != nil
}

// SetServers declares which servers there are, with their rules and in the order
// in which lists show them. Snapshots of servers that stay are kept; servers that
// are disabled or not named are forgotten. A server that cannot be declared is
// left out and told in the error (Invalid), which holds all of them.
func (c *Catalog) SetServers(specs []durward.Server) (Change, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	members := make(map[string]*member, len(specs))
	var order []string
	var failed []error
	for i := range specs {
		spec := &specs[i]
		if spec.Disabled {
			continue
		}
		if err := c.admits(spec.Name, members); err != nil {
			failed = append(failed, err)
			continue
		}
		r, err := compileRules(spec)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		members[spec.Name] = c.declared(spec, r)
		order = append(order, spec.Name)
	}
	c.members, c.order = members, order
	return c.rebuild(), errors.Join(failed...)
}

// admits reports whether one more server can be declared under the name.
func (c *Catalog) admits(name string, members map[string]*member) error {
	if _, taken := members[name]; taken {
		return durward.Errorf(durward.Invalid, "server "+name, "the name is used twice; names must be unique")
	}
	if c.naming == bare && len(members) > 0 {
		return durward.Errorf(durward.Invalid, "server "+name, `without a prefix only one server can be offered; set prefix to "server" or disable the others`)
	}
	return nil
}

// declared returns the member for a spec, the one there is if nothing changed for it.
func (c *Catalog) declared(spec *durward.Server, r *rules) *member {
	old := c.members[spec.Name]
	if old == nil {
		return newMember(spec, r, nil, nil, c.naming)
	}
	if old.rules.same(r) {
		return old
	}
	return newMember(spec, r, old.stock, old.holds, c.naming)
}

var toolsetName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

// ReplaceToolsets replaces the toolsets. On error (Invalid) nothing changes.
func (c *Catalog) ReplaceToolsets(sets []durward.Toolset) (Change, error) {
	next := make([]*toolset, 0, len(sets))
	for _, s := range sets {
		op := "toolset " + s.Name
		if !toolsetName.MatchString(s.Name) {
			return Change{}, durward.Errorf(durward.Invalid, "toolset", "the name %q must match %s", s.Name, toolsetName)
		}
		if slices.ContainsFunc(next, func(t *toolset) bool { return t.name == s.Name }) {
			return Change{}, durward.Errorf(durward.Invalid, op, "the name is used twice; names must be unique")
		}
		globs, err := compileGlobs(op+" tools", s.Tools)
		if err != nil {
			return Change{}, err
		}
		next = append(next, &toolset{name: s.Name, globs: globs})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, t := range next {
		for _, old := range c.toolsets {
			if old.name == t.name && slices.Equal(old.globs, t.globs) {
				next[i] = old
			}
		}
	}
	c.toolsets = next
	return c.rebuild(), nil
}

// Put replaces what a server offers. A snapshot of a server that is not declared
// is ignored: it was removed while it was read.
func (c *Catalog) Put(s Snapshot) Change {
	c.mu.Lock()
	old := c.members[s.Server]
	c.mu.Unlock()
	if old == nil {
		return Change{}
	}
	st := readSnapshot(&c.opt, &s, old.stock)
	if c.opt.Pins != nil {
		c.opt.Pins.Observe(st.surface(&s)) // before anybody is offered it
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	return c.restock(s.Server, st)
}

// Drop forgets what a server offers; the server stays declared.
func (c *Catalog) Drop(server string) Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.restock(server, nil)
}

// restock gives a member another stock. The caller holds mu.
func (c *Catalog) restock(server string, st *stock) Change {
	old := c.members[server]
	if old == nil {
		return Change{}
	}
	holds := c.holdsOf(server, st)
	if old.stock.same(st) && old.holds.same(holds) {
		return Change{}
	}
	c.members[server] = newMember(&old.spec, old.rules, st, holds, c.naming)
	return c.rebuild()
}

// Repin looks anew at what of a server is held, after somebody decided about it.
func (c *Catalog) Repin(server string) Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.members[server]; old != nil {
		return c.restock(server, old.stock)
	}
	return Change{}
}

// Missing notes that a server is not ready, so that lists say so under
// "dev.durward/missing" in their `_meta`; an empty state takes the note back. What
// the server offered before stays listed. The reason is cut at 1 KiB.
func (c *Catalog) Missing(server, state, reason string) {
	reason = clip(reason, maxReason)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.missing[server] == (absence{state, reason}) {
		return
	}
	if state == "" {
		delete(c.missing, server)
	} else {
		c.missing[server] = absence{state, reason}
	}
	c.rebuild()
}
