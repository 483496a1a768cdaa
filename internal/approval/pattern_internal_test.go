package approval

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// slow is what a glob means, as a regular expression.
func slow(glob string) *regexp.Regexp {
	var out strings.Builder
	for i := 0; i < len(glob); i++ {
		switch {
		case strings.HasPrefix(glob[i:], "**"):
			out.WriteString(`[^\p{Cc}\p{Cf}]*`)
			i++
		case glob[i] == '*':
			out.WriteString(`[^/\\\p{Cc}\p{Cf}]*`)
		case glob[i] == '?':
			out.WriteString(`[^/\\\p{Cc}\p{Cf}]`)
		default:
			out.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		}
	}
	return regexp.MustCompile(`\A(?s:` + out.String() + `)\z`)
}

func TestGlobsMeanWhatTheySay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab/*?]{0,8}`).Draw(t, "pattern")
		text := rapid.StringMatching(`[ab/\\\n\x{202e}]{0,10}`).Draw(t, "text")
		if got, want := glob([]rune(pattern), []rune(text)), slow(pattern).MatchString(text); got != want {
			t.Fatalf("%q %q: %v", pattern, text, got)
		}
	})
}

func FuzzPointers(f *testing.F) {
	f.Add(`{"a":[{"b/~":1}]}`, "/a/0/b~1~0")
	f.Add(`{"":{"":2}}`, "//")
	f.Fuzz(func(t *testing.T, value, pointer string) {
		at, ok := find([]byte(value), pointer)
		if ok && (int(at.End) > len(value) || at.Start >= at.End) {
			t.Errorf("%v", at)
		}
	})
}
