package catalog

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// Schemes of URIs on the aggregate.
const (
	ownScheme = "durward://"
	uiScheme  = "ui://" // MCP Apps; hosts know it by its scheme, so it is kept
)

// prefixedURI returns the URI under which the aggregate offers a server's
// resource. Every byte that is not unreserved is escaped, so that no client that
// normalises URIs can change it, and so that it decodes to exactly the original.
func prefixedURI(server, uri string) string {
	if rest, ok := strings.CutPrefix(uri, uiScheme); ok {
		return uiScheme + server + "/" + rest
	}
	var b strings.Builder
	b.Grow(len(ownScheme) + len(server) + 1 + len(uri)*5/4)
	b.WriteString(ownScheme)
	b.WriteString(server)
	b.WriteByte('/')
	for i := range len(uri) {
		if unreserved(uri[i]) {
			b.WriteByte(uri[i])
		} else {
			writeEscape(&b, uri[i])
		}
	}
	return b.String()
}

// prefixedTemplate returns the template under which the aggregate offers a
// server's template. It is not escaped: what a client makes of it must be the
// prefix and then, verbatim, what it would have made of the original.
func prefixedTemplate(server, template string) string {
	if rest, ok := strings.CutPrefix(template, uiScheme); ok {
		return uiScheme + server + "/" + rest
	}
	return ownScheme + server + "/" + template
}

// splitURI takes a URI of the aggregate apart; ok is false if it has neither of its forms.
func splitURI(uri string) (scheme, server, rest string, ok bool) {
	scheme = ownScheme
	after, found := strings.CutPrefix(uri, ownScheme)
	if !found {
		scheme = uiScheme
		if after, found = strings.CutPrefix(uri, uiScheme); !found {
			return "", "", "", false
		}
	}
	server, rest, ok = strings.Cut(after, "/")
	return scheme, server, rest, ok
}

// unescape decodes what prefixedURI wrote behind the server's name; false if the
// text is not of that form.
func unescape(rest string) (uri string, ok bool) {
	for i := range len(rest) {
		if !unreserved(rest[i]) && rest[i] != '%' {
			return "", false
		}
	}
	uri, err := url.PathUnescape(rest)
	return uri, err == nil && uri != "" && utf8.ValidString(uri)
}
