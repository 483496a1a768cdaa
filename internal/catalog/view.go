package catalog

import (
	"iter"

	"durward"
	"durward/internal/wire"
)

// View is what one route offers at one moment. It never changes and is safe for
// concurrent use.
type View struct {
	route    durward.Route
	naming   naming
	toolset  *toolset // of a toolset's route
	opt      *Options
	parts    []part         // in the order of lists
	byServer map[string]int // index into parts
	missing  string         // JSON array; "" when every server is ready
	tasks    bool           // some tool is hidden from some audience

	lists [kinds]list
	about [audiences]description
}

// part is what a view shows of one server.
type part struct {
	member *member
	shelf  *shelf
}

// Counts says how many items of each kind a view offers.
type Counts struct{ Tools, Prompts, Resources, Templates int }

// Entries yields the items of one kind in the order of the list.
func (v *View) Entries(k Kind) iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for _, p := range v.parts {
			for _, e := range p.shelf.lists[k] {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// Counts counts what the view offers.
func (v *View) Counts() Counts {
	var n [kinds]int
	for _, p := range v.parts {
		for k := range n {
			n[k] += len(p.shelf.lists[k])
		}
	}
	return Counts{Tools: n[Tool], Prompts: n[Prompt], Resources: n[Resource], Templates: n[Template]}
}

// Problems says what of the servers' listings is not offered as it was listed,
// and why: items that are invalid or too big, names that collide. On a route to
// one server it is all that is known about that server, on others each line
// begins with the server's name.
func (v *View) Problems() []string {
	var all []string
	for _, p := range v.parts {
		for _, text := range p.member.problems() {
			if v.route.Kind != durward.RouteServer {
				text = p.member.spec.Name + ": " + text
			}
			all = append(all, text)
		}
	}
	return all
}

// Missing reports whether a server is not there, so that what it lists may lack in the
// view: it is coming up, or is out of order.
func (v *View) Missing(server string) bool {
	list := []byte(v.missing)
	for at := range wire.Elements(list) {
		if name, _ := wire.Unquote(wire.Get(at.Of(list), "server")); name == server {
			return true
		}
	}
	return false
}

// Tool returns the tool offered under a name, whether the caller's audience is
// listed it or not: see [Entry.HiddenFrom].
func (v *View) Tool(name string) (*Entry, bool) { return v.named(Tool, name) }

// Prompt returns the prompt offered under a name.
func (v *View) Prompt(name string) (*Entry, bool) { return v.named(Prompt, name) }

func (v *View) named(k Kind, name string) (*Entry, bool) {
	at := 0
	if v.naming == prefixed {
		i, ok := v.byServer[ServerOf(name)]
		if !ok {
			return nil, false
		}
		at = i
	}
	if at >= len(v.parts) {
		return nil, false
	}
	e, ok := v.parts[at].shelf.index[k][name]
	return e, ok
}
