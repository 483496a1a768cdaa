package config

import (
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"durward/internal/yamlx"
)

// Names that Durward offers and takes (names-and-limits, "Names").
var (
	toolsetName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
	offeredName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
)

// checkKind checks that the keys of a server belong to one kind of server.
func (b *builder) checkKind(at yamlx.Path, raw serverFile) {
	command, address := b.layers.has(at.In("command")), b.layers.has(at.In("url"))
	switch {
	case command && address:
		b.layers.reportKey(codeConflict, at.In("url"), "a server has a command or a url, not both; remove one")
		return
	case !command && !address:
		b.layers.reportKey(yamlx.CodeRequired, at, "needs a command (a stdio server) or a url (a remote server)")
		return
	}
	if command && raw.Command == "" {
		b.layers.report(yamlx.CodeValue, at.In("command"), "is empty; name a program")
	}
	remote := []string{"headers", "proxy", "ca_file"}
	local := []string{"args", "env", "dir", "idle_stop"}
	wrong, kind, other := remote, "command", "url"
	if address {
		wrong, kind, other = local, "url", "command"
	}
	for _, key := range wrong {
		if b.layers.has(at.In(key)) {
			b.layers.reportKey(codeConflict, at.In(key), "belongs to servers with a %s; this one has a %s", other, kind)
		}
	}
	if raw.Transport != "" && (raw.Transport == "stdio") != command {
		b.layers.report(codeConflict, at.In("transport"), "is %s, but the server has a %s", raw.Transport, kind)
	}
}

// expand replaces references; a failure is reported at its place and gives "".
func (b *builder) expand(at yamlx.Path, text string) string {
	out, _ := b.tryExpand(at, text)
	return out
}

// tryExpand is expand that tells a failure from an empty text.
func (b *builder) tryExpand(at yamlx.Path, text string) (string, bool) {
	return b.expandOf(b.layers.owner(at), at, text)
}

// expandOf is tryExpand for a text of one layer.
func (b *builder) expandOf(l *layer, at yamlx.Path, text string) (string, bool) {
	out, err := b.refs.expand(l.dir, text)
	if err != nil {
		l.src.Report(codeReference, at, "%v", err)
		return "", false
	}
	if strings.ContainsRune(out, 0) {
		l.src.Report(yamlx.CodeValue, at, "holds a NUL byte, which cannot be passed on; remove it")
		return "", false
	}
	return out, true
}

func (b *builder) args(at yamlx.Path, raw []yamlx.Text) []string {
	var out []string
	for i, text := range raw {
		out = append(out, b.expand(at.In("args", strconv.Itoa(i)), string(text)))
	}
	return out
}

func (b *builder) env(at yamlx.Path, raw map[string]yamlx.Text) map[string]string {
	if raw == nil {
		return nil
	}
	out := make(map[string]string, len(raw))
	for name, text := range raw {
		here := at.In("env", name)
		if name == "" || strings.ContainsAny(name, "=\x00") {
			b.layers.reportKey(yamlx.CodeValue, here, "the name of a variable must not be empty and not hold = or NUL")
		}
		out[name] = b.expand(here, string(text))
		b.refs.rememberLiteral(name, out[name])
	}
	return out
}

// maxHeader bounds one header value (names-and-limits).
const maxHeader = 8 << 10

func (b *builder) headers(at yamlx.Path, raw map[string]yamlx.Text) map[string]string {
	if raw == nil {
		return nil
	}
	out := make(map[string]string, len(raw))
	seen := make(map[string]bool, len(raw))
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		text, here := raw[name], at.In("headers", name)
		switch lower := strings.ToLower(name); {
		case !isToken(name):
			b.layers.reportKey(yamlx.CodeValue, here, "is no name of a header: letters, digits and hyphens")
		case isReservedHeader(lower):
			b.layers.reportKey(codeForbidden, here, "is set by the protocol itself and cannot be configured; remove it")
		case seen[lower]:
			b.layers.reportKey(yamlx.CodeDuplicate, here, "the header is there twice, in another spelling; remove one")
		default:
			seen[lower] = true
		}
		value := b.expand(here, string(text))
		if why := badHeaderValue(value); why != "" {
			b.layers.report(yamlx.CodeValue, here, "%s", why)
		}
		out[name] = value
		b.refs.rememberLiteral(name, value)
	}
	return out
}

