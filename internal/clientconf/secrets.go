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
	userInfo    = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://([^\s/?#:@]*)(?::([^\s/?#@]*))?@`)
	queryPart   = regexp.MustCompile(`[?&]([A-Za-z0-9_.-]+)=([^\s&#]+)`)
	assignment  = regexp.MustCompile(`^-{0,2}([A-Za-z][A-Za-z0-9_.-]*)=`)
	headerText  = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*):[ \t]*`)
	authScheme  = regexp.MustCompile(`^(?i:bearer|basic|token|apikey|api-key|digest)[ \t]+`)
	placeholder = regexp.MustCompile(`^(?i:<.*>|\[.*\]|\{.*\}|x{3,}|\*{3,}|\.{3,}|…|.*\.\.\.|(?:your|my|insert|replace|enter|put|add|change|paste)(?:[-_ ]?me|[-_ ].*)|todo|tbd|changeme|none)$`)
)

// shape is a form that services give their keys: how one begins, and how it
// goes on. Where the beginnings are is found first, because that is much faster
// than one expression for all.
type shape struct {
	prefix string
	rest   *regexp.Regexp
}

var knownShapes = shapes([][2]string{
	{"ghp_ gho_ ghu_ ghs_ ghr_ hf_ gsk_ xai- r8_", `[A-Za-z0-9]{20,}`},
	{"github_pat_", `[A-Za-z0-9_]{20,}`},
	{"glpat- glcbt- gldt- glptt- glrt- sk- dckr_pat_ figd_ figu_ tvly- lin_api_ lin_oauth_", `[A-Za-z0-9_.-]{16,}`},
	{"sk_live_ sk_test_ rk_live_ rk_test_ pk_live_ pk_test_", `[A-Za-z0-9]{10,}`},
	{"xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", `[A-Za-z0-9-]{10,}`},
	{"AKIA ASIA", `[A-Z0-9]{16}`},
	{"ya29. ATATT3 AIza pypi- sntrys_ sntryu_", `[A-Za-z0-9_=-]{20,}`},
	{"eyJ", `[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`},
	{"npm_ ntn_ secret_", `[A-Za-z0-9]{30,}`},
	{"SG.", `[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`},
	{"shpat_ shpca_ shppa_ shpss_ dop_v1_", `[a-fA-F0-9]{16,}`},
	{"AGE-SECRET-KEY-1", `[A-Z0-9]{20,}`},
	{"-----BEGIN", ` [A-Z ]*PRIVATE KEY-----[\s\S]*`},
})

func shapes(table [][2]string) []shape {
	var out []shape
	for _, row := range table {
		rest := regexp.MustCompile("^(?:" + row[1] + ")")
		for _, prefix := range strings.Fields(row[0]) {
			out = append(out, shape{prefix, rest})
		}
	}
	return out
}

// shapeSpans finds the keys of services in a text.
func shapeSpans(key, text string) []span {
	var out []span
	for _, s := range knownShapes {
		for at := 0; ; {
			i := strings.Index(text[at:], s.prefix)
			if i < 0 {
				break
			}
			start := at + i
			at = start + len(s.prefix)
			if start > 0 && isWord(text[start-1]) {
				continue
			}
			if n := len(s.rest.FindString(text[at:])); n > 0 {
				out = append(out, span{start, at + n, wordsOf(key)})
				at += n
			}
		}
	}
	return out
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// secretSpans finds the secrets in a literal text that stands under a key (of
// env, headers, or an option before it; may be empty).
func secretSpans(key, text string) []span {
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
	out := shapeSpans(key, text)
	if strings.Contains(text, "://") {
		out = append(out, addressSpans(text)...)
	}
	if isRandom(text) {
		out = append(out, span{0, len(text), cmp.Or(wordsOf(key), "TOKEN")})
	}
	return disjoint(out)
}

// addressSpans finds the secrets in a text that holds addresses.
func addressSpans(text string) []span {
	var out []span
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
	return append(out, pathSpans(text)...)
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

// SecretName reports whether a name says that its value is a secret, as API_KEY,
// token and password do.
func SecretName(name string) bool { return isSecretKey(name) }
