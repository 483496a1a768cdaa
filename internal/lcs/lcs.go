// Package lcs finds how one sequence became another: what stayed, what is gone and
// what is new, by a longest common subsequence.
package lcs

// Kind says what became of elements.
type Kind byte

// The kinds, as differences are written.
const (
	Same Kind = ' '
	Gone Kind = '-'
	New  Kind = '+'
)

// Run are elements in a row of which the same became.
type Run struct {
	Kind Kind
	A, B int // where it begins in the one sequence and in the other
	N    int // how many elements, at least 1
}

// MaxCells bounds the table that is filled, and so time and memory: 8 MiB. What
// begins and ends alike does not count towards it. Beyond, what is between counts as
// replaced.
const MaxCells = 4 << 20

// Compare returns how a became b: the runs together are both of them, two neighbours
// are never of one kind, and what is gone stands before what is new in its place.
func Compare[T comparable](a, b []T) []Run {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out runs
	out.add(Same, head)
	middle(&out, a[head:len(a)-tail], b[head:len(b)-tail])
	out.add(Same, tail)
	return out.all
}

// middle compares what begins and ends differently.
func middle[T comparable](out *runs, a, b []T) {
	i, j := 0, 0
	if len(a) > 0 && len(b) > 0 && len(a) <= MaxCells/len(b) {
		width := len(b) + 1
		common := lengths(a, b)
		for i < len(a) && j < len(b) {
			switch {
			case a[i] == b[j]:
				out.add(Same, 1)
				i, j = i+1, j+1
			case common[(i+1)*width+j] >= common[i*width+j+1]:
				out.add(Gone, 1)
				i++
			default:
				out.add(New, 1)
				j++
			}
		}
	}
	out.add(Gone, len(a)-i)
	out.add(New, len(b)-j)
}

// lengths is the table of how long a longest common subsequence of a from i and b
// from j is. It is at most as long as the shorter of the two, which MaxCells bounds.
func lengths[T comparable](a, b []T) []uint16 {
	width := len(b) + 1
	out := make([]uint16, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				out[i*width+j] = out[(i+1)*width+j+1] + 1
			} else {
				out[i*width+j] = max(out[(i+1)*width+j], out[i*width+j+1])
			}
		}
	}
	return out
}

// runs are put together in their order.
type runs struct {
	all  []Run
	a, b int
}

func (r *runs) add(kind Kind, n int) {
	if n == 0 {
		return
	}
	if last := len(r.all) - 1; last >= 0 && r.all[last].Kind == kind {
		r.all[last].N += n
	} else {
		r.all = append(r.all, Run{kind, r.a, r.b, n})
	}
	if kind != New {
		r.a += n
	}
	if kind != Gone {
		r.b += n
	}
}
