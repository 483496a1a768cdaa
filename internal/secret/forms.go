package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf16"
)

// forms lists the ways in which text may stand in what others write: as it is,
// inside JSON strings (also JSON within JSON), in URLs, in base64 and in hexadecimal
// digits. Where encoders escape what they need not, [escaped] finds it.
func forms(text string) []string {
	out := []string{text}
	escaped := jsonForms(text)
	out = append(out, escaped...)
	for _, once := range escaped {
		out = append(out, jsonForms(once)...)
	}
	out = append(out, urlForms(text)...)
	out = append(out, base64Forms(text)...)
	digits := hex.EncodeToString([]byte(text))
	return append(out, digits, strings.ToUpper(digits))
}

// jsonForms gives the escapes that encoders differ in: HTML characters, the
// slash, and everything beyond ASCII.
func jsonForms(text string) []string {
	html := quoted(text, true)
	plain := quoted(text, false)
	return []string{html, plain, strings.ReplaceAll(plain, "/", `\/`), ascii(plain), ascii(strings.ReplaceAll(plain, "/", `\/`))}
}

// quoted is the inside of text as a JSON string.
func quoted(text string, escapeHTML bool) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escapeHTML)
	if err := e.Encode(text); err != nil { // a string always encodes
		return text
	}
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}

// ascii writes what is not ASCII as \uXXXX.
func ascii(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r <= 0xffff:
			b.WriteString(unicodeEscape(r))
		default:
			high, low := utf16.EncodeRune(r)
			b.WriteString(unicodeEscape(high) + unicodeEscape(low))
		}
	}
	return b.String()
}

func unicodeEscape(r rune) string {
	digits := strconv.FormatInt(int64(r), 16)
	return `\u` + strings.Repeat("0", 4-len(digits)) + digits
}

func urlForms(text string) []string {
	query := url.QueryEscape(text)
	path := url.PathEscape(text)
	whole := strings.ReplaceAll(query, "+", "%20") // encodeURIComponent and its like
	spaces := strings.ReplaceAll(text, " ", "+")   // what is left of a query where the escapes are decoded
	return []string{query, lowerEscapes(query), path, lowerEscapes(path), whole, lowerEscapes(whole), spaces}
}

// lowerEscapes writes %2F as %2f.
func lowerEscapes(text string) string {
	b := []byte(text)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(string(b[i+1:i+3])))
		}
	}
	return string(b)
}

// minBase64 is the least of a base64 form that is looked for: less would be
// found by chance.
const minBase64 = 8

// base64Forms gives text in base64, alone and as a part of something longer
// ("user:" in front of a password): depending on what stands before it there are
// three ways, and the characters that its neighbours decide are left out.
func base64Forms(text string) []string {
	var out []string
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		out = append(out, encoding.EncodeToString([]byte(text)))
		for before := range 3 {
			bits := (before + len(text)) * 8
			all := encoding.EncodeToString(append(make([]byte, before), text...))
			core := all[(before*8+5)/6 : bits/6]
			if len(core) >= minBase64 {
				out = append(out, core)
			}
		}
	}
	return out
}
