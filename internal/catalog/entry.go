package catalog

import (
	"cmp"
	"crypto/sha256"
	"slices"

	"durward"
	"durward/internal/wire"
)

// Entry is an item as a route offers it.
type Entry struct {
	*Item
	Offered string       // name, uri or uriTemplate on this route
	Risk    durward.Risk // of a tool: the operator's floor, raised by the tool's own hints; else RiskUnset
	// Tool is what its server says of a tool; nil for everything else. It is shared
	// and must not be changed.
	Tool *durward.Tool
	// Held says why it is neither listed nor may be used until somebody accepts it;
	// "" when it is offered.
	Held string

	edits []wire.Edit // what makes the offered form of Raw, ascending
	alias bool        // Offered had to be made up
	task  taskUse     // of a tool
}

// AppendOffered appends the item's JSON as the route shows it.
func (e *Entry) AppendOffered(dst []byte) []byte { return wire.Splice(dst, e.Raw, e.edits...) }

// size returns the length of what AppendOffered appends.
func (e *Entry) size() int {
	n := len(e.Raw)
	for _, edit := range e.edits {
		n += len(edit.With) - int(edit.At.End-edit.At.Start)
	}
	return n
}

// edit notes a replacement; Start == End inserts.
func (e *Entry) edit(at wire.Span, with string) {
	e.edits = append(e.edits, wire.Edit{At: at, With: []byte(with)})
}

func (e *Entry) sortEdits() {
	slices.SortFunc(e.edits, func(a, b wire.Edit) int { return cmp.Compare(a.At.Start, b.At.Start) })
}

// describeAs puts the operator's description in place of the server's.
func (e *Entry) describeAs(text string) {
	if e.description.Present() {
		e.edit(e.description, wire.Quote(text))
		return
	}
	// Behind the brace that Raw starts with; the item has at least its name.
	e.edit(wire.Span{Start: 1, End: 1}, `"description":`+wire.Quote(text)+`,`)
}

// digestOf identifies a list of entries as it is offered.
func digestOf(entries []*Entry) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, e := range entries {
		h.Write(e.Digest[:])
		for _, edit := range e.edits {
			h.Write([]byte{0})
			h.Write(edit.With)
		}
		h.Write([]byte{1 + byte(e.task)})
	}
	h.Sum(sum[:0])
	return sum
}

// riskOf raises the floor by what a tool says of itself. A hint never lowers it.
func riskOf(it *Item, floor durward.Risk) durward.Risk {
	switch {
	case it.Kind != Tool:
		return durward.RiskUnset
	case it.destructive:
		return durward.RiskCritical
	case it.openWorld && !it.readOnly:
		return min(floor+1, durward.RiskCritical)
	default:
		return floor
	}
}

// sameAs reports whether two entries are offered in the same words.
func (e *Entry) sameAs(other *Entry) bool {
	return e.Digest == other.Digest && e.task == other.task && slices.EqualFunc(e.edits, other.edits, func(a, b wire.Edit) bool {
		return a.At == b.At && string(a.With) == string(b.With)
	})
}
