package wire

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The form of header values that are not plain ASCII (2026-07-28,
// basic/transports/streamable-http "Value Encoding"). Case counts.
const (
	sentinelPrefix = "=?base64?"
	sentinelSuffix = "?="
)

// ParamHeaderPrefix is what the names of headers begin with that mirror
// arguments (2026-07-28, streamable-http "Schema Extension").
const ParamHeaderPrefix = "Mcp-Param-"

// EncodeHeaderValue returns the value of an Mcp-Name or Mcp-Param-* header that
// stands for s: s itself, or its UTF-8 in base64 between =?base64? and ?= when s
// holds anything but printable ASCII, begins or ends with a space, or looks
// encoded itself. The empty string is encoded as well, although an empty value
// is legal: some receivers and proxies take an empty header for a missing one.
func EncodeHeaderValue(s string) string {
	if headerSafe(s) {
		return s
	}
	return sentinelPrefix + base64.StdEncoding.EncodeToString([]byte(s)) + sentinelSuffix
}

func headerSafe(s string) bool {
	if s == "" || s[0] == ' ' || s[len(s)-1] == ' ' || looksEncoded(s) {
		return false
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func looksEncoded(s string) bool {
	return strings.HasPrefix(s, sentinelPrefix) && strings.HasSuffix(s, sentinelSuffix)
}

// DecodeHeaderValue returns what the value of an Mcp-Name or Mcp-Param-* header
// stands for. White space around the value is not part of it. It refuses bytes
// that must have been encoded, base64 that is not canonical (RFC 4648 §3.5), and
// encoded bytes that are no UTF-8.
func DecodeHeaderValue(value string) (string, error) {
	value = strings.Trim(value, " \t")
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c > '~' {
			return "", fmt.Errorf("byte %d of a header value is not printable ASCII; send the value as %sBASE64%s", i, sentinelPrefix, sentinelSuffix)
		}
	}
	if !looksEncoded(value) {
		return value, nil
	}
	if len(value) < len(sentinelPrefix)+len(sentinelSuffix) {
		return "", fmt.Errorf("header value %q is ambiguous; send it as %s%s%s", value,
			sentinelPrefix, base64.StdEncoding.EncodeToString([]byte(value)), sentinelSuffix)
	}
	inside := value[len(sentinelPrefix) : len(value)-len(sentinelSuffix)]
	decoded, err := base64.StdEncoding.Strict().DecodeString(inside)
	if err != nil {
		return "", fmt.Errorf("a header value in base64 is malformed: %w", err)
	}
	if !utf8.Valid(decoded) {
		return "", fmt.Errorf("a header value in base64 holds bytes that are no UTF-8")
	}
	return string(decoded), nil
}

// HeaderMatches reports whether header, the value of an Mcp-Param-* header as it
// was sent, stands for the raw argument. kind is the declared type ("integer",
// "string", "boolean"): of an integer, header and argument are compared as
// numbers, so that 42.0 matches 42; all else is compared as text. An argument
// that is absent, null, an array or an object matches nothing.
func HeaderMatches(kind, header string, argument []byte) bool {
	decoded, err := DecodeHeaderValue(header)
	if err != nil {
		return false
	}
	if kind == "integer" {
		want, ok := safeInteger(argument)
		got, okHeader := safeInteger([]byte(decoded))
		if ok {
			return okHeader && got == want
		}
	}
	text, ok := headerText(argument)
	return ok && text == decoded || !ok && isNumber(argument) && decoded == string(argument)
}

// headerText returns the text by which an argument is mirrored: the string, the
// number in decimal if it is an integer that every reader can hold, or the
// boolean. There is none for anything else.
func headerText(argument []byte) (string, bool) {
	switch {
	case len(argument) == 0:
		return "", false
	case argument[0] == '"':
		return Unquote(argument)
	case string(argument) == "true":
		return "true", true
	case string(argument) == "false":
		return "false", true
	}
	n, ok := safeInteger(argument)
	if !ok {
		return "", false
	}
	return strconv.FormatInt(n, 10), true
}
