package plugin

import (
	"bytes"
	"math"
)

// secretScan looks for credentials in one text.
type secretScan struct {
	t     *tables
	text  []byte
	prose bool // it is text, and not the bytes of an image; false: only formats are looked for
	found []Finding
}

func (s *secretScan) add(kind string, level Level, from, to int) {
	s.found = append(s.found, Finding{Kind: kind, Start: from, End: to, Detection: level})
}

// format looks at a hit of a format's start, which lies at [start, end).
func (s *secretScan) format(f *format, literal string, start, end int) {
	if string(s.text[start:end]) != literal || !s.begins(start) {
		return
	}
	limit := len(s.text)
	if f.max > 0 {
		limit = end + f.max
	}
	to := s.t.sets.run(s.text, end, limit, f.set)
	if f.max > 0 && to < len(s.text) && s.t.sets[s.text[to]]&alnum != 0 {
		return // longer than such a thing is
	}
	for to > end && (s.text[to-1] == '.' || s.text[to-1] == '/') {
		to-- // the end of a sentence or of a path
	}
	body := s.text[end:to]
	if len(body) < f.min || placeholder(body) || !mixed(body) {
		return
	}
	s.add(f.kind, f.level, start, to)
	if f.kind == "aws-access-key" {
		s.secretKey(to)
	}
}

// secretKey looks behind an AWS access key for the secret that belongs to it: 40
// characters by themselves.
func (s *secretScan) secretKey(from int) {
	for i, limit := from, min(len(s.text), from+160); i < limit; {
		if s.t.sets[s.text[i]]&base64Std == 0 {
			i++
			continue
		}
		to := s.t.sets.run(s.text, i, i+41, base64Std)
		if to-i == 40 && entropy(s.text[i:to]) > 4 && !placeholder(s.text[i:to]) {
			s.add("aws-secret-key", LevelCritical, i, to)
			return
		}
		i = s.t.sets.run(s.text, to, len(s.text), base64Std)
	}
}

// begins reports whether a word can begin at i: no letter, digit or underscore is
// before it, or one that belongs to an escape of a text within a text.
func (s *secretScan) begins(i int) bool {
	if i == 0 || s.t.sets[s.text[i-1]]&word == 0 {
		return true
	}
	return i > 1 && s.text[i-2] == '\\' && bytes.IndexByte([]byte("nrtbf"), s.text[i-1]) >= 0
}

// mixed reports whether b is unlike words: credentials have digits, or letters
// of both cases where one would not be.
func mixed(b []byte) bool {
	digit, change := 0, 0
	for i, c := range b {
		switch {
		case c >= '0' && c <= '9':
			digit++
		case i > 0 && c >= 'A' && c <= 'Z' && b[i-1] >= 'a' && b[i-1] <= 'z':
			change++
		}
	}
	return digit > 0 || change > 3
}

// entropy is Shannon's, in bits per byte, of the frequencies of bytes in b.
func entropy(b []byte) float64 {
	var count [256]int
	for _, c := range b {
		count[c]++
	}
	sum := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(b))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}

// placeholder reports whether b stands for a credential in documentation, tests
// and templates, rather than being one.
func placeholder(b []byte) bool {
	text := bytes.ToLower(b)
	for _, word := range [...]string{
		"example", "placeholder", "redacted", "your", "xxxx", "changeme", "change-me", "change_me", "dummy", "sample",
		"insert", "replace", "notreal", "not-a-real", "not_a_real", "****", "....", "----", "____", "foobar", "todo",
	} {
		if bytes.Contains(text, []byte(word)) {
			return true
		}
	}
	return dull(b)
}

// dull reports whether b has few different bytes or counts up: aaaa, 0123456789.
func dull(b []byte) bool {
	if len(b) < 8 {
		return false
	}
	var seen [256]bool
	different, counting := 0, 0
	for i, c := range b {
		if !seen[c] {
			seen[c] = true
			different++
		}
		if i > 0 && (c == b[i-1]+1 || c == b[i-1]) {
			counting++
		}
	}
	return different < 5 || counting*10 >= len(b)*7
}
