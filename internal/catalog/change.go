package catalog

import (
	"crypto/sha256"

	"durward"
)

// Change says how what is offered differs from before. Templates count as resources.
type Change struct {
	// Tools, Prompts and Resources are what changed on the aggregate, by offered
	// name or URI. A list whose order alone changed shows in Routes only.
	Tools, Prompts, Resources Diff
	// Routes are the routes of which a list changed, new routes not included:
	// nobody can have seen their lists.
	Routes []RouteChange
}

// Diff names the items that changed in one list.
type Diff struct{ Added, Removed, Changed []string }

// RouteChange says which lists of a route changed.
type RouteChange struct {
	Route                     durward.Route
	Tools, Prompts, Resources bool
}

// Empty reports whether no list of any route changed.
func (c *Change) Empty() bool { return len(c.Routes) == 0 }

// Touches says which lists of a route changed.
func (c *Change) Touches(route durward.Route) (tools, prompts, resources bool) {
	for _, r := range c.Routes {
		if r.Route == route {
			return r.Tools, r.Prompts, r.Resources
		}
	}
	return false, false, false
}

// changeOf compares two states. Routes that are gone count as changed: who still
// listens there is told that there is nothing any more.
func changeOf(old, next *viewSet) Change {
	var c Change
	c.compare(old.all, next.all)
	for name, v := range old.servers {
		c.compare(v, next.servers[name])
	}
	for name, v := range old.toolsets {
		c.compare(v, next.toolsets[name])
	}
	if old.all != nil && old.all != next.all {
		before, after := old.all.parts, next.all.parts
		c.Tools = diff(before, after, Tool)
		c.Prompts = diff(before, after, Prompt)
		c.Resources = diff(before, after, Resource)
		c.Resources.append(diff(before, after, Template))
	}
	return c
}

// compare notes a route if one of its lists changed.
func (c *Change) compare(old, next *View) {
	if old == nil || old == next {
		return
	}
	r := RouteChange{
		Route: old.route, Tools: !sameList(old, next, Tool), Prompts: !sameList(old, next, Prompt),
		Resources: !sameList(old, next, Resource) || !sameList(old, next, Template),
	}
	if r.Tools || r.Prompts || r.Resources {
		c.Routes = append(c.Routes, r)
	}
}

func sameList(old, next *View, k Kind) bool {
	a, b := old.digests(k), next.digests(k)
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

type listDigest struct {
	server string
	sum    [sha256.Size]byte
}

// digests returns the digests of the lists that are not empty; of a nil view there are none.
func (v *View) digests(k Kind) (all []listDigest) {
	if v == nil {
		return nil
	}
	for _, p := range v.parts {
		if len(p.shelf.lists[k]) > 0 {
			all = append(all, listDigest{p.member.spec.Name, p.shelf.digests[k]})
		}
	}
	return all
}

// diff names what changed between two aggregates, in the order of the lists.
func diff(before, after []part, k Kind) (d Diff) {
	was := make(map[string]*shelf, len(before))
	for _, p := range before {
		was[p.member.spec.Name] = p.shelf
	}
	for _, p := range after {
		name := p.member.spec.Name
		if was[name] != p.shelf {
			d.append(diffShelves(was[name], p.shelf, k))
		}
		delete(was, name)
	}
	for _, p := range before {
		if gone, ok := was[p.member.spec.Name]; ok {
			d.append(diffShelves(gone, nil, k))
		}
	}
	return d
}

func (d *Diff) append(more Diff) {
	d.Added = append(d.Added, more.Added...)
	d.Removed = append(d.Removed, more.Removed...)
	d.Changed = append(d.Changed, more.Changed...)
}

func diffShelves(before, after *shelf, k Kind) (d Diff) {
	old := map[string]*Entry{}
	if before != nil {
		for _, e := range before.lists[k] {
			old[e.Offered] = e
		}
	}
	if after != nil {
		for _, e := range after.lists[k] {
			was, ok := old[e.Offered]
			switch delete(old, e.Offered); {
			case !ok:
				d.Added = append(d.Added, e.Offered)
			case !was.sameAs(e):
				d.Changed = append(d.Changed, e.Offered)
			}
		}
	}
	if before != nil {
		for _, e := range before.lists[k] {
			if old[e.Offered] == e {
				d.Removed = append(d.Removed, e.Offered)
			}
		}
	}
	return d
}
