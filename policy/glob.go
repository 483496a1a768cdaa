package policy

import (
	"path"
	"strings"
)

// glob is a name, or a pattern with *, ? and [a-z] over whole names: a * stands for
// slashes as well, so that no name escapes a rule by having one.
type glob struct {
	text    string // as written
	pattern string // for path.Match, without slashes; empty when text is a plain name
}

// slash stands for / in patterns and names: path.Match treats / as a border.
const slash = "\x01"

// parseGlob reads a pattern; false if it is malformed or empty.
func parseGlob(text string) (glob, bool) {
	g := glob{text: text}
	if text == "" || strings.ContainsAny(text, slash) {
		return g, false
	}
	if !strings.ContainsAny(text, `*?[\`) {
		return g, true
	}
	g.pattern = strings.ReplaceAll(text, "/", slash)
	_, err := path.Match(g.pattern, "")
	return g, err == nil
}

func (g *glob) plain() bool { return g.pattern == "" }

func (g *glob) match(name string) bool {
	switch {
	case g.plain():
		return g.text == name
	case name == "":
		return false // an event without such a name
	case g.text == "*":
		return true
	}
	if before := g.prefix(); !strings.HasPrefix(name, before) {
		return false
	} else if len(before) == len(g.text)-1 && g.text[len(before)] == '*' {
		return true
	}
	if strings.Contains(name, "/") {
		name = strings.ReplaceAll(name, "/", slash)
	}
	ok, _ := path.Match(g.pattern, name)
	return ok
}

// prefix is what every name that matches begins with.
func (g *glob) prefix() string {
	if g.plain() {
		return g.text
	}
	return g.text[:strings.IndexAny(g.text, `*?[\`)]
}

// matchAny reports whether one of globs matches; none is everything.
func matchAny(globs []glob, name string) bool {
	if len(globs) == 0 {
		return true
	}
	for i := range globs {
		if globs[i].match(name) {
			return true
		}
	}
	return false
}
