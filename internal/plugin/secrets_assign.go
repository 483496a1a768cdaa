package plugin

import (
	"bytes"
	"strings"
)

// What no format tells is found by its name: a password, token or key to which a
// value is given, in a file of settings, in code, or as a member of an object.

// assignWords are the words at which such names are looked for.
func assignWords() []string {
	return []string{"pass", "pwd", "secret", "token", "key", "credential", "kennwort", "contrase", "motdepasse"}
}

// nameClass is what a name says of its value.
type nameClass uint8

const (
	nameOther    nameClass = iota
	nameKey                // of a key or token, which programs make
	namePassword           // of a password, which people make
)

// classify says what the value of a name is. It looks at its parts: aws_secret_access_key
// and awsSecretAccessKey have the same.
func classify(name []byte) nameClass {
	if len(name) > 64 {
		return nameOther
	}
	class := nameOther
	before := ""
	for part := range parts(name) {
		switch {
		case isAbout(part):
			return nameOther
		case isPassword(part):
			class = namePassword
		case class == namePassword:
		case part == "secret", part == "apikey", part == "token", part == "authtoken", part == "accesstoken", part == "secretkey", part == "accesskey",
			part == "privatekey", part == "clientsecret", part == "credential", part == "credentials":
			class = nameKey
		case part == "key" && isOfKey(before):
			class = nameKey
		}
		before = part
	}
	return class
}

func isPassword(part string) bool {
	switch part {
	case "password", "passwd", "passwort", "passphrase", "passcode", "pass", "pwd", "pw", "kennwort", "dbpassword", "userpassword", "rootpassword",
		"contrasena", "contraseña", "motdepasse", "dbpass", "pgpassword", "sshpass", "mysqlpwd":
		return true
	}
	return false
}

// isOfKey reports whether a key of such a kind is secret.
func isOfKey(part string) bool {
	switch part {
	case "api", "access", "auth", "private", "signing", "encryption", "account", "master", "service", "secret", "session", "ssh", "storage", "deploy", "license", "app", "webhook", "subscription", "hmac", "jwt":
		return true
	}
	return false
}

// isAbout reports whether a name with such a part speaks about passwords and
// tokens and does not hold one.
func isAbout(part string) bool {
	switch part {
	case "hint", "reset", "policy", "length", "len", "min", "max", "field", "url", "uri", "path", "file", "filename", "name", "id", "ids", "type", "count", "expired",
		"expiry", "expires", "expiration", "regex", "pattern", "strength", "input", "output", "label", "prompt", "completion", "error", "message", "ref", "limit", "usage",
		"total", "cached", "next", "page", "continuation", "cursor", "start", "end", "kind", "budget", "progress", "public", "tokens", "format", "version",
		"arn", "alias", "manager", "provider", "description", "title", "enabled", "required", "rotation", "endpoint", "scope", "header", "placeholder", "index", "sort",
		"foreign", "primary", "partition", "cache", "env", "var", "fingerprint", "hash", "digest", "size", "algorithm", "mode", "position", "offset", "pad", "sync", "eos", "bos":
		return true
	}
	return false
}

// parts yields the words of a name in lower case.
func parts(name []byte) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		start := 0
		for i := 0; i <= len(name); i++ {
			border := i == len(name) || isBorder(name[i])
			if !border && (i == start || !camel(name, i)) {
				continue
			}
			if i > start && !yield(strings.ToLower(string(name[start:i]))) {
				return
			}
			if start = i; border {
				start = i + 1
			}
		}
	}
}

func isBorder(c byte) bool {
	return c == '_' || c == '-' || c == '.' || c == ' ' || c == ':' || c == '/' || c >= '0' && c <= '9'
}

// camel reports whether a word begins at i with a capital: apiKey, APIKey.
func camel(name []byte, i int) bool {
	upper := func(c byte) bool { return c >= 'A' && c <= 'Z' }
	small := func(c byte) bool { return c >= 'a' && c <= 'z' }
	return upper(name[i]) && (small(name[i-1]) || upper(name[i-1]) && i+1 < len(name) && small(name[i+1]))
}

