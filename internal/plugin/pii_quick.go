package plugin

import (
	"bytes"
	"unicode/utf8"
)

// nothing reports whether no number that is looked for can begin with the digits of
// [i, end): by how many they are, and what is next to them. Most numbers of logs and
// data are passed over so. It may only be true where number finds nothing there.
func (s *piiScan) nothing(i, end int) bool {
	var before, after byte
	if i > 0 {
		before = s.text[i-1]
	}
	if end < len(s.text) {
		after = s.text[end]
	}
	n := end - i
	if n > 30 || s.ip || before == '+' || s.t.sets[before]&word != 0 || s.calls && s.behindCall(i) >= 0 {
		return false
	}
	if before == '.' || before == '-' || before == '/' || before == '#' || before == '$' {
		return true // it is part of something else: see alone
	}
	switch n {
	case 1: // a French number, or the 1 before a North American telephone number
		return s.text[i] != '1' && s.text[i] != '2' || !s.goesOn(end)
	case 2: // AB 12 34 56 C
		return before != ' ' || after != ' ' || i < 3 || s.text[i-2] < 'A' || s.text[i-2] > 'Z'
	case 3: // 000-00-0000, 756.0000.0000.00, 000.000.000-00, 000-000-0000, (000) 000-0000
		return after != ')' && (after != '-' && after != '.' || !s.digitsAt(end+1, 2))
	case 4: // a card, or an Aadhaar number
		return after != ' ' && after != '-' || !s.digitsAt(end+1, 4)
	case 8: // a DNI
		return after != '-' && (after < 'A' || after > 'Z')
	case 13: // an AHV number
		return s.text[i] != '7'
	case 14, 15, 16, 18: // cards, French and Chinese numbers
		return s.t.sets[after]&word != 0
	case 17: // a card, or a Chinese number before its X
		return s.t.sets[after]&word != 0 && after != 'X'
	}
	return true
}

// goesOn reports whether more digits follow those that end at end.
func (s *piiScan) goesOn(end int) bool {
	next := s.separator(end)
	return next > end && next < len(s.text) && isDigit(s.text[next])
}

// digitsAt reports whether n digits are from i on.
func (s *piiScan) digitsAt(i, n int) bool {
	if i+n > len(s.text) {
		return false
	}
	for _, c := range s.text[i : i+n] {
		if !isDigit(c) {
			return false
		}
	}
	return true
}

// behindCall returns where a word may end that says that the number at i is one to
// call; -1 if there cannot be one.
func (s *piiScan) behindCall(i int) int {
	start := i
	for limit := max(0, i-6); i > limit && bytes.IndexByte([]byte(" .:-=\"'("), s.text[i-1]) >= 0; {
		i--
	}
	if i == 0 || !letter(s.text[i-1]) || i == start && s.text[i-1] < utf8.RuneSelf {
		return -1
	}
	return i
}
