package catalog

import "strings"

// Bounds of templates that are matched. Longer ones are offered and not matched.
const (
	maxTemplate    = 2 << 10 // bytes
	maxExpressions = 16
	maxMatched     = 2 << 10 // bytes of a URI that is compared with templates
	maxMatching    = 4 << 20 // bytes times pieces that one server's templates may cost a lookup
)

// pattern is a URI template (RFC 6570) as pieces that alternate between literal
// text and expressions. It serves to tell whether a URI may be an expansion of the
// template; nil matches nothing.
type pattern []piece

// piece is a literal, or if stop is set an expression that expands to any text
// without the bytes of stop.
type piece struct {
	literal string
	stop    *string
}

// parseTemplate returns nil when the template is malformed or beyond the bounds.
func parseTemplate(template string) pattern {
	if len(template) > maxTemplate || strings.Count(template, "{") > maxExpressions {
		return nil
	}
	var p pattern
	for template != "" {
		literal, rest, found := strings.Cut(template, "{")
		if strings.Contains(literal, "}") {
			return nil
		}
		if literal != "" {
			p = append(p, piece{literal: normalURI(literal)})
		}
		if !found {
			break
		}
		expression, after, closed := strings.Cut(rest, "}")
		if !closed || expression == "" || strings.Contains(expression, "{") {
			return nil
		}
		stop := stopBytes(expression[0])
		p = append(p, piece{stop: &stop})
		template = after
	}
	return p
}

// stopBytes returns what an expansion with this operator does not contain (RFC
// 6570 §3.2). It is more generous than the RFC with other reserved characters,
// because clients often forget to escape those.
func stopBytes(operator byte) string {
	switch operator {
	case '+', '#':
		return ""
	case '/':
		return "?#"
	case '?', '&':
		return "#"
	default:
		return "/?#"
	}
}

// match reports whether uri, which must be normal (normalURI) and within
// maxMatched, may be an expansion. It keeps the set of offsets that can be
// reached, so that its cost is bounded by pieces times length.
func (p pattern) match(uri string) bool {
	if !p.begins(uri) {
		return false
	}
	reached := append(make([]int32, 0, len(uri)+1), 0) // ascending
	next := make([]int32, 0, len(uri)+1)
	for _, piece := range p {
		if piece.stop == nil {
			next = piece.skipLiteral(uri, reached, next[:0])
		} else {
			next = piece.expand(uri, reached, next[:0])
		}
		if len(next) == 0 {
			return false
		}
		reached, next = next, reached
	}
	return int(reached[len(reached)-1]) == len(uri)
}

// begins reports whether uri has the text that all expansions begin with.
func (p pattern) begins(uri string) bool {
	return p != nil && (p[0].stop != nil || strings.HasPrefix(uri, p[0].literal))
}

func (p piece) skipLiteral(uri string, reached, next []int32) []int32 {
	for _, at := range reached {
		if strings.HasPrefix(uri[at:], p.literal) {
			next = append(next, at+int32(len(p.literal)))
		}
	}
	return next
}

func (p piece) expand(uri string, reached, next []int32) []int32 {
	end := int32(-1) // of the run that was added last
	for _, at := range reached {
		if at <= end {
			continue // in the same run, which it would extend to the same end
		}
		end = int32(len(uri))
		if n := strings.IndexAny(uri[at:], *p.stop); n >= 0 {
			end = at + int32(n)
		}
		for i := at; i <= end; i++ {
			next = append(next, i)
		}
	}
	return next
}

// normalURI escapes what may not stand in a URI, as an expansion does with the
// template's literals (RFC 6570 §3.1), and puts escapes in upper case.
func normalURI(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			b.WriteString(strings.ToUpper(s[i : i+3]))
			i += 2
		case uriByte(c):
			b.WriteByte(c)
		default:
			writeEscape(&b, c)
		}
	}
	return b.String()
}

// uriByte reports whether c may stand in a URI: reserved, unreserved or '%' (RFC 3986 §2).
func uriByte(c byte) bool {
	return unreserved(c) || strings.IndexByte(":/?#[]@!$&'()*+,;=%", c) >= 0
}

func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func writeEscape(b *strings.Builder, c byte) {
	const hex = "0123456789ABCDEF"
	b.WriteByte('%')
	b.WriteByte(hex[c>>4])
	b.WriteByte(hex[c&15])
}
