// Package control is the server of the service API: HTTP and JSON under
// /api/v1 for the owner of the service, and the health checks for everybody.
// Package client is its other end.
package control

import (
	"encoding/json"
	"net/http"

	"durward"
	"durward/client"
)

// Service is what the API shows and steers.
type Service interface {
	Status() client.Status
	// Ready reports why the service should not get traffic; nil when it may.
	Ready() error
	// Reload reads the configuration anew.
	Reload() error
}

// Options configure the API.
type Options struct {
	Service Service
	// Authorize says why the request is not from the owner; nil when it is.
	Authorize func(*http.Request) error
}

// New returns the handler of /api/v1, /healthz and /readyz.
func New(opt Options) http.Handler {
	mux := http.NewServeMux()
	owner := func(pattern string, h func(http.ResponseWriter, *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			err := opt.Authorize(r)
			if err == nil {
				err = h(w, r)
			}
			if err != nil {
				WriteError(w, err)
			}
		})
	}
	owner("GET /api/v1/status", func(w http.ResponseWriter, _ *http.Request) error {
		return writeJSON(w, http.StatusOK, opt.Service.Status())
	})
	owner("POST /api/v1/reload", func(w http.ResponseWriter, _ *http.Request) error {
		if err := opt.Service.Reload(); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
	owner("GET /api/v1/runtime", runtimeStats)
	owner("GET /api/v1/runtime/profile", cpuProfile)
	// These two say yes or no and nothing else: anybody may ask.
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if opt.Service.Ready() != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	return mux
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, err = w.Write(append(data, '\n'))
	return err
}

// WriteError answers with a structured error: its kind and its message.
func WriteError(w http.ResponseWriter, err error) {
	kind := durward.KindOf(err)
	body := map[string]any{"error": map[string]string{"kind": kind.String(), "message": err.Error()}}
	data, _ := json.Marshal(body) //nolint:errchkjson // strings always encode
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(StatusOf(kind))
	_, _ = w.Write(append(data, '\n')) // the client is gone if this fails
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
