package daemon

import (
	"net/http"

	"durward"
	"durward/internal/control"
	"durward/internal/identity"
)

// publicHandler serves what is reached by HTTP: the MCP routes, the metrics and the
// health checks. The service API is not there: the bearer token is in the hands of
// agents, and the API could run any program.
func (s *Service) publicHandler(metrics http.Handler) http.Handler {
	api := s.api(func(*http.Request) (durward.Caller, control.Scope, error) {
		return durward.Caller{}, "", durward.Errorf(durward.NotFound, "", "the service API is not here; it is on the unix socket, and where api.listen says")
	})
	mcp := s.gateway.Handler()
	used := s.activity.watch(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
			api.ServeHTTP(w, r)
			return
		}
		mcp.ServeHTTP(w, r)
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" { // who only looks keeps no service alive
			metrics.ServeHTTP(w, r)
			return
		}
		used.ServeHTTP(w, r)
	})
}

// ownerHandler serves what is reached over the unix socket: all of it. Who only
// looks at the state does not keep a service alive that ends when it is idle.
func (s *Service) ownerHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", s.activity.watch(s.gateway.Handler()))
	s.handleAPI(mux, func(r *http.Request) (durward.Caller, control.Scope, error) {
		caller, err := s.gateway.Admit(r)
		return caller, s.ownerScope(r), err
	})
	mux.Handle("/api/v1/stdio", s.activity.watch(s.gateway.StdioHandler()))
	return mux
}

// apiHandler serves what is reached at api.listen: the service API and the health
// checks, and no MCP.
func (s *Service) apiHandler(gate *identity.Gate) http.Handler {
	mux := http.NewServeMux()
	s.handleAPI(mux, func(r *http.Request) (durward.Caller, control.Scope, error) {
		caller, err := gate.Admit(r)
		if err != nil {
			return durward.Caller{}, "", err
		}
		scope := control.Scope(caller.Principal) // see apiGate
		caller.Principal = identity.PrincipalLocal
		return caller, scope, nil
	})
	return mux
}

func (s *Service) handleAPI(mux *http.ServeMux, authorize authorizer) {
	api := s.api(authorize)
	mux.Handle("/api/v1/", s.activity.watch(api))
	mux.Handle("/api/v1/status", api)
	mux.Handle("/healthz", api)
	mux.Handle("/metrics", api)
	mux.Handle("/readyz", api)
}

// authorizer says who sends a request of the service API, and what that caller may do.
type authorizer = func(*http.Request) (durward.Caller, control.Scope, error)

func (s *Service) api(authorize authorizer) http.Handler {
	return control.New(control.Options{
		Service: s, Servers: (*servers)(s), Steering: (*steering)(s), Offer: (*offer)(s), Configuration: s, Keys: (*keys)(s),
		Ledger: (*readings)(s), Custody: (*custody)(s), Approvals: (*approvals)(s), Pins: (*pins)(s), Policy: (*rules)(s), Labels: (*labels)(s),
		Watch: s.events.watch, Metrics: s.telemetry.ServeMetrics(), Authorize: authorize, Done: s.stopping, Version: s.opt.Version,
	})
}
