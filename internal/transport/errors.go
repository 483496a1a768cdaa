package transport

import (
	"encoding/json"
	"errors"
	"net/http"

	"durward"
	"durward/internal/wire"
)

var errClosing = durward.Errorf(durward.Unavailable, "transport", "the service is shutting down")

// refusal is an answer that the edge gives by itself.
type refusal struct {
	status int // HTTP
	err    error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

func refuse(status, code int, message string) *refusal {
	return &refusal{status, &wire.CodeError{Code: code, Message: message}}
}

func badRequest(code int, message string) *refusal {
	return refuse(http.StatusBadRequest, code, message)
}

// statusOf maps an error of the edge to its HTTP status. Never 5xx, which
// clients take for an outage, but for the one case that is one.
func statusOf(err error) int {
	var r *refusal
	if errors.As(err, &r) {
		return r.status
	}
	if errors.Is(err, errClosing) {
		return http.StatusServiceUnavailable
	}
	switch durward.KindOf(err) {
	case durward.Unauthenticated:
		return http.StatusUnauthorized
	case durward.Denied:
		return http.StatusForbidden
	case durward.NotFound:
		return http.StatusNotFound
	case durward.Unavailable:
		return http.StatusTooManyRequests
	default:
		return http.StatusBadRequest
	}
}

// failureOf renders an error of the edge as a JSON-RPC error object. Where in
// Durward it arose is no business of the client's.
func failureOf(err error) []byte {
	var coded *wire.CodeError
	if errors.As(err, &coded) {
		return wire.ErrorObject(coded)
	}
	code, message := wire.CodeOf(err), err.Error()
	var own *durward.Error
	if errors.As(err, &own) {
		message = own.Message
		if own.Kind == durward.NotFound {
			code = wire.CodeInvalidRequest // the session is unknown, not a parameter
		}
	}
	return wire.AppendError(nil, code, message, nil)
}

// writeError answers with a JSON-RPC error; id is nil when the request had none
// or could not be read.
func writeError(w http.ResponseWriter, id []byte, err error) {
	status := statusOf(err)
	body := wire.AppendFailure(nil, id, failureOf(err))
	h := w.Header()
	h["Content-Type"] = jsonType
	switch status {
	case http.StatusUnauthorized:
		h["Www-Authenticate"] = []string{`Bearer realm="durward"`}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h["Retry-After"] = []string{"1"}
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client is gone; there is nobody to tell
}

// unreadable describes a message that the scanner refused, and finds its id if
// the message is at least JSON, so that the client can match the answer.
func unreadable(data []byte, err error) (id []byte, refused *refusal) {
	if !json.Valid(data) {
		return nil, &refusal{http.StatusBadRequest, &wire.CodeError{Code: wire.CodeParse, Message: wire.InvalidRequest(err).Error()}}
	}
	id = wire.Get(data, "id")
	if len(id) > 0 && id[0] != '"' && id[0] != '-' && (id[0] < '0' || id[0] > '9') {
		id = nil
	}
	return id, &refusal{http.StatusBadRequest, &wire.CodeError{Code: wire.CodeInvalidRequest, Message: wire.InvalidRequest(err).Error()}}
}

func methodNotFound(method string) *refusal {
	return refuse(http.StatusNotFound, wire.CodeMethodNotFound, "method "+method+" does not exist in this protocol revision")
}

// levels are the severities of log messages, the least severe first (RFC 5424).
var levels = [...]string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// level returns the rank of a level and the constant for it; false for others.
func level(raw []byte) (rank int, name string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return 0, "", false
	}
	for i, known := range levels {
		if string(raw[1:len(raw)-1]) == known {
			return i, known, true
		}
	}
	return 0, "", false
}

// atLeast reports whether a message of level raw is wanted by who asked for
// messages from least upwards. An unknown level of the server's is wanted.
func atLeast(raw []byte, least string) bool {
	rank, _, ok := level(raw)
	if !ok {
		return true
	}
	for i, known := range levels {
		if known == least {
			return rank >= i
		}
	}
	return true
}
