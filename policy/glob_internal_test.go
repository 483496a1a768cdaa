package policy

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A pattern matches what the expression matches that it stands for.
func TestGlobsAreThoseOfTheReference(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringMatching(`[ab*?/]{1,6}`).Draw(rt, "pattern")
		name := rapid.StringMatching(`[ab/]{1,7}`).Draw(rt, "name")
		g, ok := parseGlob(text)
		if !ok {
			rt.Fatalf("%q is refused", text)
		}
		re := regexp.MustCompile("^" + strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(text)) + "$")
		if got := g.match(name); got != re.MatchString(name) {
			rt.Fatalf("%q fits %q: %t", name, text, got)
		}
	})
}
