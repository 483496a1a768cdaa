package secret

import (
	"fmt"
	"io"
	"slices"
)

// MinLength is the length in bytes below which a value is not looked for: it is
// no secret, and masking it would damage every text.
const MinLength = 4

// Matcher masks known values in text, in the forms they take in JSON, in URLs, in
// base64 and in hexadecimal digits. It is immutable and safe for concurrent use. The
// nil Matcher knows no value.
type Matcher struct {
	values *index // behind a pointer, as in Value
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
	return &Matcher{values: newIndex(all)}
}

func (m *Matcher) empty() bool { return m == nil || len(m.values.forms) == 0 }

// Text returns text with every known value replaced by Mask.
func (m *Matcher) Text(text string) string {
	if m.empty() {
		return text
	}
	data := []byte(text)
	if found := find(m.values, data); found != nil {
		return string(replace(data, found))
	}
	return text
}

// Bytes is Text for bytes. The result is data itself when nothing was found; data
// is never changed.
func (m *Matcher) Bytes(data []byte) []byte {
	if m.empty() {
		return data
	}
	if found := find(m.values, data); found != nil {
		return replace(data, found)
	}
	return data
}

// Find reports whether data holds a known value.
func (m *Matcher) Find(data []byte) bool { return !m.empty() && find(m.values, data) != nil }

// Format hides what is looked for, whatever the verb.
func (*Matcher) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Mask) } // fmt reports what goes wrong

// span is where a value stands.
type span struct{ from, to int }

// find returns where values stand, in order and apart from each other.
func find(ix *index, data []byte) []span {
	found := escaped(ix, data, plain(ix, data, nil))
	if len(found) < 2 {
		return found
	}
	slices.SortFunc(found, func(a, b span) int { return a.from - b.from })
	apart := found[:1]
	for _, s := range found[1:] {
		if last := &apart[len(apart)-1]; s.from < last.to {
			last.to = max(last.to, s.to)
		} else {
			apart = append(apart, s)
		}
	}
	return apart
}

func replace(data []byte, found []span) (out []byte) {
	copied := 0
	for _, s := range found {
		out = append(append(out, data[copied:s.from]...), Mask...)
		copied = s.to
	}
	return append(out, data[copied:]...)
}
