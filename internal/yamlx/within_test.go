package yamlx_test

import (
	"fmt"
	"testing"

	"durward/internal/yamlx"
)

func TestAProblemPointsIntoAText(t *testing.T) {
	const text = "a: x == yy\nb: 'it''s == z'\nc: \"\\u0041 == z\"\nd: |\n  first\n  sec == z\ne: >\n  folded\n  more\n"
	for _, c := range []struct {
		key          string
		line, column int
		want         string
	}{
		{"a", 1, 5, "1:9"},
		{"b", 1, 8, "2:14"},
		{"c", 1, 5, "3:4"}, // escapes: the value
		{"d", 2, 7, "6:10"},
		{"e", 1, 3, "7:4"}, // folded: the value
		{"a", 9, 0, "1:4"},
	} {
		s := yamlx.Parse("f", []byte(text), yamlx.Limits{})
		before := s.Count()
		s.ReportWithin("E", yamlx.Path{c.key}, c.line, c.column, 1, "wrong")
		found := s.Since(before)
		if len(found) != 1 {
			t.Fatalf("%s: %v", c.key, found)
		}
		if got := fmt.Sprintf("%d:%d", found[0].Line, found[0].Column); got != c.want || found[0].Path != c.key {
			t.Errorf("%s %d:%d: at %s, want %s\n%s", c.key, c.line, c.column, got, c.want, found[0])
		}
	}
}
