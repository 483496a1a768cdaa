package catalog

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"durward/internal/wire"
)

// Snapshot is what one server offers: items exactly as it listed them. The
// catalog keeps the bytes, which must not be changed afterwards.
type Snapshot struct {
	Server       string
	Tools        [][]byte
	Prompts      [][]byte
	Resources    [][]byte
	Templates    [][]byte
	Capabilities []byte // raw ServerCapabilities; nil when the server sent none
	Info         []byte // raw serverInfo; nil when the server sent none
	Instructions string
	Era          wire.Era
	Complete     bool // every list was read to its end
	Overlay      bool // what it lists to legacy clients besides, where that differs
}

func (s *Snapshot) items(k Kind) [][]byte {
	switch k {
	case Tool:
		return s.Tools
	case Prompt:
		return s.Prompts
	case Resource:
		return s.Resources
	default:
		return s.Templates
	}
}

// stock is a snapshot that was read: items that can be offered, and what is wrong
// with the others. It does not depend on the operator's rules and never changes.
type stock struct {
	items        [kinds][]*Item
	capabilities []byte
	info         []byte
	instructions string
	era          wire.Era
	complete     bool
	problems     []string
}

// readSnapshot reads a snapshot. Items that are byte for byte in old are taken
// over from there, so that a refresh costs what has changed.
func readSnapshot(opt *Options, s *Snapshot, old *stock) *stock {
	st := &stock{info: s.Info, instructions: s.Instructions, era: s.Era, complete: s.Complete}
	var bad problems
	if !s.Complete {
		bad.add("its lists could not be read to the end: what is offered may be incomplete")
	}
	if st.capabilities = s.Capabilities; st.capabilities != nil && !isObject(st.capabilities) {
		bad.add("its capabilities are no JSON object and are ignored")
		st.capabilities = nil
	}
	r := reader{opt: opt, server: s.Server, problems: &bad}
	for k := range Kind(kinds) {
		st.items[k] = r.list(k, s.items(k), known(old, k))
	}
	st.problems = bad.all()
	return st
}

func isObject(raw []byte) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{' && wellFormed(raw)
}

// known indexes the items of old by their bytes.
func known(old *stock, k Kind) map[[sha256.Size]byte]*Item {
	if old == nil {
		return nil
	}
	items := make(map[[sha256.Size]byte]*Item, len(old.items[k]))
	for _, it := range old.items[k] {
		items[it.Digest] = it
	}
	return items
}

// same reports whether two stocks offer the same in the same words.
func (st *stock) same(other *stock) bool {
	if st == nil || other == nil {
		return st == other
	}
	for k := range st.items {
		if !slices.EqualFunc(st.items[k], other.items[k], func(a, b *Item) bool { return a.Digest == b.Digest }) {
			return false
		}
	}
	return st.instructions == other.instructions && st.era == other.era && st.complete == other.complete &&
		bytes.Equal(st.capabilities, other.capabilities) && bytes.Equal(st.info, other.info) &&
		slices.Equal(st.problems, other.problems)
}
