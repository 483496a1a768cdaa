package control

import (
	"errors"
	"net/http"

	"durward"
)

// Scope is what a caller of the service API may do. The zero value permits nothing.
type Scope string

// The scopes. Operate includes Read.
const (
	Read    Scope = "read"    // look: state, settings, lists, logs
	Operate Scope = "operate" // change servers and configuration, call tools
)

// errScope marks refusals for want of scope: only they are answered with what
// scope it takes.
var errScope = errors.New("this takes a token with the scope operate (the file api-token in the state directory)")

// permits returns an error of kind Denied unless s covers what a route needs. A
// route without a scope is open to nobody.
func (s Scope) permits(need Scope) error {
	switch {
	case need != "" && s == need, need == Read && s == Operate:
		return nil
	case s == Read && need == Operate:
		return durward.Errorf(durward.Denied, "", "the token may only read; %w", errScope)
	default:
		return durward.Errorf(durward.Denied, "", "the caller may not do this")
	}
}

// challenge tells programs how to authenticate (RFC 6750 §3).
func challenge(w http.ResponseWriter, err error, need Scope) {
	switch {
	case errors.Is(err, errScope):
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+string(need)+`"`)
	case durward.KindOf(err) == durward.Unauthenticated:
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
}