// assign looks at a word of assignWords at [start, end) for a value that is given.
func (s *secretScan) assign(start, end int) {
	if !s.prose {
		return
	}
	from := start
	for from > 0 && start-from < 48 && (s.t.sets[s.text[from-1]]&base64URL != 0 || s.text[from-1] == '.') {
		from--
	}
	to := s.t.sets.run(s.text, end, end+48, base64URL)
	if from > 0 && s.text[from-1] == '\\' && from < start {
		from++ // \npassword of a text within a text
	}
	value, quote, strict := s.given(to)
	if value == 0 && from > 1 && s.text[from] == '-' && to < len(s.text) && s.text[to] == ' ' { // --password VALUE
		value, quote, strict = to+1, 0, true
	}
	if value == 0 {
		return
	}
	class := classify(s.text[from:to])
	if class == nameOther || quote == 0 && !strict && to-from == len("pass") && s.text[to] == ':' { // PASS: of test reports
		return
	}
	stop := s.valueEnd(value, quote)
	if next, q, _ := s.given(stop); quote == 0 && q != 0 && identifier(s.text[value:stop]) { // name: string = "VALUE"
		value, quote = next, q
		stop = s.valueEnd(value, quote)
	}
	settled := strict && (shouting(s.text[from:to]) || s.text[from] == '-')
	if level := judge(class, s.text[value:stop], quote != 0, settled); level > LevelNone {
		s.add(s.kindOf(class, s.text[from:to], s.text[value:stop]), level, value, stop)
	}
}

// kindOf names what was found by its name.
func (s *secretScan) kindOf(class nameClass, name, value []byte) string {
	switch {
	case class == namePassword:
		return "password"
	case len(value) == 40 && bytes.Contains(bytes.ToLower(name), []byte("aws")):
		return "aws-secret-key"
	default:
		return "api-key"
	}
}

// given returns where the value of a name that ends at i begins, and the quote
// around it, 0 if there is none; value 0: none is given. Strict: the sign is =
// alone, with nothing around, as in files of environment variables.
func (s *secretScan) given(i int) (value int, quote byte, strict bool) {
	t := s.text
	name := i
	i = s.skip(i, i+2, "\\")
	i = s.skip(i, i+2, "\"'`])")
	i = s.skip(i, i+8, " \t")
	sign := i
	i = s.skip(i, i+2, ":=>")
	if i == sign || t[i-1] == '>' && i-sign == 1 {
		return 0, 0, false
	}
	strict = sign == name && i == sign+1 && t[sign] == '='
	gap := s.skip(i, i+8, " \t")
	strict = strict && gap == i
	i = gap
	if i < len(t) && t[i] == '\\' && i+1 < len(t) && (t[i+1] == '"' || t[i+1] == '\'') {
		i++
	}
	if i < len(t) && (t[i] == '"' || t[i] == '\'' || t[i] == '`') {
		return i + 1, t[i], strict
	}
	return i, 0, strict
}

// valueEnd returns where a value that begins at i ends.
func (s *secretScan) valueEnd(i int, quote byte) int {
	for limit := min(len(s.text), i+512); i < limit; i++ {
		c := s.text[i]
		if c < ' ' || quote != 0 && (c == quote || c == '\\') {
			return i
		}
		if quote == 0 && (c == ' ' || c == ',' || c == ';' || c == '"' || c == '\'' || c == '`' || c == ')' || c == '}' || c == ']' || c == '<' || c == '&' || c == '|' || c == '\\') {
			return i
		}
	}
	return i
}

// shouting reports whether a name has no small letters, as those of environment
// variables.
func shouting(name []byte) bool {
	for _, c := range name {
		if c >= 'a' && c <= 'z' {
			return false
		}
	}
	return true
}

