package catalog

import (
	"cmp"
	"crypto/sha256"

	"durward"
	"durward/internal/wire"
)

// naming is how a route names what a server offers.
type naming uint8

const (
	untouched naming = iota // the server's own names: a route to one server
	bare                    // the same, with the operator's renames: an aggregate without prefix
	prefixed                // the aggregate
)

// shelf is what one server offers in one naming. It never changes.
type shelf struct {
	lists    [kinds][]*Entry
	held     [kinds][]*Entry          // not in lists; they can be found, so that who asks for one is told
	index    [kinds]map[string]*Entry // tools and prompts by Offered, resources and templates by Name
	digests  [kinds][sha256.Size]byte // of the lists
	linked   map[string]bool          // not nil in a toolset: the only resources that can be read
	tasks    bool                     // some tool is hidden from some audience
	apps     map[string]bool          // the resources that show results of its tools; nil when there are none
	native   map[string]*Entry        // of a server with apps: its tools by their own names
	problems []string
}

func newShelf(n naming, server string, st *stock, r *rules, h *holds) *shelf {
	s := &shelf{}
	var bad problems
	for k := range Kind(kinds) {
		l := labeller{naming: n, server: server, rules: r, stock: st, holds: h, problems: &bad}
		s.set(k, l.entries(k, st.items[k]))
	}
	s.problems = bad.all()
	return s
}

// set puts a list on the shelf.
func (s *shelf) set(k Kind, all []*Entry) {
	entries := all
	if s.held[k] = onHold(all); s.held[k] != nil {
		entries = offered(all)
	}
	s.lists[k] = entries
	s.digests[k] = digestOf(entries)
	s.index[k] = make(map[string]*Entry, len(all))
	for _, e := range all {
		key := e.Offered
		if k == Resource || k == Template {
			key = e.Name
		}
		s.index[k][key] = e
	}
	if k == Tool {
		s.setTools(entries)
	}
}

// setTools notes what is special about the tools.
func (s *shelf) setTools(entries []*Entry) {
	for _, e := range entries {
		s.tasks = s.tasks || e.task != plainCall
		if e.UI != "" {
			if s.apps == nil {
				s.apps = map[string]bool{}
			}
			s.apps[e.UI] = true
		}
	}
	if s.apps == nil {
		return
	}
	s.native = make(map[string]*Entry, len(entries))
	for _, e := range entries {
		s.native[e.Name] = e
	}
}

// subset returns the shelf of a toolset: the tools whose offered names match, and
// the resources that show their results. Prompts and other resources are no part
// of a toolset, since no glob of it chose them.
func (s *shelf) subset(globs []string) *shelf {
	sub := &shelf{linked: map[string]bool{}}
	var tools, resources []*Entry
	for _, list := range [][]*Entry{s.lists[Tool], s.held[Tool]} {
		for _, e := range list {
			if matchAny(globs, e.Offered) {
				tools = append(tools, e)
			}
		}
	}
	sub.set(Tool, tools)
	if sub.apps != nil {
		sub.linked = sub.apps
	}
	for _, e := range s.lists[Resource] {
		if sub.linked[e.Name] {
			resources = append(resources, e)
		}
	}
	sub.set(Prompt, nil)
	sub.set(Resource, resources)
	sub.set(Template, nil)
	return sub
}

// labeller makes the entries of one list.
type labeller struct {
	naming   naming
	server   string
	rules    *rules
	stock    *stock
	holds    *holds
	problems *problems
}

func (l *labeller) entries(k Kind, items []*Item) []*Entry {
	owners := map[string]string(nil)
	if k == Tool && l.naming != untouched {
		owners = l.rules.owners(func(name string) string { offered, _ := l.offeredName(name); return offered })
	}
	made := make([]Entry, 0, len(items))
	for _, it := range items {
		if k == Tool && !l.rules.allows(it.Name) {
			continue
		}
		if it.flaw != "" && l.naming == prefixed {
			l.problems.add("%s %q is offered on the server's own route only: %s, and a client would refuse every list it stands in", k, short(it.Name), it.flaw)
			continue
		}
		made = append(made, l.entry(it))
	}
	return l.unique(made, owners)
}

