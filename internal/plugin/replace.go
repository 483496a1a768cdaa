package plugin

import (
	"sort"
	"strconv"

	"durward/internal/wire"
)

// replaced returns raw with each chosen place replaced by a marker of its kind, or
// removed where it is invisible. Places may overlap; what overlaps is one. Nil:
// none was chosen.
func replaced(raw []byte, places []place, choose func(*place) bool) []byte {
	var chosen []*place
	for i := range places {
		if choose(&places[i]) {
			chosen = append(chosen, &places[i])
		}
	}
	if len(chosen) == 0 {
		return nil
	}
	sort.SliceStable(chosen, func(i, j int) bool { return chosen[i].Start < chosen[j].Start })
	edits := make([]wire.Edit, 0, len(chosen))
	names := 0
	for i := 0; i < len(chosen); {
		best, start, end := chosen[i], chosen[i].Start, chosen[i].End
		for i++; i < len(chosen) && chosen[i].Start < end; i++ {
			end = max(end, chosen[i].End)
			if heavier(chosen[i], best) {
				best = chosen[i]
			}
		}
		edits = append(edits, wire.Edit{At: wire.Span{Start: uint32(start), End: uint32(end)}, With: marker(best, &names)})
	}
	return wire.Splice(make([]byte, 0, len(raw)+16*len(edits)), raw, edits...)
}

// heavier reports whether a names what overlaps better than b does: a credential
// before personal data before what is not seen, then by weight.
func heavier(a, b *place) bool {
	if a.by != b.by {
		return a.by == wantSecrets || a.by == wantPII && b.by == wantInvisible
	}
	return a.Detection > b.Detection
}

// marker is what stands in place of something. Names of members get a number, so
// that no two become the same.
func marker(p *place, names *int) []byte {
	if p.by == wantInvisible {
		return nil
	}
	text := append([]byte("[redacted:"), p.Kind...)
	if p.name {
		*names++
		text = strconv.AppendInt(append(text, '#'), int64(*names), 10)
	}
	return append(text, ']')
}
