package reveal_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"durward/internal/reveal"
)

func TestWhatNobodyWouldSeeIsWrittenOut(t *testing.T) {
	for in, want := range map[string]string{
		"plain text":                "plain text",
		"Grüße, 日本語 ✓":              "Grüße, 日本語 ✓",
		"a\u200bb":                  "a<U+200B>b",
		"a\u00a0b":                  "a<U+00A0>b",
		"a\u202eb\u2066c\u2069":     "a<U+202E>b<U+2066>c<U+2069>",
		"\x1b[31mred\x9b":           "<U+001B>[31mred<0x9B>",
		"c1\u009b":                  "c1<U+009B>",
		"tag\U000e0061":             "tag<U+E0061>",
		"vs\U000e0100":              "vs<U+E0100>",
		"two\nlines\t":              "two⏎lines<U+0009>",
		"bad\xff":                   "bad<0xFF>",
		"z\u0301\u0301\u0301\u0301": "z\u0301\u0301<U+0301><U+0301>",
		"blank\u3164\u2800":         "blank<U+3164><U+2800>",
		"private\ue000":             "private<U+E000>",
		"heart \u2764\ufe0f":        "heart \u2764\ufe0f",
		"text\ufe0f":                "text<U+FE0F>",
		"\u2764\ufe0f\ufe0f":        "\u2764\ufe0f<U+FE0F>",
		"\U0001f469\U0001f3fd\u200d\u2764\ufe0f\u200d\U0001f469": "\U0001f469\U0001f3fd\u200d\u2764\ufe0f\u200d\U0001f469",
		"\U0001f469\u200d\u200d\U0001f469":                       "\U0001f469<U+200D><U+200D>\U0001f469",
		"\U0001f469\u200dx":                                      "\U0001f469<U+200D>x",
	} {
		if got := reveal.Line(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
	if got := reveal.Text("a\x1b[31mb\x07\u202ec\r\nd\te\r"); got != "a<U+001B>[31mb<U+0007><U+202E>c\nd\te<U+000D>" {
		t.Errorf("%q", got)
	}
}

func TestHiddenCountsWhatIsWrittenOut(t *testing.T) {
	for in, want := range map[string]int{"": 0, "a\tb\r\n": 0, "a\u200b\u202e": 2, "\u2764\ufe0f": 0, "x\ufe0f\x1b": 2} {
		if got := reveal.Hidden(in); got != want {
			t.Errorf("%q: %d, want %d", in, got, want)
		}
	}
}

func TestLookAlikesAreFound(t *testing.T) {
	for in, want := range map[string]string{
		"pay p\u0430ypal now":                      "paypal",
		"\u0430dmin":                               "admin",
		"\uff52\uff45\uff41\uff44":                 "read",
		"\U0001d42b\U0001d41e\U0001d41a\U0001d41d": "read",
		"\u0441\u043e\u0440\u0443":                 "copy",
		"caf\u00e9":                                "",
		"\u042d\u0442\u043e \u043e\u0441\u0430 \u0438 \u0440\u043e\u0441\u0430": "", // Russian is no attack on English
		"10 µs at 5 kΩ, x² and 1º":                                              "",
		"日本語":                                                                   "",
		"read":                                                                  "",
	} {
		var got string
		if found := reveal.LookAlikes(in); len(found) > 0 {
			got = found[0].Plain
		}
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// Whatever a text is, what is shown of it steers nothing and hides nothing.
func FuzzReveal(f *testing.F) {
	for _, seed := range []string{"a\u200bb", "\x1b]0;x\x07", "\xff\xfe", "\u2764\ufe0f\u200d\U0001f469", "e\u0301\u0301\u0301", "a\r\nb"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line, lines := reveal.Line(text), reveal.Text(text)
		if reveal.Hidden(line) != 0 || reveal.Hidden(lines) != 0 || !utf8.ValidString(line) || !utf8.ValidString(lines) {
			t.Errorf("%q is shown as %q and %q", text, line, lines)
		}
		for _, r := range lines {
			if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
				t.Errorf("%q is shown with %U", text, r)
			}
		}
		if strings.ContainsAny(line, "\n\t\r\x1b") || reveal.Line(line) != line {
			t.Errorf("%q is shown as %q", text, line)
		}
	})
}
