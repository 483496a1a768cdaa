package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"durward/internal/wire"
	"durward/internal/yamlx"
)

// Catalog is what servers there are and what they offer.
type Catalog interface {
	// Servers are the names of the configured servers.
	Servers() []string
	// Tools are the own names of a server's tools; false while it is not connected.
	Tools(server string) (names []string, connected bool)
}

// Finding is something about a rule that is sound, but is hardly meant.
type Finding struct {
	Code    string // expired, unknown-method, unknown-server, unknown-tool, overruled, no-effect
	Layer   Layer
	Rule    string // empty: not of a rule
	Pos     Pos
	Message string
}

// Lint says what of the set can have no effect: rules whose time is over, that name
// servers or tools that there are not, or that others always overrule. catalog may
// be nil; tools are looked for on connected servers only.
func (s *Set) Lint(catalog Catalog, now time.Time) []Finding {
	var out []Finding
	for _, r := range s.rules {
		add := func(code, format string, args ...any) {
			out = append(out, Finding{code, r.layer, r.src.ID, r.src.Pos, fmt.Sprintf(format, args...)})
		}
		if r.ended(now) {
			add("expired", "its time is over since %s; remove it", r.until.Format(time.RFC3339))
			continue
		}
		if r.response && r.act == actAllow {
			add("no-effect", "in phase response only block and rewrite have an effect; it is recorded, no more")
		}
		if r.when != nil {
			if methods, ok := r.when.values(fieldMethod); ok && !slices.ContainsFunc(methods, func(m string) bool { return slices.Contains(eventNames(), m) }) {
				add("unknown-method", "it is for the method %s only, which MCP does not have%s", strings.Join(methods, " or "), yamlx.DidYouMean(methods[0], eventNames()))
			}
		}
		if by := s.overruledBy(r); by != nil {
			add("overruled", "it can never have its way, because %s blocks everything it is for", by.name())
		}
		if catalog != nil {
			s.lintNames(r.servers, r.tools, catalog, add)
		}
	}
	if catalog != nil {
		out = append(out, s.lintTools(catalog)...)
	}
	return out
}

// overruledBy returns a rule without condition that blocks all that r is for.
func (s *Set) overruledBy(r *rule) *rule {
	if r.act != actAllow && r.act != actAsk || r.response {
		return nil
	}
	for _, b := range s.rules {
		if b.act == actBlock && b.response == r.response && b.when == nil && b.limit == nil && b.until.IsZero() &&
			covered(b.methods, r.methods) && covered(b.src.Servers, r.src.Servers) && covered(b.src.Tools, r.src.Tools) {
			return b
		}
	}
	return nil
}

// covered reports whether a list of an index certainly takes all that another takes.
func covered(wide, narrow []string) bool {
	if len(wide) == 0 || slices.Contains(wide, "*") && len(narrow) > 0 {
		return true
	}
	return len(narrow) > 0 && !slices.ContainsFunc(narrow, func(s string) bool { return !slices.Contains(wide, s) })
}

// lintNames reports names and patterns that nothing there is fits.
func (*Set) lintNames(servers, tools []glob, catalog Catalog, add func(code, format string, args ...any)) {
	known := catalog.Servers()
	var meant []string
	for _, name := range known {
		if matchAny(servers, name) {
			meant = append(meant, name)
		}
	}
	for i := range servers {
		if !slices.ContainsFunc(known, servers[i].match) {
			add("unknown-server", "there is no server %s; there are: %s", servers[i].text, strings.Join(known, ", "))
		}
	}
	var offered []string
	for _, name := range meant {
		list, connected := catalog.Tools(name)
		if !connected {
			return // nobody knows what it offers
		}
		offered = append(offered, list...)
	}
	for i := range tools {
		if len(meant) > 0 && !slices.ContainsFunc(offered, tools[i].match) {
			add("unknown-tool", "no tool of %s is called %s%s", strings.Join(meant, ", "), tools[i].text, guess(tools[i].text, offered))
		}
	}
}

// guess is the end of a message that names the tool that was probably meant.
func guess(text string, offered []string) string {
	for _, name := range offered {
		if strings.EqualFold(name, text) || strings.HasPrefix(name, text) || strings.HasSuffix(name, text) {
			return "; did you mean \"" + name + "\"?"
		}
	}
	return ""
}

func (s *Set) lintTools(catalog Catalog) []Finding {
	var out []Finding
	for l := range s.tools {
		for server, list := range s.tools[l] {
			g, _ := parseGlob(server)
			for _, t := range list {
				s.lintNames([]glob{g}, []glob{t.glob}, catalog, func(code, format string, args ...any) {
					out = append(out, Finding{code, Layer(l), "", t.pos, fmt.Sprintf(format, args...)})
				})
			}
		}
	}
	slices.SortFunc(out, func(a, b Finding) int { return strings.Compare(a.Message, b.Message) })
	return out
}

// contradiction says why an index and what a condition asks for exclude each other;
// empty when they do not.
func (r *rule) contradiction() string {
	if r.when == nil {
		return ""
	}
	for _, c := range []struct {
		field field
		key   string
		takes func(string) bool
		on    bool
	}{
		{fieldMethod, "on", func(v string) bool { return slices.Contains(r.methods, v) }, len(r.methods) > 0},
		{fieldServerName, "servers", func(v string) bool { return matchAny(r.servers, v) }, len(r.servers) > 0},
		{fieldToolName, "tools", func(v string) bool { return matchAny(r.tools, v) }, len(r.tools) > 0},
	} {
		values, ok := r.when.values(c.field)
		if ok && c.on && !slices.ContainsFunc(values, c.takes) {
			return fmt.Sprintf("the condition wants %s to be %s, and %q does not take that", fieldTable()[c.field].name, strings.Join(values, " or "), c.key)
		}
	}
	if values, ok := r.when.values(fieldToolName); ok && len(values) > 0 && len(r.methods) > 0 && !slices.Contains(r.methods, wire.MethodToolsCall) {
		return "only tools/call has a tool, and \"on\" does not name it"
	}
	return ""
}
