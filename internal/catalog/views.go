package catalog

import (
	"slices"

	"durward"
	"durward/internal/wire"
)

// maxReason bounds the reason of a missing server in a list.
const maxReason = 1 << 10

// viewSet is all views of one state of the catalog. It never changes.
type viewSet struct {
	all      *View
	servers  map[string]*View
	toolsets map[string]*View
}

// rebuild makes the views of the present state and returns how their lists
// differ from before. Views for which nothing changed are kept, with the pages
// they assembled. The caller holds mu (New, who is alone, does not).
func (c *Catalog) rebuild() Change {
	old := c.views.Load()
	next := &viewSet{servers: make(map[string]*View, len(c.order)), toolsets: make(map[string]*View, len(c.toolsets))}

	parts := make([]part, 0, len(c.order))
	for _, name := range c.order {
		m := c.members[name]
		parts = append(parts, part{m, m.merged})
		route := durward.Route{Kind: durward.RouteServer, Name: name}
		next.servers[name] = c.view(old.servers[name], route, untouched, nil, []part{{m, m.own}}, c.missingOf([]string{name}))
	}
	missing := c.missingOf(c.order)
	next.all = c.view(old.all, durward.Route{}, c.naming, nil, parts, missing)
	for _, t := range c.toolsets {
		before := old.toolsets[t.name]
		route := durward.Route{Kind: durward.RouteToolset, Name: t.name}
		next.toolsets[t.name] = c.view(before, route, c.naming, t, c.subsets(t, before), missing)
	}
	c.views.Store(next)
	return changeOf(old, next)
}

// subsets returns the parts of a toolset, those of the view before where they still hold.
func (c *Catalog) subsets(t *toolset, before *View) []part {
	parts := make([]part, 0, len(c.order))
	for _, name := range c.order {
		m := c.members[name]
		p := part{member: m}
		if before != nil && before.toolset == t {
			if i, ok := before.byServer[name]; ok && before.parts[i].member == m {
				p = before.parts[i]
			}
		}
		if p.shelf == nil {
			p.shelf = m.merged.subset(t.globs)
		}
		parts = append(parts, p)
	}
	return parts
}

// view returns the view for a route: old if it is still right.
func (c *Catalog) view(old *View, route durward.Route, n naming, t *toolset, parts []part, missing string) *View {
	if old != nil && old.toolset == t && old.missing == missing && slices.Equal(old.parts, parts) {
		return old
	}
	v := &View{route: route, naming: n, toolset: t, opt: &c.opt, parts: parts, missing: missing, byServer: make(map[string]int, len(parts))}
	for i, p := range parts {
		v.byServer[p.member.spec.Name] = i
		v.tasks = v.tasks || p.shelf.tasks
	}
	return v
}

// missingOf renders the servers that are not ready as a JSON array, "" when all are.
func (c *Catalog) missingOf(servers []string) string {
	var b []byte
	for _, name := range servers {
		a, ok := c.missing[name]
		if !ok {
			continue
		}
		if b == nil {
			b = append(b, `[{"server":`...)
		} else {
			b = append(b, `,{"server":`...)
		}
		b = wire.AppendQuote(b, name)
		b = append(b, `,"state":`...)
		b = wire.AppendQuote(b, a.state)
		b = append(b, `,"reason":`...)
		b = append(wire.AppendQuote(b, a.reason), '}')
	}
	if b == nil {
		return ""
	}
	return string(b) + "]"
}
