package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"durward/internal/secret"
)

func TestMatcherFindsNeedlessEscapes(t *testing.T) {
	m := secret.NewMatcher(secret.New(text), secret.New("key-😀-0123456789/+abcdefgh"), secret.New("plain-token"))
	inBase64 := base64.StdEncoding.EncodeToString([]byte("key-😀-0123456789/+abcdefgh"))
	for name, in := range map[string]string{
		"upper case":            `s3cr3t/v\u00E4lue+\"x\"`,
		"all of it":             `\u0073\u0033\u0063\u0072\u0033\u0074\u002f\u0076\u00e4\u006c\u0075\u0065\u002b\u0022\u0078\u0022`,
		".NET":                  `s3cr3t/v\u00E4lue\u002B\u0022x\u0022`,
		"some slashes":          `s3cr3t\/v\u00e4lue\u002b\"x\u0022`,
		"surrogates":            `key-\uD83D\uDE00-0123456789/+abcdefgh`,
		"surrogates, lower":     `key-\ud83d\ude00-0123456789\/\u002babcdefgh`,
		"JSON in JSON":          `plain\\u002dtoken`,
		"escaped twice":         `plain\u005cu002dtoken`,
		"JSON in JSON, mixed":   `s3cr3t\\\/v\\u00e4lue+\\\"x\\\"`,
		"URL":                   `%73%33cr3t%2Fv%c3%A4lue%2b%22%78%22`,
		"URL in JSON":           `s3cr3t\u00252fv\u0025c3%A4lue%2b%22x%22`,
		"JSON in URL":           `plain%5Cu002dtoken`,
		"base64 in JSON":        strings.ReplaceAll(inBase64, "/", `\/`),
		"base64 in JSON, plus":  strings.ReplaceAll(inBase64, "+", `\u002b`),
		"base64 in URL":         url.QueryEscape(inBase64),
		"behind a backslash":    `\\\u0070lain-token`,
		"behind half an escape": `\u00\u0070lain-token`,
	} {
		got := m.Text("<" + in + ">")
		if got != "<"+secret.Mask+">" && !strings.HasPrefix(name, "behind") && !strings.HasPrefix(name, "base64") ||
			!strings.Contains(got, secret.Mask) || !strings.HasPrefix(got, "<") || !strings.HasSuffix(got, ">") || !m.Find([]byte(in)) {
			t.Errorf("%s: %s gives %s", name, in, got)
		}
	}
}

// In the query of a URL a plus is a space; which characters stand as they are beside it
// differs from encoder to encoder.
func TestMatcherFindsSpacesAsPluses(t *testing.T) {
	m := secret.NewMatcher(secret.New("correct horse* battery~staple"))
	for name, in := range map[string]string{
		"Go":                    "correct+horse%2A+battery~staple",
		"browsers, Java":        "correct+horse*+battery%7Estaple",
		"most of it as it is":   "correct+horse*+battery~staple",
		"all of it":             "%63%6frrect+h%6frse%2a+battery%7estaple",
		"in JSON":               `correct+horse*+battery\u007estaple`,
		"a space and no plus":   "correct horse%2A battery~staple",
		"a space that is coded": "correct%20horse*%20battery~staple",
	} {
		if got := m.Text("<" + in + ">"); got != "<"+secret.Mask+">" {
			t.Errorf("%s: %s gives %s", name, in, got)
		}
	}
}

