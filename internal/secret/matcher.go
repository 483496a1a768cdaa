package secret

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// MinLength is the length in bytes below which a value is not looked for: it is
// no secret, and masking it would damage every text.
const MinLength = 4

// Matcher masks known values in text, in the forms they take in JSON, in URLs
// and in base64. It is immutable and safe for concurrent use. The nil Matcher
// knows no value.
type Matcher struct {
	values *index // behind a pointer, as in Value
}

// index holds what is looked for by its first four bytes, longest first, so that
// a value which contains another is masked as a whole.
type index struct {
	maybe   [1 << 10]uint64 // a bit for the hash of each four bytes something begins with
	byStart map[uint32][]string
}

// NewMatcher makes a Matcher of values. Those shorter than MinLength are left out.
func NewMatcher(values ...Value) *Matcher {
	all := map[string]bool{}
	for _, v := range values {
		if len(v.Reveal()) < MinLength {
			continue
		}
		for _, form := range forms(v.Reveal()) {
			all[form] = true
		}
	}
	ix := &index{byStart: make(map[uint32][]string)}
	for form := range all {
		four := start(form)
		word, bit := place(four)
		ix.maybe[word] |= bit
		ix.byStart[four] = append(ix.byStart[four], form)
	}
	for _, list := range ix.byStart {
		slices.SortFunc(list, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	}
	return &Matcher{values: ix}
}

func (m *Matcher) empty() bool { return m == nil || len(m.values.byStart) == 0 }

func start[T string | []byte](data T) uint32 {
	return uint32(data[0]) | uint32(data[1])<<8 | uint32(data[2])<<16 | uint32(data[3])<<24
}

// place is where the bit of four bytes is: their hash (multiplication by 2^32/φ).
func place(four uint32) (word int, bit uint64) {
	hash := four * 0x9e3779b1 >> 16
	return int(hash >> 6), 1 << (hash & 63)
}

// Text returns text with every known value replaced by Mask.
func (m *Matcher) Text(text string) string {
	if m.empty() {
		return text
	}
	out, found := replace(m.values, text)
	if !found {
		return text
	}
	return string(out)
}

// Bytes is Text for bytes. The result is data itself when nothing was found; data
// is never changed.
func (m *Matcher) Bytes(data []byte) []byte {
	if m.empty() {
		return data
	}
	out, found := replace(m.values, data)
	if !found {
		return data
	}
	return out
}

// Find reports whether data holds a known value.
func (m *Matcher) Find(data []byte) bool {
	if m.empty() {
		return false
	}
	_, length := next(m.values, data, 0)
	return length > 0
}

// Format hides what is looked for, whatever the verb.
func (*Matcher) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Mask) } // fmt reports what goes wrong

func replace[T string | []byte](ix *index, data T) (out []byte, found bool) {
	copied := 0
	for {
		at, length := next(ix, data, copied)
		if length == 0 {
			break
		}
		out = append(append(out, data[copied:at]...), Mask...)
		copied, found = at+length, true
	}
	if !found {
		return nil, false
	}
	return append(out, data[copied:]...), true
}

// next returns where the first known value at or after from is, and its length;
// 0 if there is none.
func next[T string | []byte](ix *index, data T, from int) (at, length int) {
	for i := from; i+MinLength <= len(data); i++ {
		four := start(data[i : i+MinLength])
		if word, bit := place(four); ix.maybe[word]&bit == 0 {
			continue
		}
		for _, form := range ix.byStart[four] {
			if len(form) <= len(data)-i && string(data[i:i+len(form)]) == form {
				return i, len(form)
			}
		}
	}
	return 0, 0
}