// judge says how much a value is like a credential. Quoted and settled values need
// to look less like one than what may be a name in code.
func judge(class nameClass, value []byte, quoted, settled bool) Level {
	if len(value) < 6 || len(value) > 500 || placeholder(value) || reference(value) {
		return LevelNone
	}
	if class == namePassword {
		return judgePassword(value, quoted || settled)
	}
	if len(value) < 16 || bytes.IndexByte(value, ' ') >= 0 || !printable(value) || !quoted && bytes.IndexByte(value, '(') >= 0 {
		return LevelNone
	}
	digit, upper, small := census(value)
	switch {
	case digit < 2 || upper+small == 0 && digit < 24:
		return LevelNone
	case entropy(value) < 3 || !quoted && !settled && entropy(value) < 3.3:
		return LevelNone
	case wordy(value):
		return LevelNone
	}
	return LevelMedium
}

func judgePassword(value []byte, firm bool) Level {
	if weak(nil, value) || bytes.Count(value, []byte(" ")) > 0 {
		return LevelNone
	}
	digit, upper, small := census(value)
	other := len(value) - digit - upper - small
	kinds := 0
	for _, n := range [...]int{digit, upper, small, other} {
		if n > 0 {
			kinds++
		}
	}
	switch {
	case digit == len(value) && len(value) < 8, entropy(value) < 2:
		return LevelNone
	case firm && (kinds >= 2 && (digit > 0 || other > 0) || len(value) >= 20) && !identifier(value):
		return LevelMedium
	case !firm && kinds >= 3 && digit > 0 && !identifier(value):
		return LevelMedium
	}
	return LevelNone
}

func census(b []byte) (digit, upper, small int) {
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			digit++
		case c >= 'A' && c <= 'Z':
			upper++
		case c >= 'a' && c <= 'z':
			small++
		}
	}
	return digit, upper, small
}

// identifier reports whether b is made of small words only: db.password, new_pass.
func identifier(b []byte) bool {
	for i, c := range b {
		switch {
		case c >= 'a' && c <= 'z':
		case c >= 'A' && c <= 'Z' && i > 0 && b[i-1] >= 'a' && b[i-1] <= 'z':
		case (c == '_' || c == '.' || c == '-' || c == ':' || c == '/') && i > 0:
		default:
			return false
		}
	}
	return true
}

// wordy reports whether b is words and numbers with signs between them, such as
// names of things: prod-db-credentials-2024, PaymentServiceConfiguration2, a path.
// Chance makes words of two letters.
func wordy(b []byte) bool {
	words, letters := 0, 0
	for i, c := range b {
		isUpper, isSmall := c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z'
		if !isUpper && !isSmall {
			continue
		}
		letters++
		if i == 0 || isUpper && (b[i-1] < 'A' || b[i-1] > 'Z') || isSmall && (b[i-1] < 'A' || b[i-1] > 'z' || b[i-1] > 'Z' && b[i-1] < 'a') {
			words++
		}
	}
	return letters >= 4*words && letters*10 >= len(b)*6
}

// reference reports whether b says where a value is to be taken from.
func reference(b []byte) bool {
	switch b[0] {
	case '$', '{', '<', '%', '*', '(', '&', '/', '.', '@', '#', '[', '~':
		return true
	}
	for _, start := range [...]string{"env.", "env:", "process.", "os.", "http://", "https://", "vault:", "op://", "arn:", "secret:", "secrets.", "file:", "data.", "var.", "self.", "this.", "config.", "settings.", "options.", "params.", "req.", "request.", "args.", "input.", "local.", "module.", "ref+", "keyring:", "sha256:", "sha512-", "ENC(", "ssm:"} {
		if bytes.HasPrefix(b, []byte(start)) {
			return true
		}
	}
	return bytes.ContainsAny(b, "({[") && bytes.ContainsAny(b, ")}]") || bytes.Contains(b, []byte("${")) || bytes.Contains(b, []byte("{{"))
}
