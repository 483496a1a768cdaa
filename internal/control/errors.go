package control

import (
	"encoding/json"
	"errors"
	"net/http"

	"durward"
	"durward/client"
)

// rawError is an error that has the JSON-RPC error object it came from.
type rawError interface{ RawError() json.RawMessage }

// failure makes the structured error that is sent.
func failure(err error) client.Failure {
	f := client.Failure{Error: client.FailureDetail{Kind: durward.KindOf(err).String(), Message: err.Error()}}
	var raw rawError
	if errors.As(err, &raw) {
		f.Error.Raw = raw.RawError()
	}
	return f
}

// WriteError answers with a structured error: its kind and its message.
func WriteError(w http.ResponseWriter, err error) {
	_ = writeJSON(w, StatusOf(durward.KindOf(err)), failure(err)) // a failure always encodes
}

// StatusOf maps a kind of error to the HTTP status of the service API.
func StatusOf(kind durward.Kind) int {
	switch kind {
	case durward.Invalid:
		return http.StatusBadRequest
	case durward.Unauthenticated:
		return http.StatusUnauthorized
	case durward.Denied:
		return http.StatusForbidden
	case durward.NotFound:
		return http.StatusNotFound
	case durward.Conflict:
		return http.StatusConflict
	case durward.Unavailable:
		return http.StatusServiceUnavailable
	case durward.Timeout, durward.Unknown:
		return http.StatusGatewayTimeout
	default:
		return http.StatusInternalServerError
	}
}
