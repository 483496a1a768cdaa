package wire

import "unicode/utf8"

// Unquote decodes a JSON string that was checked before; false if raw is no string.
// A lone surrogate or an invalid byte becomes U+FFFD.
func Unquote(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", false
	}
	raw = raw[1 : len(raw)-1]
	if plain(raw, 0) == len(raw) {
		return string(raw), true
	}
	return string(appendUnescaped(nil, raw)), true
}

// appendUnescaped appends the decoded inside of a JSON string.
func appendUnescaped(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		end := plain(raw, i)
		dst = append(dst, raw[i:end]...)
		if i = end; i == len(raw) {
			break
		}
		switch c := raw[i]; {
		case c == '\\':
			var r rune
			r, i = unescape(raw, i)
			dst = utf8.AppendRune(dst, r)
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			i++
		default:
			r, n := utf8.DecodeRune(raw[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
		}
	}
	return dst
}

// unescape decodes the escape at i and returns the offset behind it.
func unescape(raw []byte, i int) (rune, int) {
	if i+1 >= len(raw) {
		return utf8.RuneError, i + 1
	}
	switch raw[i+1] {
	case 'b':
		return '\b', i + 2
	case 'f':
		return '\f', i + 2
	case 'n':
		return '\n', i + 2
	case 'r':
		return '\r', i + 2
	case 't':
		return '\t', i + 2
	case 'u':
		r, end, _ := surrogates(raw, i)
		if end == i {
			return utf8.RuneError, i + 2
		}
		return r, end
	default:
		return rune(raw[i+1]), i + 2
	}
}

// Quote returns s as a JSON string.
func Quote(s string) string { return string(AppendQuote(nil, s)) }

// AppendQuote appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func AppendQuote(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	if isPlain(s) {
		return append(append(dst, s...), '"')
	}
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\r':
			dst = append(dst, '\\', 'r')
		case r == '\t':
			dst = append(dst, '\\', 't')
		case r < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

// isPlain reports whether s needs no escape and is ASCII, as most names are.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
