package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"

	"durward"
	"durward/internal/wire"
)

// Pins knows what servers offered before, and what of it waits until somebody
// accepts it. Its methods are called under locks and must not block.
type Pins interface {
	// Observe takes what a server offers now, before anybody is offered it.
	Observe(durward.Surface)
	// Held says why a definition is held, "" if it is not.
	Held(server, kind, name, hash string) string
}

// Kinds of definitions, as [durward.Definition] names them.
const kindInstructions = "instructions"

// pinned returns the kind of what is pinned; false for plain resources, which come
// and go.
func (k Kind) pinned() (string, bool) {
	switch k {
	case Tool:
		return "tool", true
	case Prompt:
		return "prompt", true
	case Template:
		return "template", true
	default:
		return "", false
	}
}

// hashOf identifies a definition: white space and the order of members, which some
// servers shuffle, do not count.
func hashOf(raw []byte) string {
	sum := sha256.Sum256(wire.AppendCanonical(nil, raw))
	return hex.EncodeToString(sum[:])
}

// surface returns what of a stock is pinned.
func (st *stock) surface(s *Snapshot) durward.Surface {
	out := durward.Surface{Server: s.Server, Legacy: s.Overlay, Complete: st.complete}
	for k := range Kind(kinds) {
		kind, ok := k.pinned()
		if !ok {
			continue
		}
		for _, it := range st.items[k] {
			out.Definitions = append(out.Definitions, durward.Definition{Kind: kind, Name: it.Name, Hash: it.Hash, Raw: it.Raw})
		}
	}
	if st.instructions != "" {
		raw := wire.AppendQuote(nil, st.instructions)
		out.Definitions = append(out.Definitions, durward.Definition{Kind: kindInstructions, Hash: hashOf(raw), Raw: raw})
	}
	return out
}

// holds is what of a stock is held, and why. Nil: nothing is.
type holds struct {
	items map[*Item]string
	about string // why the instructions are held; "" if they are not
}

// holdsOf asks what of a server's stock is held; nil if nothing is.
func (c *Catalog) holdsOf(server string, st *stock) *holds {
	if c.opt.Pins == nil || st == nil {
		return nil
	}
	h := &holds{items: map[*Item]string{}}
	for k := range Kind(kinds) {
		kind, ok := k.pinned()
		if !ok {
			continue
		}
		for _, it := range st.items[k] {
			if why := c.opt.Pins.Held(server, kind, it.Name, it.Hash); why != "" {
				h.items[it] = why
			}
		}
	}
	if st.instructions != "" {
		h.about = c.opt.Pins.Held(server, kindInstructions, "", hashOf(wire.AppendQuote(nil, st.instructions)))
	}
	if len(h.items) == 0 && h.about == "" {
		return nil
	}
	return h
}

func (h *holds) of(it *Item) string {
	if h == nil {
		return ""
	}
	return h.items[it]
}

func (h *holds) instructions() bool { return h != nil && h.about != "" }

func (h *holds) same(other *holds) bool {
	if h == nil || other == nil {
		return h == other
	}
	return h.about == other.about && maps.Equal(h.items, other.items)
}

// problems tells what a member would offer if it were not held.
func (h *holds) problems(m *member) []string {
	if h == nil {
		return nil
	}
	var all problems
	server := m.spec.Name
	for k := range Kind(kinds) {
		for _, e := range m.own.held[k] {
			all.add("%s %q is held: %s; see: durward pins diff %s", k, short(e.Name), e.Held, server)
		}
	}
	if h.about != "" {
		all.add("its instructions are held: %s; see: durward pins diff %s", h.about, server)
	}
	return all.all()
}

// onHold returns the entries that are held; nil if none is.
func onHold(entries []*Entry) (held []*Entry) {
	for _, e := range entries {
		if e.Held != "" {
			held = append(held, e)
		}
	}
	return held
}

// offered returns the entries that are not held.
func offered(entries []*Entry) []*Entry {
	out := make([]*Entry, 0, len(entries))
	for _, e := range entries {
		if e.Held == "" {
			out = append(out, e)
		}
	}
	return out
}
