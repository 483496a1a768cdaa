package plugin

import (
	"bytes"
	"encoding/base64"
	eights "encoding/binary"
	"unicode/utf8"
)

// scanSecrets returns the credentials in a text whose words were found, also one
// level deep in what is encoded within it.
func (t *tables) scanSecrets(text []byte, hits []hit, found []Finding) []Finding {
	s := secretScan{t: t, text: text, prose: true, found: found}
	s.look(hits)
	s.encoded()
	s.escaped()
	return s.found
}

func (s *secretScan) look(hits []hit) {
	for _, h := range hits {
		e := &s.t.entries[h.word]
		start := h.end - len(e.text)
		switch e.role {
		case roleFormat:
			s.format(&s.t.formats[e.at], e.text, start, h.end)
		case rolePattern:
			p := &s.t.patterns[e.at]
			if from, to := p.match(s, start, h.end); to > from {
				s.add(p.kind, p.level, from, to)
			}
		case roleAssign:
			s.assign(start, h.end)
		}
		if len(s.found) > maxFindings {
			return
		}
	}
}

// within looks for credentials in what was decoded.
func (s *secretScan) within(text []byte, prose bool) []Finding {
	inner := secretScan{t: s.t, text: text, prose: prose}
	inner.look(s.t.words.find(nil, text))
	return inner.found
}

// minEncoded is the least Base64 that is decoded: what is shorter than 18 bytes
// has no place for a credential of a known form.
const minEncoded = 24

// encoded looks into what may be Base64, in both alphabets and with line ends.
func (s *secretScan) encoded() {
	var plain []byte
	for i := 0; ; {
		start := s.nextEncoded(i)
		if start < 0 {
			return
		}
		end := s.endEncoded(start)
		i = end
		code := s.text[start:end]
		if !bothCases(code) {
			continue
		}
		plain = decodeBase64(plain[:0], code)
		for _, f := range s.within(plain, isText(plain)) {
			s.found = append(s.found, Finding{Kind: f.Kind, Start: start, End: s.skip(end, end+2, "="), Detection: f.Detection, Detail: "in Base64"})
			break // the whole is replaced
		}
	}
}

// nextEncoded returns where minEncoded bytes begin that Base64 may be made of, from
// i on; -1 if nowhere. Wherever they begin, eight of them are among every second
// eight bytes, so only those are looked at.
func (s *secretScan) nextEncoded(i int) int {
	const set = base64Std | base64URL
	for at := i; at+8 <= len(s.text); at += minEncoded - 8 {
		if unencoded(eights.LittleEndian.Uint64(s.text[at:])) != 0 {
			continue
		}
		start := s.t.sets.back(s.text, at, at-i, set)
		if s.t.sets.run(s.text, at, start+minEncoded, set) == start+minEncoded {
			return start
		}
	}
	return -1
}

// endEncoded returns where Base64 ends that begins at i. Lines of 60 and more
// bytes are one text.
func (s *secretScan) endEncoded(i int) int {
	for line := i; ; line = i {
		i = s.t.sets.run(s.text, i, len(s.text), base64Std|base64URL)
		next := s.skip(i, i+2, "\r\n")
		if i-line < 60 || next == i || next >= len(s.text) || s.t.sets[s.text[next]]&base64Std == 0 {
			return i
		}
		i = next
	}
}

// bothCases reports whether small and capital letters are in b, which is ASCII.
func bothCases(b []byte) bool {
	upper, small := uint64(0), uint64(0)
	for ; len(b) >= 8; b = b[8:] {
		x := eights.LittleEndian.Uint64(b)
		upper |= between(x, 'A', 'Z')
		small |= between(x, 'a', 'z')
		if upper != 0 && small != 0 {
			return true
		}
	}
	for _, c := range b {
		if c >= 'A' && c <= 'Z' {
			upper = 1
		}
		if c >= 'a' && c <= 'z' {
			small = 1
		}
	}
	return upper != 0 && small != 0
}

// decodeBase64 appends what code stands for, as far as it can be decoded.
func decodeBase64(dst, code []byte) []byte {
	encoding := base64.RawStdEncoding
	if bytes.IndexByte(code, '-') >= 0 || bytes.IndexByte(code, '_') >= 0 {
		encoding = base64.RawURLEncoding
	}
	at, need := len(dst), encoding.DecodedLen(len(code))
	dst = append(dst, make([]byte, need)...)
	n, _ := encoding.Decode(dst[at:], code) // what was decoded until the error counts
	return dst[:at+n]
}

// isText reports whether b is text and not bytes of something else.
func isText(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' {
			return false
		}
	}
	return true
}

// escaped looks at the text once more without the escapes of URLs, and of JSON and
// code that stands within it.
func (s *secretScan) escaped() {
	v := decodeEscapes(s.text)
	if v.points == nil {
		return
	}
	inner := s.within(v.text, true)
	if len(inner) == 0 {
		return
	}
	known := map[int]bool{}
	for _, f := range s.found {
		known[f.Start] = true
	}
	for _, f := range inner {
		f.Start, f.End = v.origin(f.Start, f.End)
		f.Detail = "with escapes"
		if !known[f.Start] {
			s.found = append(s.found, f)
		}
	}
}

// decodeEscapes undoes %XX, \uXXXX, \xXX and \/. A view without points: there are none.
func decodeEscapes(text []byte) view {
	v := view{}
	if bytes.IndexByte(text, '%') < 0 && bytes.IndexByte(text, '\\') < 0 {
		return v
	}
	copied := 0
	for i := nextEscape(text, 0); i >= 0; i = nextEscape(text, i) {
		r, n := looseEscape(text[i:])
		if n == 0 {
			i++
			continue
		}
		if v.points == nil {
			v.points = append(v.points, point{})
		}
		v.text = append(v.text, text[copied:i]...)
		v.points = append(v.points, point{out: len(v.text), in: i, decoded: true})
		if r < 0x100 && text[i] == '%' {
			v.text = append(v.text, byte(r))
		} else {
			v.text = utf8.AppendRune(v.text, r)
		}
		i += n
		copied = i
		v.points = append(v.points, point{out: len(v.text), in: i})
	}
	if v.points != nil {
		v.text = append(v.text, text[copied:]...)
	}
	return v
}

// nextEscape returns where a percent sign or backslash stands, -1 if nowhere.
func nextEscape(text []byte, from int) int {
	for i := from; i < len(text); i++ {
		if text[i] == '%' || text[i] == '\\' {
			return i
		}
	}
	return -1
}

// looseEscape decodes one escape; n 0: it is none that is to be undone.
func looseEscape(text []byte) (r rune, n int) {
	var ok bool
	switch {
	case text[0] == '%':
		if r, ok = hex(text[1:], 2); ok {
			return r, 3
		}
	case len(text) < 2:
	case text[1] == '/':
		return '/', 2
	case text[1] == 'x':
		if r, ok = hex(text[2:], 2); ok {
			return r, 4
		}
	case text[1] == 'u':
		if r, n = unicodeEscape(text); n > 2 {
			return r, n
		}
	}
	return 0, 0
}
