package plugin

import (
	"bytes"
	"encoding/base64"
)

// Each of these looks at a word of a pattern at [start, end) of s.text and returns
// the part of the text that is a credential, or an empty one.

func matchPEM(s *secretScan, start, end int) (from, to int) {
	label := s.t.sets.run(s.text, end, end+40, alnum)
	for label < len(s.text) && label < end+40 && (s.text[label] == ' ' || s.t.sets[s.text[label]]&alnum != 0) {
		label++
	}
	if !bytes.Contains(s.text[end:label], []byte("PRIVATE KEY")) || string(s.text[start:end]) != "-----BEGIN " {
		return 0, 0
	}
	rest := s.text[label:]
	stop := bytes.Index(rest, []byte("-----END"))
	if stop >= 0 {
		to = label + stop + len("-----END")
		to = s.skip(to, to+48, " ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
		to = s.skip(to, to+5, "-")
	} else { // cut off: to the end of what can be its body
		to = label
		for to < len(s.text) && (s.t.sets[s.text[to]]&base64Std != 0 || bytes.IndexByte([]byte("=\\\r\n\t -:,"), s.text[to]) >= 0) {
			to++
		}
		stop = to - label
	}
	if s.count(rest[:stop]) < 64 {
		return 0, 0 // spoken of only
	}
	return start, to
}

// count returns how many bytes of b a Base64 text may have.
func (s *secretScan) count(b []byte) (n int) {
	for _, c := range b {
		if s.t.sets[c]&base64Std != 0 {
			n++
		}
	}
	return n
}

// skip returns where bytes other than those of set begin, from i on and at most to limit.
func (s *secretScan) skip(i, limit int, set string) int {
	for limit = min(limit, len(s.text)); i < limit && bytes.IndexByte([]byte(set), s.text[i]) >= 0; i++ {
	}
	return i
}

func matchPuTTY(s *secretScan, start, _ int) (from, to int) {
	i := bytes.Index(s.text[start:], []byte("Private-Lines:"))
	if i < 0 {
		return 0, 0
	}
	to = start + i
	for to < len(s.text) && (s.t.sets[s.text[to]]&base64Std != 0 || bytes.IndexByte([]byte("=\\\r\n\t -:"), s.text[to]) >= 0) {
		to++
	}
	return start, to
}

func matchJWT(s *secretScan, start, end int) (from, to int) {
	if string(s.text[start:end]) != "eyJ" || !s.begins(start) {
		return 0, 0
	}
	var ends [5]int
	parts := 0
	for i := start; parts < len(ends); i = ends[parts-1] + 1 {
		ends[parts] = s.t.sets.run(s.text, i, len(s.text), base64URL)
		parts++
		if ends[parts-1] >= len(s.text) || s.text[ends[parts-1]] != '.' {
			break
		}
	}
	switch {
	case parts == 5 && ends[4]-ends[3] > 16:
		to = ends[4]
	case parts >= 3 && ends[1]-ends[0] > 8 && ends[2]-ends[1] > 16:
		to = ends[2]
	default:
		return 0, 0
	}
	if ends[0]-start > 4096 {
		return 0, 0
	}
	header, err := base64.RawURLEncoding.DecodeString(string(s.text[start:ends[0]]))
	if err != nil || !bytes.Contains(header, []byte(`"alg"`)) {
		return 0, 0
	}
	return start, to
}

func matchAzureKey(s *secretScan, _, end int) (from, to int) {
	to = s.t.sets.run(s.text, end, end+100, base64Std)
	if n := to - end; n < 42 || n > 88 || placeholder(s.text[end:to]) {
		return 0, 0
	}
	return end, s.skip(to, to+2, "=")
}

func matchSAS(s *secretScan, start, end int) (from, to int) {
	if start > 0 && s.t.sets[s.text[start-1]]&word != 0 {
		return 0, 0
	}
	for to = end; to < len(s.text) && to < end+100 && (s.t.sets[s.text[to]]&base64Std != 0 || s.text[to] == '%' || s.text[to] == '='); to++ {
	}
	around := s.text[max(0, start-300):min(len(s.text), to+300)]
	if to-end < 42 || !bytes.Contains(around, []byte("sv=")) && !bytes.Contains(around, []byte("se=")) || placeholder(s.text[end:to]) {
		return 0, 0
	}
	return end, to
}

func matchEntra(s *secretScan, start, end int) (from, to int) {
	if start < 4 || s.text[start] != 'Q' || s.t.sets[s.text[start-1]]&digits == 0 {
		return 0, 0
	}
	for to = end; to < len(s.text) && s.t.sets[s.text[to]]&opaque != 0 && s.text[to] != '/' && s.text[to] != '+' && s.text[to] != '='; to++ {
	}
	if n := to - end; n < 31 || n > 34 {
		return 0, 0
	}
	return start - 4, to
}

// matchAzureMark looks for keys that have a mark somewhere within, and not at
// their start.
func matchAzureMark(s *secretScan, start, end int) (from, to int) {
	switch string(s.text[start:end]) {
	case "AzFu", "AzSe", "AzCa", "ACDb", "+ASt", "+AMC", "AZDO", "JQQJ99":
	default:
		return 0, 0
	}
	from, to = s.t.sets.back(s.text, start, 100, base64Std), s.t.sets.run(s.text, end, end+100, base64Std)
	if n := to - from; n < 52 || n > 90 || start-from < 32 || !mixed(s.text[from:to]) {
		return 0, 0
	}
	return from, s.skip(to, to+2, "=")
}

func matchTelegram(s *secretScan, start, end int) (from, to int) {
	from, to = s.t.sets.back(s.text, start, 11, digits), s.t.sets.run(s.text, end, end+34, base64URL)
	if n := start - from; n < 8 || n > 10 || !s.begins(from) && !bytes.HasSuffix(s.text[:from], []byte("bot")) {
		return 0, 0
	}
	if n := to - end; n < 32 || n > 33 {
		return 0, 0
	}
	return from, to
}

func matchMailchimp(s *secretScan, start, end int) (from, to int) {
	from, to = s.t.sets.back(s.text, start, 33, lowerHex), s.t.sets.run(s.text, end, end+3, digits)
	if start-from != 32 || to == end || to-end > 2 || !s.begins(from) {
		return 0, 0
	}
	return from, to
}

func matchTerraform(s *secretScan, start, end int) (from, to int) {
	from, to = s.t.sets.back(s.text, start, 20, alnum), s.t.sets.run(s.text, end, end+100, base64URL)
	if start-from != 14 || to-end < 60 {
		return 0, 0
	}
	return from, to
}

func matchBearer(s *secretScan, start, end int) (from, to int) {
	if !s.prose || !s.begins(start) {
		return 0, 0
	}
	from = s.skip(end, end+4, " ")
	to = s.t.sets.run(s.text, from, len(s.text), opaque)
	for to > from && s.text[to-1] == '.' {
		to--
	}
	token := s.text[from:to]
	if len(token) < 20 || placeholder(token) || !mixed(token) || entropy(token) < 3 || reference(token) {
		return 0, 0
	}
	return from, to
}

func matchBasic(s *secretScan, start, end int) (from, to int) {
	if !s.prose || !s.begins(start) {
		return 0, 0
	}
	from = s.skip(end, end+4, " ")
	to = s.t.sets.run(s.text, from, from+1024, base64Std)
	plain, err := base64.RawStdEncoding.DecodeString(string(s.text[from:to]))
	if err != nil || len(plain) < 6 {
		return 0, 0
	}
	name, password, ok := bytes.Cut(plain, []byte(":"))
	if !ok || len(name) == 0 || len(password) < 3 || !printable(plain) || weak(name, password) {
		return 0, 0
	}
	return from, s.skip(to, to+2, "=")
}

func matchURL(s *secretScan, start, end int) (from, to int) {
	if !s.prose || start == 0 || s.t.sets[s.text[start-1]]&alnum == 0 {
		return 0, 0
	}
	colon, at := -1, -1
	for i := end; i < len(s.text) && i < end+300; i++ {
		c := s.text[i]
		if c <= ' ' || c == '"' || c == '\'' || c == '<' || c == '>' || c == '`' || c == '\\' || c == '?' || c == '#' || c == '/' {
			break
		}
		if c == ':' && colon < 0 {
			colon = i
		}
		if c == '@' {
			at = i
		}
	}
	if colon < 0 || at < colon+2 {
		return 0, 0
	}
	if weak(s.text[end:colon], s.text[colon+1:at]) {
		return 0, 0
	}
	return colon + 1, at
}

// weak reports whether a password is no secret: the same as the name, a word for
// a password, or something that is filled in later.
func weak(name, password []byte) bool {
	switch string(bytes.ToLower(password)) {
	case "password", "passwd", "pass", "pw", "pwd", "secret", "token", "x-oauth-basic", "pass123", "mypassword", "mysecretpassword", "test":
		return true
	}
	return bytes.Equal(bytes.ToLower(name), bytes.ToLower(password)) || placeholder(password) || reference(password)
}

func printable(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
