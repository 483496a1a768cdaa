package plugin

import "bytes"

// personalKinds are what the plugin pii finds.
func personalKinds() []kindInfo {
	return []kindInfo{
		{"email", LevelMedium, "addresses with a top-level domain; not those of reserved domains (example.com, .test, .local, …), not git@ and noreply"},
		{"phone", LevelMedium, "numbers in E.164 form with a country code that is in use, North American numbers as they are written, and others after a word for telephone; not the numbers 555-0100 to 555-0199"},
		{"iban", LevelHigh, "bank accounts, by the length of their country and their check digits (ISO 13616)"},
		{"card", LevelHigh, "payment cards of 13 to 19 digits, by their issuer's range and their check digit (Luhn)"},
		{"us-ssn", LevelHigh, "US social security numbers as they are written, 3-2-4, by their ranges"},
		{"uk-nino", LevelMedium, "UK national insurance numbers as they are written, in pairs, by their prefixes"},
		{"ch-ahv", LevelHigh, "Swiss AHV numbers, 756.…, by their check digit"},
		{"br-cpf", LevelHigh, "Brazilian CPF numbers as they are written, by their check digits"},
		{"cn-id", LevelHigh, "Chinese identity numbers, by their date and check digit"},
		{"fr-nir", LevelHigh, "French social security numbers, by their month and check digits"},
		{"in-aadhaar", LevelHigh, "Indian Aadhaar numbers as they are written, in fours, by their check digit (Verhoeff)"},
		{"es-dni", LevelMedium, "Spanish DNI and NIE, by their check letter"},
		{"ip", LevelLow, "IPv4 addresses that are public; only if it is asked for"},
	}
}

// piiScan looks for personal data.
type piiScan struct {
	t      *tables
	text   []byte
	ip     bool
	calls  bool // a word for telephone is in the text
	found  []Finding
	groups [maxGroups]group
}

func (t *tables) scanPII(text []byte, hits []hit, ip bool, found []Finding) []Finding {
	s := piiScan{t: t, text: text, ip: ip, found: found}
	for _, h := range hits {
		s.calls = s.calls || t.entries[h.word].role == roleCall
	}
	s.emails()
	s.numbers()
	return s.found
}

func (s *piiScan) add(kind string, level Level, from, to int) {
	s.found = append(s.found, Finding{Kind: kind, Start: from, End: to, Detection: level})
}

// emails looks at every @.
func (s *piiScan) emails() {
	for i := 0; len(s.found) <= maxFindings; i++ {
		at := bytes.IndexByte(s.text[i:], '@')
		if at < 0 {
			return
		}
		i += at
		from := i
		for from > 0 && i-from < 64 && s.local(s.text[from-1]) {
			from--
		}
		for from < i && (s.text[from] == '.' || s.text[from] == '-' || s.text[from] == '+' || s.text[from] == '%') {
			from++
		}
		if from > 1 && s.text[from-1] == '\\' && from < i-1 && bytes.IndexByte([]byte("nrt"), s.text[from]) >= 0 {
			from++ // the escape of a text within a text
		}
		to := i + 1
		for to < len(s.text) && to-i < 255 && (s.t.sets[s.text[to]]&alnum != 0 || s.text[to] == '.' || s.text[to] == '-' || s.text[to] >= 0x80) {
			to++
		}
		to = s.domain(i+1, to)
		if from < i && to > 0 && s.personal(s.text[from:i], s.text[i+1:to]) && (from == 0 || s.text[from-1] != '/' && s.text[from-1] != ':' && s.text[from-1] != '@' || mailto(s.text[:from])) {
			s.add("email", LevelMedium, from, to)
		}
	}
}

func mailto(b []byte) bool {
	return bytes.HasSuffix(b, []byte("mailto:")) || !bytes.HasSuffix(b, []byte("/")) && !urlBefore(b)
}

// urlBefore reports whether what stands before is the user of a URL.
func urlBefore(b []byte) bool {
	i := bytes.LastIndexAny(b, " \n\t\"'<,;(")
	return bytes.Contains(b[i+1:], []byte("//"))
}

// local reports whether c may stand before the @.
func (s *piiScan) local(c byte) bool {
	return s.t.sets[c]&alnum != 0 || c == '.' || c == '_' || c == '-' || c == '+' || c == '%' || c >= 0x80
}

// domain returns the end of the domain in [from, to), 0 if it is none.
func (s *piiScan) domain(from, to int) int {
	for to > from && (s.text[to-1] == '.' || s.text[to-1] == '-') {
		to--
	}
	dot := bytes.LastIndexByte(s.text[from:to], '.')
	if dot <= 0 {
		return 0
	}
	top := from + dot + 1
	for end := top; end < to; end++ {
		c := s.text[end]
		if c >= 0x80 && s.text[top] < 0x80 { // the next word, in a script without spaces
			to = end
			break
		}
		if c < 0x80 && (c|0x20 < 'a' || c|0x20 > 'z') {
			return 0
		}
	}
	if n := to - top; n < 2 || n > 24 {
		return 0
	}
	return to
}

// personal reports whether an address is somebody's.
func (s *piiScan) personal(local, domain []byte) bool {
	local, domain = bytes.ToLower(local), bytes.ToLower(domain)
	switch string(local) {
	case "git", "noreply", "no-reply", "donotreply", "do-not-reply", "hg", "svn":
		return false
	}
	top := domain[bytes.LastIndexByte(domain, '.')+1:]
	switch string(top) {
	case "test", "invalid", "localhost", "example", "local", "internal", "lan", "arpa", "onion",
		"png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "ico", "js", "mjs", "cjs", "ts", "tsx", "jsx", "css", "scss", "json", "yaml", "yml", "toml", "lock", "html", "md", "txt", "xml",
		"py", "rb", "go", "java", "class", "php", "exe", "dll", "zip", "gz", "tgz", "tar", "service", "timer", "socket", "target", "mount", "woff", "pdf", "svc", "cluster":
		return false
	}
	for _, reserved := range [...]string{"example.com", "example.org", "example.net", "example.edu", "users.noreply.github.com", "domain.com", "yourdomain.com", "email.com", "test.com"} {
		if string(domain) == reserved || bytes.HasSuffix(domain, []byte("."+reserved)) {
			return false
		}
	}
	return true
}