func (l *labeller) entry(it *Item) Entry {
	e := Entry{Item: it, Offered: it.Name, Risk: riskOf(it, l.rules.risk), Held: l.holds.of(it), task: taskUseOf(it, l.stock)}
	if it.Kind == Tool {
		e.Tool = &durward.Tool{Annotations: it.annotations.Of(it.Raw), Hash: it.Hash, Floor: l.rules.risk, Set: l.rules.set(it.Name)}
		e.Risk = cmp.Or(e.Tool.Set, e.Risk)
	}
	switch {
	case l.naming == untouched:
	case it.Kind == Tool || it.Kind == Prompt:
		name := it.Name
		if renamed := l.rules.rename[name]; renamed != "" && it.Kind == Tool {
			name = renamed
		}
		e.Offered, e.alias = l.offeredName(name)
	case l.naming == prefixed && it.Kind == Resource:
		e.Offered = prefixedURI(l.server, it.Name)
	case l.naming == prefixed:
		e.Offered = prefixedTemplate(l.server, it.Name)
	}
	l.label(&e)
	return e
}

// offeredName returns what a tool or prompt called name is offered as.
func (l *labeller) offeredName(name string) (offered string, alias bool) {
	if l.naming == prefixed {
		return prefixedName(l.server, name)
	}
	return name, false
}

// label notes the edits that make the offered form.
func (l *labeller) label(e *Entry) {
	if e.Offered != e.Name {
		e.edit(e.key, wire.Quote(e.Offered))
	}
	if text, ok := l.rules.describe[e.Name]; ok && e.Kind == Tool {
		e.describeAs(text)
	}
	if l.naming == prefixed {
		for _, at := range e.ui {
			uri, _ := wire.Unquote(at.Of(e.Raw))
			e.edit(at, wire.Quote(prefixedURI(l.server, uri)))
		}
	}
	e.sortEdits()
}

// unique drops entries whose offered name belongs to another one, and says so.
// A rename beats a tool that has the name by itself, because the operator wrote
// rules for what the name means; that beats an alias; two aliases that meet go to
// the name that sorts first. So who has a name does not depend on the order in
// which the server lists.
func (l *labeller) unique(made []Entry, owners map[string]string) []*Entry {
	holder := make(map[string]*Entry, len(made))
	lost := map[*Entry]bool{}
	for i := range made {
		e := &made[i]
		other, taken := holder[e.Offered]
		owner, reserved := owners[e.Offered]
		switch {
		case reserved && owner != e.Name:
			lost[e] = true
			l.problems.add("%s %q is not offered: the name %q belongs to the rename of %q", e.Kind, short(e.Name), e.Offered, short(owner))
			continue
		case !taken:
		case beats(e, other):
			lost[other] = true
			l.collision(other, e)
		default:
			lost[e] = true
			l.collision(e, other)
			continue
		}
		holder[e.Offered] = e
	}
	out := make([]*Entry, 0, len(made))
	for i := range made {
		if !lost[&made[i]] {
			out = append(out, &made[i])
		}
	}
	return out
}

func (l *labeller) collision(loser, winner *Entry) {
	l.problems.add("%s %q is not offered: its name %q is that of %q; rename one of them (tools.rename)",
		loser.Kind, short(loser.Name), loser.Offered, short(winner.Name))
}

// beats reports whether e rather than other has the name they share.
func beats(e, other *Entry) bool {
	if (e.Held == "") != (other.Held == "") {
		return e.Held == "" // who comes later takes no name away before it was accepted
	}
	if e.alias != other.alias {
		return other.alias
	}
	return e.Name < other.Name
}

// member is one declared server with all that is known of it. It never changes.
type member struct {
	spec   durward.Server
	rules  *rules
	stock  *stock // nil until the server was read
	holds  *holds // of stock
	merged *shelf // for aggregates and toolsets
	own    *shelf // for the route to this server
}

func newMember(spec *durward.Server, r *rules, st *stock, h *holds, n naming) *member {
	m := &member{spec: *spec, rules: r, stock: st, holds: h}
	if st == nil {
		st = &stock{}
	}
	m.own = newShelf(untouched, spec.Name, st, r, h)
	if m.merged = m.own; n == prefixed || len(r.rename) > 0 {
		m.merged = newShelf(n, spec.Name, st, r, h)
	}
	return m
}

// problems returns what is wrong with the server's listing on any route.
func (m *member) problems() []string {
	var all []string
	if m.stock != nil {
		all = append(all, m.stock.problems...)
		all = append(all, m.holds.problems(m)...)
	}
	return append(all, m.merged.problems...) // no name collides on the server's own route
}