// badHeaderValue says why a value would not arrive as it is; it never shows it.
func badHeaderValue(value string) string {
	switch {
	case len(value) > maxHeader:
		return "the value is longer than the limit of " + strconv.Itoa(maxHeader) + " bytes"
	case value != strings.Trim(value, " \t"):
		return "the value begins or ends with a space or tab, which HTTP removes; remove it"
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return "the value holds a control character such as a line break; remove it"
	}
	return ""
}

// isReservedHeader names what the transport sets, what frames a message, and
// what would smuggle a second one. name is in lower case.
func isReservedHeader(name string) bool {
	return strings.HasPrefix(name, "mcp-") || slices.Contains([]string{
		"host", "content-length", "content-type", "content-encoding", "transfer-encoding", "te", "trailer",
		"connection", "keep-alive", "proxy-connection", "upgrade", "expect",
		"accept", "accept-encoding", "last-event-id",
	}, name)
}

// isToken is RFC 9110 §5.6.2.
func isToken(s string) bool {
	for _, c := range []byte(s) {
		alphanumeric := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !alphanumeric && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

func (b *builder) url(at yamlx.Path, raw string) string {
	if !b.layers.has(at.In("url")) {
		return ""
	}
	here := at.In("url")
	text := b.expand(here, raw)
	if text == "" && raw != "" {
		return "" // said already
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		b.layers.report(yamlx.CodeValue, here, "must be an absolute URL that begins with http:// or https://")
	case u.User != nil:
		b.layers.report(codeForbidden, here, "must not hold a user name or password; send them in headers: {Authorization: …}")
	case u.Fragment != "":
		b.layers.report(yamlx.CodeValue, here, "must not have a fragment (#…), which is never sent")
	}
	return text
}

func (b *builder) proxy(at yamlx.Path, raw string) string {
	if raw == "" || raw == "none" {
		return raw
	}
	here := at.In("proxy")
	text := b.expand(here, raw)
	if text == "" {
		return "" // said already
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || !slices.Contains([]string{"http", "https", "socks5"}, u.Scheme) {
		b.layers.report(yamlx.CodeValue, here, "must be none or the URL of a proxy that begins with http://, https:// or socks5://")
	}
	if u != nil && u.User != nil {
		if password, ok := u.User.Password(); ok {
			b.refs.remember(password)
		}
	}
	return text
}

// maxDescription bounds a description (names-and-limits).
const maxDescription = 64 << 10

// maxOffered bounds a name offered (names-and-limits).
const maxOffered = 64

func (b *builder) checkTools(at yamlx.Path, server string, raw toolsFile) {
	b.checkPatterns(at.In("allow"), raw.Allow)
	b.checkPatterns(at.In("deny"), raw.Deny)
	b.checkPatterns(at.In("idempotent"), raw.Idempotent)
	for _, pattern := range slices.Sorted(maps.Keys(raw.Risk)) {
		b.checkPattern(at.In("risk", pattern), pattern)
	}
	taken := make(map[string]string)
	for _, own := range slices.Sorted(maps.Keys(raw.Rename)) {
		offered, here := raw.Rename[own], at.In("rename", own)
		if !offeredName.MatchString(offered) || len(server)+len("__")+len(offered) > maxOffered {
			b.layers.report(yamlx.CodeValue, here, "the name must match %s, and %s__NAME must not be longer than %d characters", offeredName, clip(server), maxOffered)
		}
		if other, twice := taken[offered]; twice {
			b.layers.report(codeConflict, here, "%s is renamed to the same name; choose another", clip(other))
		}
		taken[offered] = own
	}
	for own, text := range raw.Describe {
		if len(text) > maxDescription {
			b.layers.report(yamlx.CodeRange, at.In("describe", own), "the description is longer than the limit of %d bytes", maxDescription)
		}
	}
}

func (b *builder) checkPatterns(at yamlx.Path, patterns []string) {
	for i, pattern := range patterns {
		b.checkPattern(at.In(strconv.Itoa(i)), pattern)
	}
}

func (b *builder) checkPattern(at yamlx.Path, pattern string) {
	if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
		b.layers.report(yamlx.CodeValue, at, "is no name and no pattern; patterns use *, ? and [a-z]")
	}
}
