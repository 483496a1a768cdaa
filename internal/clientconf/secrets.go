package clientconf

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// span is a part of a text that is a secret, and what it is called.
type span struct {
	start, end int
	name       string // "API_KEY"; a proposal
}

var (
	// knownShapes are the forms that services give their keys.
	knownShapes = regexp.MustCompile(strings.Join([]string{
		`\bgh[pousr]_[A-Za-z0-9]{20,}`, `\bgithub_pat_[A-Za-z0-9_]{20,}`, `\bgl(?:pat|cbt|dt|ptt|rt)-[A-Za-z0-9_.-]{16,}`,
		`\bsk-[A-Za-z0-9_-]{16,}`, `\b[rsp]k_(?:live|test)_[A-Za-z0-9]{10,}`, `\bxox[abeoprs]-[A-Za-z0-9-]{10,}`, `\bxapp-[A-Za-z0-9-]{10,}`,
		`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`, `\bAIza[A-Za-z0-9_-]{30,}`, `\bya29\.[A-Za-z0-9_-]{20,}`,
		`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`, `-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*`,
		`\bnpm_[A-Za-z0-9]{30,}`, `\bpypi-[A-Za-z0-9_-]{30,}`, `\bhf_[A-Za-z0-9]{20,}`, `\bdckr_pat_[A-Za-z0-9_-]{16,}`,
		`\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`, `\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{16,}`, `\bdop_v1_[a-f0-9]{32,}`,
		`\blin_(?:api|oauth)_[A-Za-z0-9]{16,}`, `\b(?:ntn|secret)_[A-Za-z0-9]{30,}`, `\bfig[du]_[A-Za-z0-9_-]{16,}`,
		`\btvly-[A-Za-z0-9-]{16,}`, `\bgsk_[A-Za-z0-9]{20,}`, `\bxai-[A-Za-z0-9]{20,}`, `\br8_[A-Za-z0-9]{20,}`,
		`\bsntr(?:ys|yu)_[A-Za-z0-9_=+/-]{20,}`, `\bAGE-SECRET-KEY-1[A-Z0-9]{20,}`, `\bATATT3[A-Za-z0-9_=-]{20,}`,
	}, "|"))
	userInfo    = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://([^\s/?#:@]*)(?::([^\s/?#@]*))?@`)
	queryPart   = regexp.MustCompile(`[?&]([A-Za-z0-9_.-]+)=([^\s&#]+)`)
	assignment  = regexp.MustCompile(`^-{0,2}([A-Za-z][A-Za-z0-9_.-]*)=`)
	headerText  = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*):[ \t]*`)
	authScheme  = regexp.MustCompile(`^(?i:bearer|basic|token|apikey|api-key|digest)[ \t]+`)
	placeholder = regexp.MustCompile(`^(?i:<.*>|\[.*\]|\{.*\}|x{3,}|\*{3,}|\.{3,}|…|.*\.\.\.|(?:your|my|insert|replace|enter|put|add|change|paste)(?:[-_ ]?me|[-_ ].*)|todo|tbd|changeme|none)$`)
)

// secretSpans finds the secrets in a literal text that stands under a key (of
// env, headers, or an option before it; may be empty).
func secretSpans(key, text string) []span {
	var out []span
	if isSecretKey(key) && isPlausible(text) {
		start := len(authScheme.FindString(text))
		return []span{{start, len(text), wordsOf(key)}}
	}
	if m := assignment.FindStringSubmatch(text); m != nil && strings.Trim(text[len(m[0]):], "=") != "" {
		return shifted(secretSpans(m[1], text[len(m[0]):]), len(m[0]))
	}
	if m := headerText.FindStringSubmatch(text); m != nil && isSecretKey(m[1]) {
		return shifted(secretSpans(m[1], text[len(m[0]):]), len(m[0]))
	}
	for _, m := range knownShapes.FindAllStringIndex(text, -1) {
		out = append(out, span{m[0], m[1], wordsOf(key)})
	}
	for _, m := range userInfo.FindAllStringSubmatchIndex(text, -1) {
		switch user := text[m[2]:m[3]]; {
		case m[4] >= 0 && m[5] > m[4]:
			out = append(out, span{m[4], m[5], "PASSWORD"})
		case m[4] < 0 && isRandom(user):
			out = append(out, span{m[2], m[3], "TOKEN"})
		}
	}
	for _, m := range queryPart.FindAllStringSubmatchIndex(text, -1) {
		if name, value := text[m[2]:m[3]], text[m[4]:m[5]]; isSecretKey(name) && isPlausible(value) || isRandom(value) {
			out = append(out, span{m[4], m[5], wordsOf(name)})
		}
	}
	if isRandom(text) {
		out = append(out, span{0, len(text), cmp.Or(wordsOf(key), "TOKEN")})
	}
	return disjoint(append(out, pathSpans(text)...))
}

// pathSpans finds keys that a service has made part of the path of its address.
func pathSpans(text string) []span {
	scheme := strings.Index(text, "://")
	if scheme < 0 {
		return nil
	}
	var out []span
	end := len(text)
	if i := strings.IndexAny(text, "?#"); i >= 0 {
		end = i
	}
	for at := scheme + 3; at < end; {
		next := end
		if i := strings.IndexByte(text[at:end], '/'); i >= 0 {
			next = at + i
		}
		if isRandom(text[at:next]) {
			out = append(out, span{at, next, "URL_TOKEN"})
		}
		at = next + 1
	}
	return out
}

func shifted(spans []span, by int) []span {
	for i := range spans {
		spans[i].start += by
		spans[i].end += by
	}
	return spans
}

// disjoint drops spans that overlap an earlier or longer one.
func disjoint(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	var out []span
	for _, s := range spans {
		if len(out) == 0 || s.start >= out[len(out)-1].end {
			out = append(out, s)
		}
	}
	return out
}

// isSecretKey reports whether what stands under a key is a secret by its name.
func isSecretKey(key string) bool {
	words := strings.Split(wordsOf(key), "_")
	last := words[len(words)-1]
	switch last {
	case "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "PASS", "APIKEY", "CREDENTIAL", "CREDENTIALS", "AUTHORIZATION", "AUTH", "PAT", "COOKIE", "JWT", "BEARER", "ACCESSTOKEN", "AUTHTOKEN":
		return true
	case "PWD": // PWD and OLDPWD themselves are directories
		return len(words) > 1
	case "KEY":
		return !slices.Contains(words, "PUBLIC") && !slices.Contains(words, "PRIMARY")
	case "FILE", "PATH", "DIR", "URL", "URI", "NAME", "ENDPOINT", "HOST", "TYPE", "TTL", "TIMEOUT", "LIMIT", "COUNT", "ID", "ENABLED", "REGION", "ISSUER":
		return false
	}
	return slices.ContainsFunc(words, func(w string) bool {
		return w == "SECRET" || w == "PASSWORD" || w == "PASSPHRASE" || w == "APIKEY"
	})
}

// wordsOf writes a key in capitals with _ between its words: apiKey and api-key
// become API_KEY. What is left is also the name of a secret.
func wordsOf(key string) string {
	var b strings.Builder
	lower := false
	for _, r := range key {
		switch {
		case r >= 'A' && r <= 'Z':
			if lower {
				b.WriteByte('_')
			}
			b.WriteRune(r)
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(unicode.ToUpper(r))
		default:
			b.WriteByte('_')
		}
		lower = r >= 'a' && r <= 'z'
	}
	words := strings.FieldsFunc(b.String(), func(r rune) bool { return r == '_' })
	return strings.Join(words, "_")
}

// isPlausible reports whether a text under a secret's key can be the secret.
func isPlausible(text string) bool {
	switch strings.ToLower(text) {
	case "", "true", "false", "yes", "no", "on", "off", "null", "none", "0", "1":
		return false
	}
	isPath := strings.HasPrefix(text, "/") || strings.HasPrefix(text, "./") || strings.HasPrefix(text, "~/") ||
		len(text) > 2 && text[1] == ':' && text[2] == '\\'
	isAddress := strings.Contains(text, "://")
	return !isPath && !isAddress && len(authScheme.FindString(text)) < len(text)
}

// isPlaceholder reports whether a text only says that a secret belongs there.
func isPlaceholder(text string) bool { return placeholder.MatchString(strings.TrimSpace(text)) }

// isRandom reports whether a text looks like a key that was drawn by lot: one
// long word of letters and digits in which no order is to be seen. A false
// alarm costs little, for the text is only kept elsewhere.
func isRandom(text string) bool {
	const shortest = 24
	if len(text) < shortest {
		return false
	}
	var lower, upper, digits, others, hex int
	for _, c := range []byte(text) {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'z':
			lower++
		case c >= 'A' && c <= 'Z':
			upper++
		case strings.IndexByte("_-+/=.~", c) >= 0:
			others++
		default:
			return false
		}
		if strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 {
			hex++
		}
	}
	if hex == len(text) && len(text) >= 32 && digits > 0 && digits < len(text) {
		return entropy(text) > 3
	}
	if others*6 > len(text) || strings.Contains(text, "//") || strings.HasPrefix(text, "/") || strings.HasPrefix(text, ".") {
		return false // words joined by hyphens, and paths
	}
	return digits >= 3 && lower > 0 && upper > 0 && entropy(text) > 4 || digits >= 6 && lower+upper >= 6 && others == 0 && entropy(text) > 4
}

// entropy is Shannon's, in bits per character.
func entropy(text string) float64 {
	var counts [256]int
	for _, c := range []byte(text) {
		counts[c]++
	}
	sum := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(text))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}
