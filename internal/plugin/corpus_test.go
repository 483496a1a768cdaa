package plugin_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A sample of the corpus is one text. Files hold samples, each below a line
// "--- KIND"; clean ones below "--- clean". Nothing that is a credential stands in
// a file: {{alnum:36}} is 36 random characters, which are the same each time.
type sample struct {
	file string
	line int
	kind string
	text string
}

func readSamples(t testing.TB, pattern string) (list []sample) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples in %s: %v", pattern, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(uint64(len(data)), 7))
		for i, line := range strings.SplitAfter(string(data), "\n") {
			if kind, ok := strings.CutPrefix(line, "--- "); ok {
				list = append(list, sample{file: filepath.Base(file), line: i + 1, kind: strings.TrimSpace(kind)})
			} else if len(list) > 0 {
				list[len(list)-1].text += line
			}
		}
		for i := range list {
			if list[i].file == filepath.Base(file) {
				list[i].text = fill(t, r, strings.TrimSuffix(list[i].text, "\n"))
			}
		}
	}
	return list
}

var directive = regexp.MustCompile(`\{\{([a-z0-9]+):((?:[^{}]|\{\{[^{}]*\}\})*)\}\}`)

// fill replaces the directives of a sample, inner ones first.
func fill(t testing.TB, r *rand.Rand, text string) string {
	return directive.ReplaceAllStringFunc(text, func(found string) string {
		parts := directive.FindStringSubmatch(found)
		name, argument := parts[1], fill(t, r, parts[2])
		n, _ := strconv.Atoi(argument)
		const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		switch name {
		case "alnum":
			return pickFrom(r, letters+"0123456789", n)
		case "lower":
			return pickFrom(r, letters[26:]+"0123456789", n)
		case "base32":
			return pickFrom(r, letters[:26]+"234567", n)
		case "hex":
			return pickFrom(r, "0123456789abcdef", n)
		case "digits":
			return pickFrom(r, "0123456789", n)
		case "b64":
			return pickFrom(r, letters+"0123456789+/", n)
		case "b64url":
			return pickFrom(r, letters+"0123456789-_", n)
		case "bytes64": // Base64 of so many random bytes
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			return base64.StdEncoding.EncodeToString(b)
		case "of64":
			return base64.StdEncoding.EncodeToString([]byte(argument))
		case "ofurl":
			return url.QueryEscape(argument)
		case "jwt":
			part := base64.RawURLEncoding.EncodeToString
			return part([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + part([]byte(`{"sub":"`+pickFrom(r, "0123456789", 10)+`","iat":1767225600}`)) + "." + pickFrom(r, letters+"0123456789", 43)
		case "pem":
			var b strings.Builder
			for range 6 {
				b.WriteString(pickFrom(r, letters+"0123456789+/", 64) + "\n")
			}
			return "-----BEGIN " + argument + "-----\n" + b.String() + "-----END " + argument + "-----"
		case "u":
			var b strings.Builder
			for code := range strings.FieldsSeq(argument) {
				c, err := strconv.ParseUint(code, 16, 32)
				if err != nil {
					t.Fatal(err)
				}
				b.WriteRune(rune(c))
			}
			return b.String()
		case "tags":
			var b strings.Builder
			for _, c := range argument {
				b.WriteRune(0xE0000 + c)
			}
			return b.String()
		case "spaced": // a zero-width space between all characters
			return strings.Join(strings.Split(argument, ""), "\u200b")
		case "wide":
			var b strings.Builder
			for _, c := range argument {
				if c > ' ' && c < 0x7F {
					c += 0xFF01 - '!'
				}
				b.WriteRune(c)
			}
			return b.String()
		case "ofhex":
			return hex.EncodeToString([]byte(argument))
		}
		t.Fatalf("no directive %s", name)
		return ""
	})
}

func pickFrom(r *rand.Rand, set string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = set[r.IntN(len(set))]
	}
	return string(b)
}

func (s sample) String() string { return fmt.Sprintf("%s:%d (%s)", s.file, s.line, s.kind) }
