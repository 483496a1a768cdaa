package sqlite

import (
	"encoding/binary"
	"slices"

	"durward"
)

// encode writes what outcomes add to the calls of a segment: durations first, because
// they are often all that is wanted.
func (c *costs) encode() []byte {
	var durations, rest []byte
	for p, d := range c.durations {
		durations = binary.AppendVarint(durations, d)
		rest = binary.AppendUvarint(rest, uint64(c.status[p]))
	}
	for _, n := range c.bytesOut {
		rest = binary.AppendVarint(rest, n)
	}
	b := append(binary.AppendUvarint(nil, uint64(len(durations))), durations...)
	b = binary.AppendUvarint(b, uint64(len(c.statuses)))
	for _, s := range c.statuses {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return append(b, rest...)
}

// readDurations reads only the durations of what encode wrote.
func readDurations(dst []int64, b []byte, n int) ([]int64, error) {
	d, _, err := cutField(b)
	if err != nil {
		return nil, err
	}
	r := reader{b: d}
	dst = r.varints(dst, n)
	return dst, r.done()
}

// decode reads what encode wrote of n calls.
func (c *costs) decode(b []byte, n int) (err error) {
	if c.durations, err = readDurations(c.durations, b, n); err != nil {
		return err
	}
	_, rest, err := cutField(b)
	if err != nil {
		return err
	}
	r := reader{b: rest}
	c.statuses = c.statuses[:0]
	for range r.count(segmentRows + 1) {
		c.statuses = append(c.statuses, string(r.field()))
	}
	c.status = r.slots(c.status, n, len(c.statuses))
	c.bytesOut = r.varints(c.bytesOut, n)
	c.open = 0
	for _, s := range c.status {
		if s == 0 {
			c.open++
		}
	}
	return r.done()
}

// measures is what statistics need of the calls of a segment besides costs.
type measures struct {
	targets []int64  // numbers in table targets
	target  []uint16 // of each call
	actions []durward.Action
	action  []uint16
	bytesIn []int64
}

func (s *callSegment) measures() []byte {
	var b []byte
	b = binary.AppendUvarint(b, uint64(len(s.target.ids)))
	for _, id := range s.target.ids {
		b = binary.AppendVarint(b, id)
	}
	b = binary.AppendUvarint(b, uint64(len(s.verdict.terms)))
	for i := range s.verdict.terms {
		b = append(b, byte(s.verdict.terms[i].action))
	}
	for _, slots := range [...][]uint16{s.target.of, s.verdict.of} {
		for _, n := range slots {
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	for _, n := range s.bytesIn {
		b = binary.AppendVarint(b, n)
	}
	return b
}

// decode reads what callSegment.measures wrote of n calls.
func (m *measures) decode(b []byte, n int) error {
	r := reader{b: b}
	m.targets = r.varints(m.targets, r.count(segmentRows))
	m.actions = m.actions[:0]
	for range r.count(segmentRows) {
		m.actions = append(m.actions, durward.Action(r.byte()))
	}
	m.target = r.slots(m.target, n, len(m.targets))
	m.action = r.slots(m.action, n, len(m.actions))
	m.bytesIn = r.varints(m.bytesIn, n)
	return r.done()
}

// reader reads numbers one after the other and remembers whether it could.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) done() error {
	if r.bad || len(r.b) != 0 {
		return errIndex
	}
	return nil
}

func (r *reader) uvarint() uint64 {
	v, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[size:]
	return v
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.bad = true
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

// count reads how many of something there are.
func (r *reader) count(most int) int {
	n := r.uvarint()
	if n > uint64(most) {
		r.bad, r.b = true, nil
		return 0
	}
	return int(n)
}

func (r *reader) field() []byte {
	f, rest, err := cutField(r.b)
	if err != nil {
		r.bad = true
	}
	r.b = rest
	return f
}

func (r *reader) varints(dst []int64, n int) []int64 {
	dst = slices.Grow(dst[:0], n)[:n]
	b := r.b
	for i := range dst {
		u, size := uvarint(b)
		if size <= 0 {
			r.bad, b, size = true, nil, 0
		}
		dst[i], b = int64(u>>1)^-int64(u&1), b[size:]
	}
	r.b = b
	return dst
}

// uvarint is binary.Uvarint, faster for numbers of up to four bytes.
func uvarint(b []byte) (uint64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	if len(b) >= 4 {
		u := uint64(b[0]&0x7f) | uint64(b[1]&0x7f)<<7
		if b[1] < 0x80 {
			return u, 2
		}
		if u |= uint64(b[2]&0x7f) << 14; b[2] < 0x80 {
			return u, 3
		}
		if u |= uint64(b[3]&0x7f) << 21; b[3] < 0x80 {
			return u, 4
		}
	}
	return binary.Uvarint(b)
}

// slots reads n numbers below most.
func (r *reader) slots(dst []uint16, n, most int) []uint16 {
	dst = slices.Grow(dst[:0], n)[:n]
	b := r.b
	for i := range dst {
		u, size := uvarint(b)
		if size <= 0 {
			r.bad, b, size = true, nil, 0
		}
		if u >= uint64(most) {
			r.bad, u = true, 0
		}
		dst[i], b = uint16(u), b[size:]
	}
	r.b = b
	return dst
}
