package clientconf

import (
	"fmt"
	"strings"
	"unicode"
)

// yamlWriter writes the keys of a server.
type yamlWriter struct {
	b      *strings.Builder
	indent string // beyond the four spaces of a server's keys
}

func (w yamlWriter) scalar(key, value string) {
	if value != "" {
		fmt.Fprintf(w.b, "    %s%s: %s\n", w.indent, key, plainYAML(value))
	}
}

func (w yamlWriter) list(key string, values []string) {
	if len(values) == 0 {
		return
	}
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = quoteYAML(v)
	}
	fmt.Fprintf(w.b, "    %s%s: [%s]\n", w.indent, key, strings.Join(quoted, ", "))
}

func (w yamlWriter) pairs(key string, pairs []Pair) {
	if len(pairs) == 0 {
		return
	}
	fmt.Fprintf(w.b, "    %s%s:\n", w.indent, key)
	for _, p := range pairs {
		fmt.Fprintf(w.b, "      %s%s: %s\n", w.indent, plainYAML(p.Name), quoteYAML(p.Value))
	}
}

// plainYAML writes a text without quotes where no reader of any version of YAML
// could take it for something else.
func plainYAML(text string) string {
	switch strings.ToLower(text) {
	case "", "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return quoteYAML(text)
	}
	for i, r := range text {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || r == '/'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789.@-", r)) {
			// A duration or a name that begins with a digit needs no quotes either,
			// but there is no harm in them.
			return quoteYAML(text)
		}
	}
	return text
}

// quoteYAML writes a text in double quotes.
func quoteYAML(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\x%02X`, r)
		case r == ' ' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			fmt.Fprintf(&b, `\U%08X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// comment makes a text fit on the line of a comment.
func comment(text string) string {
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}
