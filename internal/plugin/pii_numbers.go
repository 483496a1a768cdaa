package plugin

import "bytes"

// group is a run of digits of a number.
type group struct{ start, end int }

func (g group) len() int { return g.end - g.start }

const maxGroups = 12

// numbers looks at every run of digits, and at those behind it that may belong to it.
func (s *piiScan) numbers() {
	text := s.text
	for i := nextDigit(text, 0); i < len(text) && len(s.found) <= maxFindings; i = nextDigit(text, i) {
		if i > 0 && s.t.sets[text[i-1]]&word != 0 && !s.mayBegin(i) {
			for i < len(text) && s.t.sets[text[i]]&alnum != 0 { // the rest of a word: a hash, an identifier
				i++
			}
			continue
		}
		end := i + 1
		for end < len(text) && isDigit(text[end]) {
			end++
		}
		if s.nothing(i, end) {
			i = end
			continue
		}
		i = s.number(s.collect(i))
	}
}

// mayBegin reports whether a number may begin at i although a letter stands before
// it: of an account, of a NIE, or of an escape in a text within a text.
func (s *piiScan) mayBegin(i int) bool {
	if i < 2 {
		return s.text[i-1] >= 'X' && s.text[i-1] <= 'Z'
	}
	a, b := s.text[i-2], s.text[i-1]
	return a == '\\' || b >= 'X' && b <= 'Z' || a >= 'A' && a <= 'Z' && b >= 'A' && b <= 'Z'
}

// collect fills groups with the digits from i on that have at most two signs
// between them.
func (s *piiScan) collect(i int) (n int) {
	for n < maxGroups {
		end := i
		for end < len(s.text) && isDigit(s.text[end]) {
			end++
		}
		s.groups[n] = group{i, end}
		n++
		i = s.separator(end)
		if i == end || i >= len(s.text) || !isDigit(s.text[i]) {
			break
		}
	}
	return n
}

func (s *piiScan) separator(i int) int {
	start := i
	for i < len(s.text) && i < start+2 {
		switch s.text[i] {
		case ' ', '-', '.', '/', '(', ')':
			i++
		case 0xC2:
			if i+1 < len(s.text) && s.text[i+1] == 0xA0 { // a space that does not part lines
				i += 2
				continue
			}
			return i
		default:
			return i
		}
	}
	return i
}

// number judges the first group, alone and with those behind it, and returns where
// to go on.
func (s *piiScan) number(n int) int {
	g := s.groups[:n]
	first := g[0]
	if n == 1 && first.len() < 6 && (first.start == 0 || s.t.sets[s.text[first.start-1]]&alnum == 0) {
		return first.end // too short for anything, and no country stands before it
	}
	total := 0
	for _, x := range g {
		total += x.len()
	}
	if name, level, from, to := s.iban(g); to > from {
		s.add(name, level, from, to)
		return max(to, first.end)
	}
	if total < 6 && !(s.ip && n >= 4) || first.len() > 30 {
		return g[n-1].end
	}
	for _, kind := range [...]func(*piiScan, []group) (string, Level, int, int){
		(*piiScan).card, (*piiScan).national, (*piiScan).phone, (*piiScan).address,
	} {
		if name, level, from, to := kind(s, g); to > from {
			s.add(name, level, from, to)
			return max(to, first.end)
		}
	}
	return first.end
}

// alone reports whether nothing belongs to [from, to) that is before or behind it.
func (s *piiScan) alone(from, to int) bool {
	if from > 0 {
		c := s.text[from-1]
		escaped := from > 1 && s.text[from-2] == '\\' && bytes.IndexByte([]byte("nrt"), c) >= 0
		if s.t.sets[c]&word != 0 && !escaped || c == '.' || c == '-' || c == '/' || c == '#' || c == '$' {
			return false
		}
	}
	if to < len(s.text) {
		c := s.text[to]
		if s.t.sets[c]&word != 0 || c == '-' || c == '/' {
			return false
		}
		if c == '.' && to+1 < len(s.text) && s.t.sets[s.text[to+1]]&alnum != 0 {
			return false
		}
	}
	return true
}

// digitsOf returns the digits of groups.
func (s *piiScan) digitsOf(g []group) []byte {
	var d []byte
	for _, x := range g {
		d = append(d, s.text[x.start:x.end]...)
	}
	return d
}

// sameGaps reports whether the same one sign is between all groups, and returns it.
func (s *piiScan) sameGaps(g []group) (byte, bool) {
	if len(g) == 1 {
		return 0, true
	}
	sign := s.text[g[0].end]
	for i := 1; i < len(g); i++ {
		if g[i].start != g[i-1].end+1 || s.text[g[i-1].end] != sign {
			return 0, false
		}
	}
	return sign, true
}

// shape reports whether the first groups have these lengths.
func shape(g []group, lengths ...int) bool {
	if len(g) < len(lengths) {
		return false
	}
	for i, n := range lengths {
		if g[i].len() != n {
			return false
		}
	}
	return true
}

func (s *piiScan) card(g []group) (string, Level, int, int) {
	var take int
	switch {
	case g[0].len() >= 13 && g[0].len() <= 19:
		take = 1
	case shape(g, 4, 4, 4, 4, 3):
		take = 5
	case shape(g, 4, 4, 4, 4):
		take = 4
	case shape(g, 4, 6, 5), shape(g, 4, 6, 4):
		take = 3
	default:
		return "", 0, 0, 0
	}
	g = g[:take]
	sign, same := s.sameGaps(g)
	from, to := g[0].start, g[take-1].end
	if !same || take > 1 && sign != ' ' && sign != '-' || !s.alone(from, to) {
		return "", 0, 0, 0
	}
	d := s.digitsOf(g)
	if !issuer(d) || !luhn(d) || take == 1 && (len(d) == 13 || len(d) == 19 || bytes.Count(d, []byte("0")) > 8) {
		return "", 0, 0, 0
	}
	return "card", LevelHigh, from, to
}

