package clientconf

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"durward/internal/clientconf/syntax"
)

// applied follows a unified difference, as a program that patches would.
func applied(t *rapid.T, before, diff string) string {
	lines := splitLines([]byte(before))
	var out strings.Builder
	at := 0
	body := strings.SplitAfter(diff, "\n")
	for i := 2; i < len(body) && body[i] != ""; i++ { // past the names
		line := body[i]
		switch line[0] {
		case '@':
			var from, gone, to, came int
			if _, err := fmt.Sscanf(line, "@@ -%d,%d +%d,%d @@", &from, &gone, &to, &came); err != nil {
				t.Fatalf("%v: %q", err, line)
			}
			if gone > 0 {
				from--
			}
			for ; at < from; at++ {
				out.WriteString(lines[at])
			}
		case '\\':
		default:
			text := line[1:]
			if i+1 < len(body) && strings.HasPrefix(body[i+1], `\`) {
				text = strings.TrimSuffix(text, "\n")
			}
			if line[0] != '+' {
				if at >= len(lines) || lines[at] != text {
					t.Fatalf("line %d is not %q", at+1, text)
				}
				at++
			}
			if line[0] != '-' {
				out.WriteString(text)
			}
		}
	}
	for ; at < len(lines); at++ {
		out.WriteString(lines[at])
	}
	return out.String()
}

func TestDiffLeadsFromOneToTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) string {
			lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a = 1", "b = 2", "", "# c", "d = 'x'"}), 0, 30).Draw(t, label)
			return strings.Join(lines, "\n") + rapid.SampledFrom([]string{"", "\n"}).Draw(t, "end")
		}
		before, after := draw("before"), draw("after")
		// Neither has to be valid: an empty tree hides nothing.
		diff := ""
		if before != after {
			hunks := hunksOf(compare(splitLines([]byte(before)), splitLines([]byte(after))))
			diff = "--- f\n+++ f\n"
			for _, h := range hunks {
				diff += render(h)
			}
		}
		if diff != "" {
			if got := applied(t, before, diff); got != after {
				t.Fatalf("before %q\nafter  %q\ngot    %q\n%s", before, after, got, diff)
			}
		}
	})
}

func TestDiffOfALargeRegionIsShownAsAWhole(t *testing.T) {
	const lines = 2010 // more than are compared one by one
	var a, b strings.Builder
	for i := range lines {
		fmt.Fprintf(&a, "a%d = 1\n", i)
		fmt.Fprintf(&b, "b%d = 1\n", i)
	}
	diff := diffText(syntax.TOML, "f", []byte(a.String()), []byte(b.String()))
	if got := strings.Count(diff, "\n-a") + strings.Count(diff, "\n+b"); got != 2*lines {
		t.Errorf("%d lines of %d", got, 2*lines)
	}
}

func TestDiffMasksOnlyWhatIsSecret(t *testing.T) {
	for _, tt := range []struct{ name, before, after, want string }{
		{"context", "{\"API_KEY\": \"abcdef\",\n\"x\": 1}", "{\"API_KEY\": \"abcdef\",\n\"x\": 2}", "{\"API_KEY\": \"«redacted»\","},
		{"escaped", `{"API_KEY": "\u0061bc"}`, `{"x": 1}`, `-{"API_KEY": "«redacted»"}`},
		{"comment", "// ghp_EXAMPLE0000000000000000000000000001\n{}", "{\"a\":1}", "-// «redacted»\n"},
		{"argument", `{"args": ["--token", "abcdef"]}`, `{}`, `-{"args": ["--token", "«redacted»"]}`},
		{"reference", `{"token": "Bearer ${X}"}`, `{}`, `-{"token": "Bearer ${X}"}`},
		{"default of a reference", `{"token": "${X:-abcdef}"}`, `{}`, `-{"token": "«redacted»"}`},
		{"long text", `{"x": "` + strings.Repeat("a", maxText+1) + `"}`, `{}`, `-{"x": "«redacted»"}`},
		{"long line", `{"x": [` + strings.Repeat("1,", 2000) + `1]}`, `{}`, "…"},
	} {
		got := diffText(syntax.JSON, "f", []byte(tt.before), []byte(tt.after))
		if !strings.Contains(got, tt.want) || strings.Contains(got, "abcdef") || len(got) > 5000 {
			t.Errorf("%s: %.300s", tt.name, got)
		}
	}
	// A text over several lines of TOML stays over as many.
	before := "[a]\nkey = '''one\ntwo\nthree'''\nx = 1\n"
	if got := diffText(syntax.TOML, "f", []byte(before), []byte(before+"y = 1\n")); strings.Contains(got, "two") || !strings.Contains(got, " x = 1\n+y = 1") {
		t.Error(got)
	}
}
