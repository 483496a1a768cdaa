package control_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"durward"
	"durward/internal/control"
)

// A scope opens what it says and nothing else; no scope opens nothing.
func TestScopes(t *testing.T) {
	for _, tt := range []struct {
		granted control.Scope
		err     error
		path    string
		status  int
		header  string
	}{
		{granted: control.Read, path: "/api/v1/openapi.json", status: http.StatusOK},
		{granted: control.Operate, path: "/api/v1/openapi.json", status: http.StatusOK},
		{granted: "", path: "/api/v1/openapi.json", status: http.StatusForbidden},
		{granted: "admin", path: "/api/v1/openapi.json", status: http.StatusForbidden},
		{granted: control.Read, path: "/api/v1/runtime/profile?seconds=0", status: http.StatusForbidden, header: `Bearer error="insufficient_scope", scope="operate"`},
		{granted: control.Operate, path: "/api/v1/runtime/profile?seconds=0", status: http.StatusBadRequest},
		{granted: control.Read, path: "/api/v1/nothing", status: http.StatusNotFound},
		{granted: "", path: "/api/v1/nothing", status: http.StatusForbidden},
		{granted: control.Approve, path: "/api/v1/openapi.json", status: http.StatusOK},
		{granted: control.Approve, path: "/api/v1/runtime/profile?seconds=0", status: http.StatusForbidden, header: `Bearer error="insufficient_scope", scope="operate"`},
		{granted: control.Approve, path: "/api/v1/approvals/abcd", status: http.StatusNotFound},
		{granted: control.Operate, path: "/api/v1/approvals/abcd", status: http.StatusForbidden, header: `Bearer error="insufficient_scope", scope="approve"`},
		{granted: control.Read, path: "/api/v1/approvals/events", status: http.StatusForbidden, header: `Bearer error="insufficient_scope", scope="approve"`},
		{granted: "admin", path: "/api/v1/approvals/abcd", status: http.StatusForbidden},
		{err: durward.Errorf(durward.Unauthenticated, "", "who?"), path: "/api/v1/nothing", status: http.StatusUnauthorized, header: "Bearer"},
	} {
		h := control.New(control.Options{Authorize: func(*http.Request) (durward.Caller, control.Scope, error) {
			return durward.Caller{}, tt.granted, tt.err
		}})
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, tt.path, http.NoBody))
		if w.Code != tt.status || w.Header().Get("WWW-Authenticate") != tt.header {
			t.Errorf("%q %s: %d %q", tt.granted, tt.path, w.Code, w.Header().Get("WWW-Authenticate"))
		}
		if w.Code >= 400 && !strings.Contains(w.Body.String(), `"message":"`) {
			t.Errorf("%q %s: %s", tt.granted, tt.path, w.Body)
		}
	}
}
