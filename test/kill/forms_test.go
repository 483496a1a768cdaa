package main_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
)

// The forms that a text takes in what others write. They are made here once more,
// and in other ways than in internal/secret, so that the two can differ.

// jsonString is the inside of a JSON string.
func jsonString(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string
	}
	return string(b[1 : len(b)-1])
}

// allEscaped writes every character as \uXXXX.
func allEscaped(text, format string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		fmt.Fprintf(&b, `\u`+format, unit)
	}
	return b.String()
}

// asciiOnly writes what is not ASCII, and what .NET holds to be dangerous, as \uXXXX.
func asciiOnly(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r > 0x7e, r < 0x20, strings.ContainsRune(`"'&<>+`+"`", r):
			b.WriteString(allEscaped(string(r), "%04X"))
		case r == '\\':
			b.WriteString(`\\`)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// inJSON are ways to write a text as a JSON string.
func inJSON(text string) []string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err) // a string
	}
	plain := b.String()[1 : b.Len()-2]
	return []string{
		jsonString(text), plain, strings.ReplaceAll(plain, "/", `\/`), asciiOnly(text), strings.ReplaceAll(asciiOnly(text), "/", `\/`),
		allEscaped(text, "%04x"), allEscaped(text, "%04X"),
	}
}

// allPercent writes every byte as %XX.
func allPercent(text, format string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, format, text[i])
	}
	return b.String()
}

// encodings are texts that stand for a text without being JSON.
func encodings(text string) map[string]string {
	all := map[string]string{
		"plain": text, "query": url.QueryEscape(text), "path": url.PathEscape(text), "hex": hex.EncodeToString([]byte(text)),
		"HEX": strings.ToUpper(hex.EncodeToString([]byte(text))), "percent": allPercent(text, "%%%02x"), "PERCENT": allPercent(text, "%%%02X"),
		"query, %20":      strings.ReplaceAll(url.QueryEscape(text), "+", "%20"),
		"query, lower":    lowerPercent(url.QueryEscape(text)),
		"JSON in a text":  `{"key":"` + jsonString(text) + `"}`,
		"JSON in a query": url.QueryEscape(`{"key":"` + asciiOnly(text) + `"}`),
	}
	for name, e := range map[string]*base64.Encoding{"base64": base64.StdEncoding, "base64url": base64.RawURLEncoding} {
		for _, before := range []string{"", "u", "u:"} {
			all[name+" behind "+strconv.Quote(before)] = e.EncodeToString([]byte(before + text + "#"))
		}
	}
	return all
}

func lowerPercent(text string) string {
	return percent().ReplaceAllStringFunc(text, strings.ToLower)
}

func percent() *regexp.Regexp { return regexp.MustCompile(`%[0-9A-Fa-f]{2}`) }

// core is what is the same in base64 whatever stands in front of a text and behind it.
func core(e *base64.Encoding, text string, before int) string {
	all := e.EncodeToString([]byte(strings.Repeat("x", before) + text))
	return all[(before*8+5)/6 : (before+len(text))*8/6]
}

// traces are the texts that give a text away where nothing is escaped.
func traces(text string) []string {
	digits := hex.EncodeToString([]byte(text))
	all := []string{text, digits, strings.ToUpper(digits)}
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			all = append(all, core(e, text, before))
		}
	}
	return all
}

// escapedTraces are the same with the escapes of JSON and of URLs.
func escapedTraces(text string) []string {
	query, path := url.QueryEscape(text), url.PathEscape(text)
	return append(inJSON(text), query, path, lowerPercent(query), lowerPercent(path), allPercent(text, "%%%02x"), allPercent(text, "%%%02X"))
}

// unescaped is content with the escapes of JSON and of URLs replaced, wherever they stand.
func unescaped(content string) string {
	var b strings.Builder
	for rest := content; rest != ""; {
		n := strings.IndexAny(rest, `\%`)
		if n < 0 {
			n = len(rest)
		}
		b.WriteString(rest[:n])
		if rest = rest[n:]; rest == "" {
			break
		}
		text, length := escape(rest)
		b.WriteString(text)
		rest = rest[length:]
	}
	return b.String()
}

// escape is what the escape at the beginning of text stands for, and its length.
func escape(text string) (stands string, length int) {
	if text[0] == '%' && len(text) >= 3 {
		if b, err := hex.DecodeString(text[1:3]); err == nil {
			return string(b), 3
		}
	}
	for _, length := range []int{12, 6, 2} { // a pair of surrogates, one unit, a letter
		if text[0] != '\\' || len(text) < length || length > 2 && (text[1] != 'u' || length == 12 && text[6:8] != `\u`) {
			continue
		}
		if json.Unmarshal([]byte(`"`+text[:length]+`"`), &stands) == nil {
			return stands, length
		}
	}
	return text[:1], 1
}
