package control

import (
	"errors"
	"net/http"

	"durward"
)

// Scope is what a caller of the service API may do. The zero value permits nothing.
type Scope string

// The scopes. Operate and Approve include Read, and neither the other: who asks
// for something does not grant it, and who grants it does not ask.
const (
	Read    Scope = "read"    // look: state, settings, lists, logs
	Operate Scope = "operate" // change servers, call tools
	Approve Scope = "approve" // answer questions about calls, and change the rules that ask; with the approver credential alone
)

// scopeError marks refusals for want of scope: only they are answered with what
// scope it takes.
type scopeError string

// Error says what it takes.
func (e scopeError) Error() string { return string(e) }

// The refusals for want of scope.
const (
	errOperate scopeError = "this takes a token with the scope operate (the file api-token in the state directory)"
	errApprove scopeError = "this takes the approver credential (the file approver-token in the state directory), whatever else the caller may do"
)

// opens returns an error of kind Denied unless s opens a route.
func (s Scope) opens(rt *route) error {
	if s != "" && s == rt.or {
		return nil
	}
	return s.permits(rt.scope)
}

// permits returns an error of kind Denied unless s covers what a route needs. A
// route without a scope is open to nobody.
func (s Scope) permits(need Scope) error {
	known := s == Read || s == Operate || s == Approve
	switch {
	case need != "" && s == need, need == Read && known:
		return nil
	case known && need == Approve:
		return durward.Errorf(durward.Denied, "", "%w", errApprove)
	case s == Read && need == Operate:
		return durward.Errorf(durward.Denied, "", "the token may only read; %w", errOperate)
	case s == Approve && need == Operate:
		return durward.Errorf(durward.Denied, "", "the approver credential is for answers and rules alone; %w", errOperate)
	default:
		return durward.Errorf(durward.Denied, "", "the caller may not do this")
	}
}

// challenge tells programs how to authenticate (RFC 6750 §3).
func challenge(w http.ResponseWriter, err error, need Scope) {
	var short scopeError
	switch {
	case errors.As(err, &short):
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+string(need)+`"`)
	case durward.KindOf(err) == durward.Unauthenticated:
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
}
