package worker

// gather collects bytes whose number is not known before. It keeps pieces instead
// of growing one slice, so that a 16 MB message costs its size twice at the most
// while it is joined, and nothing is copied over and over. The zero value is empty.
type gather struct {
	full [][]byte
	last []byte
	size int // bytes in all pieces
}

// The pieces double in length between these bounds.
const (
	gatherFirst = 8 << 10
	gatherMost  = 1 << 20
)

// room returns free space to read into, at least one byte; grew says how much was used.
func (g *gather) room() []byte {
	if len(g.last) == cap(g.last) {
		if len(g.last) > 0 {
			g.full = append(g.full, g.last)
		}
		g.last = make([]byte, 0, min(max(gatherFirst, g.size), gatherMost))
	}
	return g.last[len(g.last):cap(g.last)]
}

// grew adds n bytes that were put into room.
func (g *gather) grew(n int) {
	g.last = g.last[:len(g.last)+n]
	g.size += n
}

// add copies part. The first part, if it is all there is, costs its own length and no more.
func (g *gather) add(part []byte) {
	if g.size == 0 && cap(g.last) == 0 && len(part) < gatherFirst {
		g.last = make([]byte, 0, len(part))
	}
	for len(part) > 0 {
		n := copy(g.room(), part)
		g.grew(n)
		part = part[n:]
	}
}

// take returns what was gathered, as one slice that belongs to the caller, and empties g.
func (g *gather) take() []byte {
	out := g.last
	if len(g.full) > 0 {
		out = make([]byte, 0, g.size)
		for _, piece := range g.full {
			out = append(out, piece...)
		}
		out = append(out, g.last...)
	}
	*g = gather{}
	return out
}
