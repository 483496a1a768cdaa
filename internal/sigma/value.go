package sigma

import (
	"encoding/base64"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"durward/internal/yamlx"
)

// modifiers are what stands behind a field: field|contains|all.
type modifiers struct {
	match   string // "", contains, startswith, endswith, re, cidr, lt, lte, gt, gte, exists
	all     bool
	cased   bool
	encoded string // "", base64, base64offset
	flags   string // of re
}

// known are the modifiers that can be translated.
func knownModifiers() []string {
	return []string{"contains", "startswith", "endswith", "re", "cidr", "lt", "lte", "gt", "gte", "exists", "all", "cased", "base64", "base64offset", "i", "m", "s"}
}

// readModifiers reads them; the text says what is wrong.
func readModifiers(words []string) (m modifiers, wrong string) {
	for _, word := range words {
		switch word {
		case "all":
			m.all = true
		case "cased":
			m.cased = true
		case "base64", "base64offset":
			if m.encoded != "" || m.match != "" {
				return m, "the modifier " + word + " must stand first"
			}
			m.encoded = word
		case "i", "m", "s":
			if m.match != "re" {
				return m, "the modifier " + word + " may only follow re"
			}
			m.flags += word
		default:
			if !slices.Contains(knownModifiers(), word) {
				return m, "the modifier " + strconv.Quote(word) + " cannot be translated" + yamlx.DidYouMean(word, knownModifiers())
			}
			if m.match != "" {
				return m, "the modifiers " + m.match + " and " + word + " exclude each other"
			}
			m.match = word
		}
	}
	if m.encoded != "" && m.match != "" && m.match != "contains" {
		return m, "the modifier " + m.encoded + " goes with contains only"
	}
	return m, ""
}

// test is one comparison with one value.
type test struct {
	pattern string // regular expression over the whole text, if it is one
	cased   bool
	flags   string // of a pattern that is the rule's own, which is searched for anywhere
	free    bool   // pattern is searched for anywhere

	op     string // ==, <, <=, >, >= with operand; cidr; null; exists, absent
	number string // operand, as CEL writes it
	truth  string // "true" or "false"
	prefix netip.Prefix
}

// readTest reads one value under modifiers; more than one comes of base64offset.
func readTest(m modifiers, v *yamlx.Value) (tests []test, wrong string) {
	if v.Kind != yamlx.Single {
		return nil, "a value must be a text, number, truth value or null here"
	}
	switch m.match {
	case "re":
		return readPattern(m, v)
	case "cidr":
		p, err := netip.ParsePrefix(v.Text)
		if err != nil {
			return nil, strconv.Quote(v.Text) + " is no network such as 10.0.0.0/8"
		}
		return []test{{op: "cidr", prefix: p.Masked()}}, ""
	case "lt", "lte", "gt", "gte":
		n, ok := celNumber(v.Text)
		if !ok {
			return nil, strconv.Quote(v.Text) + " is no number that can be compared"
		}
		return []test{{op: map[string]string{"lt": "<", "lte": "<=", "gt": ">", "gte": ">="}[m.match], number: n}}, ""
	case "exists":
		if v.Type != "truth" {
			return nil, "exists wants true or false"
		}
		return []test{{op: map[bool]string{true: "exists", false: "absent"}[strings.EqualFold(v.Text, "true")]}}, ""
	}
	return readPlain(m, v)
}

func readPlain(m modifiers, v *yamlx.Value) (tests []test, wrong string) {
	switch {
	case v.Type == "null" && m.match == "" && m.encoded == "":
		return []test{{op: "null"}}, ""
	case v.Type == "null":
		return nil, "null goes with no modifier"
	case m.encoded != "":
		return encoded(m, v.Text), ""
	}
	t := test{pattern: wildcards(v.Text), cased: m.cased}
	switch m.match {
	case "contains":
		t.pattern = ".*" + t.pattern + ".*"
	case "startswith":
		t.pattern += ".*"
	case "endswith":
		t.pattern = ".*" + t.pattern
	default:
		if n, ok := celNumber(v.Text); ok {
			t.op, t.number = "==", n
		}
		if v.Type == "truth" {
			t.op, t.truth = "==", strings.ToLower(v.Text)
		}
	}
	return []test{t}, ""
}

func readPattern(m modifiers, v *yamlx.Value) ([]test, string) {
	if v.Type == "null" || v.Text == "" {
		return nil, "re wants a regular expression"
	}
	t := test{pattern: v.Text, flags: m.flags, free: true}
	if _, err := regexp.Compile(t.expression()); err != nil {
		return nil, "the regular expression cannot be used: " + err.Error() + "; it must be one of RE2 (https://github.com/google/re2/wiki/Syntax), which has no look-around and no back-references"
	}
	return []test{t}, ""
}

// encoded finds a text in its base64 form, at each of the three offsets that it
// can have within something longer (base64offset).
func encoded(m modifiers, value string) []test {
	around := func(pattern string) string {
		if m.match == "contains" {
			return ".*" + pattern + ".*"
		}
		return pattern
	}
	if m.encoded == "base64" {
		return []test{{pattern: around(regexp.QuoteMeta(base64.StdEncoding.EncodeToString([]byte(value)))), cased: true}}
	}
	var tests []test
	for offset, start := range []int{0, 2, 3} {
		whole := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(" ", offset) + value))
		end := len(whole) - []int{0, 3, 2}[(offset+len(value))%3]
		if start < end {
			tests = append(tests, test{pattern: around(regexp.QuoteMeta(whole[start:end])), cased: true})
		}
	}
	return tests
}

// wildcards turns a Sigma text into a regular expression for the whole text. A
// backslash takes the meaning from *, ? and a backslash before it, and is itself elsewhere.
func wildcards(value string) string {
	var b strings.Builder
	runes := []rune(value)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; {
		case r == '*':
			b.WriteString(".*")
		case r == '?':
			b.WriteString(".")
		case r == '\\' && i+1 < len(runes) && strings.ContainsRune(`*?\`, runes[i+1]):
			i++
			b.WriteString(regexp.QuoteMeta(string(runes[i])))
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return b.String()
}

// expression is the whole regular expression of a test.
func (t *test) expression() string {
	if t.free {
		if t.flags != "" {
			return "(?" + t.flags + ")" + t.pattern
		}
		return t.pattern
	}
	flags := "(?is)"
	if t.cased {
		flags = "(?s)"
	}
	return flags + `\A(?:` + t.pattern + `)\z`
}

// decimal is a number as JSON writes it.
var decimal = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// celNumber writes a number as CEL does; false for what is none.
func celNumber(value string) (string, bool) {
	if !decimal.MatchString(value) {
		return "", false
	}
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		return strconv.FormatInt(n, 10), true
	}
	f, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return "", false
	}
	written := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(written, ".e") {
		written += ".0"
	}
	return written, true
}

// quote writes a text as a literal of CEL. Its escapes are those of Go: the texts
// are valid UTF-8, so that \x stands for nothing above U+007F.
func quote(s string) string { return strconv.Quote(s) }