// issuer reports whether a card that begins so is issued, in that length.
func issuer(d []byte) bool {
	six := 0
	for _, c := range d[:6] {
		six = six*10 + int(c-'0')
	}
	two, three, four := six/10000, six/1000, six/100
	switch n := len(d); {
	case six/100000 == 4: // Visa
		return n == 13 || n == 16 || n == 19
	case two >= 51 && two <= 55, four >= 2221 && four <= 2720: // Mastercard
		return n == 16
	case two == 34, two == 37: // American Express
		return n == 15
	case four == 6011, three >= 644 && three <= 649, two == 65: // Discover
		return n >= 16
	case four >= 3528 && four <= 3589: // JCB
		return n >= 16
	case three >= 300 && three <= 305, two == 36, two == 38, two == 39: // Diners
		return n == 14 || n >= 16
	case two == 62: // UnionPay
		return n >= 16
	}
	return false
}

// luhn is ISO/IEC 7812-1, annex B.
func luhn(d []byte) bool {
	sum := 0
	for i := range d {
		n := int(d[len(d)-1-i] - '0')
		if i%2 == 1 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return sum%10 == 0
}

// iban looks at two letters before two digits.
func (s *piiScan) iban(g []group) (string, Level, int, int) {
	first := g[0]
	if first.start < 2 || first.len() < 2 || s.text[first.start-1] < 'A' || s.text[first.start-1] > 'Z' {
		return "", 0, 0, 0
	}
	from := first.start - 2
	length := ibanLength(string(s.text[from:first.start]))
	if length == 0 || from > 0 && s.t.sets[s.text[from-1]]&word != 0 && !(from > 1 && s.text[from-2] == '\\') {
		return "", 0, 0, 0
	}
	rest, seen, i := 0, 0, from
	for ; i < len(s.text) && seen < length; i++ {
		c := s.text[i]
		if c == ' ' && seen%4 == 0 {
			continue
		}
		if c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			seen++
			continue
		}
		return "", 0, 0, 0
	}
	if seen < length || i < len(s.text) && s.t.sets[s.text[i]]&alnum != 0 {
		return "", 0, 0, 0
	}
	account := bytes.ReplaceAll(s.text[from:i], []byte(" "), nil)
	for n := range length {
		switch c := account[(n+4)%length]; {
		case c <= '9':
			rest = (rest*10 + int(c-'0')) % 97
		default:
			rest = (rest*100 + int(c-'A') + 10) % 97
		}
	}
	if rest != 1 {
		return "", 0, 0, 0
	}
	return "iban", LevelHigh, from, i
}

// ibanLength is the length of the accounts of a country, 0 if it has none.
func ibanLength(country string) int {
	switch country {
	case "NO":
		return 15
	case "BE":
		return 16
	case "DK", "FI", "FK", "FO", "GL", "NL", "SD":
		return 18
	case "MK", "SI":
		return 19
	case "AT", "BA", "EE", "KZ", "LT", "LU", "MN", "XK":
		return 20
	case "CH", "HR", "LI", "LV":
		return 21
	case "BG", "BH", "CR", "DE", "GB", "GE", "IE", "ME", "RS", "VA":
		return 22
	case "AE", "GI", "IL", "IQ", "OM", "SO", "TL":
		return 23
	case "AD", "CZ", "ES", "MD", "PK", "RO", "SA", "SE", "SK", "TN", "VG":
		return 24
	case "LY", "PT", "ST":
		return 25
	case "IS", "TR":
		return 26
	case "BI", "DJ", "FR", "GR", "IT", "MC", "MR", "SM":
		return 27
	case "AL", "AZ", "BY", "CY", "DO", "GT", "HU", "LB", "NI", "PL", "SV":
		return 28
	case "BR", "EG", "PS", "QA", "UA":
		return 29
	case "JO", "KW", "MU", "YE":
		return 30
	case "MT", "SC":
		return 31
	case "LC":
		return 32
	case "RU":
		return 33
	}
	return 0
}

// address is an IPv4 address that is public.
func (s *piiScan) address(g []group) (string, Level, int, int) {
	if !s.ip || len(g) < 4 {
		return "", 0, 0, 0
	}
	g = g[:4]
	sign, same := s.sameGaps(g)
	if !same || sign != '.' || !s.alone(g[0].start, g[3].end) {
		return "", 0, 0, 0
	}
	var part [4]int
	for i, x := range g {
		if x.len() > 3 || x.len() > 1 && s.text[x.start] == '0' {
			return "", 0, 0, 0
		}
		for _, c := range s.text[x.start:x.end] {
			part[i] = part[i]*10 + int(c-'0')
		}
		if part[i] > 255 {
			return "", 0, 0, 0
		}
	}
	a, b, c := part[0], part[1], part[2]
	if a == 0 || a == 10 || a == 127 || a >= 224 || a == 100 && b >= 64 && b < 128 || a == 169 && b == 254 || a == 172 && b >= 16 && b < 32 || a == 192 && b == 168 ||
		a == 192 && b == 0 && (c == 2 || c == 0) || a == 198 && (b == 18 || b == 19 || b == 51 && c == 100) || a == 203 && b == 0 && c == 113 {
		return "", 0, 0, 0
	}
	return "ip", LevelLow, g[0].start, g[3].end
}
