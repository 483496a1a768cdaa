package sqlite

import (
	"encoding/binary"
	"math/bits"

	"durward"
)

// segmentRows is how many rows of a table a segment covers at most.
const segmentRows = 8192

// set is a set of positions in a segment.
type set [segmentRows / 64]uint64

func (s *set) add(p int)      { s[p>>6] |= 1 << (p & 63) }
func (s *set) has(p int) bool { return s[p>>6]&(1<<(p&63)) != 0 }

// fill makes it the set of the first n positions.
func (s *set) fill(n int) {
	*s = set{}
	for i := range n >> 6 {
		s[i] = ^uint64(0)
	}
	if n&63 != 0 {
		s[n>>6] = 1<<(n&63) - 1
	}
}

func (s *set) and(t *set) {
	for i := range s {
		s[i] &= t[i]
	}
}

func (s *set) or(t *set) {
	for i := range s {
		s[i] |= t[i]
	}
}

func (s *set) andNot(t *set) {
	for i := range s {
		s[i] &^= t[i]
	}
}

func (s *set) count() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

func (s *set) empty() bool {
	for _, w := range s {
		if w != 0 {
			return false
		}
	}
	return true
}

// each calls f for the positions, the highest first, until f returns false.
func (s *set) each(f func(p int) bool) {
	for i := len(s) - 1; i >= 0; i-- {
		for w := s[i]; w != 0; {
			top := bits.Len64(w) - 1
			if !f(i<<6 | top) {
				return
			}
			w &^= 1 << top
		}
	}
}

// How a set is written: a byte that says which of the three is shortest, then
// the distances between the positions as varints, those between the positions
// that are missing, or the bits.
const (
	setList    = 0
	setMissing = 1
	setBits    = 2
)

// appendTo appends a set of positions below n.
func (s *set) appendTo(b []byte, n int) []byte {
	most := (n + 7) / 8
	if have := s.count(); have <= most {
		if out, ok := s.appendList(append(b, setList), len(b)+1+most); ok {
			return out
		}
	} else if n-have <= most {
		var missing set
		missing.fill(n)
		missing.andNot(s)
		if out, ok := missing.appendList(append(b, setMissing), len(b)+1+most); ok {
			return out
		}
	}
	b = append(b, setBits)
	for i := range most {
		b = append(b, byte(s[i>>3]>>(i&7<<3)))
	}
	return b
}

// appendList appends the distances, unless b grows longer than most.
func (s *set) appendList(b []byte, most int) ([]byte, bool) {
	last := -1
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			p := i<<6 | bits.TrailingZeros64(w)
			b = binary.AppendUvarint(b, uint64(p-last-1))
			last = p
		}
		if len(b) > most {
			return nil, false
		}
	}
	return b, true
}

// orFrom adds the positions of a written set, all of them below n.
func (s *set) orFrom(b []byte, n int) error {
	if len(b) == 0 {
		return errIndex
	}
	switch kind, b := b[0], b[1:]; kind {
	case setList:
		return s.orList(b, n)
	case setMissing:
		var missing, all set
		if err := missing.orList(b, n); err != nil {
			return err
		}
		all.fill(n)
		all.andNot(&missing)
		s.or(&all)
		return nil
	case setBits:
		return s.orBits(b, n)
	default:
		return errIndex
	}
}

func (s *set) orList(b []byte, n int) error {
	for p := -1; len(b) > 0; {
		if b[0] < 0x80 { // nearly always
			p, b = p+int(b[0])+1, b[1:]
		} else {
			d, size := binary.Uvarint(b)
			if size <= 0 || d >= segmentRows {
				return errIndex
			}
			p, b = p+int(d)+1, b[size:]
		}
		if p >= n {
			return errIndex
		}
		s.add(p)
	}
	return nil
}

func (s *set) orBits(b []byte, n int) error {
	if len(b) != (n+7)/8 || n&7 != 0 && b[len(b)-1]>>(n&7) != 0 {
		return errIndex
	}
	i := 0
	for ; len(b) >= 8; b = b[8:] {
		s[i] |= binary.LittleEndian.Uint64(b)
		i++
	}
	for k, w := range b {
		s[i] |= uint64(w) << (k << 3)
	}
	return nil
}

// errIndex says that the segments cannot be read. They can be made anew.
var errIndex = durward.Errorf(durward.Unavailable, "ledger",
	"the index that calls are found by is damaged; the records are not: stop the service and run durward ledger reindex")

// appendPositions appends the set of ascending positions below n.
func appendPositions(b []byte, positions []uint16, n int) []byte {
	if len(positions) <= 32 { // far shorter than the bits, so no need to look
		b = append(b, setList)
		last := -1
		for _, p := range positions {
			b = binary.AppendUvarint(b, uint64(int(p)-last-1))
			last = int(p)
		}
		return b
	}
	var s set
	for _, p := range positions {
		s.add(int(p))
	}
	return s.appendTo(b, n)
}
