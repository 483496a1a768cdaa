package plugin

// charset is a set of bytes.
type charset uint8

// The sets that formats are made of. A byte of classes has a bit for each set it
// belongs to.
const (
	digits charset = 1 << iota
	lowerHex
	upperBase32 // A-Z and 2-7
	alnum
	word      // alnum and _
	base64URL // word and -
	base64Std // alnum and + /
	opaque    // what a token in a header or URL may be made of: base64URL and . ~ + / =
)

// sets are the classes of all bytes.
type sets [256]charset

func newSets() *sets {
	s := &sets{}
	for c := 0; c < 128; c++ {
		b := byte(c)
		isDigit, isLower, isUpper := b >= '0' && b <= '9', b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z'
		for _, entry := range [...]struct {
			set charset
			in  bool
		}{
			{digits, isDigit},
			{lowerHex, isDigit || b >= 'a' && b <= 'f'},
			{upperBase32, isUpper || b >= '2' && b <= '7'},
			{alnum, isDigit || isLower || isUpper},
			{word, isDigit || isLower || isUpper || b == '_'},
			{base64URL, isDigit || isLower || isUpper || b == '_' || b == '-'},
			{base64Std, isDigit || isLower || isUpper || b == '+' || b == '/'},
			{opaque, isDigit || isLower || isUpper || b == '_' || b == '-' || b == '.' || b == '~' || b == '+' || b == '/' || b == '='},
		} {
			if entry.in {
				s[c] |= entry.set
			}
		}
	}
	return s
}

// run returns how far bytes of the set go on from i, at most to limit.
func (s *sets) run(text []byte, i, limit int, set charset) int {
	for limit = min(limit, len(text)); i < limit && s[text[i]]&set != 0; i++ {
	}
	return i
}

// back returns where the bytes of the set that end before i begin, at most limit
// bytes before.
func (s *sets) back(text []byte, i, limit int, set charset) int {
	for limit = max(0, i-limit); i > limit && s[text[i-1]]&set != 0; i-- {
	}
	return i
}
