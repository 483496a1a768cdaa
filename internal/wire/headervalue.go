package wire

import (
	"fmt"
	"strings"
)

// HeaderValues returns the headers that mirror the raw arguments of a tools/call,
// in the order of params, with values that are not encoded yet (see
// [EncodeHeaderValue]). There is none for an argument that is absent or null, nor
// for one that has no text: an array, an object, a number that is no integer or
// is beyond ±(2^53-1). Integers are in decimal, however the argument writes them.
func HeaderValues(params []HeaderParam, arguments []byte) []HeaderValue {
	var values []HeaderValue
	for i := range params {
		if text, ok := headerText(argumentAt(arguments, params[i].Path)); ok {
			values = append(values, HeaderValue{params[i].Header, text})
		}
	}
	return values
}

// argumentAt returns the raw value at path, nil when it is absent.
func argumentAt(arguments []byte, path []string) []byte {
	for _, name := range path {
		arguments = Get(arguments, name)
	}
	return arguments
}

// CheckHeaders compares the Mcp-Param-* headers of a request, as they were sent,
// with the raw arguments (2026-07-28, streamable-http "Server Behavior for Custom
// Headers"). Each param whose argument has a text needs exactly one header that
// matches it; one whose argument is absent or null must have none, because then
// a component that routes by it would see what the body does not say. Headers
// that no param names are ignored. The error is a *CodeError with CodeHeaderMismatch.
func CheckHeaders(params []HeaderParam, arguments []byte, headers []HeaderValue) error {
	for i := range params {
		if reason := checkHeader(&params[i], argumentAt(arguments, params[i].Path), headers); reason != "" {
			return &CodeError{Code: CodeHeaderMismatch, Message: fmt.Sprintf("Header mismatch: %s%s %s (argument %s)",
				ParamHeaderPrefix, params[i].Header, reason, Quote(strings.Join(params[i].Path, ".")))}
		}
	}
	return nil
}

// checkHeader returns what is wrong with the header of one argument, "" if nothing is.
func checkHeader(p *HeaderParam, argument []byte, headers []HeaderValue) string {
	sent := 0
	value := ""
	for i := range headers {
		if strings.EqualFold(headers[i].Name, p.Header) {
			sent++
			value = headers[i].Value
		}
	}
	_, needed := headerText(argument)
	switch {
	case sent == 0 && needed:
		return "is missing; mirror the argument in it"
	case sent == 0:
		return ""
	case sent > 1:
		return "was sent more than once; send it once"
	case argument == nil || string(argument) == "null":
		return "was sent although the argument is absent or null; leave it out"
	case !HeaderMatches(p.Type, value, argument):
		if _, err := DecodeHeaderValue(value); err != nil {
			return "is malformed: " + err.Error()
		}
		return "does not match the argument in the body; send the same value in both"
	}
	return ""
}
