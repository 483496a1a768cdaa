package wire_test

import (
	"bytes"
	"strings"
	"testing"

	"durward/internal/wire"
)

func TestUnquote(t *testing.T) {
	for _, c := range []struct {
		raw, want string
		ok        bool
	}{
		{`""`, "", true},
		{`"plain"`, "plain", true},
		{`"a\"\\\/\b\f\n\r\tb"`, "a\"\\/\b\f\n\r\tb", true},
		{`"\u00e9\u20AC\ud83d\ude00"`, "é€😀", true},
		{`"日本 long enough for the fast path 日本"`, "日本 long enough for the fast path 日本", true},
		{`"\ud800"`, "\uFFFD", true},
		{`"\ud800\ud800\udc00"`, "\uFFFD\U00010000", true},
		{"\"a\xff\"", "a\uFFFD", true},
		{`7`, "", false},
		{`null`, "", false},
		{`"`, "", false},
		{``, "", false},
		{`{"a":"b"}`, "", false},
	} {
		if got, ok := wire.Unquote([]byte(c.raw)); got != c.want || ok != c.ok {
			t.Errorf("%s: %q %v, want %q %v", c.raw, got, ok, c.want, c.ok)
		}
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"":               `""`,
		"a\"\\/\n\r\t\b": `"a\"\\/\n\r\t\u0008"`,
		"\x00\x1f\x7f":   "\"\\u0000\\u001f\x7f\"",
		"é😀<&>":          `"é😀<&>"`,
		"a\xffb":         "\"a\uFFFDb\"",
	} {
		if got := wire.Quote(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestB7_LinesAreCleaned(t *testing.T) {
	for in, want := range map[string]string{
		"{}":                      "{}",
		"{}\n":                    "{}",
		"{}\r\n":                  "{}",
		"\xEF\xBB\xBF{\"a\":1}\r": `{"a":1}`,
		"\xEF\xBB\xBF \t{} \t\n":  "{}",
		"\r\n":                    "",
		"":                        "",
		"text\n":                  "text",
		"\xEF\xBB{}":              "\xEF\xBB{}",
	} {
		if got := string(wire.CleanLine([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := string(wire.TrimBOM([]byte("\xEF\xBB\xBF\xEF\xBB\xBFx"))); got != "\xEF\xBB\xBFx" {
		t.Errorf("%q: one mark at most is taken off", got)
	}
}

func TestB7_InvalidUTF8IsRepaired(t *testing.T) {
	for in, want := range map[string]string{
		"\"\xff\"":                        "\"\uFFFD\"",
		"\"a\xe2\x82b\xc0\x80\"":          "\"a\uFFFD\uFFFDb\uFFFD\uFFFD\"",
		`"\ud800"`:                        `"\ufffd"`,
		`"\udC00\ud800\uD83D\uDE00\ud83"`: `"\ufffd\ufffd\uD83D\uDE00\ud83"`,
		`"\\ud800 \\\ud800"`:              `"\\ud800 \\\ufffd"`,
		`"\"\xff"`:                        `"\"\xff"`, // an escape nobody knows is not ours to repair
		strings.Repeat("x", 100) + "\xff": strings.Repeat("x", 100) + "\uFFFD",
		"\\\xff":                          "\\\uFFFD",
		"\\":                              "\\",
	} {
		if got := string(wire.ToValidUTF8([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	clean := []byte(`{"a":"\u00e9é\ud83d\ude00😀"}`)
	if got := wire.ToValidUTF8(clean); &got[0] != &clean[0] {
		t.Error("a clean message was copied")
	}
	faulty := []byte("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"text\":\"\xff\\ud800\",\"n\":1e400}}")
	before := bytes.Clone(faulty)
	m := mustParse(t, string(faulty), wire.FromServer)
	if !m.Faults.BadUTF8 {
		t.Error("the fault was not seen")
	}
	m = mustParse(t, string(wire.ToValidUTF8(faulty)), wire.FromClient)
	if string(m.Result) != "{\"text\":\"\uFFFD\\ufffd\",\"n\":1e400}" || !bytes.Equal(faulty, before) {
		t.Errorf("%s", m.Result)
	}
}