func TestMatcherLeavesOtherEscapesAlone(t *testing.T) {
	m := secret.NewMatcher(secret.New("plain-token"))
	for _, in := range []string{
		`\`, `\\`, `\u`, `\u00`, `\u00zz`, `\ud83d`, `\ud83dxx\ude00`, `\/`, `%`, `%2`, `%zz`, `%%%41`, `\x\u0041\`,
		`plain\u002ctoken`, `plain\n-token`, "\xff\\u0041\xff",
	} {
		if got := m.Text(in); got != in {
			t.Errorf("%s gives %s", in, got)
		}
	}
}

// escapeAnyhow writes text as one of the many JSON encoders might.
func escapeAnyhow(text string, dice *rand.Rand) string {
	var b strings.Builder
	for _, r := range text {
		format := []string{`\u%04x`, `\u%04X`}[dice.IntN(2)]
		switch {
		case r > 0xffff && dice.IntN(2) == 0:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, format+format, high, low)
		case r <= 0xffff && (dice.IntN(3) == 0 || r < 0x20):
			fmt.Fprintf(&b, format, r)
		case r == '"' || r == '\\' || r == '/' && dice.IntN(2) == 0:
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// However a value is escaped, wherever it stands in a long text, and however many
// escapes there are around it: it is masked, and nothing else is.
func TestMatcherEscapesProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := strings.ToValidUTF8(rapid.StringN(8, 40, -1).Draw(t, "value"), "x") + "tail"
		dice := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		filler := rapid.SampledFrom([]string{".", `\n`, `\u0020`, "%20", `\\`, "\xf0\x9f\x98\x80"}).Draw(t, "filler")
		in := escapeAnyhow(value, dice)
		if rapid.Bool().Draw(t, "twice") {
			in = escapeAnyhow(in, dice)
		}
		before := strings.Repeat(filler, rapid.SampledFrom([]int{0, 1, 1000, 12_000}).Draw(t, "before"))
		after := strings.Repeat(filler, rapid.SampledFrom([]int{0, 1, 1000}).Draw(t, "after"))
		m := secret.NewMatcher(secret.New(value))
		if got := m.Text(before + "<" + in + ">" + after); got != before+"<"+secret.Mask+">"+after {
			t.Fatalf("%q as %s gives %d bytes: …%.200q", value, in, len(got), got[max(0, len(before)-10):])
		}
	})
}

// What the index finds is what comparing everything with everything finds.
func TestMatcherFindsWhatASlowOneFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Few letters, so that much is similar; none is in the mask.
		word := rapid.StringMatching(`[ab]{4,9}`)
		words := rapid.SliceOfN(word, 1, 4).Draw(t, "words")
		in := rapid.StringMatching(`[ab]{0,60}`).Draw(t, "in")
		values := make([]secret.Value, len(words))
		for i, w := range words {
			values[i] = secret.New(w)
		}
		slices.SortFunc(words, func(a, b string) int { return len(b) - len(a) })
		var want strings.Builder
	text:
		for rest := in; rest != ""; {
			for _, w := range words {
				if strings.HasPrefix(rest, w) {
					want.WriteString(secret.Mask)
					rest = rest[len(w):]
					continue text
				}
			}
			want.WriteByte(rest[0])
			rest = rest[1:]
		}
		m := secret.NewMatcher(values...)
		if got := m.Text(in); got != want.String() {
			t.Fatalf("%q in %s: %s, want %s", words, in, got, &want)
		}
		if m.Find([]byte(in)) != (want.String() != in) {
			t.Fatal("Find")
		}
	})
}

// What no encoder writes takes time in proportion to its length, too: this ends.
func TestMatcherTakesLinearTime(t *testing.T) {
	m := secret.NewMatcher(secret.New("plain-token"), secret.New("aaaaaaaaaaaaaaaaaaaaaaaa"))
	for unit, found := range map[string]bool{
		`\`: false, `\u`: false, `\u0041`: false, "%41": false, "%": false, `\/`: false, `\\\u0041%25`: false,
		"a": true, `\u0061`: true, "%61": true, `\\u0061`: true,
	} {
		in := []byte(strings.Repeat(unit, 1<<20/len(unit)))
		if m.Find(in) != found || bytes.Equal(m.Bytes(in), in) == found {
			t.Errorf("many %s: found %t", unit, !found)
		}
	}
}

func benchmarkMatcher(b *testing.B, unit string) {
	var values []secret.Value
	for i := range 32 {
		values = append(values, secret.New(fmt.Sprintf("token-%d-abcdefghijkl", i)))
	}
	m := secret.NewMatcher(values...)
	data := bytes.Repeat([]byte(unit), 1<<10/len(unit))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		m.Bytes(data)
	}
}

func BenchmarkMatcherText(b *testing.B) {
	benchmarkMatcher(b, "The quick brown fox jumps over the lazy dog. ")
}

func BenchmarkMatcherJSON(b *testing.B) {
	inner, _ := json.Marshal(map[string]any{"path": "src/main.go", "line": 12, "text": "func main() {\n\treturn\n}"})
	outer, _ := json.Marshal(string(inner))
	benchmarkMatcher(b, string(outer))
}

func BenchmarkMatcherEscapes(b *testing.B) {
	benchmarkMatcher(b, `if a \u003c b \u0026\u0026 c \u003e d: go on. `)
}
